'use strict';
/**
 * Compares the tracked public state with the simulator's own, at every stop of seeded battles.
 *
 * usage: node truth.js SIMULATOR FORMAT[:TEAMS_FROM] BATTLES [SEED]; prints one JSON object: checks, disagreements by
 * kind, examples.
 */

const {Setting} = require('./battles');

const STATUSES = ['', 'brn', 'par', 'slp', 'frz', 'psn', 'tox'];
const BOOSTS = ['atk', 'def', 'spa', 'spd', 'spe', 'accuracy', 'evasion'];

// Volatiles that the public log cannot settle, with the reason.
const UNSETTLED = {
	lockedmove: 'how long Outrage lasts is rolled in secret; the tracker says that it may go on',
	slowstart: 'the simulator keeps it with the ability, not with the volatiles',
	stall: 'whether a guard succeeded is known, when its counter falls back is not said',
};
const UNSETTLED_GEN_1 = {
	...UNSETTLED,
	partiallytrapped: 'gen 1 rolls the length of Wrap in secret and says nothing at its end',
	bide: 'gen 1 ends Bide without a line when its user is hit by a status move',
};
const HIDDEN_FORMES = {'Greninja-Bond': 'Greninja', 'Rockruff-Dusk': 'Rockruff'}; // the protocol never shows them
const RENAMED = {perish: 'perishsong'};
// seen between two choices of one turn only; the simulator also keeps `twoturnmove` until the end of the turn in which
// the move came down
const ONE_TURN = new Set(['protect', 'endure', 'followme', 'helpinghand']);

class Comparison {
	constructor(setting) {
		this.setting = setting;
		this.checks = 0;
		this.disagreements = {};
		this.examples = {};
		this.had = new WeakMap(); // abilities each Pokemon has had
	}

	equal(kind, seen, truth, battle, about = '') {
		this.checks++;
		if (Object.is(seen, truth) || seen === truth) return;
		this.disagreements[kind] = (this.disagreements[kind] ?? 0) + 1;
		const list = this.examples[kind] ??= [];
		if (list.length < 3) {
			const recent = battle.log.slice(-40).filter(line => !/^\|(t:|split|$)/.test(line));
			list.push({seen, truth, about, turn: battle.turn, recent: recent.slice(-24)});
		}
	}

	stop(battle, view) {
		const {tracker} = view;
		const {effects} = tracker;
		if (battle.turn === 0) return;
		const {field} = battle;
		this.equal('weather', effects.weathers[tracker.weather] ?? '', field.weather, battle);
		this.equal('terrain', effects.terrains[tracker.terrain] ?? '', field.terrain, battle);
		effects.rooms.forEach((room, i) => {
			this.equal(`room ${room}`, tracker.rooms[i] > 0, room in field.pseudoWeather, battle);
		});
		battle.sides.forEach((side, i) => this.side(battle, side, tracker.sides[i], effects));
	}

	side(battle, side, seen, effects) {
		// Until it is unmasked, everything an illusion does is put down to the Pokemon it looks like.
		this.masked = side.pokemon.some(pokemon => pokemon.baseAbility === 'illusion' || pokemon.ability === 'illusion');
		this.equal('alive', seen.size - seen.fainted, side.pokemonLeft, battle);
		effects.sideConditions.forEach(({name}, i) => {
			if (name === 'futuresight') return;
			const state = side.sideConditions[name];
			this.equal(`side ${name}`, seen.conditions[i], state ? state.layers ?? 1 : 0, battle);
		});
		side.active.forEach((pokemon, slot) => {
			if (pokemon) this.active(battle, pokemon, seen.active[slot], effects);
		});
		for (const mon of seen.mons) if (!seen.active.includes(mon)) this.bench(battle, side, mon);
	}

	active(battle, pokemon, mon, effects) {
		if (!this.had.has(pokemon)) this.had.set(pokemon, new Set([pokemon.baseAbility]));
		this.had.get(pokemon).add(pokemon.ability);
		const health = pokemon.getHealth().shared;
		if (pokemon.fainted) return this.equal('fainted', mon.fainted, true, battle);
		this.equal('hp', shownHp(mon), health.split(' ')[0], battle);
		this.equal('status', STATUSES[mon.status], pokemon.status, battle);
		this.counters(battle, pokemon, mon);
		BOOSTS.forEach((stat, i) => this.equal(`boost ${stat}`, mon.boosts[i], pokemon.boosts[stat], battle));
		this.equal('dynamaxed', mon.dynamaxed, !!pokemon.volatiles.dynamax, battle);
		this.equal('terastallized', mon.terastallized, !!pokemon.terastallized, battle);
		this.volatiles(battle, pokemon, mon, effects);
		if (this.masked) return;
		const {data} = this.setting.observer;
		const { name } = pokemon.species;
		this.equal('species', mon.shown, data.species.row(HIDDEN_FORMES[name] ?? name), battle);
		this.equal('level', mon.level, pokemon.level, battle);
		this.equal('transformed', mon.transformed, pokemon.transformed, battle);
		if (!pokemon.volatiles.roost) {
			const types = mon.terastallized && mon.tera < 19 ? [mon.tera] : [mon.type1, mon.type2, mon.addedType];
			const known = types.filter(type => type > 0).map(type => data.types[type - 1]);
			this.equal('types', known.sort().join(), pokemon.getTypes().filter(type => type !== '???').sort().join(), battle);
		}
		if (data.gen > 1 && mon.item > 0) {
			this.equal('item', mon.item, data.items.row(pokemon.item) || 1, battle, pokemon.name);
		}
		if (data.gen > 2 && mon.ability > 0) {
			this.equal('ability', mon.ability, data.abilities.row(pokemon.ability), battle, pokemon.name);
		}
		const known = new Set(pokemon.moveSlots.map(slot => data.moves.row(slot.id)));
		for (let i = 0; i < mon.moveCount; i++) this.equal('moves', known.has(mon.moves[i]), true, battle, pokemon.name);
	}

