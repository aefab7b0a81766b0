'use strict';
// Measures how a host spends its time, for TIMES frames: each lap assigns the time since the previous lap.

const ACTIVITIES = ['wait', 'simulate', 'encode', 'mask', 'send'];
const [WAIT, SIMULATE, ENCODE, MASK, SEND] = ACTIVITIES.keys();
const BUCKETS = 160; // four an octave (docs/host-protocol.md)
const NS = 1e6; // nanoseconds per millisecond, the unit of performance.now

class ActivityClock {
	/**
	 * The clock starts at once and reports every `everyS` seconds. An answer begins at the end of a wait. One of `timedOf`
	 * answers is timed activity by activity; the time of the others is shared among the activities in the same proportion.
	 */
	constructor(everyS, timedOf = 1, now = () => performance.now()) {
		this.now = now;
		this.timedOf = timedOf;
		this.answers = 0;
		this.isTimed = true;
		this.wholeMs = 0; // time of the answers that were not timed activity by activity
		this.everyMs = everyS * 1000;
		this.saidMs = this.lapMs = now();
		this.totalMs = new Float64Array(ACTIVITIES.length);
		this.counts = new Float64Array(ACTIVITIES.length * BUCKETS);
	}

	/** Count the time since the previous lap for this activity. Must be fast: a battle's turn has about six laps. */
	lap(activity) {
		if (!this.isTimed && activity !== WAIT && activity !== SEND) return;
		const now = this.now();
		const spent = now - this.lapMs;
		this.lapMs = now;
		if (activity === WAIT) this.isTimed = this.answers++ % this.timedOf === 0;
		else if (!this.isTimed) {
			this.wholeMs += spent;
			return;
		}
		this.totalMs[activity] += spent;
		this.counts[activity * BUCKETS + bucketOf(spent * NS)]++;
	}

	/** Return the body of a TIMES frame if one is due, else null. Call once per answer. */
	due() {
		const wallMs = this.lapMs - this.saidMs;
		if (wallMs < this.everyMs || wallMs <= 0 || !this.spread()) return null;
		this.saidMs = this.lapMs;
		const activities = {};
		for (const [activity, name] of ACTIVITIES.entries()) {
			const buckets = {};
			let passes = 0;
			for (let bucket = 0; bucket < BUCKETS; bucket++) {
				const count = this.counts[activity * BUCKETS + bucket];
				if (count === 0) continue;
				buckets[bucket] = count;
				passes += count;
			}
			if (passes > 0) activities[name] = { total_ns: Math.round(this.totalMs[activity] * NS), passes, buckets };
		}
		this.totalMs.fill(0);
		this.counts.fill(0);
		return { wall_ns: Math.round(wallMs * NS), stages: activities }; // protocol version 2 calls this field `stages`
	}

	/** Share the time of untimed answers among the activities of timed ones. Returns false if no answer was timed yet. */
	spread() {
		if (this.wholeMs === 0) return true;
		const timedMs = this.totalMs.reduce((sum, ms, activity) => (activity === WAIT ? sum : sum + ms), 0);
		if (timedMs <= 0) return false;
		for (let activity = 0; activity < ACTIVITIES.length; activity++) {
			if (activity !== WAIT) this.totalMs[activity] *= 1 + this.wholeMs / timedMs;
		}
		this.wholeMs = 0;
		return true;
	}
}

/** A clock that measures nothing: for hosts without `times_s`, and for matches without a host. */
const SILENT = Object.freeze({ lap() {}, due: () => null });

function bucketOf(ns) {
	if (ns < 4) return ns < 0 ? 0 : ns | 0;
	let rest = ns;
	let octaves = 0;
	for (; rest >= 0x7fffffff; rest /= 65536) octaves += 16; // bit operations use 32 bits
	const whole = rest | 0;
	const bits = 32 - Math.clz32(whole);
	return Math.min(BUCKETS - 1, 4 * (bits + octaves - 2) + ((whole >> (bits - 3)) & 3));
}

module.exports = { BUCKETS, ENCODE, MASK, SEND, SILENT, SIMULATE, ActivityClock, WAIT, bucketOf };
