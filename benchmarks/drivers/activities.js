'use strict';
// Two hosts in one process play the same matches with the same choices, one of them with a clock, in turn: no host and
// no place in the order has an advantage.
// Usage: node activities.js --sim <pokemon-showdown folder> --host <host folder> --format F --matches K
// For each line {"frames": N} on stdin: {"on": [...], "off": [...]}, CPU microseconds a decision of every pair of
// frames, and "laps": [those a decision], "lap_us": [what one costs by itself].

const path = require('node:path');
const readline = require('node:readline');
const { parseArgs } = require('node:util');

const { values } = parseArgs({
  options: Object.fromEntries(['sim', 'host', 'format', 'matches'].map(name => [name, { type: 'string' }])),
});
const SDK = '../../../sdk/javascript'; // from the host's folder
const { Host, TIMED_OF } = require(path.join(values.host, 'host.js'));
const { SILENT, ActivityClock, WAIT } = require(path.join(values.host, SDK, 'clock.js'));
const { FrameReader, KIND } = require(path.join(values.host, SDK, 'frames.js'));
const MATCHES = Number(values.matches);
const TIMES_FRAMES = 40; // about as many as a host on a core of its own plays in the half second between two TIMES
const LAPS = 200_000; // to see what one costs

class Driven {
  constructor() {
    this.clock = new ActivityClock(Infinity, TIMED_OF);
    this.frames = 0; // with a clock
    this.reader = new FrameReader();
    this.laps = 0; // that it told of
    this.host = new Host(path.resolve(values.sim), pieces => {
      for (const piece of pieces) this.reader.push(piece);
    }, text => process.stderr.write(text));
    const options = { format: values.format };
    const configure = {
      protocol: 2, matches: MATCHES, options, seed: 7, schedule: null, keep_log: false,
    };
    this.host.configure(Buffer.from(JSON.stringify(configure)));
  }

  /** Rows that wait, with their masks. */
  take() {
    const { maskBytes } = this.host.setup.actionSet;
    const rows = [];
    for (let frame = nextFrame(this.reader); frame; frame = nextFrame(this.reader)) {
      if (frame.kind === KIND.TIMES) this.laps += passesOf(JSON.parse(frame.body.toString()));
      if (frame.kind !== KIND.ARRIVALS) continue;
      const { body } = frame;
      const n = body.readUInt32LE(0);
      const legalAt = 8 + 3 * aligned(4 * n) + aligned(n);
      for (let i = 0; i < n; i++) {
        rows.push([body.readInt32LE(8 + 4 * i), body.subarray(legalAt + i * maskBytes, legalAt + (i + 1) * maskBytes)]);
      }
    }
    return rows;
  }

  /** CPU microseconds that an ACTIONS frame takes, with a clock or without. */
  act(body, timed) {
    this.host.clock = this.host.setup.clock = timed ? this.clock : SILENT;
    if (timed) this.clock.everyMs = ++this.frames % TIMES_FRAMES ? Infinity : 0;
    const before = process.cpuUsage();
    this.host.clock.lap(WAIT); // as the host's loop does when a frame has come
    this.host.act(body);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  }
}

/** The reader refuses kinds that a fleet never sends. */
function nextFrame(reader) {
  const at = reader.start;
  if (reader.end - at < 8) return null;
  const bytes = reader.buffer.readUInt32LE(at + 4);
  const frame = { kind: reader.buffer[at + 3], body: reader.buffer.subarray(at + 8, at + 8 + bytes) };
  reader.start = at + 8 + bytes;
  return frame;
}

function passesOf(times) {
  return Object.values(times.stages).reduce((sum, activity) => sum + activity.passes, 0);
}

function aligned(size) {
  return (size + 7) & ~7;
}

let state = 1;
function random(limit) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor(state / 2 ** 32 * limit);
}

function actionsFor(rows) {
  const n = rows.length;
  const body = Buffer.alloc(8 + 2 * aligned(4 * n));
  body.writeUInt32LE(n, 0);
  rows.forEach(([row, mask], i) => {
    const legal = [];
    for (let action = 0; action < 8 * mask.length; action++) {
      if ((mask[action >> 3] >> (action & 7)) & 1) legal.push(action);
    }
    body.writeInt32LE(row, 8 + 4 * i);
    body.writeInt32LE(legal[random(legal.length)], 8 + aligned(4 * n) + 4 * i);
  });
  return body;
}

const hosts = [new Driven(), new Driven()];
let decisions = 0; // with a clock

/** CPU microseconds a decision, frame by frame: of those that are timed activity by activity, and of the others. */
function measure(frames) {
  const spent = { on: [], off: [], others_on: [], others_off: [] };
  for (let i = 0; i < frames; i++) {
    const [rows, others] = hosts.map(each => each.take());
    if (rows.length !== others.length) throw new Error('the two hosts went different ways');
    const body = actionsFor(rows);
    const timed = Math.floor(i / TIMED_OF) % 2; // this one's clock runs
    for (const at of i % 2 ? [1, 0] : [0, 1]) {
      const kind = i % TIMED_OF ? 'others_' : '';
      spent[kind + (at === timed ? 'on' : 'off')].push(hosts[at].act(body, at === timed) / rows.length);
    }
    decisions += rows.length;
  }
  return spent;
}

/** CPU microseconds of a lap, the least of a few tries. */
function lapCost() {
  const clock = new ActivityClock(Infinity);
  const tries = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    for (let i = 0; i < LAPS; i++) clock.lap(i % 5);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / LAPS;
  });
  return Math.min(...tries);
}

readline.createInterface({ input: process.stdin }).on('line', line => {
  const spent = measure(JSON.parse(line).frames);
  const laps = [(hosts[0].laps + hosts[1].laps) / decisions];
  process.stdout.write(`${JSON.stringify({ ...spent, laps, lap_us: [lapCost()], timed_of: [TIMED_OF] })}\n`);
});
