// Recognises cards in hand that cannot be played now, without asking Forge for each of them. Part of ForgeGame.java.

import forge.game.card.Card;
import forge.game.keyword.Keyword;
import forge.game.keyword.KeywordInterface;
import forge.game.player.Player;
import forge.game.spellability.SpellAbility;
import forge.game.staticability.StaticAbility;
import forge.game.staticability.StaticAbilityMode;
import forge.game.zone.ZoneType;
import java.util.EnumSet;
import java.util.Set;

/**
 * Most questions come at times when only instants can be played, and asking Forge for the abilities of one card copies
 * it and evaluates all static abilities. A card waits for the player's own main phase if nothing about it is unusual:
 * it is left out then. For every other card, Forge decides.
 */
final class ForgeTiming {
    private static final Set<Keyword> NO_PERMISSIONS = EnumSet.of( // these do not let a card be played at another time
        Keyword.FLYING, Keyword.FIRST_STRIKE, Keyword.DOUBLE_STRIKE, Keyword.TRAMPLE, Keyword.LIFELINK, Keyword.DEATHTOUCH,
        Keyword.VIGILANCE, Keyword.REACH, Keyword.HASTE, Keyword.MENACE, Keyword.DEFENDER, Keyword.INDESTRUCTIBLE,
        Keyword.HEXPROOF, Keyword.PROTECTION, Keyword.ENCHANT, Keyword.EQUIP);
    private final Player player;
    private final boolean onlyInstants;

    ForgeTiming(Player player) {
        this.player = player;
        onlyInstants = !player.canCastSorcery() && !grantsFlash();
    }

    boolean waits(Card card) {
        if (!onlyInstants || !card.isInZone(ZoneType.Hand)) return false;
        if (card.isInstant() || !isPlain(card, player)) return false;
        for (StaticAbility each : card.getStaticAbilities()) if (each.checkMode(StaticAbilityMode.CastWithFlash)) return false;
        for (SpellAbility ability : card.getSpellAbilities()) {
            if (ability.getRestrictions().isInstantSpeed()) return false;
            boolean isCast = ability.isSpell() || ability.isLandAbility();
            if (!isCast && ability.getRestrictions().getZone() != ZoneType.Battlefield) return false;
        }
        return true;
    }

    /** Return whether a card can only be played as its type says: no other state, permission or keyword allows more. */
    static boolean isPlain(Card card, Player player) {
        if (card.isFaceDown() || card.hasAlternateState() || !card.mayPlay(player).isEmpty()) return false;
        for (KeywordInterface keyword : card.getKeywords()) if (!NO_PERMISSIONS.contains(keyword.getKeyword())) return false;
        return true;
    }

    private boolean grantsFlash() {
        for (Card card : player.getGame().getCardsIn(ZoneType.STATIC_ABILITIES_SOURCE_ZONES)) {
            for (StaticAbility each : card.getStaticAbilities()) if (each.checkMode(StaticAbilityMode.CastWithFlash)) return true;
        }
        return false;
    }
}
