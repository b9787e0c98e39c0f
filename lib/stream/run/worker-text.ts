// What a worker thread does, as text: workers of this kind load no module of the library.
import { endKinds } from '../emit/launches.ts';

/** Waiting for the other workers, and a core's part of the launches. */
const launches = `
const own = d.launch;
const meet = () => {
  const { gate, threads } = d;
  const round = Atomics.load(gate, 1);
  if (Atomics.add(gate, 0, 1) === threads - 1) {
    if (own !== undefined) own.end[0] = Math.min(...own.stops);
    Atomics.store(gate, 0, 0);
    Atomics.add(gate, 1, 1);
    Atomics.notify(gate, 1);
    return;
  }
  for (let i = 0; i < 3000; ++i) if (Atomics.load(gate, 1) !== round) return;
  while (Atomics.load(gate, 1) === round) Atomics.wait(gate, 1, round);
};
const place = (group, iteration, from) => {
  const per = own.multiplier * d.iterations[group];
  for (const { kind, slot, each, id } of own.ends[group]) {
    if (kind <= ${endKinds.write}) {
      const { items, slots, residual } = own.rings[id];
      ix[slot] = (iteration % slots) * items + from * each + (kind === ${endKinds.write} ? residual : 0);
      continue;
    }
    const at = own.base[slot] + (iteration * per + from) * each;
    ix[slot] = kind === ${endKinds.stream} || at === 0 ? at : (at - 1) % own.base[slot + 1] + 1;
  }
};
const byChannel = Array.from({ length: d.channels }, (_, id) => d.arrays.filter(({ channel }) => channel === id));
// Items behind the last turn of a ring stand at its front as well.
const mirror = (group, iteration, from, count) => {
  for (const { kind, each, id } of own.ends[group]) {
    if (kind !== ${endKinds.write}) continue;
    const { items, slots, residual } = own.rings[id];
    const length = items * slots, at = (iteration % slots) * items + from * each + residual, to = at + count * each;
    if (residual === 0 || to <= length) continue;
    const begin = Math.max(at, length);
    for (const { name, stride } of byChannel[id]) {
      arrays[name].copyWithin((begin - length) * stride, begin * stride, to * stride);
    }
  }
};
let first;
const launch = (number) => {
  for (const { actor: group, from, count } of own.slices) {
    const iteration = number - own.stages[group];
    if (iteration < 0 || iteration >= own.end[0] || iteration >= own.stops[own.core]) continue;
    place(group, iteration, from);
    try {
      program.groups[group](count, ...d.external);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      first = { ...fault, order: [iteration, group, from] };
      own.stops[own.core] = iteration;
      continue;
    }
    mirror(group, iteration, from, count);
  }
};
// What is left of whole steady states, by one core; then ends of channels are where single firings expect them.
const rest = (states) => {
  const iterations = own.end[0];
  for (let group = 0; group < program.groups.length; ++group) {
    place(group, iterations, 0);
    if (states > 0) program.groups[group](states * d.iterations[group], ...d.external);
  }
  for (let id = 0; id < d.channels; ++id) {
    if (own.rings[id] === null) continue;
    const { items, slots, residual } = own.rings[id];
    ix[2 * id] = (iterations % slots) * items + states * (items / own.multiplier);
    ix[2 * id + 1] = ix[2 * id] + residual;
  }
};
const runLaunches = () => {
  meet();
  const begin = performance.now();
  if (own.core === 0) {
    d.init.forEach(step);
    toFronts();
    own.base.set(ix);
  }
  printed.push(undefined);
  meet();
  ix.set(own.base);
  for (let number = 0; number < own.end[0] + own.lastStage; ++number) {
    launch(number);
    meet();
  }
  printed.push(undefined);
  if (first !== undefined) return parentPort.postMessage(first);
  if (own.core === 0 && own.end[0] === own.iterations) {
    rest(d.steadyStates - own.iterations * own.multiplier);
    d.tail.forEach(step);
  }
  parentPort.postMessage({ kind: 'done', printed, milliseconds: performance.now() - begin });
};`;

/** Runs the generated program on the data it is given and answers `done`, `fault` or `failed`. */
export const workerText = `
'use strict';
const { parentPort, workerData: d } = require('node:worker_threads');
const make = { i: Int32Array, f: Float32Array, d: Float64Array };
class Fault extends Error {}
const printed = [];
let lines = 0;
try {
  const arrays = {};
  for (const { name, kind, length, initial, shared } of d.arrays) {
    arrays[name] = shared || new make[kind](length);
    if (!shared) arrays[name].set(initial);
  }
  const { ix, it, rs } = d;
  let fault;
  const fail = (site, value) => { fault = { kind: 'fault', site, value }; throw new Fault(); };
  const program = require('node:vm').compileFunction(d.source,
    ['wl_arrays', 'wl_ix', 'wl_it', 'wl_rs', 'wl_steps', 'wl_fail', 'wl_print'], { filename: 'warploom-stream.js' })(
    arrays, ix, it, rs, Float64Array.of(d.turns), fail, (site, values) => {
      if (printed.length >= d.mostPrinted) fail(site, 0);
      printed.push([site, values]);
      lines += d.linesOf[site];
    });
  const fired = new Set();
  const step = ({ actor, count }) => {
    const first = fired.has(actor) ? undefined : program.first[actor];
    fired.add(actor);
    if (first !== undefined) first(1, ...d.external);
    const left = first === undefined ? count : count - 1;
    if (left > 0) program.fire[actor](left, ...d.external);
  };
  const toFronts = () => {
    for (const { name, channel, stride } of d.arrays) {
      if (channel >= 0 && ix[2 * channel] > 0) arrays[name].copyWithin(0, ix[2 * channel] * stride, ix[2 * channel + 1] * stride);
    }
    for (let id = 0; id < d.channels; ++id) {
      ix[2 * id + 1] -= ix[2 * id];
      ix[2 * id] = 0;
    }
  };
  const runAlone = () => {
    meet();
    const begin = performance.now();
    d.init.forEach(step);
    toFronts();
    const most = d.lines === Infinity ? d.multiplicity : 1;
    for (let left = d.steadyStates; left > 0 && lines < d.lines;) {
      const now = Math.min(left, most);
      for (let g = 0; g < program.groups.length; ++g) program.groups[g](now * d.iterations[g], ...d.external);
      program.settle(now);
      left -= now;
    }
    for (const each of d.tail) if (lines < d.lines) step(each);
    parentPort.postMessage({ kind: 'done', printed, milliseconds: performance.now() - begin });
  };
${launches.trim().replace(/^/gm, '  ')}
  try {
    if (own === undefined) runAlone();
    else runLaunches();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    parentPort.postMessage(own === undefined ? { ...fault, order: [d.piece] } : fault);
  }
} catch (error) {
  parentPort.postMessage({ kind: 'failed', message: String(error && error.message) });
}
`;
