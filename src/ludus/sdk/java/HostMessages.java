// Makes HELLO, ARRIVALS and ENDING frames and checks what the game returned. Part of Host.java.

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

final class HostMessages {
    private final Host.Game game;
    private final HostLayout layout;
    private final boolean keepLog;

    HostMessages(Host.Game game, boolean keepLog) {
        this.game = game;
        this.keepLog = keepLog;
        layout = new HostLayout(game.obs);
    }

    /** Return the HELLO frame, which describes the game. */
    byte[] hello() {
        List<Object> leaves = new ArrayList<>();
        for (Host.Leaf leaf : game.obs) {
            leaves.add(List.of(leaf.name(), leaf.dtype(), Arrays.stream(leaf.shape()).boxed().toList()));
        }
        Map<String, Object> hello = new LinkedHashMap<>();
        hello.put("protocol", HostFrames.VERSION);
        hello.put("name", game.name);
        hello.put("seats", game.seats);
        hello.put("actions", game.actions);
        hello.put("schema", game.schema);
        hello.put("obs", leaves);
        hello.put("layout", game.layout);
        hello.put("tables", tables());
        hello.put("facts", game.facts);
        return HostFrames.json(HostFrames.HELLO, hello);
    }

    private Map<String, Object> tables() {
        Map<String, Object> tables = new LinkedHashMap<>();
        game.tables.forEach((name, table) -> {
            ByteBuffer data = ByteBuffer.allocate(4 * table.length * table[0].length).order(ByteOrder.LITTLE_ENDIAN);
            for (float[] row : table) for (float value : row) data.putFloat(value);
            String encoded = Base64.getEncoder().encodeToString(data.array());
            tables.put(name, Map.of("shape", List.of(table.length, table[0].length), "data", encoded));
        });
        return tables;
    }

    /** Return the rows of the seats that must choose. Throws IllegalStateException for an invalid turn. */
    List<HostSlot.Row> rows(HostSlot slot, Host.Turn turn) {
        earn(slot, turn);
        HostLayout.require(!turn.shown.isEmpty(), "no seat must choose and there is no score");
        List<HostSlot.Row> rows = new ArrayList<>();
        for (int seat : turn.shown.keySet()) {
            HostLayout.require(seat >= 0 && seat < game.seats, "seat %d must choose, there are %d", seat, game.seats);
            boolean[] legal = turn.legal.get(seat);
            HostLayout.require(legal.length == game.actions, "a mask has %d entries, expected %d", legal.length, game.actions);
            boolean choosable = false;
            for (boolean each : legal) choosable |= each;
            HostLayout.require(choosable, "seat %d must choose and no action is legal", seat);
            byte[] obs = layout.pack(turn.shown.get(seat));
            int row = slot.index * game.seats + seat;
            rows.add(new HostSlot.Row(row, slot.number, slot.earned[seat], !slot.met[seat], legal, obs));
        }
        for (int seat : turn.shown.keySet()) {
            slot.asked.put(seat, turn.legal.get(seat));
            slot.met[seat] = true;
            slot.earned[seat] = 0;
        }
        return rows;
    }

    /** Return the ENDING frame of a finished match. Throws IllegalStateException for an invalid turn. */
    byte[] ending(HostSlot slot, Host.Turn turn) {
        earn(slot, turn);
        boolean anybody = false;
        for (boolean met : slot.met) anybody |= met;
        HostLayout.require(anybody, "the match was over before any seat had to choose");
        boolean fits = turn.score.length == game.seats;
        for (double each : turn.score) fits &= each >= 0 && each <= 1;
        String score = Arrays.toString(turn.score);
        HostLayout.require(fits, "score is %s, expected %d numbers from 0 (lost) to 1 (won)", score, game.seats);
        HostLayout.require(turn.facts.values().stream().allMatch(Double::isFinite), "facts are %s", turn.facts);
        int seen = turn.truncated ? turn.shown.size() : game.seats;
        HostLayout.require(seen == game.seats, "a truncated match has %d observations, expected %d", seen, game.seats);
        Map<String, Object> head = new LinkedHashMap<>();
        head.put("slot", slot.index);
        head.put("number", slot.number);
        head.put("score", Arrays.stream(turn.score).boxed().toList());
        head.put("reward", Arrays.stream(slot.earned).boxed().toList());
        head.put("truncated", turn.truncated);
        head.put("seed", slot.seed);
        head.put("facts", turn.facts);
        head.put("log", keepLog ? turn.log : "");
        byte[] json = HostJson.write(head).getBytes(StandardCharsets.UTF_8);
        int obsAt = 8 + HostFrames.aligned(json.length);
        long obsBytes = turn.truncated ? (long) game.seats * layout.bytes : 0;
        ByteBuffer frame = HostFrames.frame(HostFrames.ENDING, obsAt + obsBytes);
        frame.putInt(json.length).putInt(0).put(json).position(HostFrames.HEADER_BYTES + obsAt);
        if (turn.truncated) for (Map<String, double[]> obs : turn.shown.values()) frame.put(layout.pack(obs));
        return frame.array();
    }

    private void earn(HostSlot slot, Host.Turn turn) {
        double[] reward = turn.reward == null ? new double[game.seats] : turn.reward;
        boolean fits = reward.length == game.seats && Arrays.stream(reward).allMatch(Double::isFinite);
        HostLayout.require(fits, "rewards are %s, expected %d numbers", Arrays.toString(reward), game.seats);
        for (int seat = 0; seat < game.seats; seat++) slot.earned[seat] += reward[seat];
    }

    /** Return an ARRIVALS frame with these rows. `done` marks the last frame of an answer. */
    byte[] arrivals(List<HostSlot.Row> ready, boolean done) {
        int n = ready.size(), mask = (game.actions + 7) / 8;
        int matchAt = 8 + HostFrames.aligned(4 * n), rewardAt = matchAt + HostFrames.aligned(4 * n);
        int opensAt = rewardAt + HostFrames.aligned(4 * n);
        int legalAt = opensAt + HostFrames.aligned(n), obsAt = legalAt + HostFrames.aligned(n * mask);
        ByteBuffer frame = HostFrames.frame(HostFrames.ARRIVALS, obsAt + (long) n * layout.bytes);
        frame.putInt(n).put((byte) (done ? 1 : 0));
        for (int i = 0; i < n; i++) {
            HostSlot.Row row = ready.get(i);
            frame.putInt(HostFrames.HEADER_BYTES + 8 + 4 * i, row.row());
            frame.putInt(HostFrames.HEADER_BYTES + matchAt + 4 * i, (int) row.number());
            frame.putFloat(HostFrames.HEADER_BYTES + rewardAt + 4 * i, (float) row.reward());
            frame.put(HostFrames.HEADER_BYTES + opensAt + i, (byte) (row.opens() ? 1 : 0));
            for (int action = 0; action < game.actions; action++) {
                int at = HostFrames.HEADER_BYTES + legalAt + i * mask + action / 8;
                if (row.legal()[action]) frame.put(at, (byte) (frame.get(at) | 1 << action % 8));
            }
            frame.position(HostFrames.HEADER_BYTES + obsAt + i * layout.bytes).put(row.obs());
        }
        return frame.array();
    }
}
