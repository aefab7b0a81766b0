// Plays matches and changes at each decision what the player cannot know: the observation must stay the same.

import forge.game.Game;
import forge.game.card.Card;
import forge.game.player.Player;
import forge.game.zone.Zone;
import forge.game.zone.ZoneType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;

public final class LeakCheck {
    private static int compared, leaked, listed, otherOptions, leftOut, control, controlDifferent;

    private LeakCheck() {}

    public static void main(String[] words) throws Exception {
        Map<String, Object> options = new HashMap<>();
        options.put("forge", words[0]);
        options.put("decks", words[1]);
        options.put("pairing", "pool");
        options.put("forge_ai", false);
        ForgeMatch match = new ForgeMatch(new ForgeSettings(new Host.Options(options)));
        Random random = new Random(7);
        for (int number = 0; number < Integer.parseInt(words[2]); number++) {
            Host.Turn turn = match.start(100 + number);
            while (turn.score == null) {
                int seat = turn.shown.keySet().iterator().next();
                check(match.playing.table, seat);
                boolean[] legal = turn.legal.get(seat);
                int[] choices = IntStream.range(0, legal.length).filter(action -> legal[action]).toArray();
                turn = match.advance(Map.of(seat, choices[random.nextInt(choices.length)]));
            }
        }
        System.err.println("played");
        System.out.printf(
            "{\"compared\": %d, \"leaked\": %d, \"listed\": %d, \"other_options\": %d, \"left_out\": %d, \"control\": %d, \"control_different\": %d}%n",
            compared, leaked, listed, otherOptions, leftOut, control, controlDifferent);
        Runtime.getRuntime().halt(0);
    }

    private static void check(ForgeTable table, int seat) {
        Game game = table.game;
        ForgeChoice.Question question = table.question;
        List<ForgeChoice> page = question.page(0, ForgeView.ACTIONS);
        Player me = null;
        for (Player player : game.getPlayers()) if (ForgeTable.seatOf(player) == seat) me = player;
        Player other = me.getSingleOpponent();
        if (question.asks == ForgeChoice.Asks.PLAY) {
            ForgeSeat controller = (ForgeSeat) me.getController();
            if (!text(controller.playable(false)).equals(text(controller.playable(true)))) leftOut++;
        }
        Map<String, double[]> before = table.view.observe(game, table.memory, question, page);
        String optionsBefore = question.asks == ForgeChoice.Asks.PLAY ? options(me) : "";
        Runnable undo = swap(table, question, seat, me, other.getZone(ZoneType.Hand), other.getZone(ZoneType.Library));
        Runnable undoOwn = swap(table, question, seat, me, null, me.getZone(ZoneType.Library));
        Map<String, double[]> after = table.view.observe(game, table.memory, question, page);
        compared++;
        if (!same(before, after)) leaked++;
        if (question.asks == ForgeChoice.Asks.PLAY) {
            listed++;
            if (!options(me).equals(optionsBefore)) otherOptions++;
        }
        undoOwn.run();
        undo.run();
        Zone hand = me.getZone(ZoneType.Hand), library = me.getZone(ZoneType.Library);
        if (hand.isEmpty() || question.asks != ForgeChoice.Asks.MULLIGAN) return;
        List<Card> inHand = new ArrayList<>(hand.getCards()), inLibrary = new ArrayList<>(library.getCards());
        hand.setCards(new ArrayList<>(inLibrary.subList(0, inHand.size()))); // what the player does know makes a difference
        control++;
        if (!same(before, table.view.observe(game, table.memory, question, page))) controlDifferent++;
        hand.setCards(inHand);
        library.setCards(inLibrary);
    }

    private static String options(Player me) {
        return text(((ForgeSeat) me.getController()).playable(false));
    }

    private static String text(List<ForgeChoice> choices) {
        StringBuilder text = new StringBuilder();
        for (ForgeChoice choice : choices) text.append(choice.does()).append(choice.card()).append(choice.ability()).append(';');
        return text.toString();
    }

    /** Deal the cards of a hand and a library that `me` does not know anew, and return what puts them back. */
    private static Runnable swap(
        ForgeTable table, ForgeChoice.Question question, int seat, Player me, Zone hand, Zone library) {
        List<Card> hands = hand == null ? List.of() : new ArrayList<>(hand.getCards()), libraries = new ArrayList<>(library.getCards());
        List<Card> hidden = new ArrayList<>();
        for (List<Card> cards : List.of(hands, libraries)) {
            for (Card card : cards) if (isHidden(table, question, seat, me, card)) hidden.add(card);
        }
        List<Card> dealt = new ArrayList<>(hidden);
        Collections.rotate(dealt, 7);
        Map<Card, Card> becomes = new HashMap<>();
        for (int at = 0; at < hidden.size(); at++) becomes.put(hidden.get(at), dealt.get(at));
        if (hand != null) hand.setCards(hands.stream().map(card -> becomes.getOrDefault(card, card)).toList());
        library.setCards(libraries.stream().map(card -> becomes.getOrDefault(card, card)).toList());
        return () -> {
            if (hand != null) hand.setCards(hands);
            library.setCards(libraries);
        };
    }

    private static boolean isHidden(ForgeTable table, ForgeChoice.Question question, int seat, Player me, Card card) {
        for (ForgeChoice choice : question.choices) if (choice.card() == card || choice.other() == card) return false;
        if (question.subject == card || question.taken.contains(card)) return false;
        return !table.memory.knows(seat, card) && !card.getView().canBeShownTo(me.getView());
    }

    private static boolean same(Map<String, double[]> one, Map<String, double[]> other) {
        return one.entrySet().stream().allMatch(each -> Arrays.equals(each.getValue(), other.get(each.getKey())));
    }
}
