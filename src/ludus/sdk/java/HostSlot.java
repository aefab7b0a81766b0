// A slot of a host, which plays one match after the other. Part of Host.java.

import java.util.Map;
import java.util.TreeMap;

final class HostSlot {
    final int index;
    Host.Match match;
    long number;
    long seed;
    long ticket; // unique, so that outcomes of matches that were given up can be ignored
    long expiresNs;
    boolean working;
    double[] earned;
    boolean[] met;
    final Map<Integer, boolean[]> asked = new TreeMap<>();
    Map<Integer, Integer> chosen = new TreeMap<>();

    HostSlot(int index) {
        this.index = index;
    }

    /** A seat that must choose: one row of an ARRIVALS frame. */
    record Row(int row, long number, double reward, boolean opens, boolean[] legal, byte[] obs) {}

    /** The result of starting or advancing a match: a turn, or an error. */
    record Outcome(HostSlot slot, long ticket, Host.Turn turn, Throwable error) {}
}
