// Plays random matches inside the Java process, without a fleet: the ceiling of benchmarks/bench_forge.py.
// Each line on stdin is a number of seconds; the answer is a line "decisions matches cpu_ns".

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;

public final class ForgeInside {
    private ForgeInside() {}

    public static void main(String[] words) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Map<String, Object> options = new HashMap<>(Map.of("forge", words[0], "decks", words[1], "forge_ai", false));
        ForgeMatch match = new ForgeMatch(new ForgeSettings(new Host.Options(options)));
        var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Random random = new Random(7);
        Host.Turn turn = match.start(1);
        long seed = 1;
        out.println("ready");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            long until = System.nanoTime() + (long) (1e9 * Double.parseDouble(line)), cpu = system.getProcessCpuTime();
            int decisions = 0, matches = 0;
            while (System.nanoTime() < until) {
                if (turn.score != null) {
                    matches++;
                    turn = match.start(++seed);
                    continue;
                }
                int seat = turn.shown.keySet().iterator().next();
                turn = match.advance(Map.of(seat, drawn(turn.legal.get(seat), random)));
                decisions++;
            }
            out.println(decisions + " " + matches + " " + (system.getProcessCpuTime() - cpu));
        }
        Runtime.getRuntime().halt(0);
    }

    /** Return a legal action, each with the same probability, as the policy `random` does. */
    private static int drawn(boolean[] legal, Random random) {
        int[] choices = IntStream.range(0, legal.length).filter(action -> legal[action]).toArray();
        return choices[random.nextInt(choices.length)];
    }
}
