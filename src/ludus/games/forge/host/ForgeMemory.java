// Which hidden cards each player has been shown, until these move. Part of ForgeGame.java.

import forge.game.card.Card;
import forge.game.zone.Zone;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

final class ForgeMemory {
    private final List<Map<Integer, Long>> shown = new ArrayList<>(); // by seat: card id -> its timestamp in that zone

    ForgeMemory(int seats) {
        for (int seat = 0; seat < seats; seat++) shown.add(new TreeMap<>());
    }

    void show(int seat, Card card) {
        Zone zone = card.getZone();
        if (zone != null) shown.get(seat).put(card.getId(), mark(card, zone));
    }

    /** Return whether the card has been shown to this seat and has not moved since. */
    boolean knows(int seat, Card card) {
        Zone zone = card.getZone();
        Long mark = shown.get(seat).get(card.getId());
        return zone != null && mark != null && mark == mark(card, zone);
    }

    private static long mark(Card card, Zone zone) {
        return 64 * card.getGameTimestamp() + zone.getZoneType().ordinal(); // a card that moves gets another timestamp
    }
}
