'use strict';
// The flat action set (docs/games/showdown.md, "Actions"): the mask comes from a request alone, a choice is a string
// for `side.choose`. A slot's actions are its moves (by variant and target), then 6 switches, then, in doubles, pass.

const { TEAM_SIZE, previewChoices, previewOrders } = require('./preview.js');

const MOVES = 4;
const SWITCHES = TEAM_SIZE; // one for each place in the team
const FAINTED = '0 fnt';

// Where a move may be aimed, by its target type: [from slot 0, from slot 1], as indices 1..4 of TARGETS.
const TARGETS = ['', ' +1', ' +2', ' -1', ' -2'];
const AT_OTHERS = [[1, 2, 4], [1, 2, 3]];
const AT_FOES = [[1, 2], [1, 2]];
const AT_ALLY = [[4], [3]];
const AT_OWN_SIDE = [[3, 4], [3, 4]];
const NO_AIM = [[0], [0]]; // everything else, locked moves and Struggle included, takes no target
const PIECE_BITS = 24; // of a row of bits: shifted by up to 7 it is still a small integer

// How each variant is said to the simulator; "mega" stands for whichever of mega, Mega X and ultra burst is offered.
const SUFFIX = {
	plain: '', mega: ' mega', megay: ' megay', zmove: ' zmove', dynamax: ' dynamax', tera: ' terastallize',
};

class ActionSet {
	/** `format` is a Dex format with its `ruleTable`; only singles and doubles exist. */
	constructor(format, gen, gameType, ruleTable) {
		this.slots = gameType === 'doubles' ? 2 : 1;
		this.variants = variantsOf(format, gen, ruleTable);
		this.targets = this.slots === 2 ? TARGETS.length : 1;
		this.moveActions = this.variants.length * this.targets * MOVES;
		this.pass = this.moveActions + SWITCHES; // exists in doubles only
		this.slotActions = this.moveActions + SWITCHES + (this.slots === 2 ? 1 : 0);
		this.joint = this.slots === 2 ? this.slotActions ** 2 : this.slotActions;
		const picked = ruleTable ? ruleTable.pickedTeamSize : null;
		this.preview = previewOrders(this.slots, picked || null, !!ruleTable && (ruleTable.has('teampreview') || !!picked));
		this.previewPicks = this.preview.length ? this.preview[0].length : 0;
		this.size = this.joint + this.preview.length;
		this.maskBytes = Math.ceil(this.size / 8);

		this.canMega = this.variants.indexOf('mega');
		this.canMegaY = this.variants.indexOf('megay');
		this.canZMove = this.variants.indexOf('zmove');
		this.canDynamax = this.variants.indexOf('dynamax');
		this.canTera = this.variants.indexOf('tera');
		this.texts = slotTexts(this, ' mega');
		this.textsMegaX = slotTexts(this, ' megax');
		this.textsUltra = slotTexts(this, ' ultra');
		this.previewBySize = Array.from({ length: SWITCHES + 1 }, (_, team) => previewChoices(this, team));
		// scratch of doubles masks
		this.options = [new Int32Array(this.slotActions), new Int32Array(this.slotActions)];
		this.uses = [new Uint8Array(this.slotActions), new Uint8Array(this.slotActions)]; // what each uses up; 0 nothing
		this.switchUse = this.variants.length + 1; // of Pokemon 0 as a switch; gimmicks come before
		this.pieces = Math.ceil(this.slotActions / PIECE_BITS);
		this.partners = new Int32Array(this.pieces); // options of the second slot as a row of bits
		this.rivals = new Int32Array((this.switchUse + SWITCHES) * this.pieces); // those of them that use up the same
		this.rivalCounts = new Uint8Array(this.switchUse + SWITCHES);
	}

	/** The constants a net needs to take actions apart; part of HELLO's layout. */
	describe() {
		return {
			slots: this.slots, variants: this.variants, moves: MOVES, targets: this.targets, switches: SWITCHES,
			slot_actions: this.slotActions, joint: this.joint, preview: this.preview.length, preview_picks: this.previewPicks,
		};
	}

