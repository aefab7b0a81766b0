// The table of cards that observations index into: what is printed on each card of the decks. Part of ForgeGame.java.

import forge.deck.Deck;
import forge.game.ability.ApiType;
import forge.game.card.Card;
import forge.game.keyword.Keyword;
import forge.game.spellability.SpellAbility;
import forge.game.trigger.Trigger;
import forge.item.PaperCard;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

final class ForgeCards {
    /** Effects with a column of their own; the last counts all others. The order is part of the schema. */
    static final List<String> EFFECTS = List.of(
        "DealDamage", "DamageAll", "Destroy", "DestroyAll", "Draw", "Discard", "GainLife", "LoseLife", "Pump", "PumpAll", "PutCounter",
        "Token", "Counter", "ChangeZone", "ChangeZoneAll", "Mana", "Attach", "GainControl", "Tap", "Untap", "Mill", "Scry",
        "Sacrifice", "Animate", "Charm", "Dig", "Fight", "CopyPermanent", "Regenerate", "PermanentCreature", "PermanentNoncreature",
        "Other");
    /** Keywords with a column of their own. The order is part of the schema. */
    static final List<Keyword> KEYWORDS = List.of(
        Keyword.FLYING, Keyword.FIRST_STRIKE, Keyword.DOUBLE_STRIKE, Keyword.TRAMPLE, Keyword.LIFELINK, Keyword.DEATHTOUCH,
        Keyword.VIGILANCE, Keyword.REACH, Keyword.HASTE, Keyword.MENACE, Keyword.DEFENDER, Keyword.INDESTRUCTIBLE, Keyword.HEXPROOF,
        Keyword.FLASH);
    static final int TYPES = 7, COLORS = 5;
    private static final int NUMBERS = 4;

    private final Map<String, Integer> ids = new TreeMap<>(); // from 1 on; 0 is every other card
    final float[][] table;

    ForgeCards(List<Deck> decks) {
        Map<String, PaperCard> cards = new TreeMap<>();
        for (Deck deck : decks) for (Map.Entry<PaperCard, Integer> entry : deck.getMain()) cards.put(entry.getKey().getName(), entry.getKey());
        List<float[]> rows = new ArrayList<>();
        rows.add(new float[NUMBERS + COLORS + TYPES + KEYWORDS.size() + EFFECTS.size()]);
        for (Map.Entry<String, PaperCard> entry : cards.entrySet()) {
            ids.put(entry.getKey(), rows.size());
            rows.add(row(Card.fromPaperCard(entry.getValue(), null)));
        }
        table = rows.toArray(float[][]::new);
    }

    int id(Card card) {
        return ids.getOrDefault(card.getName(), 0);
    }

    /** Return the place of an effect in EFFECTS. */
    static int effect(SpellAbility ability) {
        ApiType api = ability == null ? null : ability.getApi();
        int at = api == null ? -1 : EFFECTS.indexOf(api.name());
        return at < 0 ? EFFECTS.size() - 1 : at;
    }

    private static float[] row(Card card) {
        float[] row = new float[NUMBERS + COLORS + TYPES + KEYWORDS.size() + EFFECTS.size()];
        int at = 0;
        row[at++] = card.getCMC() / 8f;
        row[at++] = card.isCreature() ? card.getNetPower() / 8f : 0;
        row[at++] = card.isCreature() ? card.getNetToughness() / 8f : 0;
        row[at++] = card.getManaCost().countX() > 0 ? 1 : 0;
        double[] look = new double[COLORS + TYPES + KEYWORDS.size()];
        look(card, look, 0);
        for (double each : look) row[at++] = (float) each;
        for (SpellAbility ability : card.getSpellAbilities()) mark(row, at, ability);
        for (Trigger trigger : card.getTriggers()) mark(row, at, trigger.ensureAbility());
        return row;
    }

    private static void mark(float[] row, int at, SpellAbility first) {
        for (SpellAbility each = first; each != null; each = each.getSubAbility()) row[at + effect(each)] = 1;
    }

    /** Write colors, types and keywords, as they are now, from `at` on. Returns the place after them. */
    static int look(Card card, double[] into, int at) {
        int start = at;
        into[at++] = card.isWhite() ? 1 : 0;
        into[at++] = card.isBlue() ? 1 : 0;
        into[at++] = card.isBlack() ? 1 : 0;
        into[at++] = card.isRed() ? 1 : 0;
        into[at++] = card.isGreen() ? 1 : 0;
        into[at++] = card.isCreature() ? 1 : 0;
        into[at++] = card.isLand() ? 1 : 0;
        into[at++] = card.isArtifact() ? 1 : 0;
        into[at++] = card.isEnchantment() ? 1 : 0;
        into[at++] = card.isPlaneswalker() ? 1 : 0;
        into[at++] = card.isInstant() ? 1 : 0;
        into[at++] = card.isSorcery() ? 1 : 0;
        for (Keyword keyword : KEYWORDS) into[at++] = card.hasKeyword(keyword) ? 1 : 0;
        assert at - start == COLORS + TYPES + KEYWORDS.size();
        return at;
    }
}
