// Answers the choices that effects ask for while they resolve, by asking the seat. Part of ForgeGame.java.

import com.google.common.collect.ListMultimap;
import forge.LobbyPlayer;
import forge.card.ColorSet;
import forge.card.MagicColor;
import forge.game.Game;
import forge.game.GameEntity;
import forge.game.card.Card;
import forge.game.card.CardCollection;
import forge.game.card.CardCollectionView;
import forge.game.card.CounterType;
import forge.game.cost.CostPart;
import forge.game.player.DelayedReveal;
import forge.game.player.Player;
import forge.game.player.PlayerActionConfirmMode;
import forge.game.replacement.ReplacementEffect;
import forge.game.spellability.AbilitySub;
import forge.game.spellability.OptionalCostValue;
import forge.game.spellability.SpellAbility;
import forge.game.trigger.WrappedAbility;
import forge.game.zone.ZoneType;
import forge.util.ITriggerEvent;
import forge.util.collect.FCollectionView;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.apache.commons.lang3.tuple.ImmutablePair;

abstract class ForgeChoosing extends ForgeWatching {
    ForgeChoosing(Game game, Player player, LobbyPlayer lobby, int seat, ForgeTable table) {
        super(game, player, lobby, seat, table);
    }

    // -- cards and players

    @Override
    public CardCollectionView chooseCardsForEffect(
        CardCollectionView from, SpellAbility sa, String title, int min, int max, boolean optional, Map<String, Object> params) {
        return pickCards(ForgeChoice.Asks.CARDS, sa, from, optional && min > 0 ? 0 : min, max);
    }

    @Override
    public CardCollection chooseCardsForEffectMultiple(
        Map<String, CardCollection> valid, SpellAbility sa, String title, boolean optional) {
        CardCollection chosen = new CardCollection();
        for (CardCollection from : valid.values()) {
            CardCollection left = new CardCollection(from);
            left.removeAll(chosen);
            chosen.addAll(pick(ForgeChoice.Asks.CARDS, sa, left, optional ? 0 : 1, 1));
        }
        return chosen;
    }

    @Override
    public <T extends GameEntity> T chooseSingleEntityForEffect(
        FCollectionView<T> from, DelayedReveal shown, SpellAbility sa, String title, boolean optional, Player related,
        Map<String, Object> params) {
        reveal(shown, true);
        List<T> picked = pick(ForgeChoice.Asks.CARDS, sa, from, optional ? 0 : 1, 1);
        return picked.isEmpty() ? null : picked.get(0);
    }

    @Override
    public <T extends GameEntity> List<T> chooseEntitiesForEffect(
        FCollectionView<T> from, int min, int max, DelayedReveal shown, SpellAbility sa, String title, Player related,
        Map<String, Object> params) {
        reveal(shown, true);
        return pick(ForgeChoice.Asks.CARDS, sa, from, min, max);
    }

    @Override
    public CardCollectionView choosePermanentsToSacrifice(SpellAbility sa, int min, int max, CardCollectionView valid, String message) {
        return pickCards(ForgeChoice.Asks.CARDS, sa, valid, min, max);
    }

    @Override
    public CardCollectionView choosePermanentsToDestroy(SpellAbility sa, int min, int max, CardCollectionView valid, String message) {
        return pickCards(ForgeChoice.Asks.CARDS, sa, valid, min, max);
    }

    @Override
    public CardCollection chooseCardsToDiscardFrom(
        Player from, SpellAbility sa, CardCollection valid, int min, int max, CardCollectionView visible) {
        if (visible != null) for (Card card : visible) table.memory.show(seat, card);
        return pickCards(ForgeChoice.Asks.DISCARD, sa, valid, min, max);
    }

    @Override
    public CardCollectionView chooseCardsToDiscardUnlessType(int n, CardCollectionView hand, String[] types, SpellAbility sa) {
        CardCollection allowed = new CardCollection();
        for (Card card : hand) if (card.isValid(types, sa.getActivatingPlayer(), sa.getHostCard(), sa)) allowed.add(card);
        if (!allowed.isEmpty() && confirm(ForgeChoice.Asks.DISCARD, sa, null)) {
            return pickCards(ForgeChoice.Asks.DISCARD, sa, allowed, 1, 1);
        }
        return pickCards(ForgeChoice.Asks.DISCARD, sa, hand, n, n);
    }

