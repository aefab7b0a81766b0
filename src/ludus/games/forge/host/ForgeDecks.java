// Reads deck files and checks them as Forge does. Part of ForgeGame.java.

import forge.deck.Deck;
import forge.deck.DeckFormat;
import forge.deck.io.DeckSerializer;
import forge.item.PaperCard;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

final class ForgeDecks {
    private ForgeDecks() {}

    /** Read all decks. Throws Refused with Forge's reason for the first deck that the format does not allow. */
    static List<Deck> read(String option, List<Path> files, String format) {
        List<Deck> decks = new ArrayList<>();
        for (Path file : files) decks.add(read(option, file, format));
        return decks;
    }

    private static Deck read(String option, Path file, String format) {
        if (!Files.isRegularFile(file)) throw new Host.Refused(option + ": there is no deck file " + file);
        Deck deck;
        try {
            deck = DeckSerializer.fromFile(file.toFile());
        } catch (RuntimeException broken) {
            throw new Host.Refused(option + ": " + file + " cannot be read as a deck: " + broken);
        }
        if (deck == null || deck.getMain().isEmpty()) {
            throw new Host.Refused(option + ": " + file + " is no deck: it has no section [main] with cards");
        }
        List<String> unknown = new ArrayList<>();
        for (Map.Entry<PaperCard, Integer> entry : deck.getMain()) {
            PaperCard card = entry.getKey();
            if (card.getRules() == null || card.getRules().isUnsupported()) unknown.add(card.getName());
        }
        if (!unknown.isEmpty()) throw new Host.Refused(option + ": " + file + " has cards that Forge does not know: " + unknown);
        if (!format.equals("any")) {
            String problem = formatOf(format).getDeckConformanceProblem(deck);
            if (problem != null) throw new Host.Refused(option + ": " + file + ": Forge says: this deck " + problem);
        }
        return deck;
    }

    private static DeckFormat formatOf(String name) {
        for (DeckFormat format : DeckFormat.values()) if (format.name().equalsIgnoreCase(name)) return format;
        throw new Host.Refused("format: Forge has no deck format " + name + "; any checks nothing but the cards");
    }
}
