// Make a ludus host of a game written in Java, without a build step and without other files:
//
//     java Host.java MyGame.java          or, to start in a tenth of the time:
//     javac -d classes Host.java MyGame.java && java -cp classes Host MyGame
//
// MyGame implements Host.Setup. It speaks version 2 of the host protocol (docs/host-protocol.md); needs Java 17.

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

public final class Host {
    // -- what a game brings

    public interface Setup {
        /** Called once. What is wrong with the options is refused by throwing `Refused`. */
        Game setUp(Options options);
    }

    /** One match at a time; `start` again when it is over. An exception loses this match only. */
    public interface Match {
        /** Same seed, same actions: same match. Seeds are below 2^53. */
        Turn start(long seed) throws Exception;

        /** Called when every seat of the last turn has chosen: seat to action. */
        Turn advance(Map<Integer, Integer> actions) throws Exception;
    }

    /** An array of an observation: dtype is uint8, int8, uint16, int16, int32, fixed8, fixed16 or float32. */
    public record Leaf(String name, String dtype, int... shape) {
        int item() {
            return switch (dtype) {
                case "uint8", "int8", "fixed8" -> 1;
                case "uint16", "int16", "fixed16" -> 2;
                case "int32", "float32" -> 4;
                default -> throw new IllegalArgumentException("leaf " + name + " has dtype " + dtype);
            };
        }

        /** What stands for 1 in a measure of fewer bytes than a float. */
        int one() {
            return switch (dtype) {
                case "fixed8" -> 64;
                case "fixed16" -> 4096;
                default -> 1;
            };
        }

        int length() {
            return Arrays.stream(shape).reduce(1, Math::multiplyExact);
        }
    }

    public static final class Game {
        final String name;
        final int seats;
        final int actions;
        final int schema;
        final List<Leaf> obs;
        final Supplier<Match> newMatch;
        public Map<String, Object> layout = Map.of(); // the game's own constants, for whoever reads observations
        public Map<String, Object> facts = Map.of(); // for the log
        public int threads = 0; // 0: matches play one after the other; else so many at the same time, first ready first
        public double deadlineS = 20; // for one turn of a match in a thread; less than fleet.reply_deadline_s

        /** `schema` grows whenever an observation or an action means something else. */
        public Game(String name, int seats, int actions, int schema, List<Leaf> obs, Supplier<Match> newMatch) {
            this.name = name;
            this.seats = seats;
            this.actions = actions;
            this.schema = schema;
            this.obs = obs;
            this.newMatch = newMatch;
        }
    }

    /** What happened, and who must choose now. */
    public static final class Turn {
        final Map<Integer, Map<String, double[]>> shown = new TreeMap<>();
        final Map<Integer, boolean[]> legal = new TreeMap<>();
        final Map<String, Double> facts = new LinkedHashMap<>();
        double[] reward;
        double[] score;
        boolean truncated;
        String log = "";

        /** The match goes on; say who is asked with `ask`. */
        public static Turn next() {
            return new Turn();
        }

        /** The match is over: 1 won, 0 lost, 0.5 tied, by seat. */
        public static Turn over(double... score) {
            Turn turn = new Turn();
            turn.score = score;
            return turn;
        }

        /** This seat must choose: what it sees, by leaf, and which actions it may take. */
        public Turn ask(int seat, Map<String, double[]> obs, boolean[] legal) {
            shown.put(seat, obs);
            this.legal.put(seat, legal);
            return this;
        }

        /** Earned since the turn before, by seat; left out: nothing. */
        public Turn reward(double... reward) {
            this.reward = reward;
            return this;
        }

        /** A number about a match that is over, for the report. */
        public Turn fact(String name, double value) {
            facts.put(name, value);
            return this;
        }

        /** The game's own record of a match that is over. */
        public Turn log(String log) {
            this.log = log;
            return this;
        }

        /** A limit cut the match short; what every seat sees in the state in which it stopped. */
        public Turn truncated(List<Map<String, double[]>> obs) {
            truncated = true;
            for (int seat = 0; seat < obs.size(); seat++) shown.put(seat, obs.get(seat));
            return this;
        }
    }

