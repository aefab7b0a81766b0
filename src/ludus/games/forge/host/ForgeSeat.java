// The decisions of the rules themselves: what to play, targets, attacks, blocks, damage, costs. Part of ForgeGame.java.

import forge.LobbyPlayer;
import forge.ai.ComputerUtilAbility;
import forge.ai.ComputerUtilMana;
import forge.game.Game;
import forge.game.GameEntity;
import forge.game.GameObject;
import forge.game.card.Card;
import forge.game.card.CardCollection;
import forge.game.card.CardCollectionView;
import forge.game.combat.Combat;
import forge.game.cost.Cost;
import forge.game.cost.CostDecisionMakerBase;
import forge.game.cost.CostPart;
import forge.game.cost.CostPartMana;
import forge.game.cost.CostPartWithList;
import forge.game.keyword.Keyword;
import forge.game.mana.ManaConversionMatrix;
import forge.game.mana.ManaCostBeingPaid;
import forge.game.player.PlaySpellAbility;
import forge.game.player.Player;
import forge.game.spellability.SpellAbility;
import forge.game.spellability.TargetChoices;
import forge.game.trigger.WrappedAbility;
import forge.game.zone.ZoneType;
import forge.card.mana.ManaCost;
import forge.util.collect.FCollectionView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

final class ForgeSeat extends ForgeChoosing {
    private static final int MOST_USES = 20; // of one ability in a turn: free ones would repeat without end
    private static final List<ZoneType> PLAYED_FROM = List.of(
        ZoneType.Hand, ZoneType.Battlefield, ZoneType.Graveyard, ZoneType.Exile, ZoneType.Command);
    private final Set<String> failed = new HashSet<>(); // since this player last passed
    private final Map<String, Integer> uses = new HashMap<>(); // of this turn
    private int turn = -1;

    ForgeSeat(Game game, Player player, LobbyPlayer lobby, int seat, ForgeTable table) {
        super(game, player, lobby, seat, table);
    }

    // -- before the game

    @Override
    public Player chooseStartingPlayer(boolean isFirstGame) {
        List<ForgeChoice> choices = List.of(ForgeChoice.of(ForgeChoice.Does.FIRST), ForgeChoice.of(ForgeChoice.Does.DRAW));
        boolean first = ask(ForgeChoice.Asks.START, null, choices).does() == ForgeChoice.Does.FIRST;
        return first ? player : player.getSingleOpponent();
    }

    @Override
    public boolean mulliganKeepHand(Player first, int back) {
        List<ForgeChoice> choices = List.of(ForgeChoice.of(ForgeChoice.Does.KEEP, back), ForgeChoice.of(ForgeChoice.Does.MULLIGAN, back));
        return ask(ForgeChoice.Asks.MULLIGAN, null, choices).does() == ForgeChoice.Does.KEEP;
    }

    @Override
    public CardCollectionView tuckCardsViaMulligan(CardCollectionView hand, int n) {
        return pickCards(ForgeChoice.Asks.BOTTOM, null, hand, n, n);
    }

    // -- spells and abilities

    @Override
    public List<SpellAbility> chooseSpellAbilityToPlay() {
        table.noteTurn();
        if (getGame().getPhaseHandler().getTurn() != turn) {
            turn = getGame().getPhaseHandler().getTurn();
            uses.clear();
            failed.clear();
        }
        List<ForgeChoice> choices = playable(false);
        ForgeChoice chosen = ask(ForgeChoice.Asks.PLAY, null, choices);
        if (chosen.ability() == null) {
            failed.clear();
            return null;
        }
        return List.of(chosen.ability());
    }

    /**
     * Return what the player may play now, and passing. `thorough`: ask Forge about every card, even if there is a shorter
     * way to tell. The options are the same.
     */
    List<ForgeChoice> playable(boolean thorough) {
        table.isListing = true;
        try {
            return ForgeRandom.SHARED.aside(() -> listed(thorough)); // Forge draws while it plans payments
        } finally {
            table.isListing = false;
        }
    }

