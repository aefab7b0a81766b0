// A daemon on the installed Forge, as seed projects have one: games over a socket, every decision as JSON in a line of
// text, spells with targets left out. benchmarks/bench_forge.py compares `game: forge` with playing through it.
// Started as `ForgeDaemon FORGE_FOLDER`; prints its port, then the CPU time of the process (ns) for each line on stdin.
// It runs one game at a time.

import com.sun.management.OperatingSystemMXBean;
import forge.LobbyPlayer;
import forge.ai.AiCache;
import forge.ai.ComputerUtilAbility;
import forge.ai.ComputerUtilMana;
import forge.ai.LobbyPlayerAi;
import forge.ai.PlayerControllerAi;
import forge.deck.Deck;
import forge.deck.io.DeckSerializer;
import forge.game.Game;
import forge.game.GameRules;
import forge.game.GameType;
import forge.game.Match;
import forge.game.card.Card;
import forge.game.card.CardCollectionView;
import forge.game.combat.Combat;
import forge.game.combat.CombatUtil;
import forge.game.player.Player;
import forge.game.player.RegisteredPlayer;
import forge.game.spellability.SpellAbility;
import forge.game.zone.ZoneType;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

public final class ForgeDaemon {
    private ForgeDaemon() {}

    public static void main(String[] words) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        ForgeStart.load(Path.of(words[0]));
        ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        Thread games = new Thread(null, () -> serve(server), "games", 64L << 20); // Forge's rules recurse deeply
        games.setDaemon(true);
        games.start();
        out.println(server.getLocalPort());
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) out.println(system.getProcessCpuTime());
        Runtime.getRuntime().halt(0);
    }

    private static void serve(ServerSocket server) {
        while (true) {
            try (Connection connection = new Connection(server.accept())) {
                String[] words = connection.read().split(" ");
                if (words[0].equals("NEWGAME")) play(connection, List.of(words[1], words[2]));
                else connection.say("ERROR: unknown command");
            } catch (Exception lost) {
                System.err.println("game lost: " + lost);
            }
        }
    }

    /** One client: lines of text in both directions. */
    private static final class Connection implements AutoCloseable {
        private final Socket socket;
        private final BufferedReader in;

        Connection(Socket socket) throws IOException {
            this.socket = socket;
            socket.setTcpNoDelay(true);
            in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        }

        String read() {
            try {
                String line = in.readLine();
                if (line == null) throw new IllegalStateException("the client left");
                return line.strip();
            } catch (IOException broken) {
                throw new IllegalStateException(broken);
            }
        }

        void say(String text) {
            try {
                socket.getOutputStream().write((text + "\n").getBytes(StandardCharsets.UTF_8));
            } catch (IOException broken) {
                throw new IllegalStateException(broken);
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static void play(Connection connection, List<String> decks) {
        GameRules rules = new GameRules(GameType.Constructed);
        rules.setGamesPerMatch(1);
        List<RegisteredPlayer> players = new ArrayList<>();
        for (int seat = 0; seat < 2; seat++) {
            Deck deck = DeckSerializer.fromFile(new File(decks.get(seat)));
            RegisteredPlayer player = new RegisteredPlayer(deck);
            player.setPlayer(new Lobby("Agent(" + (seat + 1) + ")-" + deck.getName(), connection));
            players.add(player);
        }
        long start = System.nanoTime();
        Match match = new Match(rules, players, "daemon");
        Game game = match.createGame();
        try {
            match.startGame(game);
        } finally {
            AiCache.clear();
        }
        LobbyPlayer winner = game.getOutcome().getWinningLobbyPlayer();
        long ms = (System.nanoTime() - start) / 1_000_000;
        connection.say("GAME_RESULT: " + (winner == null ? "Draw" : winner.getName() + " won") + " in " + ms + "ms");
    }

    private static final class Lobby extends LobbyPlayerAi {
        private final Connection connection;

        Lobby(String name, Connection connection) {
            super(name, null);
            setAiProfile("Default");
            this.connection = connection;
        }

        @Override
        public Player createIngamePlayer(Game game, int id) {
            Player player = new Player(getName(), game, id);
            player.setFirstController(new Controller(game, player, this, connection));
            return player;
        }
    }

    private static final class Controller extends PlayerControllerAi {
        private final Connection connection;
        private int decisions;

        Controller(Game game, Player player, LobbyPlayer lobby, Connection connection) {
            super(game, player, lobby);
            this.connection = connection;
        }

        @Override
        public List<SpellAbility> chooseSpellAbilityToPlay() {
            List<SpellAbility> abilities = new ArrayList<>();
            for (Card card : player.getCardsIn(List.of(ZoneType.Hand, ZoneType.Battlefield))) {
                for (SpellAbility ability : card.getAllPossibleAbilities(player, true)) {
                    if (ability.isManaAbility() || ability.usesTargeting()) continue;
                    ability.setActivatingPlayer(player);
                    boolean payable = ability.isLandAbility() || ComputerUtilMana.canPayManaCost(ability, player, 0, false);
                    if (payable && ComputerUtilAbility.isFullyTargetable(ability)) abilities.add(ability);
                }
            }
            List<String> actions = new ArrayList<>();
            for (SpellAbility each : abilities) {
                actions.add("{\"index\":" + actions.size() + ",\"description\":" + text(each.toString()) + ",\"card\":"
                    + text(each.getHostCard().getName()) + ",\"card_id\":" + each.getHostCard().getId() + ",\"mana_cost\":"
                    + text(String.valueOf(each.getPayCosts())) + ",\"is_land\":" + each.isLandAbility() + "}");
            }
            int chosen = Integer.parseInt(ask("choose_action", "\"actions\":" + actions));
            return chosen < 0 || chosen >= abilities.size() ? null : List.of(abilities.get(chosen));
        }

        @Override
        public void declareAttackers(Player attacker, Combat combat) {
            List<Card> able = new ArrayList<>(CombatUtil.getPossibleAttackers(attacker));
            if (able.isEmpty()) return;
            for (String index : ask("declare_attackers", "\"attackers\":" + items(able)).split(",")) {
                if (!index.isBlank()) combat.addAttacker(able.get(Integer.parseInt(index)), player.getSingleOpponent());
            }
            if (!CombatUtil.validateAttackers(combat)) combat.clearAttackers();
        }

        @Override
        public void declareBlockers(Player defender, Combat combat) {
            List<Card> attackers = new ArrayList<>(combat.getAttackers());
            List<Card> able = new ArrayList<>(defender.getCreaturesInPlay());
            able.removeIf(card -> !CombatUtil.canBlock(card, combat));
            if (able.isEmpty()) return;
            String reply = ask("declare_blockers", "\"attackers\":" + items(attackers) + ",\"blockers\":" + items(able));
            for (String pair : reply.split(",")) {
                if (pair.isBlank()) continue;
                String[] places = pair.split(":");
                Card blocker = able.get(Integer.parseInt(places[0])), attacker = attackers.get(Integer.parseInt(places[1]));
                if (CombatUtil.canBlock(attacker, blocker, combat)) combat.addBlocker(attacker, blocker);
            }
        }

        private String ask(String kind, String choices) {
            Game game = getGame();
            connection.say("DECISION:{\"decision_type\":\"" + kind + "\",\"decision_id\":" + ++decisions + ",\"player\":"
                + text(player.getName()) + ",\"turn\":" + game.getPhaseHandler().getTurn() + ",\"phase\":"
                + text(game.getPhaseHandler().getPhase().name()) + "," + choices + ",\"game_state\":" + state(game) + "}");
            return connection.read();
        }

        private String state(Game game) {
            String players = game.getPlayers().stream().map(Controller::playerState).collect(Collectors.joining(","));
            Player active = game.getPhaseHandler().getPlayerTurn(), first = game.getPhaseHandler().getPriorityPlayer();
            return "{\"is_game_over\":" + game.isGameOver() + ",\"active_player\":" + text(active == null ? "" : active.getName())
                + ",\"priority_player\":" + text(first == null ? "" : first.getName()) + ",\"players\":[" + players
                + "],\"stack\":[]}";
        }

        private static String playerState(Player player) {
            return "{\"name\":" + text(player.getName()) + ",\"life\":" + player.getLife() + ",\"poison\":"
                + player.getPoisonCounters() + ",\"lands_played_this_turn\":" + player.getLandsPlayedThisTurn()
                + ",\"max_land_plays\":" + player.getMaxLandPlays() + ",\"hand_size\":"
                + player.getCardsIn(ZoneType.Hand).size() + ",\"hand\":" + cards(player.getCardsIn(ZoneType.Hand))
                + ",\"library_size\":" + player.getCardsIn(ZoneType.Library).size() + ",\"graveyard\":"
                + cards(player.getCardsIn(ZoneType.Graveyard)) + ",\"battlefield\":"
                + cards(player.getCardsIn(ZoneType.Battlefield)) + ",\"exile\":" + cards(player.getCardsIn(ZoneType.Exile)) + "}";
        }

        private static String cards(CardCollectionView cards) {
            return "[" + cards.stream().map(Controller::card).collect(Collectors.joining(",")) + "]";
        }

        private static String card(Card card) {
            String keywords = card.getKeywords().stream().map(each -> text(each.getOriginal())).collect(Collectors.joining(","));
            return "{\"id\":" + card.getId() + ",\"name\":" + text(card.getName()) + ",\"mana_cost\":"
                + text(String.valueOf(card.getManaCost())) + ",\"cmc\":" + card.getCMC() + ",\"types\":"
                + text(card.getType().toString()) + ",\"oracle_text\":" + text(card.getOracleText()) + ",\"power\":"
                + card.getNetPower() + ",\"toughness\":" + card.getNetToughness() + ",\"keywords\":[" + keywords + "],\"tapped\":"
                + card.isTapped() + ",\"summoning_sick\":" + card.hasSickness() + ",\"damage\":" + card.getDamage() + "}";
        }

        private static List<String> items(List<Card> cards) {
            List<String> items = new ArrayList<>();
            for (Card card : cards) {
                items.add("{\"index\":" + items.size() + ",\"card_id\":" + card.getId() + ",\"name\":" + text(card.getName()) + "}");
            }
            return items;
        }

        private static String text(String words) {
            return "\"" + words.replace("\\", "\\\\").replace("\"", "\\\"").replace("\r", "").replace("\n", "\\n") + "\"";
        }
    }
}