    @Override
    public CardCollectionView chooseCardsToDiscardToMaximumHandSize(int n) {
        return pickCards(ForgeChoice.Asks.DISCARD, null, player.getCardsIn(ZoneType.Hand), n, n);
    }

    @Override
    public CardCollectionView chooseCardsToRevealFromHand(int min, int max, CardCollectionView valid) {
        return pickCards(ForgeChoice.Asks.CARDS, null, valid, min, max);
    }

    @Override
    public CardCollectionView chooseCardsToDelve(int most, CardCollection graveyard) {
        return pickCards(ForgeChoice.Asks.COST, null, graveyard, 0, most);
    }

    @Override
    public Card chooseSingleCardForZoneChange(
        ZoneType to, List<ZoneType> origin, SpellAbility sa, CardCollection from, DelayedReveal shown, String prompt, boolean optional,
        Player decider) {
        reveal(shown, true);
        List<Card> picked = pick(ForgeChoice.Asks.CARDS, sa, from, optional ? 0 : 1, 1);
        return picked.isEmpty() ? null : picked.get(0);
    }

    @Override
    public List<Card> chooseCardsForZoneChange(
        ZoneType to, List<ZoneType> origin, SpellAbility sa, CardCollection from, int min, int max, DelayedReveal shown, String prompt,
        Player decider) {
        reveal(shown, true);
        return pick(ForgeChoice.Asks.CARDS, sa, from, min, max);
    }

    @Override
    public boolean chooseCardsPile(SpellAbility sa, CardCollectionView first, CardCollectionView second, String faceUp) {
        ForgeChoice.Question question = new ForgeChoice.Question(
            seat, ForgeChoice.Asks.CARDS, sa, List.of(ForgeChoice.of(ForgeChoice.Does.YES), ForgeChoice.of(ForgeChoice.Does.NO)));
        question.taken = faceUp.equals("True") || faceUp.equals("One") ? new ArrayList<>(first) : List.of();
        return ask(question).does() == ForgeChoice.Does.YES;
    }

    // -- order

    @Override
    public ImmutablePair<CardCollection, CardCollection> arrangeForScry(CardCollection cards) {
        return arrange(cards);
    }

    @Override
    public ImmutablePair<CardCollection, CardCollection> arrangeForSurveil(CardCollection cards) {
        return arrange(cards);
    }

    private ImmutablePair<CardCollection, CardCollection> arrange(CardCollection cards) {
        CardCollection top = new CardCollection(), away = new CardCollection();
        for (Card card : cards) {
            ForgeChoice.Question question = new ForgeChoice.Question(
                seat, ForgeChoice.Asks.SCRY, null,
                List.of(ForgeChoice.of(ForgeChoice.Does.TOP, card), ForgeChoice.of(ForgeChoice.Does.AWAY, card)));
            question.taken = List.copyOf(cards);
            (ask(question).does() == ForgeChoice.Does.TOP ? top : away).add(card);
        }
        return ImmutablePair.of(new CardCollection(order(null, top)), away);
    }

    @Override
    public boolean willPutCardOnTop(Card card) {
        return ask(ForgeChoice.Asks.SCRY, null,
            List.of(ForgeChoice.of(ForgeChoice.Does.TOP, card), ForgeChoice.of(ForgeChoice.Does.AWAY, card))).does() == ForgeChoice.Does.TOP;
    }

    @Override
    public CardCollectionView orderMoveToZoneList(CardCollectionView cards, ZoneType to, SpellAbility source) {
        boolean seen = to == ZoneType.Library && cards.stream().allMatch(card -> card.getView().canBeShownTo(player.getView()));
        return seen ? new CardCollection(order(source, cards)) : cards; // elsewhere the order has no effect that rules use
    }

