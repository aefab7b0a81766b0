// The main loop of a host: reads frames, advances matches, sends answers. Part of Host.java.

import java.io.BufferedInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Plays the matches of one host process until it is told to stop. */
final class HostLoop implements Consumer<Host.Setup> {
    private final OutputStream out = new FileOutputStream(FileDescriptor.out);
    private final LinkedBlockingQueue<Object> events = new LinkedBlockingQueue<>(); // Frame, Outcome, Throwable or END
    private static final Object END = new Object();
    private static final int REFUSED = 2, FAILED = 1;
    private static final long GATHER_NS = 1_000_000; // longest time that a ready row waits for others

    private Host.Game game;
    private HostMessages messages;
    private HostSchedule schedule;
    private List<HostSlot> slots;
    private List<HostSlot.Row> ready = new ArrayList<>();
    private int flushAfter;
    private int advanced = 0;
    private int owed = 1; // answers that the fleet waits for; the opening is the first
    private long tickets = 0;
    private int givenUp = 0;
    private long gatheringSince = 0;
    private ExecutorService pool;

    @Override
    public void accept(Host.Setup setup) {
        InputStream in = new BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 16);
        System.setOut(System.err);
        System.setIn(InputStream.nullInputStream());
        int status;
        try {
            status = converse(setup, in);
        } catch (Throwable error) {
            error.printStackTrace();
            status = tell(error.getMessage() == null ? error.toString() : error.getMessage(), "internal", FAILED);
        }
        System.err.flush();
        Runtime.getRuntime().halt(status); // even if threads of the game still run
    }

    private int tell(String message, String kind, int status) {
        try {
            out.write(HostFrames.json(HostFrames.ERROR, Map.of("message", message, "kind", kind)));
        } catch (IOException gone) {
            return status; // the fleet has ended; the error is on stderr
        }
        return status;
    }

    private int converse(Host.Setup setup, InputStream in) throws Exception {
        HostFrames.Frame first = HostFrames.read(in);
        if (first == null || first.kind() == HostFrames.STOP) return 0;
        if (first.kind() != HostFrames.CONFIGURE) {
            throw new HostFrames.ProtocolError("the first frame has kind " + first.kind());
        }
        Map<String, Object> configure = HostJson.object(HostJson.parse(HostFrames.text(first.body())), "CONFIGURE");
        if (!Objects.equals(configure.get("protocol"), (long) HostFrames.VERSION)) {
            throw new HostFrames.ProtocolError("the fleet speaks protocol " + configure.get("protocol"));
        }
        try {
            Host.Options options = new Host.Options(HostJson.object(configure.get("options"), "options"));
            game = setup.setUp(options);
            options.refuseTheRest();
        } catch (Host.Refused refused) {
            return tell(refused.getMessage(), "configuration", REFUSED);
        }
        prepare(configure);
        for (HostSlot slot : slots) {
            flushWhenDue();
            begin(slot);
        }
        settle();
        Thread reader = new Thread(() -> pass(in), "frames");
        reader.setDaemon(true);
        reader.start();
        while (takeEvents()) {
            giveUpLateOnes();
            settle();
        }
        return 0;
    }

    private void prepare(Map<String, Object> configure) throws IOException {
        int matches = (int) HostJson.whole(configure.get("matches"), "matches");
        long parts = configure.get("parts") == null ? 1 : HostJson.whole(configure.get("parts"), "parts");
        flushAfter = (int) ((matches + parts - 1) / parts);
        schedule = new HostSchedule(configure);
        messages = new HostMessages(game, Boolean.TRUE.equals(configure.get("keep_log")));
        slots = new ArrayList<>();
        for (int index = 0; index < matches; index++) slots.add(new HostSlot(index));
        if (game.threads > 0) {
            pool = Executors.newFixedThreadPool(game.threads, task -> {
                Thread thread = new Thread(task);
                thread.setDaemon(true);
                return thread;
            });
        }
        out.write(messages.hello());
    }

    /** Put the frames of stdin into the event queue. Runs in a thread of its own. */
    private void pass(InputStream in) {
        try {
            HostFrames.Frame frame = HostFrames.read(in);
            for (; frame != null && frame.kind() != HostFrames.STOP; frame = HostFrames.read(in)) events.add(frame);
            events.add(END);
        } catch (Throwable error) {
            events.add(error);
        }
    }

    /** Wait for an event or the next deadline, then handle all queued events. Returns false at STOP. */
    private boolean takeEvents() throws Exception {
        long dueNs = Long.MAX_VALUE;
        for (HostSlot slot : slots) if (slot.working) dueNs = Math.min(dueNs, slot.expiresNs);
        if (gatheringSince != 0) dueNs = Math.min(dueNs, gatheringSince + GATHER_NS);
        Object event = dueNs == Long.MAX_VALUE
            ? events.take() : events.poll(dueNs - System.nanoTime(), TimeUnit.NANOSECONDS);
        for (; event != null; event = events.poll()) {
            if (event == END) return false;
            if (event instanceof HostSlot.Outcome outcome) came(outcome);
            else if (event instanceof HostFrames.Frame frame && frame.kind() == HostFrames.ACTIONS) act(frame.body());
            else if (event instanceof HostFrames.Frame) throw new HostFrames.ProtocolError("CONFIGURE came twice");
            else throw new HostFrames.ProtocolError(((Throwable) event).getMessage());
        }
        return true;
    }

    private void act(ByteBuffer body) throws Exception {
        int n = body.remaining() < 8 ? -1 : body.getInt(0);
        if (n < 0 || n > HostFrames.MAX_BODY / 8 || body.remaining() != 8 + 2 * HostFrames.aligned(4 * n)) {
            throw new HostFrames.ProtocolError("ACTIONS for " + n + " rows has " + body.remaining() + " bytes");
        }
        owed++;
        for (int i = 0; i < n; i++) {
            int row = body.getInt(8 + 4 * i), action = body.getInt(8 + HostFrames.aligned(4 * n) + 4 * i);
            int index = Math.floorDiv(row, game.seats), seat = Math.floorMod(row, game.seats);
            boolean[] legal = index < 0 || index >= slots.size() ? null : slots.get(index).asked.remove(seat);
            if (legal == null) throw new HostFrames.ProtocolError("action for row " + row + ", which was not asked");
            if (action < 0 || action >= legal.length || !legal[action]) {
                throw new HostFrames.ProtocolError("row " + row + " may not choose " + action);
            }
            HostSlot slot = slots.get(index);
            slot.chosen.put(seat, action);
            if (!slot.asked.isEmpty()) continue;
            Map<Integer, Integer> chosen = slot.chosen;
            slot.chosen = new TreeMap<>();
            flushWhenDue();
            play(slot, chosen);
        }
    }

    /** Begin the next match in a slot. The slot stays empty if no match is left. */
    private void begin(HostSlot slot) throws IOException {
        slot.asked.clear();
        slot.chosen.clear();
        if (!schedule.fill(slot)) return;
        slot.earned = new double[game.seats];
        slot.met = new boolean[game.seats];
        play(slot, null);
    }

    /** Start a match (actions null) or advance it, in this thread or in one of the pool. */
    private void play(HostSlot slot, Map<Integer, Integer> actions) throws IOException {
        long ticket = slot.ticket = ++tickets;
        if (pool == null) {
            became(slot, played(slot, ticket, slot.match, actions));
            return;
        }
        slot.working = true;
        slot.expiresNs = System.nanoTime() + (long) (1e9 * game.deadlineS);
        Host.Match match = slot.match;
        pool.execute(() -> events.add(played(slot, ticket, match, actions)));
    }

    private HostSlot.Outcome played(HostSlot slot, long ticket, Host.Match match, Map<Integer, Integer> actions) {
        try {
            Host.Match playing = match == null ? game.newMatch.get() : match;
            if (match == null) slot.match = playing;
            Host.Turn turn = actions == null ? playing.start(slot.seed) : playing.advance(actions);
            return new HostSlot.Outcome(slot, ticket, turn, null);
        } catch (Throwable error) { // anything that a game throws voids one match
            return new HostSlot.Outcome(slot, ticket, null, error);
        }
    }

    /** Handle the outcome of a match in a thread. Ignores a match that was given up. */
    private void came(HostSlot.Outcome outcome) throws IOException {
        if (!outcome.slot().working || outcome.slot().ticket != outcome.ticket()) return;
        outcome.slot().working = false;
        became(outcome.slot(), outcome);
    }

    private void became(HostSlot slot, HostSlot.Outcome outcome) throws IOException {
        Throwable error = outcome.error();
        if (error instanceof Host.Broken broken) throw broken;
        if (error == null) {
            try {
                if (outcome.turn().score == null) {
                    ready.addAll(messages.rows(slot, outcome.turn()));
                    advanced++;
                    return;
                }
                out.write(messages.ending(slot, outcome.turn()));
            } catch (RuntimeException wrong) {
                error = wrong;
            }
        }
        if (error != null) {
            error.printStackTrace();
            slot.asked.clear();
            Map<String, Object> lost = new LinkedHashMap<>(Map.of("message", error.toString(), "kind", "match"));
            lost.put("slot", slot.index);
            lost.put("number", slot.number);
            out.write(HostFrames.json(HostFrames.ERROR, lost));
        }
        begin(slot);
    }

    private void giveUpLateOnes() throws IOException {
        for (HostSlot slot : slots) {
            if (!slot.working || slot.expiresNs > System.nanoTime()) continue;
            String words = "the match returned no turn within " + game.deadlineS + " s";
            boolean tooMany = ++givenUp > Math.max(4, 2 * slots.size());
            if (tooMany) throw new IllegalStateException(givenUp + " times: " + words);
            slot.working = false;
            slot.match = null; // the old object may still be working, so the next match gets a new one
            became(slot, new HostSlot.Outcome(slot, slot.ticket, null, new IllegalStateException(words)));
        }
    }

    /** Send a part of an answer if it is large enough, so that the fleet can work while this host continues. */
    private void flushWhenDue() throws IOException {
        if (advanced >= flushAfter && !ready.isEmpty()) flush(false);
    }

    /** Send ready rows, but keep one answer open while a match is working: without one, the host may send nothing. */
    private void settle() throws IOException {
        boolean working = false;
        for (HostSlot slot : slots) working |= slot.working;
        int kept = working ? 1 : 0;
        if (ready.isEmpty() && owed == kept) {
            gatheringSince = 0;
            return;
        }
        if (working && ready.size() < Math.max(1, slots.size() * game.seats / 4)) {
            long now = System.nanoTime();
            if (gatheringSince == 0) gatheringSince = now;
            if (now < gatheringSince + GATHER_NS) return;
        }
        gatheringSince = 0;
        if (owed == kept) flush(false);
        for (; owed > kept; owed--) flush(true);
    }

    private void flush(boolean done) throws IOException {
        byte[] frame = messages.arrivals(ready, done);
        ready = new ArrayList<>();
        advanced = 0;
        out.write(frame);
    }
}