    /** Options as they came; those that nobody reads are refused, so that none is ignored silently. */
    public static final class Options {
        private final Map<String, Object> given;
        private final Set<String> known = new HashSet<>();

        Options(Map<String, Object> given) {
            this.given = given;
        }

        public long whole(String name, long fallback, long low, long high) {
            Object value = read(name, fallback);
            boolean fits = value instanceof Long number && number >= low && number <= high;
            if (!fits) throw new Refused(name + " must be a whole number, " + low + " to " + high + ", seen " + value);
            return (Long) value;
        }

        public double number(String name, double fallback) {
            if (read(name, fallback) instanceof Number number) return number.doubleValue();
            throw new Refused(name + " must be a number, seen " + given.get(name));
        }

        public boolean flag(String name, boolean fallback) {
            if (read(name, fallback) instanceof Boolean flag) return flag;
            throw new Refused(name + " must be true or false, seen " + given.get(name));
        }

        public String text(String name, String fallback) {
            if (read(name, fallback) instanceof String text) return text;
            throw new Refused(name + " must be a text, seen " + given.get(name));
        }

        private Object read(String name, Object fallback) {
            known.add(name);
            return given.getOrDefault(name, fallback);
        }

        private void refuseTheRest() {
            for (String name : given.keySet()) {
                if (!known.contains(name)) throw new Refused("unknown option " + name + "; known are " + known);
            }
        }
    }

    /** Options that cannot be played. */
    @SuppressWarnings("serial")
    public static final class Refused extends RuntimeException {
        public Refused(String message) {
            super(message);
        }
    }

    // -- frames

    private static final int MAGIC = 0x554C, VERSION = 2, HEADER_BYTES = 8, MAX_BODY = 64 << 20;
    private static final int CONFIGURE = 1, HELLO = 2, ARRIVALS = 3, ACTIONS = 4, ENDING = 5, ERROR = 6, STOP = 7;

    /** The other side broke the protocol: the host says so and leaves. */
    @SuppressWarnings("serial")
    private static final class ProtocolError extends RuntimeException {
        ProtocolError(String message) {
            super(message);
        }
    }

    private record Frame(int kind, ByteBuffer body) {}