	/** Turns asleep, ticks of toxic and PP, as far as everybody can count them. */
	counters(battle, pokemon, mon) {
		const {stage, startTime, time} = pokemon.statusState;
		const {gen} = battle;
		if (this.masked) return;
		if (pokemon.status === 'slp' && (gen === 1 || gen > 4) && !this.had.get(pokemon).has('earlybird')) {
			this.equal('turns asleep', mon.statusTurns, startTime - time, battle, pokemon.name);
		}
		if (pokemon.status === 'tox' && gen > 2 && !this.had.get(pokemon).has('magicguard') &&
			!this.had.get(pokemon).has('poisonheal')) {
			this.equal('ticks of toxic', mon.statusTurns, stage, battle, pokemon.name);
		}
		if (pokemon.transformed || mon.kept !== null || (gen === 1 && pokemon.volatiles.twoturnmove)) return;
		if (mon.side.spent.zmove || mon.side.spent.dynamax) return; // these say nothing of the move whose PP they take
		if (battle.sides.some(side => side.pokemon.some(each => /pressure/i.test(each.set.ability)))) return;
		const {data} = this.setting.observer;
		for (const slot of pokemon.moveSlots) {
			const m = mon.moves.indexOf(data.moves.row(slot.id));
			if (m < 0 || m >= mon.moveCount) continue;
			if (gen === 2 && slot.id === 'rollout') continue; // a line of gen 2 does not say whether it goes on
			this.equal('pp', mon.uses[m], slot.maxpp - slot.pp, battle, `${pokemon.name} ${slot.id}`);
		}
	}

	volatiles(battle, pokemon, mon, effects) {
		const unsettled = battle.gen === 1 ? UNSETTLED_GEN_1 : UNSETTLED;
		effects.volatiles.forEach((name, i) => {
			if (name in unsettled || name === 'typechange' || name === 'typeadd' || name === 'fallen') return;
			if (ONE_TURN.has(name) && battle.requestState === 'move') {
				return this.equal(`volatile ${name}`, mon.volatiles[i], 0, battle);
			}
			if (ONE_TURN.has(name) || (name === 'twoturnmove' && battle.requestState !== 'move')) return;
			const isOn = (RENAMED[name] ?? name) in pokemon.volatiles;
			this.equal(`volatile ${name}`, mon.volatiles[i] > 0, isOn, battle, pokemon.name);
		});
	}

	bench(battle, side, mon) {
		if (!mon.seen || this.masked) return;
		const pokemon = side.pokemon.find(each => each.name === mon.name);
		this.equal('bench known', !!pokemon, true, battle);
		if (!pokemon) return;
		this.equal('bench fainted', mon.fainted, pokemon.fainted, battle);
		if (pokemon.fainted) return;
		// Regenerator and Natural Cure, one's own or got by Trace or Transform, work while leaving, where nobody looks.
		const own = this.had.get(pokemon) ?? new Set([pokemon.baseAbility]);
		if (!own.has('regenerator')) {
			const [hp] = pokemon.getHealth().shared.split(' ');
			this.equal('bench hp', shownHp(mon), hp, battle, pokemon.name);
		}
		if (!own.has('naturalcure')) this.equal('bench status', STATUSES[mon.status], pokemon.status, battle, pokemon.name);
		const {data} = this.setting.observer;
		if (data.gen > 1 && mon.item > 0) {
			this.equal('bench item', mon.item, data.items.row(pokemon.item) || 1, battle, pokemon.name);
		}
		if (data.gen > 2 && mon.ability > 0) {
			const row = data.abilities.row(pokemon.baseAbility);
			this.equal('bench ability', mon.ability, row, battle, pokemon.name);
		}
	}
}

/** Tracked HP in the words of the log; every format tested shows percentages. */
function shownHp(mon) {
	return mon.hp === 0 ? '0' : `${Math.round(mon.hp * 100)}/100`;
}

function main([root, spec, battles, seed = '1']) {
	const [formatId, teamsFrom = null] = spec.split(':');
	const setting = new Setting(root, formatId, {teamsFrom});
	const comparison = new Comparison(setting);
	let stops = 0;
	for (let i = 0; i < +battles; i++) {
		setting.play(+seed + i, () => {}, {watch: (battle, view) => {
			stops++;
			comparison.stop(battle, view);
		}});
	}
	const {checks, disagreements, examples} = comparison;
	console.log(JSON.stringify({format: formatId, battles: +battles, stops, checks, disagreements, examples}));
}

main(process.argv.slice(2));
