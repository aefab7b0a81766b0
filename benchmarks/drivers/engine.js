'use strict';
// The simulator without Python: K battles in one process, random choices, one JSON line for each measurement asked for.
// Usage: node engine.js stock|bare|ceiling --sim <pokemon-showdown folder> --host <host folder> --format F --matches K
//   stock    the untouched engine
//   bare     the patched engine
//   ceiling  the host's own matches on the patched engine: masks and observations encoded, frames and pipes left out

const path = require('node:path');
const readline = require('node:readline');
const { parseArgs } = require('node:util');
const { randomChoice } = require('./choices.js');

const SEATS = ['p1', 'p2'];
const LEAD_S = 0.03; // before a measurement, while caches are full of what others did

const fourNumbers = () => Array.from({ length: 4 }, () => Math.floor(Math.random() * 0x10000)).join(',');

/** Battles without an encoder. */
class Bare {
  constructor(sim, formatName, matches, quiet) {
    this.sim = sim;
    this.quiet = quiet; // as in the host: no text for the input log
    this.format = sim.Dex.formats.get(formatName);
    this.slots = this.format.gameType === 'doubles' ? 2 : 1;
    this.battles = Array.from({ length: matches }, () => this.open());
    this.decisions = 0;
    this.finished = 0;
  }

  open() {
    const seed = fourNumbers(); // as in the host: the generator that replays and the engine's other users have
    const battle = new this.sim.Battle({
      format: this.format, formatid: this.format.id, seed, send() {}, strictChoices: false,
    });
    for (const id of SEATS) battle.setPlayer(id, { name: id, seed: fourNumbers() });
    if (this.quiet) for (const side of battle.sides) side.getChoice = noText;
    return battle;
  }

  /** Every battle takes one turn. */
  advance() {
    for (let i = 0; i < this.battles.length; i++) {
      const battle = this.battles[i];
      for (const side of battle.sides) {
        while (side.activeRequest && !side.activeRequest.wait && !side.isChoiceDone() && !battle.ended) {
          const request = side.activeRequest;
          request.update = false;
          const choice = randomChoice(request, this.slots);
          if (battle.choose(side.id, choice)) {
            this.decisions++;
            break;
          }
          if (!request.update) throw new Error(`the simulator refused "${choice}": ${side.choice.error}`);
        }
      }
      battle.sentLogPos = battle.log.length; // as in the host: the endless-loop guard counts from here
      if (battle.ended) {
        this.finished++;
        this.battles[i] = this.open();
      }
    }
  }
}

/** The host's own matches, run and staged in its order, as for a frame that is never sent. */
class Ceiling {
  constructor(simRoot, hostRoot, format, matches) {
    const { Host, LEFT_TOGETHER, RUN_TOGETHER } = require(path.join(hostRoot, 'host.js'));
    const { Match } = require(path.join(hostRoot, 'matches.js'));
    const { ArrivalBuffer } = require(path.join(hostRoot, '../../../sdk/javascript/frames.js'));
    const host = new Host(simRoot, () => {});
    const configure = { protocol: 2, matches: 1, options: { format }, seed: 1, schedule: [], keep_log: false };
    host.configure(Buffer.from(JSON.stringify(configure)));
    this.encoding = { ms: 0 };
    this.Match = clocked(Match, this.encoding);
    this.setup = host.setup;
    const { actionSet, observer } = this.setup;
    this.arrivals = new ArrivalBuffer(matches * SEATS.length, actionSet.maskBytes, observer.nbytes);
    this.decisions = 0;
    this.finished = 0;
    this.started = 0;
    this.rows = new Int32Array(matches * SEATS.length);
    this.actions = new Int32Array(matches * SEATS.length);
    this.due = []; // slots whose battles have run and whose rows are not staged
    this.runTogether = RUN_TOGETHER;
    this.leftTogether = LEFT_TOGETHER;
    this.arrivals.leave = () => true; // where the host writes them, into shared memory
    this.matches = Array.from({ length: matches }, (_, slot) => this.open(slot));
  }

