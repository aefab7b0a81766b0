'use strict';
// Plain programs that share nothing, for bench_crowding.py. Each stresses one part of a processor.
// Usage: node crowd.js chain|units|cache|memory|code|allocate
//   chain   multiplications of which each needs the one before: the rate is the clock speed
//   units   independent multiplications: two programs on one physical core get half each
//   cache   dependent reads in 24 MiB, more than a core's own caches: latency of the shared cache, or of memory
//   memory  sequential reads of 256 MiB: memory bandwidth
//   code    calls of 4,000 functions in random order, some MiB of machine code: instruction fetch
//   allocate  5 million small objects that die young: allocation and garbage collection

const readline = require('node:readline');

const ROUNDS = 2e6;

function chain() {
  let x = 1;
  for (let i = 0; i < ROUNDS; i++) x = Math.imul(Math.imul(Math.imul(Math.imul(x, 3), 5), 7), 9);
  return x;
}

function units() {
  let a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
  for (let i = 0; i < ROUNDS; i++) {
    a = Math.imul(a, 3);
    b = Math.imul(b, 5);
    c = Math.imul(c, 7);
    d = Math.imul(d, 9);
    e = Math.imul(e, 11);
    f = Math.imul(f, 13);
  }
  return a ^ b ^ c ^ d ^ e ^ f;
}

/** One cycle through all lines of 64 bytes, in random order. */
function hops(mib) {
  const lines = mib * (2 ** 20 / 64);
  const order = Int32Array.from({ length: lines }, (_, i) => i);
  for (let i = lines - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * i); // Sattolo: a single cycle
    [order[i], order[j]] = [order[j], order[i]];
  }
  const next = new Int32Array(lines * 16);
  for (let i = 0; i < lines; i++) next[i * 16] = order[i] * 16;
  let at = 0;
  return () => {
    for (let i = 0; i < 2e5; i++) at = next[at];
    return at;
  };
}

function memory() {
  const numbers = new Float64Array(2 ** 25).fill(1); // 256 MiB
  return () => {
    let a = 0, b = 0, c = 0, d = 0;
    for (let i = 0; i < numbers.length; i += 8) { // one of each line
      a += numbers[i];
      i += 8;
      b += numbers[i];
      i += 8;
      c += numbers[i];
      i += 8;
      d += numbers[i];
    }
    return a + b + c + d;
  };
}

function code() {
  const functions = Array.from({ length: 4000 }, (_, n) => {
    const lines = Array.from({ length: 24 }, (_, i) => `x = (x ^ ${n * 31 + i}) + (x >>> ${1 + (n + i) % 7}) | 0;`);
    return new Function('x', `${lines.join('')} return x;`);
  });
  const order = Int32Array.from({ length: 8000 }, () => Math.floor(Math.random() * functions.length));
  let x = 1;
  return () => {
    for (let i = 0; i < order.length; i++) x = functions[order[i]](x);
    return x;
  };
}

function allocate() {
  let last = { value: 0, before: null };
  for (let i = 0; i < 5e6; i++) last = { value: i, before: i % 100 ? last : null };
  return last.value;
}

const WORK = { chain: () => chain, units: () => units, cache: () => hops(24), memory, code, allocate: () => allocate };

function main() {
  const work = WORK[process.argv[2]]();
  let result = 0;
  for (let i = 0; i < 30; i++) result ^= work(); // until it is compiled
  console.log(JSON.stringify({ ready: true }));
  readline.createInterface({ input: process.stdin }).on('line', line => {
    const begin = performance.now();
    const until = begin + 1000 * JSON.parse(line).seconds;
    let times = 0;
    do {
      result ^= work();
      times++;
    } while (performance.now() < until);
    console.log(JSON.stringify({ decisions: times, seconds: (performance.now() - begin) / 1000, result }));
  });
}

main();
