// One option of a decision, and the decision with all of its options. Part of ForgeGame.java.

import forge.game.GameObject;
import forge.game.card.Card;
import forge.game.player.Player;
import forge.game.spellability.SpellAbility;
import java.util.ArrayList;
import java.util.List;

/** One option: what it does, the card or player that it means, and the ability that is used. */
record ForgeChoice(Does does, Card card, Player player, Card other, SpellAbility ability, double number) {
    /** What is asked. The order is part of the schema. */
    enum Asks {
        SEATING, START, MULLIGAN, BOTTOM, PLAY, TARGET, MODE, NUMBER, ATTACK, BLOCK, DAMAGE, DISCARD, CARDS, CONFIRM, SCRY, ORDER,
        COST, COLOR, EXTRAS, OTHER
    }

    /** What an option does. The order is part of the schema. */
    enum Does {
        PASS, DONE, NO, YES, LAND, CAST, ACTIVATE, CARD, PLAYER, STACKED, NUMBER, MODE, COLOR, STAY, ATTACK, LEAVE, BLOCK, TOP, AWAY,
        KEEP, MULLIGAN, FIRST, DRAW, MORE, OTHER
    }

    static ForgeChoice of(Does does) {
        return new ForgeChoice(does, null, null, null, null, 0);
    }

    static ForgeChoice of(Does does, double number) {
        return new ForgeChoice(does, null, null, null, null, number);
    }

    static ForgeChoice of(Does does, Card card) {
        return new ForgeChoice(does, card, null, null, null, 0);
    }

    static ForgeChoice pair(Does does, Card card, Card other) {
        return new ForgeChoice(does, card, null, other, null, 0);
    }

    static ForgeChoice of(Does does, SpellAbility ability, double number) {
        return new ForgeChoice(does, ability.getHostCard(), null, null, ability, number);
    }

    /** Return the option that picks a card, a player or something on the stack. */
    static ForgeChoice pick(GameObject picked) {
        if (picked instanceof Card card) return of(Does.CARD, card);
        if (picked instanceof Player player) return new ForgeChoice(Does.PLAYER, null, player, null, null, 0);
        if (picked instanceof SpellAbility ability) return of(Does.STACKED, ability, 0);
        return of(Does.OTHER);
    }

    /** A decision of one seat: `about` is the ability or effect that asks, `subject` the creature that attacks or blocks. */
    static final class Question {
        final int seat;
        final Asks asks;
        final SpellAbility about;
        Card subject;
        final List<ForgeChoice> choices;
        List<Card> taken = List.of(); // picked before, in the same request
        int least;
        int most;

        Question(int seat, Asks asks, SpellAbility about, List<ForgeChoice> choices) {
            this.seat = seat;
            this.asks = asks;
            this.about = about;
            this.subject = about == null ? null : about.getHostCard();
            this.choices = choices;
        }

        /** Return the options from `from` on that fit into `room` actions, with MORE as the last if some are left out. */
        List<ForgeChoice> page(int from, int room) {
            if (choices.size() <= room) return choices;
            List<ForgeChoice> page = new ArrayList<>();
            for (int at = 0; at < room - 1; at++) page.add(choices.get((from + at) % choices.size()));
            page.add(of(Does.MORE));
            return page;
        }
    }
}
