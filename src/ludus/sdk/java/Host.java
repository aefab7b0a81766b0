// Make a ludus host of a game written in Java, without a build step: copy the files of this folder next to your game, then
//
//     java Host.java MyGame.java          or, to start in a tenth of the time:
//     javac -d classes *.java && java -cp classes Host MyGame
//
// MyGame implements Host.Setup. The host speaks version 2 of the protocol (docs/host-protocol.md) and needs Java 17.

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

public final class Host {
    /** The other files of the host. They must be in the same folder as this one. */
    private static final List<String> PARTS = List.of(
        "HostFrames.java", "HostJson.java", "HostLayout.java", "HostLoop.java", "HostMessages.java", "HostSchedule.java",
        "HostSlot.java");

    public interface Setup {
        /** Return the game for these options. Called once. Throw `Refused` to refuse the options. */
        Game setUp(Options options);
    }

    /** A game that plays one match at a time. After a match, `start` is called again. An exception voids one match. */
    public interface Match {
        /** Begin a match. The same seed (below 2^53) and the same actions must give the same match. */
        Turn start(long seed) throws Exception;

        /** Apply the actions, by seat, of all seats of the last turn, and return the next turn. */
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

        /** Return the integer that represents 1 in a fixed-point leaf; 1 for other leaves. */
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
        public Map<String, Object> layout = Map.of(); // the game's own constants, sent in HELLO
        public Map<String, float[][]> tables = Map.of(); // constants that integer leaves index into, sent in HELLO
        public Map<String, Object> facts = Map.of(); // sent in HELLO, for the log
        public int threads = 0; // 0: play matches one after the other; else the number of matches at a time
        public double deadlineS = 20; // limit for one turn of a match in a thread; less than fleet.reply_deadline_s

        /** Raise `schema` whenever an observation or an action changes its meaning. */
        public Game(String name, int seats, int actions, int schema, List<Leaf> obs, Supplier<Match> newMatch) {
            this.name = name;
            this.seats = seats;
            this.actions = actions;
            this.schema = schema;
            this.obs = obs;
            this.newMatch = newMatch;
        }
    }

    /** The state of a match: the seats that must choose now, or the result. */
    public static final class Turn {
        final Map<Integer, Map<String, double[]>> shown = new TreeMap<>();
        final Map<Integer, boolean[]> legal = new TreeMap<>();
        final Map<String, Double> facts = new LinkedHashMap<>();
        double[] reward;
        double[] score;
        boolean truncated;
        String log = "";

        /** Return a turn of a match that is not over. Call `ask` for each seat that must choose. */
        public static Turn next() {
            return new Turn();
        }

        /** Return the last turn of a match, with the score of each seat: 1 won, 0 lost, 0.5 tied. */
        public static Turn over(double... score) {
            Turn turn = new Turn();
            turn.score = score;
            return turn;
        }

        /** Add a seat that must choose: its observation, by leaf, and its legal actions. */
        public Turn ask(int seat, Map<String, double[]> obs, boolean[] legal) {
            shown.put(seat, obs);
            this.legal.put(seat, legal);
            return this;
        }

        /** Set the reward of each seat since the previous turn. Default: 0. */
        public Turn reward(double... reward) {
            this.reward = reward;
            return this;
        }

        /** Add a number about a finished match, for the report. */
        public Turn fact(String name, double value) {
            facts.put(name, value);
            return this;
        }

        /** Set the game's own record of a finished match. */
        public Turn log(String log) {
            this.log = log;
            return this;
        }

        /** Mark the match as cut short by a limit. `obs` has the last observation of every seat. */
        public Turn truncated(List<Map<String, double[]>> obs) {
            truncated = true;
            for (int seat = 0; seat < obs.size(); seat++) shown.put(seat, obs.get(seat));
            return this;
        }
    }

    /** The options from CONFIGURE. Options that the game does not read are refused. */
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

        void refuseTheRest() {
            for (String name : given.keySet()) {
                if (!known.contains(name)) throw new Refused("unknown option " + name + "; known are " + known);
            }
        }
    }

    /** Thrown by a game to refuse its options. */
    @SuppressWarnings("serial")
    public static final class Refused extends RuntimeException {
        public Refused(String message) {
            super(message);
        }
    }

    /** Thrown by a game if this process can play no further match. The host reports it and exits; the fleet starts another. */
    @SuppressWarnings("serial")
    public static final class Broken extends RuntimeException {
        public Broken(String message) {
            super(message);
        }
    }

    /** Play until the fleet says stop, then end the process. Output to System.out goes to stderr. */
    @SuppressWarnings("unchecked")
    public static void serve(Setup setup) {
        Consumer<Setup> loop; // found by name: `java Host.java` compiles only this file, `main` the others
        try {
            loop = (Consumer<Setup>) Class.forName("HostLoop").getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException missing) {
            String names = String.join(" ", PARTS);
            throw new IllegalStateException("HostLoop is missing: javac -d CLASSES Host.java " + names, missing);
        }
        loop.accept(setup);
    }

    // -- the program: compile the game if it is a source file, then serve it

    public static void main(String[] words) throws Exception {
        if (words.length != 1) {
            System.err.println("usage: java Host.java MyGame.java, or java -cp CLASSES Host MyGame");
            System.exit(2);
        }
        if (!words[0].endsWith(".java")) {
            serve((Setup) Class.forName(words[0]).getDeclaredConstructor().newInstance());
            return;
        }
        Path source = Path.of(words[0]);
        URI own = Host.class.getProtectionDomain().getCodeSource().getLocation().toURI();
        List<Path> sources = new ArrayList<>(List.of(Path.of(own), source));
        for (String part : PARTS) sources.add(Path.of(own).resolveSibling(part));
        ClassLoader compiled = compile(sources);
        String name = source.getFileName().toString().replaceFirst("\\.java$", "");
        Class<?> setup = compiled.loadClass("Host$Setup"), chosen = compiled.loadClass(name);
        if (!setup.isAssignableFrom(chosen)) throw new IllegalArgumentException(name + " does not implement Host.Setup");
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