    @Override
    public List<SpellAbility> orderSimultaneousSa(List<SpellAbility> abilities) {
        List<SpellAbility> left = new ArrayList<>(abilities), ordered = new ArrayList<>();
        boolean alike = left.stream().allMatch(each -> each.toString().equals(left.get(0).toString()));
        if (alike) return left;
        while (!left.isEmpty()) {
            SpellAbility next = pickPlain(ForgeChoice.Asks.ORDER, ForgeChoice.Does.STACKED, null, left);
            left.remove(next);
            ordered.add(next);
        }
        return ordered;
    }

    // -- abilities, modes, costs

    @Override
    public SpellAbility getAbilityToPlay(Card host, List<SpellAbility> abilities, ITriggerEvent event) {
        return abilities.isEmpty() ? null : pickPlain(ForgeChoice.Asks.MODE, ForgeChoice.Does.CAST, abilities.get(0), abilities);
    }

    @Override
    public SpellAbility chooseSingleSpellForEffect(
        List<SpellAbility> spells, SpellAbility sa, String title, Map<String, Object> params) {
        return spells.isEmpty() ? null : pickPlain(ForgeChoice.Asks.MODE, ForgeChoice.Does.MODE, sa, spells);
    }

    @Override
    public List<SpellAbility> chooseSpellAbilitiesForEffect(
        List<SpellAbility> spells, SpellAbility sa, String title, int n, Map<String, Object> params) {
        List<SpellAbility> left = new ArrayList<>(spells), chosen = new ArrayList<>();
        while (!left.isEmpty() && chosen.size() < n) {
            SpellAbility next = pickPlain(ForgeChoice.Asks.MODE, ForgeChoice.Does.MODE, sa, left);
            left.remove(next);
            chosen.add(next);
        }
        return chosen;
    }

    @Override
    public List<AbilitySub> chooseModeForAbility(SpellAbility sa, List<AbilitySub> possible, int min, int n, boolean repeat) {
        List<AbilitySub> left = new ArrayList<>(possible), chosen = new ArrayList<>();
        while (!left.isEmpty() && chosen.size() < n) {
            List<ForgeChoice> choices = new ArrayList<>();
            for (AbilitySub mode : left) choices.add(ForgeChoice.of(ForgeChoice.Does.MODE, mode, possible.indexOf(mode)));
            if (chosen.size() >= min) choices.add(ForgeChoice.of(ForgeChoice.Does.DONE));
            int at = table.ask(new ForgeChoice.Question(seat, ForgeChoice.Asks.MODE, sa, choices));
            if (at == left.size()) break;
            chosen.add(repeat ? left.get(at) : left.remove(at));
        }
        return chosen;
    }

    @Override
    public List<OptionalCostValue> chooseOptionalCosts(SpellAbility sa, List<OptionalCostValue> costs) {
        List<OptionalCostValue> chosen = new ArrayList<>();
        for (int at = 0; at < costs.size(); at++) {
            List<OptionalCostValue> with = new ArrayList<>(chosen);
            with.add(costs.get(at));
            SpellAbility dearer = forge.game.GameActionUtil.addOptionalCosts(sa, with);
            dearer.setActivatingPlayer(player);
            if (!forge.ai.ComputerUtilMana.canPayManaCost(dearer, player, 0, false)) continue;
            List<ForgeChoice> choices = List.of(ForgeChoice.of(ForgeChoice.Does.NO, at), ForgeChoice.of(ForgeChoice.Does.YES, dearer, at));
            if (ask(ForgeChoice.Asks.EXTRAS, sa, choices).does() == ForgeChoice.Does.YES) chosen = with;
        }
        return chosen;
    }

    @Override
    public List<Card> chooseCardsForSplice(SpellAbility sa, List<Card> cards) {
        return List.of(); // splicing is never offered
    }

    // -- yes or no

    @Override
    public boolean confirmAction(
        SpellAbility sa, PlayerActionConfirmMode mode, String message, List<String> options, Card shown, Map<String, Object> params) {
        return confirm(ForgeChoice.Asks.CONFIRM, sa, shown);
    }

    @Override
    public boolean confirmBidAction(SpellAbility sa, PlayerActionConfirmMode mode, String text, int bid, Player winner) {
        return confirm(ForgeChoice.Asks.CONFIRM, sa, null);
    }

    @Override
    public boolean confirmStaticApplication(Card host, PlayerActionConfirmMode mode, String message, String logic) {
        return confirm(ForgeChoice.Asks.CONFIRM, null, host);
    }

