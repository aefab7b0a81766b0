// The host of Magic: The Gathering, played by an installed Forge inside this process. Started as `java -cp ... Host ForgeGame`.

import java.util.LinkedHashMap;
import java.util.Map;

public final class ForgeGame implements Host.Setup {
    private static final int SCHEMA = 1;

    @Override
    public Host.Game setUp(Host.Options options) {
        long start = System.nanoTime();
        ForgeSettings settings = new ForgeSettings(options);
        Host.Game game = new Host.Game(
            "forge", ForgeTable.SEATS, ForgeView.ACTIONS, SCHEMA, ForgeView.leaves(), () -> new ForgeMatch(settings));
        game.layout = ForgeView.layout();
        game.tables = ForgeView.tables(settings.cards);
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("decks", settings.decks.stream().map(deck -> deck.getName()).toList());
        facts.put("java", System.getProperty("java.version"));
        facts.put("heap_mib", Runtime.getRuntime().maxMemory() >> 20);
        facts.put("load_s", (System.nanoTime() - start) / 1e9);
        game.facts = facts;
        return game;
    }
}
