// Encodes what one player may know, and the options of a decision, as numbers. Part of ForgeGame.java.

import forge.card.mana.ManaCost;
import forge.game.Game;
import forge.game.GameObject;
import forge.game.card.Card;
import forge.game.card.CounterEnumType;
import forge.game.combat.Combat;
import forge.game.phase.PhaseType;
import forge.game.player.Player;
import forge.game.player.PlayerView;
import forge.game.spellability.SpellAbility;
import forge.game.spellability.SpellAbilityStackInstance;
import forge.game.spellability.TargetChoices;
import forge.game.zone.ZoneType;
import java.util.LinkedHashMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

final class ForgeView {
    static final int ACTIONS = 48, ROOM = 56; // options of a decision, and cards that one observation holds
    private static final int FLAGS = 10, ZONES = 6, MEASURES = 6, OPTION_NUMBERS = 5, PLAYER_NUMBERS = 12;
    private static final int LOOK = ForgeCards.COLORS + ForgeCards.TYPES + ForgeCards.KEYWORDS.size();
    private static final int NUMBERS = FLAGS + ZONES + MEASURES + LOOK;
    private static final int PHASES = PhaseType.values().length, ASKS = ForgeChoice.Asks.values().length;
    private static final int EFFECTS = ForgeCards.EFFECTS.size();
    private static final int STATE = ASKS + EFFECTS + PHASES + 7;
    private static final double MOST = 1.98; // of a fixed8
    private static final List<String> CARD_COLUMNS = List.of( // the first ones of card_numbers; colors, types and keywords follow
        "is_here", "is_mine", "is_subject", "is_taken", "is_tapped", "is_sick", "is_attacking", "is_blocking", "is_token", "is_ability",
        "on_battlefield", "in_hand", "in_graveyard", "in_exile", "on_stack", "in_library", "cost", "power", "toughness", "damage",
        "counters", "loyalty", "is_white", "is_blue", "is_black", "is_red", "is_green", "is_creature", "is_land");

    private final ForgeCards cards;

    ForgeView(ForgeCards cards) {
        this.cards = cards;
    }

    static List<Host.Leaf> leaves() {
        return List.of(
            new Host.Leaf("card", "uint16", ROOM),
            new Host.Leaf("card_numbers", "fixed8", ROOM, NUMBERS),
            new Host.Leaf("card_attached", "uint8", ROOM),
            new Host.Leaf("card_fights", "uint8", ROOM),
            new Host.Leaf("card_targets", "uint8", ROOM),
            new Host.Leaf("player_numbers", "fixed8", ForgeTable.SEATS, PLAYER_NUMBERS),
            new Host.Leaf("option_does", "uint8", ACTIONS),
            new Host.Leaf("option_effect", "uint8", ACTIONS),
            new Host.Leaf("option_numbers", "fixed8", ACTIONS, OPTION_NUMBERS),
            new Host.Leaf("option_card", "uint8", ACTIONS),
            new Host.Leaf("option_other", "uint8", ACTIONS),
            new Host.Leaf("option_player", "uint8", ACTIONS),
            new Host.Leaf("state", "fixed8", STATE));
    }

    static Map<String, Object> layout() {
        Map<String, Object> layout = new LinkedHashMap<>();
        layout.put("entities", ordered(
            "cards", List.of("card", "card_numbers", "card_attached", "card_fights", "card_targets"),
            "players", List.of("player_numbers")));
        layout.put("options", List.of(
            "option_does", "option_effect", "option_numbers", "option_card", "option_other", "option_player"));
        layout.put("refers", ordered(
            "card_attached", "cards", "card_fights", "cards", "card_targets", "cards", "option_card", "cards", "option_other", "cards",
            "option_player", "players"));
        layout.put("ids", ordered("card", "cards", "option_does", "does", "option_effect", "effects"));
        layout.put("asks", names(ForgeChoice.Asks.values()));
        layout.put("does", names(ForgeChoice.Does.values()));
        layout.put("effects", ForgeCards.EFFECTS);
        layout.put("phases", names(PhaseType.values()));
        layout.put("card_columns", CARD_COLUMNS);
        layout.put("option_columns", List.of("number", "cost", "needs_target", "is_spell", "is_mine"));
        return layout;
    }

    static Map<String, float[][]> tables(ForgeCards cards) {
        Map<String, float[][]> tables = new LinkedHashMap<>();
        tables.put("cards", cards.table);
        tables.put("does", eachApart(ForgeChoice.Does.values().length));
        tables.put("effects", eachApart(ForgeCards.EFFECTS.size()));
        return tables;
    }

    private static float[][] eachApart(int n) {
        float[][] table = new float[n][n];
        for (int at = 0; at < n; at++) table[at][at] = 1;
        return table;
    }

