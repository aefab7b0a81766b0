"""The chooser of `PointerNet`: the same actions as its `forward`, with less per-op overhead.

While playing, batches have 1 to 64 rows, for which PyTorch's per-op overhead exceeds the arithmetic. Weights are
therefore combined once, when they change, and small operations use numpy, with buffers that are reused. In doubles,
only legal choices are scored, and those of the second slot only after the first is sampled. Axes as in `pointer.py`;
also n rows (its B), k choices per slot, r the rank of the pair score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ludus.games.showdown.net.columns import MOVES, SIDE
from ludus.games.showdown.net.encoding import parted
from ludus.games.showdown.net.reading import Features, Reading
from ludus.games.showdown.net.scratch import Scratch
from ludus.policies.cpu.drawing import Floats, Whole, draw
from ludus.policies.cpu.expectation import Expectation
from ludus.policies.distributions import MASKED
from ludus.policies.nets.recurrence import Recall, recalled
from ludus.spec import GameSpec

if TYPE_CHECKING:
    from ludus.games.showdown.net.pointer import PointerNet

SIDES = ("own", "foe", "own_active", "foe_active")  # features of Pokemon, in the order of `parted`
SCORED = 16  # outputs of `_scores`: move score, switch score, r numbers for the pair; padded to 16, which is faster


class SampledActions(NamedTuple):
    """The output of `PointerChooser.choose`."""

    action: Whole  # [n]
    logp: Floats  # [n]
    value: Floats  # [n]


class PointerChooser:
    """Implements `Chooser` for a pointer net, with the weights that the net had at the last `refresh`."""

    def __init__(self, net: PointerNet, spec: GameSpec) -> None:
        self._net = net
        self.draws = net.slots
        names = net.names
        self._reading = Reading(net.columns, spec, names.kinds, names.first[0, :-1].numpy())  # all names but the side
        self._memory = Scratch()
        self._spaces: dict[int, _Space] = {}
        self._choices = net.slot_actions
        self._ways = None if not net.joint else _Ways(net)
        self.refresh()

    def refresh(self) -> None:
        self._net.freeze_tables()
        with torch.no_grad():
            self._weights = _Weights(self._net, self._reading)

    def takes(self, legal: NDArray[np.bool_]) -> bool:
        """Return whether no row is in team preview. `choose` does not support preview; `PointerNet.forward` does."""
        battle = self._choices**self._net.slots
        return legal.shape[1] == battle or not legal[:, battle:].any()

    def choose(
        self, obs: NDArray[np.uint8], legal: NDArray[np.bool_], uniform: Floats | None, recall: Recall | None = None
    ) -> SampledActions:
        """Return actions, log-probabilities and values of packed rows [n, nbytes] with masks [n, A], for which `takes`
        must be True. uniform: random numbers [slots, n]; None: take the most probable actions."""
        n = len(obs)
        space = self._spaces.get(n)
        if space is None:
            space = self._spaces[n] = _Space(self._net, self._reading, self._memory, n)
        space.features.read(obs)
        self._encode(space)
        value = self._compute_heads(space, recall)
        if self._ways is None:
            action, logp = self._choose_one(space, legal[:, : self._choices], uniform)
        else:
            action, logp = self._choose_pair(space, self._ways, legal, uniform)
        return SampledActions(action, logp, value)

    def _encode(self, space: _Space) -> None:
        """Compute the vectors of all Pokemon (`space.pokemon`) and the input of the context layers: active Pokemon, sum
        and maximum of each bench, and the field."""
        weights, features = self._weights, space.features
        hidden = torch.embedding_bag(weights.names, features.ids, features.bags)[0]
        half = len(hidden) // 2
        hidden[:half].addmm_(features.own.tensor, weights.own)
        hidden[half:].addmm_(features.foe.tensor, weights.foe)
        torch.mm(features.own_active.tensor, weights.own_active, out=space.own_active)
        torch.mm(features.foe_active.tensor, weights.foe_active, out=space.foe_active)
        array = hidden.numpy()
        active = array.reshape(space.sides.shape)[:, :, : space.slots]
        np.add(active, space.actives, out=active)
        np.maximum(array, 0, out=array)
        torch.addmm(weights.pokemon_bias, hidden, weights.pokemon, out=space.pokemon.tensor)
        np.maximum(space.pokemon.array, 0, out=space.pokemon.array)
        np.copyto(space.first, space.sides[:, :, : space.slots])
        rest = space.sides[:, :, space.slots :]
        np.add.reduce(rest, axis=2, out=space.total)
        np.maximum.reduce(rest, axis=2, out=space.most)
        np.copyto(space.field, features.field)

    def _compute_heads(self, space: _Space, recall: Recall | None) -> Floats:
        """Compute the context and its heads for moves and switches (`space.heads`). Returns the values [n]."""
        weights = self._weights
        torch.addmm(weights.context_in_bias, space.context_input, weights.context_in, out=space.hidden.tensor)
        np.maximum(space.hidden.array, 0, out=space.hidden.array)
        torch.addmm(weights.context_out_bias, space.hidden.tensor, weights.context_out, out=space.context.tensor)
        np.maximum(space.context.array, 0, out=space.context.array)
        context = recalled(self._net.core, space.context.tensor, recall)
        torch.addmm(weights.heads_bias, context, weights.heads, out=space.heads.tensor)
        np.maximum(space.worth, 0, out=space.worth)
        value: Floats = torch.addmm(weights.value_bias, space.worth_tensor, weights.value).numpy()
        return weights.expected(value)

    def _score_moves(self, space: _Space) -> None:
        """Compute the vectors of each slot's moves, without user, target and variant (`space.moves`), of their users
        (`space.user`) and of the Pokemon to switch to (`space.into`)."""
        weights, features = self._weights, space.features
        weights.moves.take(features.active_moves, axis=0, out=space.moves, mode="clip")
        space.move.addmm_(features.state.tensor, weights.state)
        torch.addmm(space.user_head, space.active, weights.actor, out=space.user.tensor)
        torch.mm(space.own, weights.switch, out=space.into.tensor)

    def _choose_one(self, space: _Space, legal: NDArray[np.bool_], uniform: Floats | None) -> tuple[Whole, Floats]:
        """Sample actions of singles. Returns them and their log-probabilities, [n] each."""
        weights = self._weights
        self._score_moves(space)
        space.user.tensor.addmm_(space.facing, weights.target)
        np.add(space.moves, space.users, out=space.moves)
        np.add(space.moves, weights.variant[:, None], out=space.ways)
        np.maximum(space.ways, 0, out=space.ways)
        np.add(space.switches, space.switch_head, out=space.switches)
        np.maximum(space.switches, 0, out=space.switches)
        n = len(legal)
        by_move = torch.mv(space.ways_tensor, weights.move_score).numpy().reshape(n, -1)
        by_switch = torch.mv(space.into.tensor, weights.switch_score).numpy().reshape(n, -1)
        logits = np.concatenate((by_move + weights.move_bias, by_switch + weights.switch_bias), axis=1)
        logits[~legal] = MASKED
        return draw(logits, None if uniform is None else uniform[0])

    def _choose_pair(
        self, space: _Space, ways: _Ways, legal: NDArray[np.bool_], uniform: Floats | None
    ) -> tuple[Whole, Floats]:
        """Sample joint actions of doubles, the first slot's choice first. Returns them and their log-probabilities, [n]
        each."""
        weights, n, k = self._weights, len(legal), self._choices
        self._score_moves(space)
        np.add(space.moves, space.users, out=space.moves)
        np.copyto(space.aims[:, 0], weights.no_target)
        torch.mm(space.facing, weights.target, out=space.aim_at_foes)
        torch.mm(space.active, weights.target, out=space.aim_at_own)
        np.add(space.moves[:, :, None], space.aims[:, None, :, None], out=space.aimed)
        if space.features.hit is not None and weights.hit is not None:
            torch.mm(space.features.hit.tensor, weights.hit, out=space.hit.tensor)
            np.add(space.struck, space.hits, out=space.struck)
        np.add(space.switches, space.switch_head, out=space.into_bench)
        np.add(space.switch_head[:, 0], weights.stay, out=space.staying)

        pairs = np.ascontiguousarray(legal[:, : k * k])
        may = np.bitwise_or.reduceat(pairs.view(np.uint8).reshape(-1), space.firsts)  # [n * k]
        at = np.flatnonzero(may)
        scores, pair_vectors = self._scored(space, ways, at, 0)
        logits = np.full(n * k, MASKED, np.float32)
        logits[at] = scores
        first, logp = draw(logits.reshape(n, k), None if uniform is None else uniform[0])
        first_index = space.firsts_of_rows + first
        first_vector = pair_vectors[np.searchsorted(at, first_index)]  # [n, r]
        at = np.flatnonzero(pairs.reshape(n * k, k).take(first_index, axis=0))
        scores, pair_vectors = self._scored(space, ways, at, 1)
        logits.fill(MASKED)
        logits[at] = scores + np.einsum("ir,ir->i", pair_vectors, first_vector.take(at // k, axis=0))
        second, logp_second = draw(logits.reshape(n, k), None if uniform is None else uniform[1])
        return first * k + second, logp + logp_second

    def _scored(self, space: _Space, ways: _Ways, at: Whole, slot: int) -> tuple[Floats, Floats]:
        """Return the scores [L] of a slot's choices `at` [L], which are indices into [n * k], and their vectors [L, r]
        for the pair score."""
        weights, k = self._weights, self._choices
        row = at // k
        choice = at - row * k
        hidden = space.table.take(row * ways.rows + ways.row[slot].take(choice), axis=0)
        hidden += weights.variants.take(ways.variant.take(choice), axis=0)
        np.maximum(hidden, 0, out=hidden)
        scored = torch.addmm(weights.scores_bias[slot], torch.from_numpy(hidden), weights.scores[slot]).numpy()
        score = np.where(choice < ways.moves, scored[:, 0], scored[:, 1])
        return score, scored[:, 2 : 2 + ways.rank]


class _Ways:
    """Where the vector of each choice of a slot is in `_Space.table`. The table has, for each row, one vector for each
    move with each target, then one for each switch and one for passing. Variants are added separately."""

    def __init__(self, net: PointerNet) -> None:
        aimed = net.targets * MOVES
        self.moves = net.variants * aimed  # choices before this are moves
        self.rows = net.slots * aimed + SIDE + 1  # vectors per row in the table
        self.rank = net.pair_left.out_features
        choice = np.arange(net.slot_actions)
        bench = choice - self.moves + net.slots * aimed
        self.row = [np.where(choice < self.moves, slot * aimed + choice % aimed, bench) for slot in range(net.slots)]
        self.variant = np.where(choice < self.moves, choice // aimed, net.variants)  # the last one is zero


class _Weights:
    """The net's weights, prepared for `PointerChooser`: transposed, scaled to the units of `Features`, and concatenated
    where layers have the same input."""

    def __init__(self, net: PointerNet, reading: Reading) -> None:
        S, H, D = net.slots, net.hidden, net.width
        self.names, moves = net.names.tables()
        self.moves = moves.numpy()
        parts = zip(parted(net.pokemon_in.weight, net.columns), SIDES, strict=True)
        own, foe, own_active, foe_active = ((weight * reading.scale[name]).t() for weight, name in parts)
        # the last row is the embedding of the side
        self.own, self.foe = torch.cat((own, self.names[-2:-1])), torch.cat((foe, self.names[-1:]))
        self.own_active, self.foe_active = own_active.contiguous(), foe_active.contiguous()
        self.pokemon, self.pokemon_bias = _transposed(net.pokemon_out)

        self.context_in, self.context_in_bias = _transposed(net.context_in)
        for side in range(2):  # `_encode` sums the bench where the net takes the mean
            begin = (side * (S + 2) + S) * D
            self.context_in[begin : begin + D] /= SIDE - S
        self.context_in[2 * (S + 2) * D :] *= reading.scale["field"]
        self.context_out, self.context_out_bias = _transposed(net.context_out)
        heads, self.heads_bias = _transposed(net.heads)
        self.heads = torch.cat((*[heads[:, :H]] * S, heads[:, H:]), dim=1)  # users of each slot, switches, value
        self.heads_bias = torch.cat((*[self.heads_bias[:H]] * S, self.heads_bias[H:]))
        self.value, self.value_bias = _transposed(net.value_out)
        self.expected = Expectation(net.bins)

        self.state = (net.move_state.weight * reading.scale["state"]).t().contiguous()
        self.actor, self.target = _by_slot(net.move_actor, S), _by_slot(net.move_target, S)
        self.switch = net.switch_in.weight.t().contiguous()
        self.variant = net.variant.detach().numpy().copy()
        self.move_score, self.move_bias = net.move_out.weight[0].clone(), np.float32(net.move_out.bias.item())
        self.switch_score, self.switch_bias = net.switch_out.weight[0].clone(), np.float32(net.switch_out.bias.item())
        if net.joint:
            self.no_target, self.stay = (
                net.no_target[0, 0].detach().numpy().copy(),
                net.stay[0, 0].detach().numpy().copy(),
            )
            self.hit = None
            if net.move_hit is not None:
                self.hit = net.move_hit.weight.t().contiguous() * reading.scale["matchup"]
            self.variants = np.concatenate((self.variant, np.zeros((1, H), np.float32)))
            by_slot = [_scores(net, pair) for pair in (net.pair_left, net.pair_right)]
            self.scores, self.scores_bias = [weight for weight, _ in by_slot], [bias for _, bias in by_slot]


def _transposed(layer: nn.Linear) -> tuple[Tensor, Tensor]:
    """Return the weights [inputs, outputs] and the bias of a layer, as copies."""
    return layer.weight.t().clone(memory_format=torch.contiguous_format), layer.bias.clone()


def _by_slot(layer: nn.Linear, slots: int) -> Tensor:
    """Return block-diagonal weights [S * inputs, S * outputs], which apply a layer to all slots in one product."""
    diagonal: Tensor = torch.block_diag(*[layer.weight.t()] * slots)  # type: ignore[no-untyped-call]  # torch's
    return diagonal


def _scores(net: PointerNet, pair: nn.Linear) -> tuple[Tensor, Tensor]:
    """Return weights [H, SCORED] and bias [SCORED] that score a choice as a move and as a switch and give its vector
    for the pair score."""
    weight, bias = net.move_out.weight.new_zeros(SCORED, net.hidden), net.move_out.bias.new_zeros(SCORED)
    for at, layer in ((0, net.move_out), (1, net.switch_out), (2, pair)):
        weight[at : at + layer.out_features], bias[at : at + layer.out_features] = layer.weight, layer.bias
    return weight.t().contiguous(), bias


class _Space:
    """The buffers for n rows, as views of reused memory. The views are made once per n, because making them would cost
    more than many of the operations."""

    def __init__(self, net: PointerNet, reading: Reading, memory: Scratch, rows: int) -> None:
        n, S, D, H = rows, net.slots, net.width, net.hidden
        self.slots = S
        self.features = Features(reading, memory, n)
        actives = memory.of("actives", n, 2, n * S, D)
        self.own_active, self.foe_active = actives.tensor[0], actives.tensor[1]
        self.actives = actives.array.reshape(2, n, S, D)
        self.pokemon = memory.of("pokemon", n, 2 * n * SIDE, D)
        self.sides = self.pokemon.array.reshape(2, n, SIDE, D)
        self.own = self.pokemon.tensor[: n * SIDE]
        self._context_inputs(memory, n, S, D)
        self._contexts(memory, net, n)
        move = memory.of("move", n, n * S * MOVES, H)
        self.move, self.moves = move.tensor, move.array.reshape(n, S, MOVES, H)
        self.user = memory.of("user", n, n, S * H)
        self.users = self.user.array.reshape(n, S, 1, H)
        self.into = memory.of("into", n, n * SIDE, H)
        self.switches = self.into.array.reshape(n, SIDE, H)
        if net.joint:
            self._pairs(memory, net, n)
        else:
            ways = memory.of("ways", n, n * net.variants * MOVES, H)
            self.ways_tensor, self.ways = ways.tensor, ways.array.reshape(n, net.variants, MOVES, H)

    def _context_inputs(self, memory: Scratch, n: int, S: int, D: int) -> None:
        """Make the input of the context layers: for each side the active Pokemon, then sum and maximum of the bench;
        and the field."""
        pooled = 2 * (S + 2) * D
        context_input = memory.of("context_input", n, n, pooled + self.features.field.shape[1])
        self.context_input = context_input.tensor
        by_side = context_input.array[:, :pooled].reshape(n, 2, S + 2, D).transpose(1, 0, 2, 3)
        self.first, self.total, self.most = by_side[:, :, :S], by_side[:, :, S], by_side[:, :, S + 1]
        self.field = context_input.array[:, pooled:]
        self.active, self.facing = (
            context_input.tensor[:, : S * D],
            context_input.tensor[:, pooled // 2 : pooled // 2 + S * D],
        )

    def _contexts(self, memory: Scratch, net: PointerNet, n: int) -> None:
        """Make the outputs of the context layers and of the heads for users, switches and the value."""
        S, H = net.slots, net.hidden
        self.hidden = memory.of("hidden", n, n, net.context_in.out_features)
        self.context = memory.of("context", n, n, net.context_out.out_features)
        self.heads = memory.of("heads", n, n, (S + 1) * H + net.width)
        self.user_head = self.heads.tensor[:, : S * H]
        self.switch_head = self.heads.array[:, None, S * H : (S + 1) * H]
        self.worth, self.worth_tensor = self.heads.array[:, (S + 1) * H :], self.heads.tensor[:, (S + 1) * H :]

    def _pairs(self, memory: Scratch, net: PointerNet, n: int) -> None:
        """Make the table that `_Ways` describes, and the buffers for its parts."""
        S, H, T, k = net.slots, net.hidden, net.targets, net.slot_actions
        aimed = S * T * MOVES
        self.table = memory.of("table", n, n * (aimed + SIDE + 1), H).array
        by_row = self.table.reshape(n, -1, H)
        self.aimed = by_row[:, :aimed].reshape(n, S, T, MOVES, H)
        self.struck, self.into_bench = self.aimed[:, :, : 1 + S], by_row[:, aimed : aimed + SIDE]
        self.staying = by_row[:, -1]
        aims = memory.of("aims", n, n, T * H)
        self.aims = aims.array.reshape(n, T, H)
        self.aim_at_foes, self.aim_at_own = aims.tensor[:, H : H + S * H], aims.tensor[:, H + S * H :]
        if self.features.hit is not None:
            self.hit = memory.of("hits", n, n * S * (1 + S) * MOVES, H)
            self.hits = self.hit.array.reshape(self.struck.shape)
        self.firsts, self.firsts_of_rows = np.arange(0, n * k * k, k), np.arange(0, n * k, k)
