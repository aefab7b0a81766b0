// Decides which match comes next: of a schedule, of an earlier process, or the next number. Part of Host.java.

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

final class HostSchedule {
    private final long seed;
    private ArrayDeque<List<?>> schedule; // null: matches without end
    private List<?> resumed; // match numbers of an earlier process by slot, or null
    private long following = 0;

    HostSchedule(Map<String, Object> configure) {
        seed = HostJson.whole(configure.get("seed"), "seed");
        if (configure.get("schedule") instanceof List<?> given) {
            schedule = new ArrayDeque<>();
            for (Object entry : given) schedule.add((List<?>) entry);
        }
        if (configure.get("resume") != null) {
            Map<String, Object> resume = HostJson.object(configure.get("resume"), "resume");
            resumed = (List<?>) resume.get("open");
            following = HostJson.whole(resume.get("following"), "following");
        }
    }

    /** Assign number and seed of the next match to a slot. Returns false if no match is left. */
    boolean fill(HostSlot slot) {
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
            if (entry == null) return false;
            slot.number = (Long) entry.get(0);
            slot.seed = (Long) entry.get(1);
        }
        return true;
    }

    /** Return the seed of match `number`: the upper 53 bits of an output of splitmix64. */
    private static long matchSeed(long seed, long number) {
        long z = seed + (number + 1) * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return (z ^ (z >>> 31)) >>> 11;
    }
}
