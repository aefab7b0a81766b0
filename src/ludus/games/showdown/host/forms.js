'use strict';
/** The leaves `form_matchup` and `form_threat`: damage dealt and taken if an own Pokemon changes its form now. */

const {Fighter} = require('./fighter');
const {koChance} = require('./damage');
const {FORM, fixed8} = require('./columns');
const {TYPE_COUNT} = require('./tables');

const TEAM = 6;
const MOVES = 4;
const WIDTH = FORM.length;
const MOST = 1.98; // that a fixed8 leaf can say
const STATS = ['atk', 'def', 'spa', 'spd', 'spe'];

/** The variants of a move that change who uses it; a Z-move does not. */
function formsOf(variants) {
	return variants.filter(variant => variant !== 'plain' && variant !== 'zmove');
}

class Forms {
	constructor(seat) {
		this.seat = seat;
		this.observer = seat.observer;
		this.variants = formsOf(seat.observer.variants);
		this.fighter = new Fighter();
		this.isEmpty = true;
	}

	/** Brings both leaves up to date. */
	update(request) {
		const {seat, variants} = this;
		const {slots} = this.observer;
		const {at, small, team} = seat;
		const size = variants.length * slots * MOVES * slots * WIDTH;
		if (!this.isEmpty) {
			small.fill(0, at.form_matchup, at.form_matchup + size);
			small.fill(0, at.form_threat, at.form_threat + size);
			this.isEmpty = true;
		}
		if (!request.active || request.forceSwitch) return;
		for (let a = 0; a < slots; a++) {
			const active = request.active[a];
			if (!active || (team.alive & 1 << a) === 0) continue;
			for (let v = 0; v < variants.length; v++) if (this.#change(variants[v], active, team.order[a])) this.#write(v, a);
		}
	}

	/** Makes `fighter` what an own Pokemon would become. Returns false if it cannot. */
	#change(variant, active, own) {
		const {fighter} = this;
		if (variant === 'tera') {
			if (!active.canTerastallize || own.tera === 0) return false;
			Object.assign(fighter, own.fighter);
			fighter.tera = own.tera;
			if (own.tera !== TYPE_COUNT - 1) { // Stellar keeps its types
				fighter.type1 = own.tera;
				fighter.type2 = fighter.addedType = 0;
			}
			return true;
		}
		if (variant === 'dynamax') {
			if (!active.canDynamax) return false;
			Object.assign(fighter, own.fighter);
			fighter.dynamaxed = true;
			fighter.maxhp *= 2;
			return true;
		}
		const isX = variant === 'mega' && (active.canMegaEvo || active.canMegaEvoX || active.canUltraBurst);
		return (isX || (variant === 'megay' && active.canMegaEvoY)) && this.#evolve(own, variant);
	}

	/** What its stone makes of it; false if that is not known. */
	#evolve(own, variant) {
		const {fighter} = this;
		const {data} = this.observer;
		const row = megaOf(data, own, variant);
		if (row === 0) return false;
		Object.assign(fighter, own.fighter);
		for (let k = 0; k < STATS.length; k++) {
			const gain = data.baseStats[row * 6 + k + 1] - data.baseStats[own.species * 6 + k + 1];
			fighter[STATS[k]] += 2 * gain * own.level / 100;
		}
		fighter.species = row;
		fighter.type1 = fighter.born1 = data.speciesType1[row];
		fighter.type2 = fighter.born2 = data.speciesType2[row];
		fighter.ability = data.soleAbility[row];
		return true;
	}

	/** Writes what form `v` of the own Pokemon in slot `a` deals and takes. */
	#write(v, a) {
		const {fighter, seat} = this;
		const {at, foe, foes, matchups, mine, words} = seat;
		const {damage, slots} = this.observer;
		const {around} = matchups;
		this.isEmpty = false;
		for (let s = 0; s < slots; s++) {
			const mon = foe.active[s];
			if (mon === null || mon.fainted) continue;
			const target = foes.facing[s].fighter;
			const place = ((v * slots + a) * MOVES * slots + s) * WIDTH;
			damage.face(fighter, target, around, foe.index);
			for (let m = 0; m < MOVES; m++) {
				this.#hold(at.form_matchup + place + m * slots * WIDTH, fighter, words[at.moves + a * MOVES + m], target);
			}
			damage.face(target, fighter, around, mine.index);
			for (let m = 0; m < MOVES; m++) {
				const move = words[at.moves + (TEAM + s) * MOVES + m];
				this.#hold(at.form_threat + place + m * slots * WIDTH, target, move, fighter);
			}
		}
	}

	#hold(place, user, move, target) {
		const {damage} = this.observer;
		if (damage.isHarmless(move)) return;
		damage.estimate(user, move, target, this.seat.matchups.around);
		const {hp} = target;
		const {small} = this.seat;
		small[place] = fixed8(damage.hit < MOST * hp ? damage.hit / hp : MOST);
		small[place + 1] = fixed8(
			koChance(damage.hit, damage.critical, damage.aim, damage.criticalFactor(user.level), hp));
	}
}

/** The row of the species that a Pokemon's stone, or its move, makes of it; 0 if there is none. */
function megaOf(data, own, variant) {
	const {items, species} = data;
	const base = own.species >= species.first ? species.entries[own.species - species.first].name : '';
	if (own.item >= items.first) {
		const {megaStone} = items.entries[own.item - items.first];
		const name = typeof megaStone === 'object' && megaStone !== null ? megaStone[base] : megaStone;
		if (name) return species.byId.get(idOf(name)) ?? 0;
	}
	const suffix = variant === 'megay' ? 'megay' : 'mega';
	const id = idOf(base);
	return species.byId.get(id + suffix) ?? species.byId.get(`${id}megax`) ?? 0;
}

function idOf(name) {
	return name.toLowerCase().replace(/[^a-z0-9]+/g, '');
}

module.exports = {Forms, formsOf};
