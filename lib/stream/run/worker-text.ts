// What a worker thread does, as text: workers of this kind load no module of the library.
import { endKinds } from '../emit/launches.ts';

/** Waiting for the other workers, and a core's part of the launches. */
const launches = `
const meet = () => {
  const { gate, threads, stops, end } = common;
  const round = Atomics.load(gate, 1);
  if (Atomics.add(gate, 0, 1) === threads - 1) {
    end[0] = Math.min(...stops);
    Atomics.store(gate, 0, 0);
    Atomics.add(gate, 1, 1);
    Atomics.notify(gate, 1);
    return;
  }
  for (let i = 0; i < 3000; ++i) if (Atomics.load(gate, 1) !== round) return;
  while (Atomics.load(gate, 1) === round) Atomics.wait(gate, 1, round);
};
const place = (group, iteration, from, core) => {
  const per = d.launch.multiplier * common.iterations[group];
  for (const { kind, slot, each, id } of d.launch.ends[group]) {
    if (kind === ${endKinds.own}) {
      ix[slot] = core * d.launch.rings[id].items;
      continue;
    }
    if (kind <= ${endKinds.write}) {
      const { items, slots, residual } = d.launch.rings[id];
      ix[slot] = (iteration % slots) * items + from * each + (kind === ${endKinds.write} ? residual : 0);
      continue;
    }
    const at = common.base[slot] + (iteration * per + from) * each;
    ix[slot] = kind === ${endKinds.stream} || at === 0 ? at : (at - 1) % common.base[slot + 1] + 1;
  }
};
const byChannel = Array.from({ length: common.channels }, (_, id) => common.arrays.filter(({ channel }) => channel === id));
// Items behind the last turn of a ring stand at its front as well.
const mirror = (group, iteration, from, count) => {
  for (const { kind, each, id } of d.launch.ends[group]) {
    if (kind !== ${endKinds.write}) continue;
    const { items, slots, residual } = d.launch.rings[id];
    const length = items * slots, at = (iteration % slots) * items + from * each + residual, to = at + count * each;
    if (residual === 0 || to <= length) continue;
    const begin = Math.max(at, length);
    for (const { name, stride } of byChannel[id]) {
      arrays[name].copyWithin((begin - length) * stride, begin * stride, to * stride);
    }
  }
};
const launch = (number) => {
  for (const { actor: group, from, count } of d.launch.slices) {
    const iteration = number - d.launch.stages[group];
    if (iteration < 0 || iteration >= common.end[0] || iteration >= common.stops[d.number]) continue;
    place(group, iteration, from, d.number);
    try {
      program.groups[group](count, ...d.external);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      first = { ...fault, order: [iteration, group, from] };
      common.stops[d.number] = iteration;
      continue;
    }
    mirror(group, iteration, from, count);
  }
};
// What is left of whole steady states, by one core; then ends of channels are where single firings expect them.
const rest = (states) => {
  const iterations = common.end[0];
  for (let done = 0, now; done === 0 || done < states; done += now) {
    now = Math.min(states - done, d.launch.chunk);
    for (let group = 0; group < program.groups.length; ++group) {
      place(group, iterations, done * common.iterations[group], 0);
      if (now > 0) program.groups[group](now * common.iterations[group], ...d.external);
    }
    if (now === 0) break;
  }
  for (let id = 0; id < common.channels; ++id) {
    if (d.launch.rings[id] === undefined) continue;
    const { items, slots, residual } = d.launch.rings[id];
    ix[2 * id] = slots === 0 ? 0 : (iterations % slots) * items + states * (items / d.launch.multiplier);
    ix[2 * id + 1] = ix[2 * id] + residual;
  }
};
const runLaunches = () => {
  if (d.number === 0) reset();
  meet();
  const begin = performance.now();
  if (d.number === 0) {
    d.init.forEach(step);
    toFronts();
    common.base.set(ix);
  }
  printed.push(undefined);
  meet();
  ix.set(common.base);
  for (let number = 0; number < common.end[0] + d.launch.lastStage; ++number) {
    launch(number);
    meet();
  }
  printed.push(undefined);
  if (first !== undefined) return first;
  if (d.number === 0 && common.end[0] === d.iterations) {
    rest(d.steadyStates - d.iterations * d.launch.multiplier);
    d.tail.forEach(step);
  }
  return { kind: 'done', printed, milliseconds: performance.now() - begin };
};`;

