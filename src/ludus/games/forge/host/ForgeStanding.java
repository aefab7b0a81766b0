// Says how well a player stands, as a number, for rewards before the end of a match. Part of ForgeGame.java.

import forge.game.Game;
import forge.game.card.Card;
import forge.game.player.Player;
import forge.game.zone.ZoneType;

final class ForgeStanding {
    private static final double CARD = 1.5, LAND = 1.5, STRENGTH = 0.75, SCALE = 20; // in points of life

    private ForgeStanding() {}

    /** Return how much better seat 0 stands, from -1 to 1: life, cards in hand, lands, and the strength of its creatures. */
    static double of(Game game) {
        double difference = 0;
        for (Player player : game.getPlayers()) difference += (ForgeTable.seatOf(player) == 0 ? 1 : -1) * worth(player);
        return Math.tanh(difference / SCALE);
    }

    private static double worth(Player player) {
        double worth = player.getLife() + CARD * player.getCardsIn(ZoneType.Hand).size() + LAND * player.getLandsInPlay().size();
        for (Card creature : player.getCreaturesInPlay()) worth += STRENGTH * (creature.getNetPower() + creature.getNetToughness());
        return worth;
    }
}
