// Chooses the targets of a spell or ability, one decision each, from the legal ones. Part of ForgeGame.java.

import forge.game.GameEntity;
import forge.game.GameObject;
import forge.game.card.Card;
import forge.game.card.CardUtil;
import forge.game.player.Player;
import forge.game.spellability.SpellAbility;
import forge.game.spellability.SpellAbilityStackInstance;
import forge.game.spellability.TargetRestrictions;
import forge.game.staticability.StaticAbilityMustTarget;
import forge.game.zone.ZoneType;
import forge.util.Aggregates;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

final class ForgeTargets {
    private final ForgeSeat seat;
    private final SpellAbility ability;
    private final TargetRestrictions rules;

    ForgeTargets(ForgeSeat seat, SpellAbility ability) {
        this.seat = seat;
        this.ability = ability;
        rules = ability.getTargetRestrictions();
    }

    /** Choose all targets. `exactly`: how many, if a spell is redirected. Returns false if there are too few. */
    boolean choose(Integer exactly, Predicate<GameObject> filter) {
        int least = exactly != null ? exactly : ability.getMinTargets(), most = exactly != null ? exactly : ability.getMaxTargets();
        if (rules.isRandomTarget() && exactly == null) return chooseAtRandom(least, most);
        while (ability.getTargets().size() < most) {
            List<GameObject> left = candidates(filter);
            boolean enough = ability.getTargets().size() >= least;
            if (left.isEmpty()) break;
            if (ability.isDividedAsYouChoose() && ability.getDividedValue() != null && ability.getTargets().size() >= ability.getDividedValue()) {
                break;
            }
            List<ForgeChoice> choices = new ArrayList<>();
            for (GameObject target : left) choices.add(ForgeChoice.pick(target));
            if (enough) choices.add(ForgeChoice.of(ForgeChoice.Does.DONE));
            ForgeChoice.Question question = new ForgeChoice.Question(seat.seat, ForgeChoice.Asks.TARGET, ability, choices);
            question.least = least;
            question.most = most;
            List<Card> taken = new ArrayList<>();
            for (Card card : ability.getTargets().getTargetCards()) taken.add(card);
            question.taken = taken;
            int at = seat.table.ask(question);
            if (at == left.size()) break;
            if (!ability.getTargets().add(left.get(at))) break;
        }
        return ability.getTargets().size() >= least && divide();
    }

    private List<GameObject> candidates(Predicate<GameObject> filter) {
        List<GameObject> candidates = new ArrayList<>();
        List<ZoneType> zones = rules.getZone();
        if (zones.contains(ZoneType.Stack)) {
            for (SpellAbilityStackInstance item : ability.getActivatingPlayer().getGame().getStack()) {
                SpellAbility stacked = item.getSpellAbility();
                if (!ability.getTargets().contains(stacked) && ability.canTargetSpellAbility(stacked)) candidates.add(stacked);
            }
        }
        if (zones.size() > 1 || !zones.contains(ZoneType.Stack)) {
            List<Card> cards = CardUtil.getValidCardsToTarget(ability);
            boolean alone = true; // other parts of the spell may hit the cards that must be targeted
            for (SpellAbility each = ability.getRootAbility(); each != null; each = each.getSubAbility()) {
                if (each != ability && each.usesTargeting()) alone = false;
            }
            boolean forced = alone && StaticAbilityMustTarget.filterMustTargetCards(seat.getPlayer(), cards, ability);
            for (Card card : cards) if (!card.isInZone(ZoneType.Stack) && isTargetable(card)) candidates.add(card);
            for (GameEntity other : rules.getAllCandidates(ability, true)) {
                if (other instanceof Player && !forced && !ability.getTargets().contains(other)) candidates.add(other);
            }
        }
        if (filter != null) candidates.removeIf(filter.negate());
        return candidates;
    }

    /** Return whether a card fits to the targets that were chosen before, which Forge's lists do not all check. */
    private boolean isTargetable(Card card) {
        if (!ability.canTarget(card)) return false;
        Card before = null;
        for (Card each : ability.getTargets().getTargetCards()) before = each;
        if (before == null) return true;
        if (rules.isWithSameCreatureType() && !card.sharesCreatureTypeWith(before)) return false;
        if (rules.isWithoutSameCreatureType() && card.sharesCreatureTypeWith(before)) return false;
        if (rules.isWithSameCardType() && !card.sharesCardTypeWith(before)) return false;
        for (Card each : ability.getTargets().getTargetCards()) {
            boolean same = each.getController() == card.getController();
            if (same ? rules.isDifferentControllers() || rules.isForEachPlayer() : rules.isSameController()) return false;
        }
        return true;
    }

    private boolean chooseAtRandom(int least, int most) {
        List<GameEntity> left = new ArrayList<>(rules.getAllCandidates(ability));
        int top = Math.min(left.size(), most), bottom = Math.max(1, least);
        int n = rules.isRandomNumTargets() && top >= bottom ? Aggregates.randomInt(bottom, top) : least;
        for (int at = 0; at < n && !left.isEmpty(); at++) {
            GameEntity target = Aggregates.random(left);
            left.remove(target);
            ability.getTargets().add(target);
        }
        return ability.getTargets().size() >= least;
    }

    /** Divide damage or counters among the targets: each gets at least one, the last one the rest. */
    private boolean divide() {
        List<GameObject> targets = new ArrayList<>();
        for (GameObject target : ability.getTargets()) targets.add(target);
        if (!ability.isDividedAsYouChoose() || targets.isEmpty()) return true;
        int left = ability.getStillToDivide();
        if (left <= 0) return true;
        if (ability.hasParam("DividedUpTo")) left = seat.number(ability, targets.size(), left);
        if (targets.size() > left) return false;
        for (int at = 0; at < targets.size(); at++) {
            int others = targets.size() - at - 1;
            int share = others == 0 ? left : seat.number(ability, 1, left - others);
            ability.addDividedAllocation(targets.get(at), share);
            left -= share;
        }
        return true;
    }
}
