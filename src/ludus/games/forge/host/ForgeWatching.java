// Remembers the cards that a seat is shown. Part of ForgeGame.java.

import forge.LobbyPlayer;
import forge.game.Game;
import forge.game.card.Card;
import forge.game.card.CardCollectionView;
import forge.game.card.CardView;
import forge.game.player.DelayedReveal;
import forge.game.player.Player;
import forge.game.player.PlayerView;
import forge.game.zone.ZoneType;
import java.util.List;

abstract class ForgeWatching extends ForgeLeft {
    ForgeWatching(Game game, Player player, LobbyPlayer lobby, int seat, ForgeTable table) {
        super(game, player, lobby, seat, table);
    }

    @Override
    public void reveal(CardCollectionView cards, ZoneType zone, Player owner, String prefix, boolean suffix) {
        for (Card card : cards) table.memory.show(seat, card);
    }

    @Override
    public void reveal(List<CardView> cards, ZoneType zone, PlayerView owner, String prefix, boolean suffix) {
        for (CardView view : cards) {
            Card card = getGame().findByView(view);
            if (card != null) table.memory.show(seat, card);
        }
    }

    void reveal(DelayedReveal shown, boolean any) {
        if (any && shown != null) reveal(shown);
    }
}
