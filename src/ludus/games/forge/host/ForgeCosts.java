// Which cards pay a cost: asks the seat. Costs without a choice are paid as Forge's AI pays them. Part of ForgeGame.java.

import forge.ai.AiCostDecision;
import forge.game.card.CardCollection;
import forge.game.card.CardLists;
import forge.game.card.CardPredicates;
import forge.game.cost.CostBehold;
import forge.game.cost.CostBeholdExile;
import forge.game.cost.CostBlight;
import forge.game.cost.CostChooseColor;
import forge.game.cost.CostChooseCreatureType;
import forge.game.cost.CostCollectEvidence;
import forge.game.cost.CostDiscard;
import forge.game.cost.CostEnlist;
import forge.game.cost.CostExert;
import forge.game.cost.CostExile;
import forge.game.cost.CostExileFromStack;
import forge.game.cost.CostExiledMoveToGrave;
import forge.game.cost.CostForage;
import forge.game.cost.CostGainControl;
import forge.game.cost.CostPart;
import forge.game.cost.CostPromiseGift;
import forge.game.cost.CostPutCardToLib;
import forge.game.cost.CostPutCounter;
import forge.game.cost.CostRemoveAnyCounter;
import forge.game.cost.CostRemoveCounter;
import forge.game.cost.CostReturn;
import forge.game.cost.CostReveal;
import forge.game.cost.CostSacrifice;
import forge.game.cost.CostTapType;
import forge.game.cost.CostUnattach;
import forge.game.cost.CostUntapType;
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
        if (type.equals("Random")) return super.visit(cost);
        if (type.contains("WithSameName") || type.contains("DifferentNames")) return left(cost, super.visit(cost), "discard_cost");
        CardCollection from = valid(cost, player.getCardsIn(ZoneType.Hand));
        from.remove(source); // a spell that is being cast
        return pick(cost, from);
    }

    @Override
    public PaymentDecision visit(CostTapType cost) {
        String type = cost.getType();
        if (type.contains("+withTotalPowerGE") || type.contains("sharesCreatureTypeWith")) return left(cost, super.visit(cost), "tap_cost");
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
        boolean plain = !type.contains("+withTotalCMCGE") && !type.contains("FromTopGrave");
        if (type.equals("All") || cost.payCostFromSource() || cost.getFrom().contains(ZoneType.Library)) return super.visit(cost);
        if (!plain) return left(cost, super.visit(cost), "exile_cost");
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

    // -- left to Forge's AI

    @Override
    public PaymentDecision visit(CostBehold cost) {
        return left(cost, super.visit(cost), "behold_cost");
    }

    @Override
    public PaymentDecision visit(CostBeholdExile cost) {
        return left(cost, super.visit(cost), "behold_cost");
    }

    @Override
    public PaymentDecision visit(CostChooseColor cost) {
        return left(cost, super.visit(cost), "color_cost");
    }

    @Override
    public PaymentDecision visit(CostChooseCreatureType cost) {
        return left(cost, super.visit(cost), "type_cost");
    }

    @Override
    public PaymentDecision visit(CostCollectEvidence cost) {
        return left(cost, super.visit(cost), "evidence_cost");
    }

    @Override
    public PaymentDecision visit(CostExert cost) {
        return left(cost, super.visit(cost), "exert_cost");
    }

    @Override
    public PaymentDecision visit(CostEnlist cost) {
        return left(cost, super.visit(cost), "enlist_cost");
    }

    @Override
    public PaymentDecision visit(CostForage cost) {
        return left(cost, super.visit(cost), "forage_cost");
    }

    @Override
    public PaymentDecision visit(CostPromiseGift cost) {
        return left(cost, super.visit(cost), "gift_cost");
    }

    @Override
    public PaymentDecision visit(CostPutCardToLib cost) {
        return left(cost, super.visit(cost), "library_cost");
    }

    @Override
    public PaymentDecision visit(CostPutCounter cost) {
        return left(cost, super.visit(cost), "counter_cost");
    }

    @Override
    public PaymentDecision visit(CostReveal cost) {
        return left(cost, super.visit(cost), "reveal_cost");
    }

    @Override
    public PaymentDecision visit(CostRemoveAnyCounter cost) {
        return left(cost, super.visit(cost), "counter_cost");
    }

    @Override
    public PaymentDecision visit(CostRemoveCounter cost) {
        return left(cost, super.visit(cost), "counter_cost");
    }

    @Override
    public PaymentDecision visit(CostUntapType cost) {
        return left(cost, super.visit(cost), "untap_cost");
    }

    @Override
    public PaymentDecision visit(CostGainControl cost) {
        return left(cost, super.visit(cost), "control_cost");
    }

    @Override
    public PaymentDecision visit(CostExileFromStack cost) {
        return left(cost, super.visit(cost), "exile_cost");
    }

    @Override
    public PaymentDecision visit(CostExiledMoveToGrave cost) {
        return left(cost, super.visit(cost), "exile_cost");
    }

    @Override
    public PaymentDecision visit(CostUnattach cost) {
        return left(cost, super.visit(cost), "unattach_cost");
    }

    @Override
    public PaymentDecision visit(CostBlight cost) {
        return left(cost, super.visit(cost), "counter_cost");
    }

    /** Count what Forge's AI pays with, unless the cost names it or it cannot be paid. */
    private PaymentDecision left(CostPart cost, PaymentDecision decision, String kind) {
        if (decision != null && !cost.payCostFromSource()) seat.table.leftToAi(kind);
        return decision;
    }
}
