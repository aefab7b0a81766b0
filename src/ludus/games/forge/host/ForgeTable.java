// One game of Magic: its two players, what they are asked, how it ended. Part of ForgeGame.java.

import forge.ai.AiCache;
import forge.ai.LobbyPlayerAi;
import forge.deck.Deck;
import forge.game.Game;

import forge.game.GameRules;
import forge.game.GameType;
import forge.game.Match;
import forge.game.phase.PhaseType;
import forge.game.player.Player;
import forge.game.player.PlayerController;
import forge.game.player.RegisteredPlayer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

final class ForgeTable {
    static final int SEATS = 2;
    /** The answers by which a policy says that Forge's AI shall play its seat. Any other answer ends the questions. */
    private static final int[] KNOCKS = {0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 1, 0};
    private static final List<String> NAMES = List.of("first", "second");

    final ForgeSettings settings;
    final ForgeView view;
    private final ForgeMatch.Playing baton;
    private final boolean[] byForge = new boolean[SEATS];
    private final Map<String, Double> facts = new TreeMap<>();
    private final double[] cardsPlayed = new double[SEATS];
    private final double[] screwed = new double[SEATS];
    private final Set<Integer> notedTurns = new HashSet<>();
    final ForgeMemory memory = new ForgeMemory(SEATS);
    Game game;
    ForgeChoice.Question question; // the last one that was asked
    boolean isListing; // Forge is asked what could be played, and may ask back, such as which reduction of a cost is first
    private int asked;
    private int forced;
    private int leftToAi;
    private boolean limited; // a limit ended the match
    private double standing; // of seat 0, as the last rewards left it

    /** Thrown by a decision when a limit is reached. It unwinds Forge's rules code. */
    @SuppressWarnings("serial")
    private static final class Enough extends Error {
        Enough() {
            super("a limit was reached", null, false, false);
        }
    }

    ForgeTable(ForgeSettings settings, ForgeMatch.Playing baton) {
        this.settings = settings;
        this.baton = baton;
        view = new ForgeView(settings.cards);
    }

    /** Play to the end and return the last turn. Runs in the thread of the match. */
    Host.Turn play() {
        for (int seat = 0; seat < SEATS && settings.seating; seat++) byForge[seat] = knocks(seat);
        List<Deck> decks = settings.pair(baton.draws);
        GameRules rules = new GameRules(GameType.Constructed);
        rules.setGamesPerMatch(1);
        rules.setPlayForAnte(false);
        rules.setManaBurn(false);
        rules.setWarnAboutAICards(false);
        List<RegisteredPlayer> players = new ArrayList<>();
        for (int seat = 0; seat < SEATS; seat++) {
            RegisteredPlayer player = new RegisteredPlayer(new Deck(decks.get(seat)));
            LobbyPlayerAi lobby = byForge[seat] ? new LobbyPlayerAi(NAMES.get(seat), null) : new Lobby(seat);
            lobby.setAiProfile(settings.profile);
            player.setPlayer(lobby);
            players.add(player);
        }
        Match match = new Match(rules, players, "ludus");
        game = match.createGame();
        try {
            match.startGame(game);
        } catch (Enough limit) {
            limited = true;
        } finally {
            AiCache.clear();
        }
        return ending(decks);
    }

    /** A player whose decisions come from outside. */
    private final class Lobby extends LobbyPlayerAi {
        private final int seat;

        Lobby(int seat) {
            super(NAMES.get(seat), null);
            this.seat = seat;
        }

        @Override
        public Player createIngamePlayer(Game game, int id) {
            Player player = new Player(getName(), game, id);
            player.setFirstController(controller(game, player));
            return player;
        }

        @Override
        public PlayerController createMindSlaveController(Player master, Player slave) {
            return controller(slave.getGame(), slave); // the master's seat decides for the slave
        }

        private ForgeSeat controller(Game game, Player player) {
            return new ForgeSeat(game, player, this, seat, ForgeTable.this);
        }
    }

    private boolean knocks(int seat) {
        for (int knock : KNOCKS) {
            ForgeChoice.Question question = new ForgeChoice.Question(
                seat, ForgeChoice.Asks.SEATING, null, List.of(ForgeChoice.of(ForgeChoice.Does.NO), ForgeChoice.of(ForgeChoice.Does.YES)));
            if (baton.ask(turn(question, question.choices)) != knock) return false;
        }
        return true;
    }