	/**
	 * Write the legal actions of a request as bits into `out` [maskBytes] and return how many there are. Whoever knows
	 * who of the team is `alive` saves a look at each.
	 */
	mask(request, out, alive = aliveIn(request)) {
		if (this.slots === 1) for (let i = 0; i < out.length; i++) out[i] = 0; // so few that a call takes longer
		else out.fill(0);
		if (request.wait) return 0;
		if (request.teamPreview) return this.maskPreview(request, out);
		if (this.slots === 1) {
			return request.forceSwitch ? this.maskSwitch(request, alive, out) : this.maskMove(request, alive, out);
		}
		return request.forceSwitch ? this.maskSwitches(request, alive, out) : this.maskMoves(request, alive, out);
	}

	/** What to say to `side.choose` for an action that the request's mask allows. */
	choice(request, action) {
		if (action >= this.joint || request.teamPreview) {
			const index = action >= this.joint ? action - this.joint : action - this.moveActions;
			return this.previewBySize[Math.min(request.side.pokemon.length, SWITCHES)].texts[index];
		}
		if (this.slots === 1) return this.slotText(request, 0, action);
		const first = (action / this.slotActions) | 0;
		return `${this.slotText(request, 0, first)}, ${this.slotText(request, 1, action - first * this.slotActions)}`;
	}

	slotText(request, slot, action) {
		if (this.canMega > 0 && action < this.moveActions && request.active) {
			const active = request.active[slot];
			if (active && !active.canMegaEvo) {
				if (active.canUltraBurst) return this.textsUltra[action];
				if (active.canMegaEvoX) return this.textsMegaX[action];
			}
		}
		return this.texts[action];
	}

	maskPreview(request, out) {
		const team = Math.min(request.side.pokemon.length, SWITCHES);
		const legal = this.previewBySize[team].legal;
		for (let i = 0; i < legal.length; i++) out[legal[i] >> 3] |= 1 << (legal[i] & 7);
		return legal.length;
	}

	// -- singles

	maskMove(request, alive, out) {
		const active = request.active[0];
		const moves = active.moves;
		const known = moves.length < MOVES ? moves.length : MOVES;
		const megas = this.canMega > 0 && (active.canMegaEvo || active.canMegaEvoX || active.canUltraBurst);
		let count = 0;
		for (let i = 0; i < known; i++) {
			if (moves[i].disabled) continue;
			count += set(out, i);
			if (megas) count += set(out, this.canMega * MOVES + i);
			if (this.canMegaY > 0 && active.canMegaEvoY) count += set(out, this.canMegaY * MOVES + i);
			if (this.canTera > 0 && active.canTerastallize) count += set(out, this.canTera * MOVES + i);
		}
		// Z-moves and Max Moves do not ask whether the move below them is disabled.
		if (this.canZMove > 0 && active.canZMove) {
			for (let i = 0; i < known; i++) if (active.canZMove[i]) count += set(out, this.canZMove * MOVES + i);
		}
		if (this.canDynamax > 0 && active.canDynamax) {
			const maxMoves = active.maxMoves.maxMoves;
			for (let i = 0; i < maxMoves.length && i < MOVES; i++) {
				if (!maxMoves[i].disabled) count += set(out, this.canDynamax * MOVES + i);
			}
		}
		if (!active.trapped) {
			for (let i = 1; i < SWITCHES; i++) if (alive & 1 << i) count += set(out, this.moveActions + i);
		}
		return count;
	}

	maskSwitch(request, alive, out) {
		const team = request.side.pokemon;
		const reviving = !!team[0].reviving;
		let count = 0;
		for (let i = reviving ? 0 : 1; i < team.length && i < SWITCHES; i++) {
			if (((alive & 1 << i) === 0) === reviving) count += set(out, this.moveActions + i);
		}
		return count;
	}

	// -- doubles: a list of options for each slot, then the pairs of them that go together

	maskMoves(request, alive, out) {
		const first = this.listMoves(request, alive, 0);
		const second = this.listMoves(request, alive, 1);
		this.lineUp(second);
		const { slotActions, pieces, partners, rivals, rivalCounts } = this;
		const options = this.options[0];
		const uses = this.uses[0];
		let count = 0;
		for (let i = 0; i < first; i++) {
			const bit = options[i] * slotActions;
			const use = uses[i];
			count += second - rivalCounts[use];
			for (let p = 0; p < pieces; p++) {
				let bits = (partners[p] & ~rivals[use * pieces + p]) << (bit & 7);
				for (let at = (bit >> 3) + p * PIECE_BITS / 8; bits !== 0; at++, bits >>>= 8) out[at] |= bits;
			}
		}
		return count;
	}

