// Says which costs a player can certainly pay or not pay, without asking Forge for each of them. Part of ForgeGame.java.

import forge.card.mana.ManaCost;
import forge.card.mana.ManaCostShard;
import forge.game.Game;
import forge.game.ability.ApiType;
import forge.game.card.Card;
import forge.game.cost.Cost;
import forge.game.cost.CostPartMana;
import forge.game.player.Player;
import forge.game.replacement.ReplacementEffect;
import forge.game.spellability.SpellAbility;
import forge.game.staticability.StaticAbility;
import forge.game.trigger.Trigger;
import forge.game.zone.ZoneType;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Forge plans the payment of each option anew and asks all cards of the game about each land that it would tap. If
 * nothing in play changes costs or mana, counting is enough: a cost of more mana than all sources have cannot be paid,
 * and one that the basic lands cover can. Everything else is left to Forge.
 */
final class ForgeMana {
    private static final String COLORS = "WUBRG";
    private static final Set<String> HARMLESS = Set.of( // modes of static abilities that change neither costs nor mana
        "Continuous", "CantAttackUnless", "CantBlockUnless", "CantAttack", "CanAttackDefender", "CantBlock", "CantBlockBy",
        "MinMaxBlocker", "MustAttack", "MustBlock", "CombatDamageToughness", "CantGainLife", "CantTarget", "CantRegenerate",
        "CantDraw", "CastWithFlash", "CantBeCast", "CantPlayLand");
    private static final Set<String> MANA_EVENTS = Set.of("ProduceMana", "Tap");
    private static final Set<String> MANA_TRIGGERS = Set.of("TapsForMana", "Taps", "ManaAdded");
    private final Player player;
    private final int[] basics = new int[COLORS.length()]; // untapped basic lands, by color
    private int allBasics;
    private int most; // mana that the player can spend, at most
    private Boolean isPlain; // null until it is needed

    ForgeMana(Player player) {
        this.player = player;
    }

    private boolean isPlain() {
        if (isPlain == null) isPlain = !player.hasKeyword("PayLifeInsteadOf:B") && changesNoMana(player.getGame()) && count();
        return isPlain;
    }

    /** Return whether the player certainly cannot pay for anything that this card does where it is. */
    boolean lacks(Card card) {
        boolean inHand = card.isInZone(ZoneType.Hand);
        if (!inHand && !card.isInZone(ZoneType.Battlefield) || card.getController() != player) return false;
        if (!isPlain() || !ForgeTiming.isPlain(card, player) || inHand && !isHarmless(card)) return false;
        for (SpellAbility ability : card.getSpellAbilities()) {
            if (ability.isManaAbility()) continue;
            boolean fromHand = ability.isSpell() || ability.isLandAbility() || ability.getRestrictions().getZone() != ZoneType.Battlefield;
            if (inHand == fromHand && !isTooDear(ability)) return false;
        }
        return true;
    }

    /** Return what a card lets the player do now, without asking for other ways to pay if the card can have none. */
    List<SpellAbility> abilities(Card card) {
        if (!isPlain() || card.getController() != player || !ForgeTiming.isPlain(card, player) || !isHarmless(card)) return possible(card);
        List<SpellAbility> abilities = new ArrayList<>();
        for (SpellAbility ability : card.getSpellAbilities()) {
            if (ability.hasParam("AlternateCost")) return possible(card);
            if (ability.isManaAbility()) continue;
            ability.setActivatingPlayer(player);
            if (ability.canPlay()) abilities.add(ability);
        }
        return abilities;
    }

    /** Return what Forge says that a card lets the player do now. */
    List<SpellAbility> possible(Card card) {
        return ForgeRandom.SHARED.exactly(card.getController() != player, () -> card.getAllPossibleAbilities(player, true));
    }