    private List<ForgeChoice> listed(boolean thorough) {
        ForgeTiming timing = thorough ? null : new ForgeTiming(player);
        ForgeMana mana = new ForgeMana(player);
        List<ForgeChoice> choices = new ArrayList<>();
        choices.add(ForgeChoice.of(ForgeChoice.Does.PASS));
        CardCollection cards = new CardCollection(player.getCardsIn(PLAYED_FROM));
        cards.addAll(player.getCardsIn(ZoneType.Flashback));
        cards.addAll(player.getSingleOpponent().getCardsIn(ZoneType.Exile));
        cards.addAll(player.getCardsIn(ZoneType.Library, 1));
        Set<String> offered = new HashSet<>(), inHand = new HashSet<>();
        for (Card card : cards) {
            if (card.isInZone(ZoneType.Battlefield) && isOnlyMana(card)) continue;
            if (!thorough && (timing.waits(card) || mana.lacks(card))) continue;
            if (card.isInZone(ZoneType.Hand) && !inHand.add(card.getName())) continue; // a second copy adds no option
            for (SpellAbility ability : thorough ? mana.possible(card) : mana.abilities(card)) {
                if (ability.isManaAbility()) continue;
                ability.setActivatingPlayer(player);
                String name = nameOf(ability);
                if (failed.contains(name) || uses.getOrDefault(name, 0) >= MOST_USES) continue;
                if (!ability.isLandAbility()) {
                    Boolean pays = thorough ? null : mana.pays(ability);
                    if (Boolean.FALSE.equals(pays) || !ComputerUtilAbility.isFullyTargetable(ability)) continue;
                    if (pays == null && !ComputerUtilMana.canPayManaCost(ability, player, 0, false)) continue;
                    if (!isPayable(ability)) continue;
                }
                if (!offered.add(name)) continue;
                ForgeChoice.Does does = ability.isLandAbility() ? ForgeChoice.Does.LAND
                    : ability.isSpell() ? ForgeChoice.Does.CAST : ForgeChoice.Does.ACTIVATE;
                choices.add(ForgeChoice.of(does, ability, 0));
            }
        }
        return choices;
    }

    private static boolean isOnlyMana(Card card) {
        if (card.isFaceDown()) return false;
        for (SpellAbility ability : card.getSpellAbilities()) {
            if (!ability.isManaAbility() && !ability.isLandAbility() && !ability.isSpell()) return false; // those need another zone
        }
        return true;
    }

    private boolean isPayable(SpellAbility ability) {
        Cost cost = ability.getPayCosts();
        if (cost == null) return true;
        for (CostPart part : cost.getCostParts()) {
            if (!(part instanceof CostPartMana) && !part.canPay(ability, player, false)) return false;
        }
        return true;
    }

    private static String nameOf(SpellAbility ability) {
        return ability.getHostCard().getId() + " " + ability;
    }

    @Override
    public boolean playChosenSpellAbility(SpellAbility sa) {
        String name = nameOf(sa);
        boolean isForeign = sa.getHostCard().getController() != player;
        if (!ForgeRandom.SHARED.exactly(isForeign, () -> PlaySpellAbility.playSpellAbility(this, player, sa))) {
            failed.add(name);
            table.count("failed_plays");
            return false;
        }
        uses.merge(name, 1, Integer::sum);
        if (sa.isSpell() || sa.isLandAbility()) table.played(seat);
        return true;
    }

    @Override
    public void playSpellAbilityNoStack(SpellAbility sa, boolean mayChooseTargets) {
        PlaySpellAbility.playSpellAbilityNoStack(this, player, sa, !mayChooseTargets);
    }

    @Override
    public boolean playTrigger(Card host, WrappedAbility wrapper, boolean mandatory) {
        return PlaySpellAbility.playSpellAbilityNoStack(this, player, wrapper, false);
    }

    @Override
    public boolean playSaFromPlayEffect(SpellAbility sa) {
        return PlaySpellAbility.playSpellAbility(this, player, sa);
    }

    @Override
    public void orderAndPlaySimultaneousSa(List<SpellAbility> abilities) {
        List<SpellAbility> ordered = orderSimultaneousSa(abilities);
        for (int at = ordered.size() - 1; at >= 0; at--) {
            SpellAbility next = ordered.get(at);
            if (next.isTrigger() && !next.isCopied()) {
                PlaySpellAbility.playSpellAbility(this, player, next);
                continue;
            }
            if (next.isCopied() && next.isSpell()) {
                if (next.getHostCard().isInZone(ZoneType.Stack)) getGame().getStackZone().add(next.getHostCard());
                else next.setHostCard(getGame().getAction().moveToStack(next.getHostCard(), next));
            }
            if (next.isCopied() && next.isMayChooseNewTargets()) next.setupNewTargets(player);
            getGame().getStack().add(next);
        }
    }

