// Forge's AI against itself, one match after the other, as in Forge's own `sim` mode: a row of benchmarks/bench_forge.py.
// Each line on stdin is a number of seconds; the answer is a line "decisions matches cpu_ns", where decisions is 0.

import com.sun.management.OperatingSystemMXBean;
import forge.ai.AiCache;
import forge.ai.LobbyPlayerAi;
import forge.deck.Deck;
import forge.deck.io.DeckSerializer;
import forge.game.Game;
import forge.game.GameEndReason;
import forge.game.GameRules;
import forge.game.GameType;
import forge.game.Match;
import forge.game.player.RegisteredPlayer;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

public final class ForgeSim {
    private static final int MOST_S = 10;
    private static final ScheduledExecutorService CLOCK = Executors.newSingleThreadScheduledExecutor();

    private ForgeSim() {}

    public static void main(String[] words) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        ForgeStart.load(Path.of(words[0]));
        List<Deck> decks = new ArrayList<>();
        for (String file : words[1].split("\n")) decks.add(DeckSerializer.fromFile(new File(file)));
        Thread thread = new Thread(null, () -> answer(decks, out), "matches", 64L << 20); // Forge's rules recurse deeply
        thread.start();
        thread.join();
        Runtime.getRuntime().halt(0);
    }

    private static void answer(List<Deck> decks, PrintStream out) {
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Random random = new Random(7);
        out.println("ready");
        for (String line : (Iterable<String>) in.lines()::iterator) {
            long until = System.nanoTime() + (long) (1e9 * Double.parseDouble(line)), cpu = system.getProcessCpuTime();
            int matches = 0;
            while (System.nanoTime() < until) {
                play(decks.get(random.nextInt(decks.size())), decks.get(random.nextInt(decks.size())));
                matches++;
            }
            out.println("0 " + matches + " " + (system.getProcessCpuTime() - cpu));
        }
    }

    private static void play(Deck first, Deck second) {
        GameRules rules = new GameRules(GameType.Constructed);
        rules.setGamesPerMatch(1);
        List<RegisteredPlayer> players = new ArrayList<>();
        for (Deck deck : List.of(first, second)) {
            LobbyPlayerAi lobby = new LobbyPlayerAi("player " + players.size(), null);
            lobby.setAiProfile("Default");
            RegisteredPlayer player = new RegisteredPlayer(new Deck(deck));
            player.setPlayer(lobby);
            players.add(player);
        }
        Match match = new Match(rules, players, "sim");
        Game game = match.createGame();
        var limit = CLOCK.schedule(() -> game.setGameOver(GameEndReason.Draw), MOST_S, TimeUnit.SECONDS); // sim has one, too
        try {
            match.startGame(game);
        } finally {
            limit.cancel(false);
            AiCache.clear();
        }
    }
}