    /** Return whether the player can pay the mana that an ability costs: TRUE, FALSE, or null if Forge must be asked. */
    Boolean pays(SpellAbility ability) {
        Card card = ability.getHostCard();
        if (!isPlain() || !isOrdinary(ability) || !ForgeTiming.isPlain(card, player) || !isHarmless(card)) return null;
        if (isTooDear(ability)) return false;
        Cost cost = ability.getPayCosts();
        if (cost.getCostParts().size() != 1 || cost.hasXInAnyCostPart() || card.hasSVar("ManaNeededToAvoidNegativeEffect")) return null;
        ManaCost mana = cost.getTotalMana();
        if (mana.getCMC() == 0 || mana.getCMC() > allBasics) return null;
        int[] left = basics.clone();
        for (ManaCostShard shard : mana) {
            int color = COLORS.indexOf(shard.toShortString());
            if (shard.toShortString().length() != 1 || color < 0 || --left[color] < 0) return null;
        }
        return true;
    }

    private boolean isTooDear(SpellAbility ability) {
        if (!isOrdinary(ability)) return false;
        ManaCost mana = ability.getPayCosts().getTotalMana();
        for (ManaCostShard shard : mana) if (shard.isPhyrexian() || shard.isOr2Generic()) return false;
        return mana.getCMC() > most;
    }

    /** Return whether an ability has a cost of mana that only static abilities could change. */
    private static boolean isOrdinary(SpellAbility ability) {
        if (ability.isLandAbility() || ability.isCastFaceDown() || ability.isSpell() && !ability.isBasicSpell()) return false;
        for (String special : new String[] {"ReduceCost", "RaiseCost", "Announce", "ManaConversion"}) if (ability.hasParam(special)) return false;
        Cost cost = ability.getPayCosts();
        if (cost == null || !cost.hasManaCost()) return false;
        CostPartMana mana = cost.getCostMana();
        return !mana.isExiledCreatureCost() && !mana.isEnchantedCreatureCost();
    }

    /** Return whether no static ability in the game changes costs, and nothing in play changes what lands give. */
    private static boolean changesNoMana(Game game) {
        for (Card card : game.getCardsIn(ZoneType.STATIC_ABILITIES_SOURCE_ZONES)) if (!isHarmless(card)) return false;
        for (ZoneType zone : new ZoneType[] {ZoneType.Battlefield, ZoneType.Command}) {
            for (Card card : game.getCardsIn(zone)) {
                for (ReplacementEffect each : card.getReplacementEffects()) {
                    if (MANA_EVENTS.contains(each.getParamOrDefault("Event", ""))) return false;
                }
                for (Trigger each : card.getTriggers()) if (MANA_TRIGGERS.contains(each.getParamOrDefault("Mode", ""))) return false;
            }
        }
        return true;
    }

    private static boolean isHarmless(Card card) {
        for (StaticAbility each : card.getStaticAbilities()) {
            if (!HARMLESS.contains(each.getParamOrDefault("Mode", "")) || each.hasParam("AffectedZone")) return false;
        }
        return true;
    }

    /** Count the player's sources of mana. Returns false if one of them gives more than one mana, or costs more than a tap. */
    private boolean count() {
        most = player.getManaPool().totalMana();
        for (Card card : player.getCardsIn(ZoneType.Hand)) {
            for (SpellAbility each : card.getManaAbilities()) if (each.getRestrictions().getZone() != ZoneType.Battlefield) return false;
        }
        for (Card card : player.getCardsIn(ZoneType.Battlefield)) {
            int abilities = 0;
            String gives = "";
            for (SpellAbility each : card.getManaAbilities()) {
                gives = each.getManaPart() == null ? "" : each.getManaPart().getOrigProduced();
                boolean isOne = gives.length() == 1 || gives.equals("Any") || gives.startsWith("Combo");
                boolean isAll = each.getApi() == ApiType.Mana && each.getSubAbility() == null && !each.hasParam("Amount");
                if (!isOne || !isAll || !each.getPayCosts().hasTapCost()) return false;
                abilities++;
            }
            if (abilities == 0 || card.isTapped()) continue;
            most++;
            if (abilities > 1 || !card.isBasicLand() || card.isCreature() || COLORS.indexOf(gives) < 0) continue;
            basics[COLORS.indexOf(gives)]++;
            allBasics++;
        }
        return true;
    }
}