    /** Return a map whose order is the same in every process: hosts with different layouts are refused. */
    private static Map<String, Object> ordered(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int at = 0; at < pairs.length; at += 2) map.put((String) pairs[at], pairs[at + 1]);
        return map;
    }

    private static List<String> names(Enum<?>[] values) {
        return java.util.Arrays.stream(values).map(Enum::name).toList();
    }

    /** Return the leaves of an observation for the seat that is asked. `game` is null before the match has begun. */
    Map<String, double[]> observe(Game game, ForgeMemory memory, ForgeChoice.Question question, List<ForgeChoice> page) {
        Map<String, double[]> obs = new HashMap<>();
        for (Host.Leaf leaf : leaves()) obs.put(leaf.name(), new double[leaf.length()]);
        double[] state = obs.get("state");
        state[question.asks.ordinal()] = 1;
        if (question.about != null) state[ASKS + ForgeCards.effect(question.about)] = 1;
        Sight sight = new Sight(question.seat);
        if (game != null) {
            for (Player player : game.getPlayers()) if (ForgeTable.seatOf(player) == question.seat) sight.player = player;
            gather(game, memory, question, page, sight);
            int row = 0;
            for (Map.Entry<Object, Integer> each : sight.places.entrySet()) encode(game, question, each.getKey(), row++, sight, obs);
            players(game, sight, obs.get("player_numbers"));
            encodeState(game, question, sight, state);
        }
        options(page, sight, obs);
        return obs;
    }

    /** What is encoded so far: cards and abilities on the stack, with their places. Nothing else can be referred to. */
    private static final class Sight {
        final int seat;
        Player player;
        final Map<Object, Integer> places = new LinkedHashMap<>(); // Card or SpellAbilityStackInstance -> place

        Sight(int seat) {
            this.seat = seat;
        }

        void add(Object entity) {
            if (entity != null && places.size() < ROOM) places.putIfAbsent(entity, places.size());
        }

        /** Return the position as leaves of references count it: 0 for nothing. */
        int refer(Object entity) {
            Integer place = entity == null ? null : places.get(entity);
            return place == null ? 0 : place + 1;
        }
    }

    private static void gather(Game game, ForgeMemory memory, ForgeChoice.Question question, List<ForgeChoice> page, Sight sight) {
        for (SpellAbilityStackInstance item : game.getStack()) sight.add(item);
        if (question.subject != null && isVisible(question.subject, memory, sight)) sight.add(question.subject);
        for (ForgeChoice choice : page) {
            sight.add(choice.card()); // whoever may pick a card is shown it
            sight.add(choice.other());
        }
        for (Card card : question.taken) sight.add(card);
        Player me = sight.player, other = me.getSingleOpponent();
        for (Card card : game.getCardsIn(ZoneType.Battlefield)) if (!isPlainLand(card)) sight.add(card);
        for (Card card : me.getCardsIn(ZoneType.Hand)) sight.add(card);
        for (Card card : other.getCardsIn(ZoneType.Hand)) if (isVisible(card, memory, sight)) sight.add(card);
        for (Card card : game.getCardsIn(ZoneType.Battlefield)) sight.add(card);
        for (Player player : List.of(me, other)) {
            for (Card card : player.getCardsIn(ZoneType.Library, 1)) if (isVisible(card, memory, sight)) sight.add(card);
            for (ZoneType zone : List.of(ZoneType.Command, ZoneType.Graveyard, ZoneType.Exile)) {
                List<Card> newest = new java.util.ArrayList<>(player.getCardsIn(zone));
                java.util.Collections.reverse(newest);
                for (Card card : newest) if (isVisible(card, memory, sight)) sight.add(card);
            }
        }
    }

    private static boolean isPlainLand(Card card) {
        return card.isLand() && !card.isCreature();
    }

    private static boolean isVisible(Card card, ForgeMemory memory, Sight sight) {
        PlayerView viewer = sight.player.getView();
        return card.getView().canBeShownTo(viewer) || memory.knows(sight.seat, card);
    }

    private void encode(Game game, ForgeChoice.Question question, Object entity, int row, Sight sight, Map<String, double[]> obs) {
        SpellAbilityStackInstance item = entity instanceof SpellAbilityStackInstance stacked ? stacked : null;
        Card card = item == null ? (Card) entity : item.getSourceCard();
        double[] into = obs.get("card_numbers");
        int at = row * NUMBERS;
        Player owner = item == null ? card.getController() : item.getActivatingPlayer();
        Combat combat = game.getCombat();
        obs.get("card")[row] = cards.id(card);
        into[at++] = 1;
        into[at++] = owner == sight.player ? 1 : 0;
        into[at++] = card == question.subject && item == null ? 1 : 0;
        into[at++] = question.taken.contains(card) ? 1 : 0;
        into[at++] = card.isTapped() ? 1 : 0;
        into[at++] = card.isCreature() && card.isSick() ? 1 : 0;
        into[at++] = combat != null && combat.isAttacking(card) ? 1 : 0;
        into[at++] = combat != null && combat.isBlocking(card) ? 1 : 0;
        into[at++] = card.isToken() ? 1 : 0;
        into[at++] = item != null && item.isAbility() ? 1 : 0;
        int zone = zone(item, card);
        if (zone < ZONES) into[at + zone] = 1;
        at += ZONES;
        into[at++] = least(card.getCMC() / 8.0);
        into[at++] = card.isCreature() ? least(card.getNetPower() / 8.0) : 0;
        into[at++] = card.isCreature() ? least(card.getNetToughness() / 8.0) : 0;
        into[at++] = least(card.getDamage() / 8.0);
        into[at++] = least((card.getCounters(CounterEnumType.P1P1) - card.getCounters(CounterEnumType.M1M1)) / 8.0);
        into[at++] = least(card.getCurrentLoyalty() / 8.0);
        ForgeCards.look(card, into, at);
        obs.get("card_attached")[row] = item == null ? sight.refer(card.getAttachedTo()) : 0;
        obs.get("card_fights")[row] = combat == null ? 0 : sight.refer(first(combat.getAttackersBlockedBy(card)));
        obs.get("card_targets")[row] = item == null ? 0 : sight.refer(target(item));
    }

    private static int zone(SpellAbilityStackInstance item, Card card) {
        ZoneType zone = item != null ? ZoneType.Stack : card.getZone() == null ? null : card.getZone().getZoneType();
        return zone == null ? ZONES : switch (zone) {
            case Battlefield -> 0;
            case Hand -> 1;
            case Graveyard -> 2;
            case Exile -> 3;
            case Stack -> 4;
            case Library -> 5;
            default -> ZONES;
        };
    }

    private static Card first(Iterable<Card> cards) {
        for (Card card : cards) return card;
        return null;
    }

    private static GameObject target(SpellAbilityStackInstance item) {
        for (SpellAbilityStackInstance each = item; each != null; each = each.getSubInstance()) {
            TargetChoices targets = each.getTargetChoices();
            if (targets != null) for (GameObject target : targets) return target;
        }
        return null;
    }

    private static void players(Game game, Sight sight, double[] into) {
        Player me = sight.player;
        int at = 0;
        for (Player player : List.of(me, me.getSingleOpponent())) {
            into[at++] = player == me ? 1 : 0;
            into[at++] = least(player.getLife() / 20.0);
            into[at++] = least(player.getLife() <= 5 ? 1 - player.getLife() / 5.0 : 0);
            into[at++] = least(player.getCardsIn(ZoneType.Hand).size() / 8.0);
            into[at++] = least(player.getCardsIn(ZoneType.Library).size() / 40.0);
            into[at++] = least(player.getCardsIn(ZoneType.Graveyard).size() / 20.0);
            into[at++] = least(player.getLandsInPlay().size() / 8.0);
            into[at++] = least(player.getLandsInPlay().stream().filter(land -> !land.isTapped()).count() / 8.0);
            into[at++] = least(player.getCreaturesInPlay().size() / 8.0);
            into[at++] = least(player.getPoisonCounters() / 10.0);
            into[at++] = least(player.getManaPool().totalMana() / 8.0);
            into[at++] = least(player.getLandsPlayedThisTurn());
        }
    }

    private static void encodeState(Game game, ForgeChoice.Question question, Sight sight, double[] state) {
        PhaseType phase = game.getPhaseHandler().getPhase();
        if (phase != null) state[ASKS + EFFECTS + phase.ordinal()] = 1;
        int at = ASKS + EFFECTS + PHASES;
        state[at++] = game.getPhaseHandler().getPlayerTurn() == sight.player ? 1 : 0;
        state[at++] = least(game.getPhaseHandler().getTurn() / 20.0);
        state[at++] = least(game.getStack().size() / 4.0);
        state[at++] = least(question.least / 4.0);
        state[at++] = least(question.most / 4.0);
        state[at++] = least(question.taken.size() / 4.0);
        state[at] = question.about != null && question.about.getActivatingPlayer() == sight.player ? 1 : 0;
    }

    private static void options(List<ForgeChoice> page, Sight sight, Map<String, double[]> obs) {
        double[] numbers = obs.get("option_numbers");
        for (int at = 0; at < page.size(); at++) {
            ForgeChoice choice = page.get(at);
            SpellAbility ability = choice.ability();
            obs.get("option_does")[at] = choice.does().ordinal();
            obs.get("option_effect")[at] = ForgeCards.effect(ability);
            int to = at * OPTION_NUMBERS;
            numbers[to++] = least(choice.number() / 8.0);
            ManaCost cost = ability == null || ability.getPayCosts() == null ? null : ability.getPayCosts().getTotalMana();
            numbers[to++] = cost == null ? 0 : least(cost.getCMC() / 8.0);
            numbers[to++] = ability != null && ability.usesTargeting() ? 1 : 0;
            numbers[to++] = ability != null && ability.isSpell() ? 1 : 0;
            numbers[to] = choice.player() == null ? 0 : choice.player() == sight.player ? 1 : -1;
            obs.get("option_card")[at] = sight.refer(choice.card());
            obs.get("option_other")[at] = sight.refer(choice.other());
            obs.get("option_player")[at] = choice.player() == null ? 0 : choice.player() == sight.player ? 1 : 2;
        }
    }

    private static double least(double value) {
        return Math.max(-MOST, Math.min(MOST, value));
    }
}
