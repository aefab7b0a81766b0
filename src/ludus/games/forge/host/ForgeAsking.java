// Asks one seat: picks from lists, yes or no, numbers. Part of ForgeGame.java.

import forge.LobbyPlayer;
import forge.ai.PlayerControllerAi;
import forge.game.Game;
import forge.game.GameObject;
import forge.game.card.Card;
import forge.game.card.CardCollection;
import forge.game.player.Player;
import forge.game.spellability.SpellAbility;
import java.util.ArrayList;
import java.util.List;

/** The controller of a player whose decisions come from outside. What no subclass overrides is answered by Forge's AI. */
abstract class ForgeAsking extends PlayerControllerAi {
    private static final int MOST_NUMBERS = 40; // values that a question about a number offers
    final int seat;
    final ForgeTable table;

    ForgeAsking(Game game, Player player, LobbyPlayer lobby, int seat, ForgeTable table) {
        super(game, player, lobby);
        this.seat = seat;
        this.table = table;
    }

    ForgeChoice ask(ForgeChoice.Asks asks, SpellAbility about, List<ForgeChoice> choices) {
        return ask(new ForgeChoice.Question(seat, asks, about, choices));
    }

    ForgeChoice ask(ForgeChoice.Question question) {
        return question.choices.get(table.ask(question));
    }

    boolean confirm(ForgeChoice.Asks asks, SpellAbility about, Card subject) {
        ForgeChoice.Question question = new ForgeChoice.Question(
            seat, asks, about, List.of(ForgeChoice.of(ForgeChoice.Does.NO), ForgeChoice.of(ForgeChoice.Does.YES)));
        if (subject != null) question.subject = subject;
        return ask(question).does() == ForgeChoice.Does.YES;
    }

    /** Ask for `least` to `most` different elements, one after the other. */
    <T extends GameObject> List<T> pick(ForgeChoice.Asks asks, SpellAbility about, Iterable<T> from, int least, int most) {
        List<T> left = new ArrayList<>(), picked = new ArrayList<>();
        for (T each : from) if (!left.contains(each)) left.add(each);
        int enough = Math.min(least, left.size());
        while (!left.isEmpty() && picked.size() < most) {
            if (left.size() == enough - picked.size()) { // no other way is left
                picked.addAll(left);
                break;
            }
            List<ForgeChoice> choices = new ArrayList<>();
            for (T each : left) choices.add(ForgeChoice.pick(each));
            if (picked.size() >= enough) choices.add(ForgeChoice.of(ForgeChoice.Does.DONE));
            ForgeChoice.Question question = new ForgeChoice.Question(seat, asks, about, choices);
            question.taken = picked.stream().filter(Card.class::isInstance).map(Card.class::cast).toList();
            question.least = least;
            question.most = most;
            int at = table.ask(question);
            if (at == left.size()) break;
            picked.add(left.remove(at));
        }
        return picked;
    }

    CardCollection pickCards(ForgeChoice.Asks asks, SpellAbility about, Iterable<Card> from, int least, int most) {
        return new CardCollection(pick(asks, about, from, least, most));
    }

    /** Ask for an order of all elements, the first one first. */
    <T extends GameObject> List<T> order(SpellAbility about, Iterable<T> from) {
        List<T> left = new ArrayList<>(), ordered = new ArrayList<>();
        for (T each : from) left.add(each);
        while (!left.isEmpty()) {
            List<ForgeChoice> choices = new ArrayList<>();
            for (T each : left) choices.add(ForgeChoice.pick(each));
            ordered.add(left.remove(table.ask(new ForgeChoice.Question(seat, ForgeChoice.Asks.ORDER, about, choices))));
        }
        return ordered;
    }

    /** Ask for one of some things that are neither cards nor players, by its place in the list. */
    <T> T pickPlain(ForgeChoice.Asks asks, ForgeChoice.Does does, SpellAbility about, List<T> from) {
        List<ForgeChoice> choices = new ArrayList<>();
        for (int at = 0; at < from.size(); at++) {
            choices.add(from.get(at) instanceof SpellAbility ability ? ForgeChoice.of(does, ability, at) : ForgeChoice.of(does, at));
        }
        return from.get(table.ask(new ForgeChoice.Question(seat, asks, about, choices)));
    }

    int number(SpellAbility about, int least, int most) {
        if (least >= most) return least;
        List<ForgeChoice> choices = new ArrayList<>();
        for (int value = least; value <= Math.min(most, least + MOST_NUMBERS); value++) {
            choices.add(ForgeChoice.of(ForgeChoice.Does.NUMBER, value));
        }
        return (int) ask(ForgeChoice.Asks.NUMBER, about, choices).number();
    }
}
