// What a worker thread does, as text: workers of this kind load no module of the library.

/** Runs the generated program on the data it is given and answers `done`, `fault` or `failed`. */
export const workerText = `
'use strict';
const { parentPort, workerData: d } = require('node:worker_threads');
const make = { i: Int32Array, f: Float32Array, d: Float64Array };
class Fault extends Error {}
const printed = [];
try {
  const arrays = {};
  for (const { name, kind, length, initial } of d.arrays) (arrays[name] = new make[kind](length)).set(initial);
  const ix = d.ix, it = new Int32Array(d.nodes), rs = Int32Array.from({ length: d.nodes }, (_, id) => (d.seed + id) | 0);
  let fault;
  const fail = (site, value) => { fault = { kind: 'fault', site, value }; throw new Fault(); };
  const program = require('node:vm').compileFunction(d.source,
    ['wl_arrays', 'wl_ix', 'wl_it', 'wl_rs', 'wl_steps', 'wl_fail', 'wl_print'], { filename: 'warploom-stream.js' })(
    arrays, ix, it, rs, Float64Array.of(d.turns), fail, (site, values) => { printed.push([site, values]); });
  const fired = new Set();
  const step = ({ actor, count }) => {
    const first = fired.has(actor) ? undefined : program.first[actor];
    fired.add(actor);
    if (first !== undefined) first(1, ...d.external);
    const left = first === undefined ? count : count - 1;
    if (left > 0) program.fire[actor](left, ...d.external);
  };
  const begin = performance.now();
  try {
    d.init.forEach(step);
    for (const { name, channel, stride } of d.arrays) {
      if (channel >= 0 && ix[2 * channel] > 0) arrays[name].copyWithin(0, ix[2 * channel] * stride, ix[2 * channel + 1] * stride);
    }
    for (let id = 0; id < d.channels; ++id) {
      ix[2 * id + 1] -= ix[2 * id];
      ix[2 * id] = 0;
    }
    for (let left = d.steadyStates; left > 0;) {
      const now = Math.min(left, d.multiplicity);
      for (let g = 0; g < program.groups.length; ++g) program.groups[g](now * d.iterations[g], ...d.external);
      program.settle(now);
      left -= now;
    }
    d.tail.forEach(step);
    parentPort.postMessage({ kind: 'done', printed, milliseconds: performance.now() - begin });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    parentPort.postMessage(fault);
  }
} catch (error) {
  parentPort.postMessage({ kind: 'failed', message: String(error && error.message) });
}
`;