	/** Write the second slot's options as rows of bits: one terastallisation a turn; nobody switches in twice. */
	lineUp(second) {
		const { pieces, partners, rivals, rivalCounts } = this;
		const options = this.options[1];
		const uses = this.uses[1];
		for (let p = 0; p < pieces; p++) partners[p] = 0;
		for (let i = 0; i < rivals.length; i++) rivals[i] = 0;
		for (let i = 0; i < rivalCounts.length; i++) rivalCounts[i] = 0;
		for (let j = 0; j < second; j++) {
			const piece = (options[j] / PIECE_BITS) | 0;
			const bit = 1 << (options[j] - piece * PIECE_BITS);
			const use = uses[j];
			partners[piece] |= bit;
			if (use === 0) continue;
			rivals[use * pieces + piece] |= bit;
			rivalCounts[use]++;
		}
	}

	/** Fill the slot's options, and for each what it uses up: a gimmick, or a Pokemon that it sends in. */
	listMoves(request, alive, slot) {
		const options = this.options[slot];
		const uses = this.uses[slot];
		const team = request.side.pokemon;
		const own = team[slot];
		const active = request.active[slot];
		let n = 0;
		if (!own || !active || !(alive & 1 << slot) || own.commanding) {
			options[0] = this.pass;
			uses[0] = 0;
			return 1;
		}
		const moves = active.moves;
		const maxMoves = active.maxMoves ? active.maxMoves.maxMoves : null;
		const dynamaxed = maxMoves !== null && !active.canDynamax;
		const known = moves.length < MOVES ? moves.length : MOVES;
		const megas = this.canMega > 0 && (active.canMegaEvo || active.canMegaEvoX || active.canUltraBurst);
		const ultra = megas && !active.canMegaEvo && active.canUltraBurst; // its own limit, apart from mega evolution
		const span = TARGETS.length * MOVES;
		for (let i = 0; i < known; i++) {
			const target = dynamaxed ? maxMoves[i].target : moves[i].target;
			if (!moves[i].disabled) {
				const aims = aimsOf(target)[slot];
				for (let a = 0; a < aims.length; a++) {
					const at = aims[a] * MOVES + i;
					uses[n] = 0;
					options[n++] = at;
					if (megas) {
						uses[n] = ultra ? this.variants.length : this.canMega;
						options[n++] = this.canMega * span + at;
					}
					if (this.canMegaY > 0 && active.canMegaEvoY) {
						uses[n] = this.canMega;
						options[n++] = this.canMegaY * span + at;
					}
					if (this.canTera > 0 && active.canTerastallize) {
						uses[n] = this.canTera;
						options[n++] = this.canTera * span + at;
					}
				}
			}
			const zMove = this.canZMove > 0 && active.canZMove ? active.canZMove[i] : null;
			if (zMove) n = this.listAimed(slot, n, this.canZMove, zMove.target, i);
			if (this.canDynamax > 0 && active.canDynamax && maxMoves[i] && !maxMoves[i].disabled) {
				n = this.listAimed(slot, n, this.canDynamax, maxMoves[i].target, i);
			}
		}
		if (!active.trapped) {
			for (let i = 2; i < team.length && i < SWITCHES; i++) {
				if (!(alive & 1 << i)) continue;
				uses[n] = this.switchUse + i;
				options[n++] = this.moveActions + i;
			}
		}
		return n;
	}

	listAimed(slot, n, variant, target, move) {
		const aims = aimsOf(target)[slot];
		for (let a = 0; a < aims.length; a++) {
			this.uses[slot][n] = variant;
			this.options[slot][n++] = (variant * TARGETS.length + aims[a]) * MOVES + move;
		}
		return n;
	}