/** Makes the generated program once, then runs it with each message (a Part of crew.ts) and answers `done`, `fault` or `failed`. */
export const workerText = `
'use strict';
const { parentPort, workerData: common } = require('node:worker_threads');
const make = { i: Int32Array, f: Float32Array, d: Float64Array };
class Fault extends Error {}
// Of the present run: what it was given, what it printed and how it went wrong.
let d, printed, lines, fault, first, fired;
const arrays = {};
for (const { name, kind, length, initial, shared } of common.arrays) {
  arrays[name] = shared || new make[kind](length);
  if (!shared) arrays[name].set(initial);
}
const { it, rs } = common, ix = new Int32Array(common.ends), steps = new Float64Array(1);
const fail = (site, value) => { fault = { kind: 'fault', site, value }; throw new Fault(); };
const print = (site, values) => {
  if (printed.length >= d.mostPrinted) fail(site, 0);
  printed.push([site, values]);
  lines += d.linesOf[site];
};
const program = require('node:vm').compileFunction(common.source,
  ['wl_arrays', 'wl_ix', 'wl_it', 'wl_rs', 'wl_steps', 'wl_fail', 'wl_print'], { filename: 'warploom-stream.js' })(
  arrays, ix, it, rs, steps, fail, print);
const reset = () => {
  for (const { name, role, initial } of common.arrays) if (role !== 'table') arrays[name].fill(0).set(initial);
  it.fill(0);
  rs.forEach((_, id) => { rs[id] = (d.seed + id) | 0; });
  common.stops.fill(d.iterations);
  common.end[0] = d.iterations;
};
const step = ({ actor, count }) => {
  const first = fired.has(actor) ? undefined : program.first[actor];
  fired.add(actor);
  if (first !== undefined) first(1, ...d.external);
  const left = first === undefined ? count : count - 1;
  if (left > 0) program.fire[actor](left, ...d.external);
};
const toFronts = () => {
  for (const { name, channel, stride } of common.arrays) {
    if (channel >= 0 && ix[2 * channel] > 0) arrays[name].copyWithin(0, ix[2 * channel] * stride, ix[2 * channel + 1] * stride);
  }
  for (let id = 0; id < common.channels; ++id) {
    ix[2 * id + 1] -= ix[2 * id];
    ix[2 * id] = 0;
  }
};
const runAlone = () => {
  reset();
  meet();
  const begin = performance.now();
  d.init.forEach(step);
  toFronts();
  const most = d.lines === Infinity ? common.multiplicity : 1;
  for (let left = d.steadyStates; left > 0 && lines < d.lines;) {
    const now = Math.min(left, most);
    for (let g = 0; g < program.groups.length; ++g) program.groups[g](now * common.iterations[g], ...d.external);
    program.settle(now);
    left -= now;
  }
  for (const each of d.tail) if (lines < d.lines) step(each);
  return { kind: 'done', printed, milliseconds: performance.now() - begin };
};
${launches.trim()}
const run = () => {
  try {
    return d.launch === undefined ? runAlone() : runLaunches();
  } catch (error) {
    if (!(error instanceof Fault)) return { kind: 'failed', message: String(error && error.message) };
    return d.launch === undefined ? { ...fault, order: [d.number] } : fault;
  }
};
parentPort.on('message', (part) => {
  d = part;
  [printed, lines, fault, first, fired] = [[], 0, undefined, undefined, new Set()];
  ix.set(d.ix);
  steps[0] = d.turns;
  const answer = run();
  d = undefined;
  parentPort.postMessage(answer);
});
`;