    /** Return the place of the chosen option. A question with one option is not asked, nor one that only lists options. */
    int ask(ForgeChoice.Question question) {
        baton.refuseIfGivenUp();
        if (isListing) return 0;
        if (question.choices.size() == 1) {
            forced++;
            return 0;
        }
        if (game.getPhaseHandler().getTurn() > settings.maxTurns || asked >= settings.maxDecisions) throw new Enough();
        asked++;
        this.question = question;
        AiCache.clear();
        int room = ForgeView.ACTIONS, total = question.choices.size();
        for (int from = 0;; from = (from + room - 1) % total) {
            List<ForgeChoice> page = question.page(from, room);
            int action = baton.ask(turn(question, page));
            if (page.get(action).does() != ForgeChoice.Does.MORE) return (from + action) % total;
        }
    }

    /** Count a decision that Forge's AI makes for a seat, because no question exists for it. */
    void leftToAi(String kind) {
        baton.refuseIfGivenUp();
        leftToAi++;
        facts.merge("left_to_ai/" + kind, 1.0, Double::sum);
    }

    void count(String fact) {
        facts.merge(fact, 1.0, Double::sum);
    }

    void played(int seat) {
        cardsPlayed[seat]++;
    }

    /** Note once a turn whether a player lacks lands: fewer than three from the fourth own turn on, for the first time. */
    void noteTurn() {
        int turn = game.getPhaseHandler().getTurn();
        if (game.getPhaseHandler().getPhase() != PhaseType.MAIN2 || !notedTurns.add(turn)) return;
        Player active = game.getPhaseHandler().getPlayerTurn();
        if (active.getTurn() == 4 && active.getLandsInPlay().size() < 3) screwed[seatOf(active)] = 1;
    }

    static int seatOf(Player player) {
        return NAMES.indexOf(player.getLobbyPlayer().getName());
    }

    private Host.Turn turn(ForgeChoice.Question question, List<ForgeChoice> page) {
        boolean[] legal = new boolean[ForgeView.ACTIONS];
        for (int at = 0; at < page.size(); at++) legal[at] = true;
        double gain = game == null ? 0 : shaped(ForgeStanding.of(game));
        return Host.Turn.next().ask(question.seat, view.observe(game, memory, question, page), legal).reward(gain, -gain);
    }

    /** Return the reward of seat 0 for the change of its standing. Over a match these rewards add up to zero. */
    private double shaped(double now) {
        double gain = settings.shaping * (now - standing);
        standing = now;
        return gain;
    }

    private Host.Turn ending(List<Deck> decks) {
        boolean truncated = limited && !settings.lifeDecides;
        double[] score = limited ? standings() : outcome();
        double gain = 2 * score[0] - 1 + shaped(truncated ? ForgeStanding.of(game) : 0);
        Host.Turn turn = Host.Turn.over(score).reward(gain, -gain);
        if (truncated) turn.truncated(List.of(last(0), last(1)));
        turn.fact("limited", limited ? 1 : 0);
        turn.fact("turns", game.getPhaseHandler().getTurn());
        turn.fact("asked", asked).fact("forced", forced);
        turn.fact("left_to_ai", leftToAi).fact("left_to_ai_share", leftToAi / Math.max(1.0, leftToAi + asked));
        for (int seat = 0; seat < SEATS; seat++) {
            turn.fact("cards_played@" + seat, cardsPlayed[seat]).fact("mana_screw@" + seat, screwed[seat]);
            turn.fact("played_by_forge@" + seat, byForge[seat] ? 1 : 0);
        }
        if (!decks.get(0).getName().equals(decks.get(1).getName())) {
            for (int seat = 0; seat < SEATS; seat++) turn.fact(factName("deck/" + decks.get(seat).getName()), score[seat]);
        }
        facts.forEach((name, value) -> turn.fact(factName(name), value));
        return turn;
    }

    /** Return the scores of a match that Forge ended. */
    private double[] outcome() {
        if (game.getOutcome() == null) throw new IllegalStateException("Forge ended a match without an outcome");
        if (game.getOutcome().isDraw()) return new double[] {0.5, 0.5};
        boolean first = NAMES.get(0).equals(game.getOutcome().getWinningLobbyPlayer().getName());
        return new double[] {first ? 1 : 0, first ? 0 : 1};
    }

    /** Return the scores of a match that a limit ended: a tie, unless life decides. */
    private double[] standings() {
        int lead = 0;
        for (Player player : game.getPlayers()) lead += (seatOf(player) == 0 ? 1 : -1) * player.getLife();
        double first = settings.lifeDecides ? (1 + Integer.signum(lead)) / 2.0 : 0.5;
        return new double[] {first, 1 - first};
    }

    private Map<String, double[]> last(int seat) {
        ForgeChoice.Question none = new ForgeChoice.Question(seat, ForgeChoice.Asks.OTHER, null, List.of());
        return view.observe(game, memory, none, List.of());
    }

    private static String factName(String name) {
        String printable = name.replaceAll("[^ -~]|@", "?");
        return printable.length() <= 64 ? printable : printable.substring(0, 64);
    }
}
