// Gives every match random numbers, ids and a mode of its own, although Forge keeps them in statics. Part of ForgeGame.java.

import forge.game.replacement.ReplacementEffect;
import forge.game.spellability.Spell;
import forge.game.spellability.SpellAbility;
import forge.game.spellability.SpellAbilityStackInstance;
import forge.game.staticability.StaticAbility;
import forge.game.trigger.Trigger;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/** The generator that Forge draws from: it passes each draw on to the match that is playing. */
@SuppressWarnings("serial")
final class ForgeRandom extends Random {
    private static final List<Field> COUNTERS = counters();
    static final ForgeRandom SHARED = new ForgeRandom();
    private volatile Draws playing = new Draws(0);

    /** One match's own generator and counters. */
    static final class Draws extends Random {
        private final int[] ids = new int[COUNTERS.size()];
        private boolean isExact;

        Draws(long seed) {
            super(seed);
        }

        @Override
        protected int next(int bits) {
            return super.next(bits);
        }
    }

    /** Let a match draw until `leave`. Only one match plays at a time. */
    void enter(Draws draws) {
        playing = draws;
        Spell.setPerformanceMode(!draws.isExact);
        try {
            for (int at = 0; at < draws.ids.length; at++) COUNTERS.get(at).setInt(null, draws.ids[at]);
        } catch (IllegalAccessException closed) {
            throw new IllegalStateException(closed);
        }
    }

    void leave(Draws draws) {
        try {
            for (int at = 0; at < draws.ids.length; at++) draws.ids[at] = COUNTERS.get(at).getInt(null);
        } catch (IllegalAccessException closed) {
            throw new IllegalStateException(closed);
        }
    }

    /** Return the answer to a question about the state of a match. What Forge draws for it changes nothing in the match. */
    <T> T aside(Supplier<T> question) {
        Draws draws = playing, aside = new Draws(0);
        playing = aside;
        try {
            return question.get();
        } finally {
            if (playing == aside) playing = draws; // else this match was given up, and another one plays
        }
    }

    /**
     * Do something with a card. Forge's performance mode leaves out work for each tap of a land, but is wrong about the time
     * at which a player may cast a card of another one, so it is off for those.
     */
    <T> T exactly(boolean isForeign, Supplier<T> action) {
        Draws draws = playing;
        boolean before = draws.isExact;
        draws.isExact |= isForeign;
        Spell.setPerformanceMode(!draws.isExact);
        try {
            return action.get();
        } finally {
            draws.isExact = before;
            if (playing == draws) Spell.setPerformanceMode(!before);
        }
    }

    @Override
    protected int next(int bits) {
        Draws draws = playing;
        return draws == null ? super.next(bits) : draws.next(bits); // null: called by the constructor of Random
    }

    /** Return Forge's counters of ids. A version without one of them shares that one among its matches. */
    private static List<Field> counters() {
        List<Field> fields = new ArrayList<>();
        for (Class<?> owner : List.of(
            Trigger.class, SpellAbility.class, StaticAbility.class, ReplacementEffect.class, SpellAbilityStackInstance.class)) {
            try {
                Field field = owner.getDeclaredField("maxId");
                field.setAccessible(true);
                fields.add(field);
            } catch (NoSuchFieldException | RuntimeException missing) {
                System.err.println("forge: " + owner.getName() + " has no counter of its own: " + missing);
            }
        }
        return fields;
    }
}
