// A place of a host in which one match after the other is played. Part of Host.java.

import java.util.Map;
import java.util.TreeMap;

final class HostSlot {
    final int index;
    Host.Match match;
    long number;
    long seed;
    long ticket; // tells the turn that is waited for from one that was given up
    long expiresNs;
    boolean working;
    double[] earned;
    boolean[] met;
    final Map<Integer, boolean[]> asked = new TreeMap<>();
    Map<Integer, Integer> chosen = new TreeMap<>();

    HostSlot(int index) {
        this.index = index;
    }

    /** A seat that must choose, as ARRIVALS says it. */
    record Row(int row, long number, double reward, boolean opens, boolean[] legal, byte[] obs) {}

    /** What became of a match that was let go on: a turn, or an error. */
    record Outcome(HostSlot slot, long ticket, Host.Turn turn, Throwable error) {}
}