    @Override
    public boolean confirmTrigger(WrappedAbility sa) {
        return confirm(ForgeChoice.Asks.CONFIRM, sa, null);
    }

    @Override
    public boolean confirmReplacementEffect(ReplacementEffect effect, SpellAbility sa, GameEntity affected, String question) {
        return confirm(ForgeChoice.Asks.CONFIRM, sa, effect.getHostCard());
    }

    @Override
    public boolean confirmPayment(CostPart part, String prompt, SpellAbility sa) {
        return confirm(ForgeChoice.Asks.COST, sa, null);
    }

    @Override
    public boolean chooseBinary(SpellAbility sa, String question, BinaryChoiceType kind, Boolean fallback) {
        return confirm(ForgeChoice.Asks.CONFIRM, sa, null);
    }

    @Override
    public boolean chooseBinary(SpellAbility sa, String question, BinaryChoiceType kind, Map<String, Object> params) {
        return confirm(ForgeChoice.Asks.CONFIRM, sa, null);
    }

    @Override
    public boolean chooseFlipResult(SpellAbility sa, Player flipper, boolean call) {
        return confirm(ForgeChoice.Asks.CONFIRM, sa, null);
    }

    // -- numbers, colors and kinds

    @Override
    public int chooseNumber(SpellAbility sa, String title, int min, int max) {
        return number(sa, min, max);
    }

    @Override
    public int chooseNumber(SpellAbility sa, String title, int min, int max, Map<String, Object> params) {
        return number(sa, min, max);
    }

    @Override
    public int chooseNumber(SpellAbility sa, String title, List<Integer> values, Player related) {
        List<ForgeChoice> choices = values.stream().map(value -> ForgeChoice.of(ForgeChoice.Does.NUMBER, value)).toList();
        return values.get(table.ask(new ForgeChoice.Question(seat, ForgeChoice.Asks.NUMBER, sa, choices)));
    }

    @Override
    public byte chooseColor(String message, SpellAbility sa, ColorSet colors) {
        return color(sa, colors);
    }

    @Override
    public byte chooseColorAllowColorless(String message, Card card, ColorSet colors) {
        return color(null, colors);
    }

    private byte color(SpellAbility sa, ColorSet colors) {
        List<MagicColor.Color> from = new ArrayList<>(colors.getOrderedColors());
        if (from.isEmpty()) return MagicColor.Color.COLORLESS.getColorMask();
        List<ForgeChoice> choices = new ArrayList<>();
        for (MagicColor.Color color : from) choices.add(ForgeChoice.of(ForgeChoice.Does.COLOR, color.ordinal()));
        return from.get(table.ask(new ForgeChoice.Question(seat, ForgeChoice.Asks.COLOR, sa, choices))).getColorMask();
    }

    @Override
    public CounterType chooseCounterType(List<CounterType> options, SpellAbility sa, String prompt, Map<String, Object> params) {
        return options.isEmpty() ? null : pickPlain(ForgeChoice.Asks.OTHER, ForgeChoice.Does.OTHER, sa, options);
    }

    @Override
    public String chooseKeywordForPump(List<String> options, SpellAbility sa, String prompt, Card target) {
        return options.isEmpty() ? null : pickPlain(ForgeChoice.Asks.OTHER, ForgeChoice.Does.OTHER, sa, options);
    }

    @Override
    public String chooseProtectionType(SpellAbility sa, List<String> choices) {
        return pickPlain(ForgeChoice.Asks.OTHER, ForgeChoice.Does.OTHER, sa, choices);
    }

    @Override
    public Object vote(
        SpellAbility sa, String prompt, List<Object> options, ListMultimap<Object, Player> votes, Player forPlayer, boolean optional) {
        return pickPlain(ForgeChoice.Asks.OTHER, ForgeChoice.Does.OTHER, sa, options);
    }

    @Override
    public ReplacementEffect chooseSingleReplacementEffect(List<ReplacementEffect> effects) {
        return pickPlain(ForgeChoice.Asks.OTHER, ForgeChoice.Does.OTHER, null, effects);
    }
}