  open(slot) {
    const match = new this.Match(this.setup, slot, this.started++, Math.floor(Math.random() * 2 ** 53));
    match.open(this.arrivals);
    return match;
  }

  /** One random legal action for each staged row; returns how many. */
  chooseAll() {
    const { arrivals, rows, actions } = this;
    const { count } = arrivals;
    for (let i = 0; i < count; i++) {
      rows[i] = arrivals.row[i];
      actions[i] = randomBit(arrivals.masks[i]);
    }
    arrivals.count = arrivals.left = 0;
    return count;
  }

  advance() {
    const { matches, arrivals, rows, actions } = this;
    const count = this.chooseAll();
    this.decisions += count;
    for (let i = 0; i < count; i++) {
      const slot = Math.floor(rows[i] / SEATS.length);
      if (matches[slot].take(rows[i] - slot * SEATS.length, actions[i], arrivals)) this.due.push(slot);
      if (this.due.length === this.runTogether) this.collect();
    }
    this.collect();
  }

  collect() {
    const { matches, arrivals, due } = this;
    for (const slot of due) {
      matches[slot].collect(arrivals);
      arrivals.leaveEarly(this.leftTogether);
      if (!matches[slot].ending) continue;
      this.finished++;
      matches[slot] = this.open(slot);
    }
    due.length = 0;
  }
}

/**
 * Matches that add up how long it takes from the log of a battle that has run to its staged rows, masks and rewards
 * included. One pair of clocks for all of it: around each call, they would cost about as much as a mask.
 */
function clocked(Match, encoding) {
  return class extends Match {
    collect(arrivals) {
      const begin = performance.now();
      super.collect(arrivals);
      encoding.ms += performance.now() - begin;
    }
  };
}

function noText() {
  return '';
}

const BITS = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);

function randomBit(mask) {
  let total = 0;
  for (let i = 0; i < mask.length; i++) total += BITS[mask[i]];
  let left = (Math.random() * total) | 0;
  for (let i = 0; ; i++) {
    if (left >= BITS[mask[i]]) {
      left -= BITS[mask[i]];
      continue;
    }
    for (let bit = 0; ; bit++) if ((mask[i] >> bit) & 1 && left-- === 0) return 8 * i + bit;
  }
}

function measure(player, seconds) {
  run(player, LEAD_S);
  const { decisions, finished } = player;
  const encodingMs = player.encoding?.ms;
  const took = run(player, seconds);
  const answer = { decisions: player.decisions - decisions, battles: player.finished - finished, seconds: took };
  if (player.encoding) answer.encoding_us = 1000 * (player.encoding.ms - encodingMs) / answer.decisions;
  return answer;
}

/** Seconds that it took. */
function run(player, seconds) {
  const begin = performance.now();
  while (performance.now() - begin < 1000 * seconds) player.advance();
  return (performance.now() - begin) / 1000;
}

function main() {
  const { values, positionals: [mode] } = parseArgs({
    allowPositionals: true,
    options: Object.fromEntries(['sim', 'host', 'format', 'matches'].map(name => [name, { type: 'string' }])),
  });
  const { sim, host, format } = values;
  const matches = Number(values.matches);
  if (mode === 'bare') require(path.join(host, 'engine.js')).speedUp(sim);
  const player = mode === 'ceiling' ?
    new Ceiling(sim, host, format, matches) : new Bare(require(sim), format, matches, mode === 'bare');
  // as in the host
  const keeping = mode === 'stock' ? run => run() : require(path.join(host, 'shapes.js')).keepShapes();
  console.log(JSON.stringify({ ready: true }));
  readline.createInterface({ input: process.stdin }).on('line', line => {
    console.log(JSON.stringify(keeping(() => measure(player, JSON.parse(line).seconds))));
  });
}

if (require.main === module) main();

module.exports = { Ceiling };
