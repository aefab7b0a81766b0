// Plays one match in a thread of its own, which runs only while the host waits for it: the baton. Part of ForgeGame.java.

import java.util.Map;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

final class ForgeMatch implements Host.Match {
    private static final AtomicInteger ABANDONED = new AtomicInteger();
    private final ForgeSettings settings;
    Playing playing;

    ForgeMatch(ForgeSettings settings) {
        this.settings = settings;
    }

    /** Thrown in the thread of a match that was given up, so that it unwinds at its next question. */
    @SuppressWarnings("serial")
    static final class GivenUp extends Error {
        GivenUp() {
            super("this match was given up", null, false, false);
        }
    }

    /** The thread of a match, and the two directions in which the baton is passed. */
    static final class Playing {
        final ForgeRandom.Draws draws;
        private final SynchronousQueue<Object> toHost = new SynchronousQueue<>(); // Turn or Throwable
        private final SynchronousQueue<Integer> toGame = new SynchronousQueue<>();
        private final ForgeSettings settings;
        private volatile boolean givenUp;
        ForgeTable table; // for whoever holds the baton

        Playing(ForgeSettings settings, long seed) {
            this.settings = settings;
            draws = new ForgeRandom.Draws(seed);
        }

        /** Ask for an action: called by the thread of the game, which waits for the answer. */
        int ask(Host.Turn turn) {
            try {
                if (givenUp) throw new GivenUp();
                toHost.put(turn);
                int action = toGame.take();
                if (action < 0) throw new GivenUp();
                return action;
            } catch (InterruptedException stopped) {
                throw new GivenUp();
            }
        }

        void refuseIfGivenUp() {
            if (givenUp) throw new GivenUp();
        }

        /** End the thread of a match that is not continued, if it waits for an answer. */
        private void release() {
            givenUp = true;
            toGame.offer(-1);
        }

        private void run() {
            Object result;
            try {
                table = new ForgeTable(settings, this);
                result = table.play();
            } catch (GivenUp quiet) {
                return;
            } catch (Throwable error) {
                result = error;
            }
            try {
                if (!givenUp) toHost.put(result);
            } catch (InterruptedException stopped) {
                return;
            }
        }
    }

    @Override
    public Host.Turn start(long seed) throws Exception {
        settings.recycleWhenDue();
        if (playing != null) playing.release();
        Playing fresh = new Playing(settings, seed);
        playing = fresh;
        Thread thread = new Thread(null, fresh::run, "match", 64L << 20); // Forge's rules recurse deeply
        thread.setDaemon(true);
        ForgeRandom.SHARED.enter(fresh.draws);
        thread.start();
        return await(fresh);
    }

    @Override
    public Host.Turn advance(Map<Integer, Integer> actions) throws Exception {
        Playing current = playing;
        ForgeRandom.SHARED.enter(current.draws);
        if (!current.toGame.offer(actions.values().iterator().next(), settings.deadlineMs, TimeUnit.MILLISECONDS)) {
            throw abandoned(current);
        }
        return await(current);
    }

    private Host.Turn await(Playing current) throws Exception {
        Object result = current.toHost.poll(settings.deadlineMs, TimeUnit.MILLISECONDS);
        ForgeRandom.SHARED.leave(current.draws);
        if (result == null) throw abandoned(current);
        if (result instanceof Host.Turn turn) return turn;
        if (result instanceof Error error) throw error;
        throw (Exception) result;
    }

    /** Give a match up. Forge cannot be interrupted, so after some such matches the whole process is replaced. */
    private Exception abandoned(Playing current) {
        current.givenUp = true;
        String words = "Forge returned no decision within " + settings.deadlineMs / 1000.0 + " s";
        if (ABANDONED.incrementAndGet() >= settings.mostHung) throw new Host.Broken(ABANDONED.get() + " matches hung: " + words);
        return new IllegalStateException(words);
    }
}