	/** Follows the simulator's count of how many must still switch and how many may pass for want of a replacement. */
	maskSwitches(request, alive, out) {
		const team = request.side.pokemon;
		const forced = request.forceSwitch;
		let leaving = 0;
		let healthy = 0;
		for (let slot = 0; slot < 2; slot++) if (forced[slot]) leaving++;
		for (let i = 2; i < SWITCHES; i++) if (alive & 1 << i) healthy++;
		const switches = leaving < healthy ? leaving : healthy;
		const first = this.listSwitches(request, alive, 0, leaving - switches > 0);
		const second = this.listSwitches(request, alive, 1, leaving - switches > 0);
		let count = 0;
		for (let i = 0; i < first; i++) {
			const a = this.options[0][i];
			for (let j = 0; j < second; j++) {
				const b = this.options[1][j];
				let switchesLeft = switches;
				let passesLeft = leaving - switches;
				if (forced[0]) {
					if (a === this.pass) passesLeft--;
					else if (team[0].reviving) switchesLeft = switchesLeft > 0 ? switchesLeft - 1 : 0;
					else switchesLeft--;
				}
				if (forced[1]) {
					if (b === this.pass) passesLeft--;
					else if (team[1].reviving) switchesLeft = switchesLeft > 0 ? switchesLeft - 1 : 0;
					else switchesLeft--;
				}
				if (passesLeft < 0 || switchesLeft !== 0 || (a === b && a !== this.pass)) continue;
				count += set(out, a * this.slotActions + b);
			}
		}
		return count;
	}

	listSwitches(request, alive, slot, mayPass) {
		const options = this.options[slot];
		if (!request.forceSwitch[slot]) {
			options[0] = this.pass;
			return 1;
		}
		const team = request.side.pokemon;
		const reviving = !!team[slot].reviving;
		let n = 0;
		for (let i = reviving ? 0 : 2; i < team.length && i < SWITCHES; i++) {
			if (((alive & 1 << i) === 0) === reviving) options[n++] = this.moveActions + i;
		}
		// The simulator lets a reviver pass when the bench is empty, and then asks again without end: not offered.
		if (mayPass && !reviving) options[n++] = this.pass;
		return n;
	}
}

/** One bit for each place in the team whose Pokemon has not fainted. */
function aliveIn(request) {
	const {pokemon} = request.side;
	let alive = 0;
	for (let i = 0; i < pokemon.length; i++) if (pokemon[i].condition !== FAINTED) alive |= 1 << i;
	return alive;
}

function aimsOf(target) {
	switch (target) {
	case 'normal':
	case 'any': return AT_OTHERS;
	case 'adjacentFoe': return AT_FOES;
	case 'adjacentAlly': return AT_ALLY;
	case 'adjacentAllyOrSelf': return AT_OWN_SIDE;
	default: return NO_AIM;
	}
}

/** Which ways of using a move the format knows, in the order of the action set. */
function variantsOf(format, gen, ruleTable) {
	if (gen <= 5) return ['plain'];
	if (gen === 6) return ['plain', 'mega'];
	if (format.mod === 'gen7letsgo') return ['plain', 'mega', 'megay']; // no stones: the trainer says X or Y
	if (gen === 7) return ['plain', 'mega', 'zmove'];
	if (String(format.mod).startsWith('champions')) return ['plain', 'mega'];
	const past = ruleTable && (ruleTable.has('natdexmod') || ruleTable.has('+tag:past'));
	if (past || format.mod === 'mixandmega') return ['plain', 'mega', 'zmove', 'dynamax', 'tera'];
	return gen === 8 ? ['plain', 'dynamax'] : ['plain', 'tera'];
}

function slotTexts(actionSet, megaSuffix) {
	const texts = [];
	for (const variant of actionSet.variants) {
		for (let target = 0; target < actionSet.targets; target++) {
			for (let move = 0; move < MOVES; move++) {
				texts.push(`move ${move + 1}${TARGETS[target]}${variant === 'mega' ? megaSuffix : SUFFIX[variant]}`);
			}
		}
	}
	for (let i = 0; i < SWITCHES; i++) texts.push(`switch ${i + 1}`);
	if (actionSet.slots === 2) texts.push('pass');
	return texts;
}

function set(out, bit) {
	out[bit >> 3] |= 1 << (bit & 7);
	return 1;
}

module.exports = { ActionSet, MOVES, SWITCHES };
