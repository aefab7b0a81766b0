// Packs observations into bytes. Part of Host.java.

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Map;

/** The offset of each leaf in a row. */
final class HostLayout {
    final List<Host.Leaf> leaves;
    final int[] offsets;
    final int bytes;

    HostLayout(List<Host.Leaf> leaves) {
        this.leaves = leaves;
        offsets = new int[leaves.size()];
        int at = 0;
        for (int i = 0; i < offsets.length; i++) {
            int item = leaves.get(i).item();
            offsets[i] = (at + item - 1) / item * item;
            at = offsets[i] + item * leaves.get(i).length();
        }
        bytes = Math.max(8, HostFrames.aligned(at));
    }

    byte[] pack(Map<String, double[]> values) {
        ByteBuffer row = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < offsets.length; i++) {
            Host.Leaf leaf = leaves.get(i);
            double[] given = values.get(leaf.name());
            int seen = given == null ? 0 : given.length;
            require(seen == leaf.length(), "leaf %s has %d values, expected %d", leaf.name(), seen, leaf.length());
            row.position(offsets[i]);
            pack(leaf, given, row);
        }
        return row.array();
    }

    /** Append the values of one leaf. The loop formats and boxes nothing: it runs for thousands of values a row. */
    private static void pack(Host.Leaf leaf, double[] given, ByteBuffer row) {
        int item = leaf.item(), one = leaf.one();
        boolean isFloat = leaf.dtype().equals("float32");
        double limit = one == 1 ? Double.POSITIVE_INFINITY : 1 << 8 * item - 1;
        for (double measure : given) {
            double value = one == 1 ? measure : Math.rint(measure * one);
            boolean fits = Double.isFinite(value) && value >= -limit && value < limit;
            if (!fits) require(false, "leaf %s holds %f", leaf.name(), measure);
            if (isFloat) row.putFloat((float) value);
            else if (item == 4) row.putInt((int) value);
            else if (item == 2) row.putShort((short) (int) value);
            else row.put((byte) (int) value);
        }
    }

    static void require(boolean ok, String words, Object... values) {
        if (!ok) throw new IllegalStateException(String.format(words, values));
    }
}
