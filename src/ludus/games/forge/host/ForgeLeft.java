// Rare decisions: asked as a pick from a list, or left to Forge's AI and counted by kind. Part of ForgeGame.java.

import forge.LobbyPlayer;
import forge.card.ColorSet;
import forge.card.ICardFace;
import forge.card.mana.ManaCost;
import forge.card.mana.ManaCostShard;
import forge.game.Game;
import forge.game.GameEntity;
import forge.game.GameObject;
import forge.game.PlanarDice;
import forge.game.ability.effects.RollDiceEffect;
import forge.game.card.Card;
import forge.game.card.CardCollection;
import forge.game.card.CardCollectionView;
import forge.game.card.CardState;
import forge.game.cost.Cost;
import forge.game.keyword.KeywordInterface;
import forge.game.mana.ManaCostBeingPaid;
import forge.game.player.Player;
import forge.game.spellability.SpellAbility;
import forge.game.spellability.SpellAbilityStackInstance;
import forge.game.staticability.StaticAbility;
import forge.game.zone.PlayerZone;
import forge.util.collect.FCollectionView;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.commons.lang3.tuple.Pair;

abstract class ForgeLeft extends ForgeAsking {
    ForgeLeft(Game game, Player player, LobbyPlayer lobby, int seat, ForgeTable table) {
        super(game, player, lobby, seat, table);
    }

    // -- asked

    @Override
    public Pair<SpellAbilityStackInstance, GameObject> chooseTarget(
        SpellAbility sa, List<Pair<SpellAbilityStackInstance, GameObject>> targets) {
        List<ForgeChoice> choices = targets.stream().map(each -> ForgeChoice.pick(each.getRight())).toList();
        return targets.get(table.ask(new ForgeChoice.Question(seat, ForgeChoice.Asks.TARGET, sa, choices)));
    }

    @Override
    public CardCollection orderBlockers(Card attacker, CardCollection blockers) {
        return new CardCollection(order(null, blockers));
    }

    @Override
    public CardCollection orderAttackers(Card blocker, CardCollection attackers) {
        return new CardCollection(order(null, attackers));
    }

    @Override
    public int chooseNumberForCostReduction(SpellAbility sa, int min, int max) {
        return number(sa, min, max);
    }

    @Override
    public StaticAbility chooseSingleStaticAbility(List<StaticAbility> statics) {
        return statics.isEmpty() ? null : other(null, statics);
    }

    @Override
    public CardState chooseSingleCardState(SpellAbility sa, List<CardState> states, String message, Map<String, Object> params) {
        return other(sa, states);
    }

    @Override
    public ICardFace chooseSingleCardFace(SpellAbility sa, List<ICardFace> faces, String message) {
        return other(sa, faces);
    }

    @Override
    public String chooseSector(Card assignee, String ai, List<String> sectors) {
        return other(null, sectors);
    }

    @Override
    public int chooseSprocket(Card assignee, List<Integer> sprockets) {
        return other(null, sprockets);
    }

    @Override
    public List<Card> chooseContraptionsToCrank(List<Card> contraptions) {
        return pick(ForgeChoice.Asks.OTHER, null, contraptions, 0, contraptions.size());
    }

    @Override
    public PlanarDice choosePDRollToIgnore(List<PlanarDice> rolls) {
        return other(null, rolls);
    }

    @Override
    public Integer chooseRollToIgnore(List<Integer> rolls) {
        return other(null, rolls);
    }

    @Override
    public Integer chooseRollToModify(List<Integer> rolls) {
        return other(null, rolls);
    }

    @Override
    public RollDiceEffect.DieRollResult chooseRollToSwap(List<RollDiceEffect.DieRollResult> rolls) {
        return other(null, rolls);
    }

    @Override
    public String chooseRollSwapValue(List<String> values, Integer result, int power, int toughness) {
        return other(null, values);
    }

    private <T> T other(SpellAbility sa, List<T> from) {
        return pickPlain(ForgeChoice.Asks.OTHER, ForgeChoice.Does.OTHER, sa, from);
    }

    // -- left to Forge's AI

    @Override
    public String chooseSomeType(String kind, SpellAbility sa, Collection<String> valid, boolean optional) {
        table.leftToAi("type");
        return super.chooseSomeType(kind, sa, valid, optional);
    }

    @Override
    public String chooseCardName(SpellAbility sa, List<ICardFace> faces, String message) {
        table.leftToAi("card_name");
        return super.chooseCardName(sa, faces, message);
    }

    @Override
    public String chooseCardName(SpellAbility sa, Predicate<ICardFace> faces, String valid, String message) {
        table.leftToAi("card_name");
        return super.chooseCardName(sa, faces, valid, message);
    }

    @Override
    public ICardFace chooseSingleCardFace(SpellAbility sa, String message, Predicate<ICardFace> faces, String name) {
        table.leftToAi("card_face");
        return super.chooseSingleCardFace(sa, message, faces, name);
    }

    @Override
    public ColorSet chooseColors(String message, SpellAbility sa, int min, int max, ColorSet options) {
        table.leftToAi("colors");
        return super.chooseColors(message, sa, min, max, options);
    }

    @Override
    public PlayerZone chooseStartingHand(List<PlayerZone> zones) {
        table.leftToAi("starting_hand");
        return super.chooseStartingHand(zones);
    }

    @Override
    public List<SpellAbility> chooseSaToActivateFromOpeningHand(List<SpellAbility> usable) {
        if (!usable.isEmpty()) table.leftToAi("opening_hand");
        return super.chooseSaToActivateFromOpeningHand(usable);
    }

    @Override
    public Map<GameEntity, Integer> divideShield(Card source, Map<GameEntity, Integer> affected, int amount) {
        table.leftToAi("divide_shield");
        return super.divideShield(source, affected, amount);
    }

    @Override
    public CardCollection orderBlocker(Card attacker, Card blocker, CardCollection before) {
        if (!before.isEmpty()) table.leftToAi("order_blocker");
        return super.orderBlocker(attacker, blocker, before);
    }

    @Override
    public Map<Card, ManaCostShard> chooseCardsForConvokeOrImprovise(
        SpellAbility sa, ManaCost cost, CardCollectionView untapped, boolean artifacts, boolean creatures, Integer most) {
        if (!untapped.isEmpty()) table.leftToAi("convoke");
        return super.chooseCardsForConvokeOrImprovise(sa, cost, untapped, artifacts, creatures, most);
    }

    @Override
    public int chooseNumberForKeywordCost(SpellAbility sa, Cost cost, KeywordInterface keyword, String prompt, int max) {
        if (max > 0) table.leftToAi("keyword_cost");
        return super.chooseNumberForKeywordCost(sa, cost, keyword, prompt, max);
    }

    @Override
    public List<Integer> chooseDiceToReroll(List<Integer> rolls) {
        table.leftToAi("reroll");
        return super.chooseDiceToReroll(rolls);
    }

    @Override
    public boolean helpPayForAssistSpell(ManaCostBeingPaid cost, SpellAbility sa, int max, int requested) {
        table.leftToAi("assist");
        return super.helpPayForAssistSpell(cost, sa, max, requested);
    }

    @Override
    public Player choosePlayerToAssistPayment(FCollectionView<Player> players, SpellAbility sa, String title, int max) {
        table.leftToAi("assist");
        return super.choosePlayerToAssistPayment(players, sa, title, max);
    }
}
