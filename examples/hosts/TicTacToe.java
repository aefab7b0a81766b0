// Tic-tac-toe as a host: what a game written in Java needs, and nothing else.
//
//   ludus hosts check -- java src/ludus/sdk/java/Host.java examples/hosts/TicTacToe.java
//   ludus train examples/hosts/tictactoe_java.yaml

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;

public final class TicTacToe implements Host.Setup {
    private static final int[][] LINES = {
        {0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}};

    /** Called once. Options that nobody reads here are refused. */
    @Override
    public Host.Game setUp(Host.Options options) {
        int openings = (int) options.whole("random_openings", 0, 0, 3);
        List<Host.Leaf> obs = List.of(new Host.Leaf("own", "float32", 9), new Host.Leaf("other", "float32", 9));
        return new Host.Game("tictactoe", 2, 9, 1, obs, () -> new Match(openings));
    }

    /** One match at a time: `start` gives its first turn, `advance` takes what was chosen and gives the next. */
    private static final class Match implements Host.Match {
        private final int openings;
        private final int[] board = new int[9];
        private int seat;
        private int stones;

        Match(int openings) {
            this.openings = openings;
        }

        @Override
        public Host.Turn start(long seed) {
            Random random = new Random(seed); // everything that is random comes from the seed
            Arrays.fill(board, -1);
            seat = stones = 0;
            while (stones < openings) {
                int square = random.nextInt(9);
                if (board[square] < 0) put(square);
            }
            return ask();
        }

        @Override
        public Host.Turn advance(Map<Integer, Integer> actions) {
            int mover = seat;
            put(actions.get(mover));
            for (int[] line : LINES) {
                if (Arrays.stream(line).allMatch(square -> board[square] == mover)) {
                    return mover == 0 ? over(1, 0) : over(0, 1);
                }
            }
            return stones == 9 ? over(0.5, 0.5) : ask();
        }

        private void put(int square) {
            board[square] = seat;
            seat = 1 - seat;
            stones++;
        }

        private Host.Turn ask() {
            boolean[] legal = new boolean[9];
            for (int square = 0; square < 9; square++) legal[square] = board[square] < 0;
            return Host.Turn.next().ask(seat, Map.of("own", of(seat), "other", of(1 - seat)), legal);
        }

        private double[] of(int owner) {
            return Arrays.stream(board).mapToDouble(stone -> stone == owner ? 1 : 0).toArray();
        }

        private Host.Turn over(double... score) {
            double[] reward = Arrays.stream(score).map(points -> 2 * points - 1).toArray();
            return Host.Turn.over(score).reward(reward).fact("turns", stones);
        }
    }
}
