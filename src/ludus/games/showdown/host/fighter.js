'use strict';
/** Inputs of a damage estimate: the two Pokemon, and weather, terrain and screens. */

const NO_BOOSTS = new Int8Array(7);

/** Attacker or target of a damage estimate. The caller sets the fields; 0 stands for unknown. */
class Fighter {
	constructor() {
		this.species = 0;
		this.level = 100;
		this.atk = this.def = this.spa = this.spd = this.spe = this.maxhp = 1;
		this.hp = 1; // as a fraction of maxhp
		this.type1 = this.type2 = this.addedType = 0; // its types as a target
		this.born1 = this.born2 = 0; // its original types, which keep STAB after terastallizing
		this.tera = 0; // 0 unless terastallized
		this.ability = 0;
		this.item = 0;
		this.status = 0;
		this.boosts = NO_BOOSTS; // shared with the tracked Pokemon: read only
		this.dynamaxed = false;
		this.leastSpeed = 0; // what is known of its Speed with its item, without boosts
		this.mostSpeed = Infinity;
	}
}

/** Weather, terrain and screens of a damage estimate. */
class Surroundings {
	constructor() {
		this.helped = 0; // id of the type that the weather strengthens
		this.hindered = 0; // id of the type that the weather weakens
		this.terrainType = 0; // id of the type that the terrain strengthens
		this.sand = false;
		this.snow = false;
		this.physical = [1, 1]; // by side: factor of its screens on physical damage
		this.special = [1, 1]; // by side: factor of its screens on special damage
	}
}

module.exports = {Fighter, NO_BOOSTS, Surroundings};