    @Override
    public Integer announceRequirements(SpellAbility sa, int min, int max, String what) {
        int most = max;
        Cost cost = sa.getPayCosts();
        if (what.equals("X") && cost != null) {
            Integer other = cost.getMaxForNonManaX(sa, player, false);
            if (other != null) most = Math.min(most, other);
            if (cost.hasXInAnyCostPart() && cost.hasManaCost() && other == null) {
                most = Math.min(most, ComputerUtilMana.determineLeftoverMana(sa, player, false));
            }
        }
        int least = what.equals("X") && sa.isActivatedAbility() ? Math.max(1, min) : min; // {X} with 0 does nothing, for free
        return least > most ? null : (Integer) number(sa, least, most);
    }

    // -- targets

    @Override
    public boolean chooseTargetsFor(SpellAbility sa) {
        return new ForgeTargets(this, sa).choose(null, null);
    }

    @Override
    public TargetChoices chooseNewTargetsFor(SpellAbility ability, Predicate<GameObject> filter, boolean optional) {
        SpellAbility sa = ability instanceof WrappedAbility wrapper ? wrapper.getWrappedAbility() : ability;
        if (!sa.usesTargeting()) return null;
        TargetChoices before = sa.getTargets();
        if (optional && !confirm(ForgeChoice.Asks.CONFIRM, sa, null)) return null;
        sa.clearTargets();
        if (new ForgeTargets(this, sa).choose(before.size(), filter)) return sa.getTargets();
        sa.setTargets(before);
        return null;
    }

    // -- combat

    @Override
    public void declareAttackers(Player attacker, Combat combat) {
        ForgeCombat.attack(this, attacker, combat);
    }

    @Override
    public void declareBlockers(Player defender, Combat combat) {
        ForgeCombat.block(this, defender, combat);
    }

    @Override
    public Map<Card, Integer> assignCombatDamage(
        Card attacker, CardCollectionView blockers, CardCollectionView remaining, int damage, GameEntity defender, boolean free) {
        boolean tramples = attacker.hasKeyword(Keyword.TRAMPLE) && defender != null;
        if (blockers.size() == 1 && !tramples && !free) return Map.of(blockers.get(0), damage);
        return ForgeCombat.damage(this, attacker, blockers, damage, tramples);
    }

    @Override
    public List<Card> exertAttackers(List<Card> attackers) {
        return pick(ForgeChoice.Asks.ATTACK, null, attackers, 0, attackers.size());
    }

    @Override
    public List<Card> enlistAttackers(List<Card> attackers) {
        return pick(ForgeChoice.Asks.ATTACK, null, attackers, 0, attackers.size());
    }

    // -- costs

    @Override
    public boolean payManaCost(
        ManaCost cost, CostPartMana part, SpellAbility sa, String prompt, ManaConversionMatrix matrix, boolean effect) {
        return PlaySpellAbility.payManaCost(this, cost, part, sa, player, prompt, matrix, effect);
    }

    @Override
    public boolean applyManaToCost(
        ManaCostBeingPaid cost, SpellAbility sa, String prompt, ManaConversionMatrix matrix, boolean effect) {
        return ComputerUtilMana.payManaCost(cost, sa, player, effect);
    }

    @Override
    public CostDecisionMakerBase getCostDecisionMaker(Player payer, SpellAbility sa, boolean effect, String prompt) {
        return new ForgeCosts(this, payer, sa, effect);
    }

    @Override
    public CardCollectionView chooseCardsForCost(
        CardCollectionView from, SpellAbility sa, CostPartWithList part, int n, boolean optional, String prompt) {
        if (from.size() < n) return null;
        if (optional && !confirm(ForgeChoice.Asks.COST, sa, null)) return null;
        return pickCards(ForgeChoice.Asks.COST, sa, from, n, n);
    }

    @Override
    public boolean payCostToPreventEffect(Cost cost, SpellAbility sa, boolean paid, FCollectionView<Player> payers) {
        return pays(cost, sa);
    }

    @Override
    public boolean payCostDuringRoll(Cost cost, SpellAbility sa) {
        return pays(cost, sa);
    }

    @Override
    public boolean payCombatCost(Card card, Cost cost, SpellAbility sa, String prompt) {
        return pays(cost, sa);
    }

    private boolean pays(Cost cost, SpellAbility sa) {
        CostPartMana mana = cost.getCostMana();
        if (mana != null && !mana.getMana().isZero() && !ComputerUtilMana.canPayManaCost(cost, sa, player, 0, true)) return false;
        if (mana != null && !mana.getMana().isZero() && !confirm(ForgeChoice.Asks.COST, sa, null)) return false;
        return PlaySpellAbility.payCostDuringAbilityResolve(this, player, cost, sa, null);
    }
}
