// Which cards pay a cost: asks the seat. Costs without a choice are paid as Forge's AI pays them. Part of ForgeGame.java.

import forge.ai.AiCostDecision;
import forge.game.card.CardCollection;
import forge.game.card.CardLists;
import forge.game.card.CardPredicates;
import forge.game.cost.CostDiscard;
import forge.game.cost.CostExile;
import forge.game.cost.CostPart;
import forge.game.cost.CostReturn;
import forge.game.cost.CostSacrifice;
import forge.game.cost.CostTapType;
import forge.game.cost.PaymentDecision;
import forge.game.player.Player;
import forge.game.spellability.SpellAbility;
import forge.game.zone.ZoneType;

final class ForgeCosts extends AiCostDecision {
    private final ForgeSeat seat;

    ForgeCosts(ForgeSeat seat, Player payer, SpellAbility ability, boolean effect) {
        super(payer, ability, effect);
        this.seat = seat;
    }

    @Override
    public PaymentDecision visit(CostSacrifice cost) {
        if (cost.payCostFromSource() || cost.getType().equals("OriginalHost")) return super.visit(cost);
        CardCollection from = valid(cost, player.getCardsIn(ZoneType.Battlefield));
        from = CardLists.filter(from, CardPredicates.canBeSacrificedBy(ability, isEffect()));
        return cost.getAmount().equals("All") ? PaymentDecision.card(from) : pick(cost, from);
    }

    @Override
    public PaymentDecision visit(CostDiscard cost) {
        String type = cost.getType();
        if (cost.payCostFromSource() || type.equals("LastDrawn") || type.equals("Hand")) return super.visit(cost);
        if (type.equals("Random") || type.contains("WithSameName") || type.contains("DifferentNames")) return super.visit(cost);
        CardCollection from = valid(cost, player.getCardsIn(ZoneType.Hand));
        from.remove(source); // a spell that is being cast
        return pick(cost, from);
    }

    @Override
    public PaymentDecision visit(CostTapType cost) {
        String type = cost.getType();
        if (type.contains("+withTotalPowerGE") || type.contains("sharesCreatureTypeWith")) return left(super.visit(cost), "tap_cost");
        CardCollection from = CardLists.filter(valid(cost, player.getCardsIn(ZoneType.Battlefield)), CardPredicates.CAN_TAP);
        if (!cost.canTapSource) from.remove(source);
        return pick(cost, from);
    }

    @Override
    public PaymentDecision visit(CostReturn cost) {
        if (cost.payCostFromSource()) return super.visit(cost);
        return pick(cost, valid(cost, player.getCardsIn(ZoneType.Battlefield)));
    }

    @Override
    public PaymentDecision visit(CostExile cost) {
        String type = cost.getType();
        boolean plain = !type.contains("+withTotalCMCGE") && !type.contains("FromTopGrave") && !type.equals("All");
        if (cost.payCostFromSource() || !plain || cost.getFrom().contains(ZoneType.Library)) return super.visit(cost);
        CardCollection from = valid(cost, player.getCardsIn(cost.getFrom()));
        from.remove(source);
        return pick(cost, from);
    }

    private CardCollection valid(CostPart cost, Iterable<forge.game.card.Card> from) {
        return CardLists.getValidCards(from, cost.getType().split(";"), player, source, ability);
    }

    private PaymentDecision pick(CostPart cost, CardCollection from) {
        int n = cost.getAbilityAmount(ability);
        if (from.size() < n) return null;
        return PaymentDecision.card(seat.pickCards(ForgeChoice.Asks.COST, ability, from, n, n));
    }

    private PaymentDecision left(PaymentDecision decision, String kind) {
        seat.table.leftToAi(kind);
        return decision;
    }
}
