'use strict';
/** Type charts: the stock methods call themselves for each type and ask a string for its getTypes method. */

module.exports = function patchTypes({replace, ModdedDex}) {
	replace(ModdedDex.prototype, 'getImmunity', '941c95921bfb', stock => function (source, target) {
		const sourceType = typeof source !== 'string' ? source.type : source;
		if (typeof target === 'string') return !isImmune(this, sourceType, target);
		const typing = target.getTypes?.() || target.types || target;
		if (!Array.isArray(typing)) return stock.call(this, sourceType, typing);
		for (let i = 0; i < typing.length; i++) {
			if (typeof typing[i] !== 'string') return stock.call(this, sourceType, typing);
			if (isImmune(this, sourceType, typing[i])) return false;
		}
		return true;
	});

	replace(ModdedDex.prototype, 'getEffectiveness', 'e9cf3dca4f49', stock => function (source, target) {
		const sourceType = typeof source !== 'string' ? source.type : source;
		if (typeof target === 'string') return effectiveness(this, sourceType, target);
		const typing = target.getTypes?.() || target.types || target;
		if (!Array.isArray(typing)) return stock.call(this, sourceType, typing);
		let total = 0;
		for (let i = 0; i < typing.length; i++) {
			if (typeof typing[i] !== 'string') return stock.call(this, sourceType, typing);
			total += effectiveness(this, sourceType, typing[i]);
		}
		return total;
	});
};

const EFFECTIVENESS = [0, 1, -1, 0];

function effectiveness(dex, sourceType, name) {
	return EFFECTIVENESS[dex.types.get(name)?.damageTaken[sourceType]] || 0;
}

function isImmune(dex, sourceType, name) {
	return dex.types.get(name)?.damageTaken[sourceType] === 3;
}
