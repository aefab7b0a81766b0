// The options of a host and what all of its matches share: decks, tables, limits. Part of ForgeGame.java.

import forge.deck.Deck;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

final class ForgeSettings {
    final Path folder;
    final List<Deck> decks;
    final List<Deck> opposing; // empty: seat 1 takes a deck of `decks`, too
    final String pairing;
    final boolean seating;
    final int maxTurns;
    final int maxDecisions;
    final boolean lifeDecides; // who wins at a limit
    final long deadlineMs;
    final int mostHung;
    final double shaping;
    final long recycleBytes;
    final String profile;
    final ForgeCards cards;

    ForgeSettings(Host.Options options) {
        folder = Path.of(options.text("forge", ""));
        String format = options.text("format", "constructed");
        String decks = options.text("decks", ""), opposing = options.text("opposing", ""), more = options.text("known_cards", "");
        pairing = options.text("pairing", "mirror");
        if (!List.of("mirror", "pool", "gauntlet").contains(pairing)) throw new Host.Refused("pairing: unknown pairing " + pairing);
        seating = options.flag("forge_ai", true);
        profile = options.text("ai_profile", "Default");
        maxTurns = (int) options.whole("max_turns", 40, 1, 10_000);
        maxDecisions = (int) options.whole("max_decisions", 3_000, 1, 1_000_000);
        lifeDecides = options.text("at_limit", "truncate").equals("life");
        deadlineMs = (long) (1000 * options.number("deadline_s", 20));
        shaping = options.number("shaping", 0);
        mostHung = (int) options.whole("hung_matches", 3, 1, 1_000_000);
        long recycleMib = options.whole("recycle_mib", 0, 0, 1 << 20);
        recycleBytes = recycleMib > 0 ? recycleMib << 20 : (long) (0.85 * Runtime.getRuntime().maxMemory());
        String profiles = options.text("profile", "");
        if (!profiles.isEmpty()) ForgeProfile.start(Path.of(profiles));
        ForgeStart.load(folder);
        this.decks = ForgeDecks.read("decks", lines(decks), format);
        this.opposing = ForgeDecks.read("opposing", lines(opposing), format);
        if (this.decks.isEmpty()) throw new Host.Refused("decks: no deck is named");
        if (pairing.equals("gauntlet") == this.opposing.isEmpty()) {
            throw new Host.Refused("opposing: decks are needed for pairing gauntlet, and for no other");
        }
        List<Deck> known = new ArrayList<>(this.decks);
        known.addAll(this.opposing);
        known.addAll(ForgeDecks.read("known_cards", lines(more), "any"));
        cards = new ForgeCards(known);
    }

    private static List<Path> lines(String text) {
        return text.lines().filter(line -> !line.isBlank()).map(Path::of).toList();
    }

    /** Return the decks of seats 0 and 1 for a match. */
    List<Deck> pair(Random random) {
        Deck first = decks.get(random.nextInt(decks.size()));
        return switch (pairing) {
            case "mirror" -> List.of(first, first);
            case "gauntlet" -> List.of(first, opposing.get(random.nextInt(opposing.size())));
            default -> List.of(first, decks.get(random.nextInt(decks.size())));
        };
    }

    /** End this process if its heap has grown. Forge keeps a little of every match. Another process takes its place. */
    void recycleWhenDue() {
        long kept = 0; // after the last collection, without garbage
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            MemoryUsage usage = pool.getType() == java.lang.management.MemoryType.HEAP ? pool.getCollectionUsage() : null;
            if (usage != null) kept += usage.getUsed();
        }
        if (kept > recycleBytes) throw new Host.Broken("recycled: " + (kept >> 20) + " MiB of the heap are in use");
    }
}