    /** The next frame, or null at the end of the stream, which means stop. */
    private static Frame read(InputStream in) throws IOException {
        byte[] head = in.readNBytes(HEADER_BYTES);
        if (head.length == 0) return null;
        if (head.length < HEADER_BYTES) throw new ProtocolError("the stream ended within a header");
        ByteBuffer header = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN);
        if ((header.getShort() & 0xFFFF) != MAGIC) throw new ProtocolError("a frame does not begin with LU");
        int version = header.get(), kind = header.get();
        long bytes = header.getInt() & 0xFFFFFFFFL;
        if (version != VERSION) throw new ProtocolError("a frame has version " + version + ", expected " + VERSION);
        if (kind != CONFIGURE && kind != ACTIONS && kind != STOP) throw new ProtocolError("a frame has kind " + kind);
        if (bytes > MAX_BODY) throw new ProtocolError("a frame announces " + bytes + " bytes, allowed are " + MAX_BODY);
        byte[] body = in.readNBytes((int) bytes);
        if (body.length < bytes) throw new ProtocolError("the stream ended within a frame");
        return new Frame(kind, ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN));
    }

    /** A frame to be filled: its body begins at HEADER_BYTES. */
    private static ByteBuffer frame(int kind, long bodyBytes) {
        if (bodyBytes > MAX_BODY) throw new IllegalStateException("a frame would have " + bodyBytes + " bytes");
        ByteBuffer frame = ByteBuffer.allocate(HEADER_BYTES + (int) bodyBytes).order(ByteOrder.LITTLE_ENDIAN);
        return frame.putShort((short) MAGIC).put((byte) VERSION).put((byte) kind).putInt((int) bodyBytes);
    }

    private static int aligned(int bytes) {
        return (bytes + 7) & ~7;
    }

    /** Seed of match `number`: the upper 53 bits of an output of splitmix64. */
    static long matchSeed(long seed, long number) {
        long z = seed + (number + 1) * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return (z ^ (z >>> 31)) >>> 11;
    }

    /** Where each leaf stands in a row. */
    private static final class Layout {
        final List<Leaf> leaves;
        final int[] offsets;
        final int bytes;

        Layout(List<Leaf> leaves) {
            this.leaves = leaves;
            offsets = new int[leaves.size()];
            int at = 0;
            for (int i = 0; i < offsets.length; i++) {
                int item = leaves.get(i).item();
                offsets[i] = (at + item - 1) / item * item;
                at = offsets[i] + item * leaves.get(i).length();
            }
            bytes = Math.max(8, aligned(at));
        }

        byte[] pack(Map<String, double[]> values) {
            ByteBuffer row = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i < offsets.length; i++) {
                Leaf leaf = leaves.get(i);
                double[] given = values.get(leaf.name());
                int seen = given == null ? 0 : given.length;
                require(seen == leaf.length(), "leaf %s has %d values, expected %d", leaf.name(), seen, leaf.length());
                row.position(offsets[i]);
                double limit = leaf.one() == 1 ? Double.POSITIVE_INFINITY : 1 << 8 * leaf.item() - 1;
                for (double measure : given) {
                    double value = leaf.one() == 1 ? measure : Math.rint(measure * leaf.one());
                    require(Double.isFinite(value) && value >= -limit && value < limit, "leaf %s holds %f", leaf.name(), measure);
                    if (leaf.dtype().equals("float32")) row.putFloat((float) value);
                    else if (leaf.item() == 4) row.putInt((int) value);
                    else if (leaf.item() == 2) row.putShort((short) (int) value);
                    else row.put((byte) (int) value);
                }
            }
            return row.array();
        }
    }

    private static void require(boolean ok, String words, Object... values) {
        if (!ok) throw new IllegalStateException(String.format(words, values));
    }

    // -- the slots of a host

    private static final class Slot {
        final int index;
        Match match;
        long number;
        long seed;
        long ticket; // tells the turn that is waited for from one that was given up
        long expiresNs;
        boolean working;
        double[] earned;
        boolean[] met;
        final Map<Integer, boolean[]> asked = new TreeMap<>();
        Map<Integer, Integer> chosen = new TreeMap<>();

        Slot(int index) {
            this.index = index;
        }
    }

    private record Row(int row, long number, double reward, boolean opens, boolean[] legal, byte[] obs) {}

    private record Outcome(Slot slot, long ticket, Turn turn, Throwable error) {}

    private final OutputStream out;
    private final LinkedBlockingQueue<Object> events = new LinkedBlockingQueue<>(); // Frame, Outcome, Throwable or END
    private static final Object END = new Object();
    private static final int REFUSED = 2, FAILED = 1;
    private static final long GATHER_NS = 1_000_000; // for which a row waits for more, while other matches are at work

    private Game game;
    private Layout layout;
    private List<Slot> slots;
    private List<Row> ready = new ArrayList<>();
    private long seed;
    private ArrayDeque<List<?>> schedule; // null: no end
    private List<?> resumed; // numbers by slot, or null
    private long following = 0;
    private boolean keepLog;
    private int flushAfter;
    private int advanced = 0;
    private int owed = 1; // answers: the opening is one
    private long tickets = 0;
    private int givenUp = 0;
    private long gatheringSince = 0;
    private ExecutorService pool;

    private Host(OutputStream out) {
        this.out = out;
    }

    /** Play until told to stop, then end the process. stdout carries frames only: what is printed goes to stderr. */
    public static void serve(Setup setup) {
        InputStream in = new BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 16);
        Host host = new Host(new FileOutputStream(FileDescriptor.out));
        System.setOut(System.err);
        System.setIn(InputStream.nullInputStream());
        int status;
        try {
            status = host.converse(setup, in);
        } catch (Throwable error) {
            error.printStackTrace();
            status = host.tell(error.getMessage() == null ? error.toString() : error.getMessage(), "internal", FAILED);
        }
        System.err.flush();
        Runtime.getRuntime().halt(status); // whatever threads the game has left
    }

    private int tell(String message, String kind, int status) {
        try {
            write(ERROR, Map.of("message", message, "kind", kind));
        } catch (IOException gone) {
            return status; // nobody is left to read it; stderr has it
        }
        return status;
    }

    private int converse(Setup setup, InputStream in) throws Exception {
        Frame first = read(in);
        if (first == null || first.kind() == STOP) return 0;
        if (first.kind() != CONFIGURE) throw new ProtocolError("the first frame has kind " + first.kind());
        Map<String, Object> configure = Json.object(Json.parse(text(first.body())), "CONFIGURE");
        if (!Objects.equals(configure.get("protocol"), (long) VERSION)) {
            throw new ProtocolError("the fleet speaks protocol " + configure.get("protocol"));
        }
        try {
            Options options = new Options(Json.object(configure.get("options"), "options"));
            game = setup.setUp(options);
            options.refuseTheRest();
        } catch (Refused refused) {
            return tell(refused.getMessage(), "configuration", REFUSED);
        }
        prepare(configure);
        for (Slot slot : slots) {
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
        int matches = (int) Json.whole(configure.get("matches"), "matches");
        seed = Json.whole(configure.get("seed"), "seed");
        keepLog = Boolean.TRUE.equals(configure.get("keep_log"));
        long parts = configure.get("parts") == null ? 1 : Json.whole(configure.get("parts"), "parts");
        flushAfter = (int) ((matches + parts - 1) / parts);
        if (configure.get("schedule") instanceof List<?> given) {
            schedule = new ArrayDeque<>();
            for (Object entry : given) schedule.add((List<?>) entry);
        }
        if (configure.get("resume") != null) {
            Map<String, Object> resume = Json.object(configure.get("resume"), "resume");
            resumed = (List<?>) resume.get("open");
            following = Json.whole(resume.get("following"), "following");
        }
        layout = new Layout(game.obs);
        slots = new ArrayList<>();
        for (int index = 0; index < matches; index++) slots.add(new Slot(index));
        if (game.threads > 0) {
            pool = Executors.newFixedThreadPool(game.threads, task -> {
                Thread thread = new Thread(task);
                thread.setDaemon(true);
                return thread;
            });
        }
        List<Object> leaves = new ArrayList<>();
        for (Leaf leaf : game.obs) {
            leaves.add(List.of(leaf.name(), leaf.dtype(), Arrays.stream(leaf.shape()).boxed().toList()));
        }
        Map<String, Object> hello = new LinkedHashMap<>();
        hello.put("protocol", VERSION);
        hello.put("name", game.name);
        hello.put("seats", game.seats);
        hello.put("actions", game.actions);
        hello.put("schema", game.schema);
        hello.put("obs", leaves);
        hello.put("layout", game.layout);
        hello.put("tables", Map.of());
        hello.put("facts", game.facts);
        write(HELLO, hello);
    }

    /** In a thread of its own, so that frames and turns can be waited for together. */
    private void pass(InputStream in) {
        try {
            for (Frame frame = read(in); frame != null && frame.kind() != STOP; frame = read(in)) events.add(frame);
            events.add(END);
        } catch (Throwable error) {
            events.add(error);
        }
    }

    /** Wait until something happens or is due, then take all that has; false: it is time to stop. */
    private boolean takeEvents() throws Exception {
        long dueNs = Long.MAX_VALUE;
        for (Slot slot : slots) if (slot.working) dueNs = Math.min(dueNs, slot.expiresNs);
        if (gatheringSince != 0) dueNs = Math.min(dueNs, gatheringSince + GATHER_NS);
        Object event = dueNs == Long.MAX_VALUE
            ? events.take() : events.poll(dueNs - System.nanoTime(), TimeUnit.NANOSECONDS);
        for (; event != null; event = events.poll()) {
            if (event == END) return false;
            if (event instanceof Outcome outcome) came(outcome);
            else if (event instanceof Frame frame && frame.kind() == ACTIONS) act(frame.body());
            else if (event instanceof Frame) throw new ProtocolError("CONFIGURE came twice");
            else throw new ProtocolError(((Throwable) event).getMessage());
        }
        return true;
    }

    private void act(ByteBuffer body) throws Exception {
        int n = body.remaining() < 8 ? -1 : body.getInt(0);
        if (n < 0 || n > MAX_BODY / 8 || body.remaining() != 8 + 2 * aligned(4 * n)) {
            throw new ProtocolError("ACTIONS for " + n + " rows has " + body.remaining() + " bytes");
        }
        owed++;
        for (int i = 0; i < n; i++) {
            int row = body.getInt(8 + 4 * i), action = body.getInt(8 + aligned(4 * n) + 4 * i);
            int index = Math.floorDiv(row, game.seats), seat = Math.floorMod(row, game.seats);
            boolean[] legal = index < 0 || index >= slots.size() ? null : slots.get(index).asked.remove(seat);
            if (legal == null) throw new ProtocolError("action for row " + row + ", which was not asked");
            if (action < 0 || action >= legal.length || !legal[action]) {
                throw new ProtocolError("row " + row + " may not choose " + action);
            }
            Slot slot = slots.get(index);
            slot.chosen.put(seat, action);
            if (!slot.asked.isEmpty()) continue;
            Map<Integer, Integer> chosen = slot.chosen;
            slot.chosen = new TreeMap<>();
            flushWhenDue();
            play(slot, chosen);
        }
    }

    /** Put the next match into a slot; leave it empty when the schedule is played. */
    private void begin(Slot slot) throws IOException {
        slot.asked.clear();
        slot.chosen.clear();
        Object first = resumed == null ? null : resumed.get(slot.index);
        if (first != null) {
            slot.number = (Long) first;
            slot.seed = matchSeed(seed, slot.number);
            resumed = new ArrayList<>(resumed);
            resumed.set(slot.index, null);
        } else if (schedule == null) {
            slot.number = following++;
            slot.seed = matchSeed(seed, slot.number);
        } else {
            List<?> entry = schedule.poll();
            if (entry == null) return;
            slot.number = (Long) entry.get(0);
            slot.seed = (Long) entry.get(1);
        }
        slot.earned = new double[game.seats];
        slot.met = new boolean[game.seats];
        play(slot, null);
    }

    /** Let the match go on, here and now or in a thread; without actions it starts. */
    private void play(Slot slot, Map<Integer, Integer> actions) throws IOException {
        long ticket = slot.ticket = ++tickets;
        if (pool == null) {
            became(slot, played(slot, ticket, slot.match, actions));
            return;
        }
        slot.working = true;
        slot.expiresNs = System.nanoTime() + (long) (1e9 * game.deadlineS);
        Match match = slot.match;
        pool.execute(() -> events.add(played(slot, ticket, match, actions)));
    }

    private Outcome played(Slot slot, long ticket, Match match, Map<Integer, Integer> actions) {
        try {
            Match playing = match == null ? game.newMatch.get() : match;
            if (match == null) slot.match = playing;
            Turn turn = actions == null ? playing.start(slot.seed) : playing.advance(actions);
            return new Outcome(slot, ticket, turn, null);
        } catch (Throwable error) { // whatever a game throws loses one match
            return new Outcome(slot, ticket, null, error);
        }
    }

    /** A turn that was waited for; one that was given up meanwhile does not count any more. */
    private void came(Outcome outcome) throws IOException {
        if (!outcome.slot().working || outcome.slot().ticket != outcome.ticket()) return;
        outcome.slot().working = false;
        became(outcome.slot(), outcome);
    }

    private void became(Slot slot, Outcome outcome) throws IOException {
        Throwable error = outcome.error();
        if (error == null) {
            try {
                if (outcome.turn().score == null) {
                    ready.addAll(rows(slot, outcome.turn()));
                    advanced++;
                    return;
                }
                out.write(ending(slot, outcome.turn()));
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
            write(ERROR, lost);
        }
        begin(slot);
    }

    private void earn(Slot slot, Turn turn) {
        double[] reward = turn.reward == null ? new double[game.seats] : turn.reward;
        boolean fits = reward.length == game.seats && Arrays.stream(reward).allMatch(Double::isFinite);
        require(fits, "rewards are %s, expected %d numbers", Arrays.toString(reward), game.seats);
        for (int seat = 0; seat < game.seats; seat++) slot.earned[seat] += reward[seat];
    }

    private List<Row> rows(Slot slot, Turn turn) {
        earn(slot, turn);
        require(!turn.shown.isEmpty(), "nobody must choose and there is no score");
        List<Row> rows = new ArrayList<>();
        for (int seat : turn.shown.keySet()) {
            require(seat >= 0 && seat < game.seats, "seat %d must choose, there are %d", seat, game.seats);
            boolean[] legal = turn.legal.get(seat);
            require(legal.length == game.actions, "a mask has %d entries, expected %d", legal.length, game.actions);
            boolean choosable = false;
            for (boolean each : legal) choosable |= each;
            require(choosable, "seat %d must choose and no action is legal", seat);
            byte[] obs = layout.pack(turn.shown.get(seat));
            int row = slot.index * game.seats + seat;
            rows.add(new Row(row, slot.number, slot.earned[seat], !slot.met[seat], legal, obs));
        }
        for (int seat : turn.shown.keySet()) {
            slot.asked.put(seat, turn.legal.get(seat));
            slot.met[seat] = true;
            slot.earned[seat] = 0;
        }
        return rows;
    }

    private byte[] ending(Slot slot, Turn turn) {
        earn(slot, turn);
        boolean anybody = false;
        for (boolean met : slot.met) anybody |= met;
        require(anybody, "the match was over before anybody was asked");
        boolean fits = turn.score.length == game.seats;
        for (double each : turn.score) fits &= each >= 0 && each <= 1;
        require(fits, "score is %s, expected %d from 0 (lost) to 1 (won)", Arrays.toString(turn.score), game.seats);
        require(turn.facts.values().stream().allMatch(Double::isFinite), "facts are %s", turn.facts);
        int seen = turn.truncated ? turn.shown.size() : game.seats;
        require(seen == game.seats, "a truncated match shows %d seats, expected all %d", seen, game.seats);
        Map<String, Object> head = new LinkedHashMap<>();
        head.put("slot", slot.index);
        head.put("number", slot.number);
        head.put("score", Arrays.stream(turn.score).boxed().toList());
        head.put("reward", Arrays.stream(slot.earned).boxed().toList());
        head.put("truncated", turn.truncated);
        head.put("seed", slot.seed);
        head.put("facts", turn.facts);
        head.put("log", keepLog ? turn.log : "");
        byte[] json = Json.write(head).getBytes(StandardCharsets.UTF_8);
        int obsAt = 8 + aligned(json.length);
        ByteBuffer frame = frame(ENDING, obsAt + (turn.truncated ? (long) game.seats * layout.bytes : 0));
        frame.putInt(json.length).putInt(0).put(json).position(HEADER_BYTES + obsAt);
        if (turn.truncated) for (Map<String, double[]> obs : turn.shown.values()) frame.put(layout.pack(obs));
        return frame.array();
    }

    private void giveUpLateOnes() throws IOException {
        for (Slot slot : slots) {
            if (!slot.working || slot.expiresNs > System.nanoTime()) continue;
            String words = "the match gave no turn within " + game.deadlineS + " s";
            boolean tooMany = ++givenUp > Math.max(4, 2 * slots.size());
            if (tooMany) throw new IllegalStateException(givenUp + " times: " + words);
            slot.working = false;
            slot.match = null; // it may still be at work, so the next one is another
            became(slot, new Outcome(slot, slot.ticket, null, new IllegalStateException(words)));
        }
    }

    // -- answers

    /** Let the other side work while this one goes on with the rest of a batch. */
    private void flushWhenDue() throws IOException {
        if (advanced >= flushAfter && !ready.isEmpty()) flush(false);
    }

    /** One answer stays open for as long as a match is at work: a host that owes nothing must be silent. */
    private void settle() throws IOException {
        boolean working = false;
        for (Slot slot : slots) working |= slot.working;
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
        int n = ready.size(), mask = (game.actions + 7) / 8;
        int matchAt = 8 + aligned(4 * n), rewardAt = matchAt + aligned(4 * n), opensAt = rewardAt + aligned(4 * n);
        int legalAt = opensAt + aligned(n), obsAt = legalAt + aligned(n * mask);
        ByteBuffer frame = frame(ARRIVALS, obsAt + (long) n * layout.bytes);
        frame.putInt(n).put((byte) (done ? 1 : 0));
        for (int i = 0; i < n; i++) {
            Row row = ready.get(i);
            frame.putInt(HEADER_BYTES + 8 + 4 * i, row.row());
            frame.putInt(HEADER_BYTES + matchAt + 4 * i, (int) row.number());
            frame.putFloat(HEADER_BYTES + rewardAt + 4 * i, (float) row.reward());
            frame.put(HEADER_BYTES + opensAt + i, (byte) (row.opens() ? 1 : 0));
            for (int action = 0; action < game.actions; action++) {
                int at = HEADER_BYTES + legalAt + i * mask + action / 8;
                if (row.legal()[action]) frame.put(at, (byte) (frame.get(at) | 1 << action % 8));
            }
            frame.position(HEADER_BYTES + obsAt + i * layout.bytes).put(row.obs());
        }
        ready = new ArrayList<>();
        advanced = 0;
        out.write(frame.array());
    }

    private void write(int kind, Map<String, Object> json) throws IOException {
        byte[] body = Json.write(json).getBytes(StandardCharsets.UTF_8);
        out.write(frame(kind, body.length).put(body).array());
    }

    private static String text(ByteBuffer body) {
        return StandardCharsets.UTF_8.decode(body).toString();
    }

    // -- JSON: whole numbers are Long, others Double

    private static final class Json {
        private final String text;
        private int at = 0;

        private Json(String text) {
            this.text = text;
        }

        static Object parse(String text) {
            Json json = new Json(text);
            Object value = json.value();
            if (json.peek() != 0) throw json.wrong("the end");
            return value;
        }

        @SuppressWarnings("unchecked")
        static Map<String, Object> object(Object value, String what) {
            if (value instanceof Map<?, ?>) return (Map<String, Object>) value;
            throw new ProtocolError(what + " is no JSON object");
        }

        static long whole(Object value, String what) {
            if (value instanceof Long number && number >= 0) return number;
            throw new ProtocolError(what + " is " + value + ", expected a whole number");
        }

        private ProtocolError wrong(String expected) {
            return new ProtocolError("JSON: expected " + expected + " at " + at);
        }

        /** The next character that is no space; 0 at the end. */
        private char peek() {
            while (at < text.length() && text.charAt(at) <= ' ') at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        private void expect(char wanted) {
            if (peek() != wanted) throw wrong("'" + wanted + "'");
            at++;
        }

        private Object value() {
            return switch (peek()) {
                case '{' -> map();
                case '[' -> list();
                case '"' -> string();
                case 't' -> word("true", true);
                case 'f' -> word("false", false);
                case 'n' -> word("null", null);
                default -> number();
            };
        }

        private Object word(String word, Object meaning) {
            if (!text.startsWith(word, at)) throw wrong(word);
            at += word.length();
            return meaning;
        }

        private Object number() {
            int start = at;
            while (at < text.length() && "+-0123456789.eE".indexOf(text.charAt(at)) >= 0) at++;
            String digits = text.substring(start, at);
            try {
                return digits.matches("-?\\d{1,18}") ? (Object) Long.valueOf(digits) : (Object) Double.valueOf(digits);
            } catch (NumberFormatException error) {
                throw wrong("a value");
            }
        }

        private Map<String, Object> map() {
            Map<String, Object> map = new LinkedHashMap<>();
            expect('{');
            while (peek() != '}') {
                if (!map.isEmpty()) expect(',');
                if (peek() != '"') throw wrong("a name");
                String name = string();
                expect(':');
                map.put(name, value());
            }
            at++;
            return map;
        }

        private List<Object> list() {
            List<Object> list = new ArrayList<>();
            expect('[');
            while (peek() != ']') {
                if (!list.isEmpty()) expect(',');
                list.add(value());
            }
            at++;
            return list;
        }

        private String string() {
            StringBuilder out = new StringBuilder();
            for (at++; at < text.length() && text.charAt(at) != '"'; at++) {
                if (text.charAt(at) != '\\') {
                    out.append(text.charAt(at));
                    continue;
                }
                char escaped = ++at < text.length() ? text.charAt(at) : 0;
                int plain = "bfnrt".indexOf(escaped);
                if (escaped == 'u' && at + 4 < text.length()) {
                    out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                } else {
                    out.append(plain < 0 ? escaped : "\b\f\n\r\t".charAt(plain));
                }
            }
            if (at++ >= text.length()) throw wrong("the end of a text");
            return out.toString();
        }

        static String write(Object value) {
            if (value instanceof String text) return quoted(text);
            StringBuilder out = new StringBuilder();
            if (value instanceof Map<?, ?> map) {
                map.forEach((name, each) -> {
                    out.append(out.isEmpty() ? "" : ",").append(quoted((String) name)).append(':').append(write(each));
                });
                return "{" + out + "}";
            }
            if (value instanceof Collection<?> list) {
                list.forEach(each -> out.append(out.isEmpty() ? "" : ",").append(write(each)));
                return "[" + out + "]";
            }
            return String.valueOf(value); // numbers, true, false and null are written as Java writes them
        }

        private static String quoted(String text) {
            StringBuilder out = new StringBuilder("\"");
            for (char each : text.toCharArray()) {
                if (each == '"' || each == '\\') out.append('\\').append(each);
                else if (each < ' ') out.append(String.format("\\u%04x", (int) each));
                else out.append(each);
            }
            return out.append('"').toString();
        }
    }

    // -- the program: compile the game where it is given as a source, then serve it

    public static void main(String[] words) throws Exception {
        if (words.length != 1) {
            System.err.println("usage: java Host.java MyGame.java, or java -cp CLASSES Host MyGame");
            System.exit(REFUSED);
        }
        if (!words[0].endsWith(".java")) {
            serve((Setup) Class.forName(words[0]).getDeclaredConstructor().newInstance());
            return;
        }
        Path source = Path.of(words[0]);
        URI own = Host.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        ClassLoader compiled = compile(List.of(Path.of(own), source));
        String name = source.getFileName().toString().replaceFirst("\\.java$", "");
        Class<?> setup = compiled.loadClass("Host$Setup"), chosen = compiled.loadClass(name);
        if (!setup.isAssignableFrom(chosen)) throw new IllegalArgumentException(name + " is no Host.Setup");
        Object made = chosen.getDeclaredConstructor().newInstance();
        compiled.loadClass("Host").getMethod("serve", setup).invoke(null, made);
    }

    private static ClassLoader compile(List<Path> sources) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        if (compiler == null) throw new IllegalStateException("no compiler: install a JDK, a JRE has none");
        Map<String, ByteArrayOutputStream> classes = new HashMap<>();
        var files = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8);
        JavaFileManager memory = new ForwardingJavaFileManager<JavaFileManager>(files) {
            @Override
            public JavaFileObject getJavaFileForOutput(
                JavaFileManager.Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
                return new SimpleJavaFileObject(URI.create("memory:///" + name.replace('.', '/') + ".class"), kind) {
                    @Override
                    public OutputStream openOutputStream() {
                        return classes.computeIfAbsent(name, each -> new ByteArrayOutputStream());
                    }
                };
            }
        };
        var units = files.getJavaFileObjectsFromPaths(sources);
        if (!compiler.getTask(null, memory, null, List.of("-proc:none"), null, units).call()) {
            throw new IllegalArgumentException("the game does not compile; see above");
        }
        return new ClassLoader(ClassLoader.getPlatformClassLoader()) {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                ByteArrayOutputStream bytes = classes.get(name);
                if (bytes == null) throw new ClassNotFoundException(name);
                return defineClass(name, bytes.toByteArray(), 0, bytes.size());
            }
        };
    }
}
