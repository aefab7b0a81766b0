// Attacks per creature, blocks per blocker, and damage. Part of ForgeGame.java.

import forge.game.GameEntity;
import forge.game.card.Card;
import forge.game.card.CardCollection;
import forge.game.card.CardCollectionView;
import forge.game.combat.AttackConstraints;
import forge.game.combat.Combat;
import forge.game.combat.CombatUtil;
import forge.game.player.Player;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

final class ForgeCombat {
    private ForgeCombat() {}

    /** Ask for each creature whether and whom it attacks. If the whole is illegal, Forge's own legal attack takes its place. */
    static void attack(ForgeSeat seat, Player attacker, Combat combat) {
        for (Card creature : CombatUtil.getPossibleAttackers(attacker)) {
            List<ForgeChoice> choices = new ArrayList<>(List.of(ForgeChoice.of(ForgeChoice.Does.STAY, creature)));
            List<GameEntity> defenders = new ArrayList<>();
            for (GameEntity defender : combat.getDefenders()) {
                if (!CombatUtil.canAttack(creature, defender)) continue;
                defenders.add(defender);
                Player player = defender instanceof Player hit ? hit : null;
                Card other = defender instanceof Card hit ? hit : null;
                choices.add(new ForgeChoice(ForgeChoice.Does.ATTACK, creature, player, other, null, 0));
            }
            ForgeChoice.Question question = new ForgeChoice.Question(seat.seat, ForgeChoice.Asks.ATTACK, null, choices);
            question.subject = creature;
            int at = seat.table.ask(question);
            if (at > 0) combat.addAttacker(creature, defenders.get(at - 1));
        }
        if (CombatUtil.validateAttackers(combat)) return;
        seat.table.count("illegal_attacks");
        combat.clearAttackers();
        AttackConstraints constraints = combat.getAttackConstraints();
        for (Map.Entry<Card, GameEntity> each : constraints.getLegalAttackers().getLeft().entrySet()) {
            combat.addAttacker(each.getKey(), each.getValue());
        }
    }

    /** Ask for each possible blocker what it blocks. If the whole is illegal, the last blocks are taken back until it is not. */
    static void block(ForgeSeat seat, Player defender, Combat combat) {
        List<Card> blocks = new ArrayList<>();
        for (Card blocker : defender.getCreaturesInPlay()) {
            while (askForBlock(seat, blocker, combat)) {
                if (!blocks.contains(blocker)) blocks.add(blocker);
                if (!CombatUtil.canBlockMoreCreatures(blocker, combat.getAttackersBlockedBy(blocker))) break;
            }
        }
        if (CombatUtil.validateBlocks(combat, defender) == null) return;
        seat.table.count("illegal_blocks");
        for (int at = blocks.size() - 1; at >= 0; at--) {
            Card blocker = blocks.get(at);
            for (Card attacker : new CardCollection(combat.getAttackersBlockedBy(blocker))) combat.removeBlockAssignment(attacker, blocker);
            if (CombatUtil.validateBlocks(combat, defender) == null) return;
        }
        seat.table.leftToAi("forced_blocks"); // a creature must block
        seat.getAi().declareBlockersFor(defender, combat);
    }

    private static boolean askForBlock(ForgeSeat seat, Card blocker, Combat combat) {
        if (!CombatUtil.canBlock(blocker, combat)) return false;
        List<ForgeChoice> choices = new ArrayList<>(List.of(ForgeChoice.of(ForgeChoice.Does.LEAVE, blocker)));
        for (Card attacker : combat.getAttackers()) {
            if (combat.isBlocking(blocker, attacker) || !CombatUtil.canBlock(attacker, blocker, combat)) continue;
            choices.add(ForgeChoice.pair(ForgeChoice.Does.BLOCK, attacker, blocker));
        }
        ForgeChoice.Question question = new ForgeChoice.Question(seat.seat, ForgeChoice.Asks.BLOCK, null, choices);
        question.subject = blocker;
        question.taken = List.copyOf(combat.getAttackersBlockedBy(blocker));
        ForgeChoice chosen = question.choices.get(seat.table.ask(question));
        if (chosen.does() == ForgeChoice.Does.LEAVE) return false;
        combat.addBlocker(chosen.card(), blocker);
        return true;
    }

    /** Ask in turn which blocker gets lethal damage next. With trample, the rest may go to the player once all have it. */
    static Map<Card, Integer> damage(ForgeSeat seat, Card attacker, CardCollectionView blockers, int damage, boolean tramples) {
        Map<Card, Integer> dealt = new HashMap<>();
        List<Card> left = new ArrayList<>();
        for (Card blocker : blockers) left.add(blocker);
        int rest = damage;
        Card last = left.get(0);
        while (rest > 0 && !left.isEmpty()) {
            List<ForgeChoice> choices = new ArrayList<>();
            for (Card blocker : left) choices.add(ForgeChoice.of(ForgeChoice.Does.CARD, blocker));
            ForgeChoice.Question question = new ForgeChoice.Question(seat.seat, ForgeChoice.Asks.DAMAGE, null, choices);
            question.subject = attacker;
            question.most = rest;
            last = left.remove(seat.table.ask(question));
            int lethal = Math.min(rest, Math.max(1, last.getLethalDamage()));
            if (attacker.hasKeyword(forge.game.keyword.Keyword.DEATHTOUCH)) lethal = 1;
            dealt.put(last, lethal);
            rest -= lethal;
        }
        if (rest > 0) dealt.merge(tramples ? null : last, rest, Integer::sum);
        return dealt;
    }
}
