// What runs a compiled program, in this thread or a worker, as text: workers of this kind load no module of the library. A function of
// `common` (a CommonData of machine.ts) that gives a function of lists of Parts, which gives their Answers.
import { endKinds } from '../plan/launches.ts';

/** The module, its memory and windows: stretches of the program's streams that its functions find in memory. */
const instance = `
const kinds = { i: Int32Array, f: Float32Array, d: Float64Array };
const pageBytes = 65536;
class Fault extends Error {}
// Of the present run: what it was given, what it printed and how it went wrong; items that have passed through each stream.
let d, printed, lines, fault, first, fired, line = [];
const position = {};
const memory = common.memory || new WebAssembly.Memory({ initial: common.pages, maximum: common.mostPages });
const allocate = (bytes) => memory.grow(Math.ceil(bytes / pageBytes)) * pageBytes;
const own = allocate(common.ownBytes);
const views = {};
let ix, it, rs, steps;
const windows = common.streams.map((each) => ({ ...each, at: 0, room: 0, view: undefined }));
// Views end when memory grows.
const renew = () => {
  for (const { name, kind, at, isOwn, length } of common.places) {
    views[name] = new kinds[kind](memory.buffer, at + (isOwn ? own : 0), length);
  }
  ({ ix, it, rs, steps } = views);
  for (const each of windows) each.view = new kinds[each.kind](memory.buffer, each.at, each.room);
};
renew();
for (const { name, initial } of common.arrays) if (initial.length > 0) views[name].set(initial);
const makeRoom = (window, scalars) => {
  if (scalars <= window.room) return;
  const bytes = window.kind === 'd' ? 8 : 4;
  const room = Math.max(scalars, 2 * window.room, pageBytes / bytes);
  window.at = allocate(room * bytes);
  window.room = room;
  renew();
  views[window.name][0] = window.at;
};
const fail = (site, value) => { fault = { kind: 'fault', site, value }; throw new Fault(); };
const print = (site) => {
  if (printed.length >= d.mostPrinted) fail(site, 0);
  printed.push([site, line]);
  line = [];
  lines += d.linesOf[site];
};
const byChannel = Array.from({ length: common.channels }, (_, id) => common.arrays.filter(({ channel }) => channel === id));
const moveToFront = (channel) => {
  const from = ix[2 * channel], to = ix[2 * channel + 1];
  if (from === 0) return;
  for (const { name, stride } of byChannel[channel]) views[name].copyWithin(0, from * stride, to * stride);
  ix[2 * channel] = 0;
  ix[2 * channel + 1] = to - from;
};
const room = (channel, need, capacity) => {
  if (ix[2 * channel + 1] + need <= capacity) return;
  moveToFront(channel);
  if (ix[2 * channel + 1] + need > capacity) fail(-1, channel);
};
const { acos, asin, atan, atan2, cos, cosh, exp, hypot, log, log10, pow, sin, sinh, tan, tanh } = Math;
const { exports } = new WebAssembly.Instance(common.module, { host: {
  acos, asin, atan, atan2, cos, cosh, exp, hypot, log, log10, pow, sin, sinh, tan, tanh, mod: (a, b) => a % b,
  memory, own, trap: fail, put: (value) => { line.push(value); }, print, room,
} });
const byId = Object.fromEntries(common.ends.map(({ id, slot }) => [id, { slot, windows: windows.filter((each) => each.id === id) }]));
// What a function of these ends finds in memory, runs on and leaves there, for n firings or iterations of it.
const call = (run, ends, n) => {
  for (const { id, isIn, each, more } of ends) {
    const { slot, windows } = byId[id];
    const items = n * each + more;
    for (const window of windows) {
      makeRoom(window, items * window.stride);
      if (!isIn) continue;
      const from = position[id] * window.stride;
      window.view.set(d.external[window.number].subarray(from, from + items * window.stride));
    }
    ix[slot] = 0;
  }
  run(n);
  for (const { id, isIn, each } of ends) {
    const items = n * each;
    if (!isIn) {
      for (const { view, stride, number } of byId[id].windows) {
        const from = Math.max(0, -position[id]);
        if (from < items) d.external[number].set(view.subarray(from * stride, items * stride), (position[id] + from) * stride);
      }
    }
    position[id] += items;
  }
};
const mostItems = 65536;
const groups = common.groupEnds.map((ends, group) => ({ run: exports['group_' + group], ends }));
const runGroup = (group, n) => call(groups[group].run, groups[group].ends, n);
const step = ({ actor, count }) => {
  let left = count;
  const prework = fired.has(actor) ? undefined : exports['first_' + actor];
  fired.add(actor);
  if (prework !== undefined) {
    call(prework, common.firstEnds[actor], 1);
    --left;
  }
  const ends = common.fireEnds[actor];
  for (const most = Math.ceil(mostItems / Math.max(1, ...ends.map(({ each }) => each))); left > 0; left -= most) {
    call(exports['fire_' + actor], ends, Math.min(left, most));
  }
};
const reset = () => {
  for (const { name, role, initial } of common.arrays) if (role !== 'table') views[name].fill(0).set(initial);
  it.fill(0);
  rs.forEach((_, id) => { rs[id] = (d.seed + id) | 0; });
};
const begin = (part) => {
  d = part;
  [printed, lines, fault, first, fired, line] = [[], 0, undefined, undefined, new Set(), []];
  ix.set(d.ix);
  steps[0] = d.turns;
  common.ends.forEach(({ id }, at) => { position[id] = -d.dropped[at]; });
  // Files are read again from their begin, so they lie in memory as a whole.
  for (const window of windows) {
    if (window.role !== 'reader') continue;
    makeRoom(window, d.external[window.number].length);
    window.view.set(d.external[window.number]);
  }
};
const toFronts = () => { for (let id = 0; id < common.channels; ++id) moveToFront(id); };
`;

/** Waiting for the other workers, and a core's part of the launches. */
const launches = `
const meet = () => {
  const { gate, threads, stops, end, spin } = common;
  const round = Atomics.load(gate, 1);
  if (Atomics.add(gate, 0, 1) === threads - 1) {
    end[0] = Math.min(...stops);
    Atomics.store(gate, 0, 0);
    Atomics.add(gate, 1, 1);
    Atomics.notify(gate, 1);
    return;
  }
  for (const until = performance.now() + spin; performance.now() < until;) {
    for (let i = 0; i < 300; ++i) if (Atomics.load(gate, 1) !== round) return;
  }
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
    if (kind === ${endKinds.stream}) position[id] = at;
    else ix[slot] = at === 0 ? 0 : (at - 1) % common.base[slot + 1] + 1;
  }
};
// Items behind the last turn of a ring stand at its front as well.
const mirror = (group, iteration, from, count) => {
  for (const { kind, each, id } of d.launch.ends[group]) {
    if (kind !== ${endKinds.write}) continue;
    const { items, slots, residual } = d.launch.rings[id];
    const length = items * slots, at = (iteration % slots) * items + from * each + residual, to = at + count * each;
    if (residual === 0 || to <= length) continue;
    const begin = Math.max(at, length);
    for (const { name, stride } of byChannel[id]) {
      views[name].copyWithin((begin - length) * stride, begin * stride, to * stride);
    }
  }
};
const isBefore = (a, b) => {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at >= 0 && a[at] < b[at];
};
// After a fault the task goes on with iterations before it. Other tasks run on as a whole: which core does them must not matter.
const runTask = (id, number) => {
  const { slices, starts } = d.launch;
  let end = common.end[0];
  for (let at = starts[id]; at < starts[id + 1]; at += 3) {
    const group = slices[at], from = slices[at + 1], count = slices[at + 2];
    const iteration = number - d.launch.stages[group];
    if (iteration < 0 || iteration >= end) continue;
    place(group, iteration, from, d.number);
    try {
      runGroup(group, count);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const found = { ...fault, order: [iteration, group, from] };
      if (first === undefined || isBefore(found.order, first.order)) first = found;
      common.stops[d.number] = Math.min(common.stops[d.number], iteration);
      end = iteration;
      continue;
    }
    mirror(group, iteration, from, count);
  }
};
const launch = (number) => {
  const { order, claims } = d.launch;
  for (const id of order) {
    if (Atomics.load(claims, id) > number || Atomics.exchange(claims, id, number + 1) > number) continue;
    runTask(id, number);
  }
};
// What is left of whole steady states, by one core; then ends of channels are where single firings expect them.
const rest = (states) => {
  const iterations = common.end[0];
  for (let done = 0, now; done === 0 || done < states; done += now) {
    now = Math.min(states - done, d.launch.chunk);
    for (let group = 0; group < groups.length; ++group) {
      place(group, iterations, done * common.iterations[group], 0);
      if (now > 0) runGroup(group, now * common.iterations[group]);
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
  if (d.number === 0) {
    reset();
    common.stops.fill(d.iterations);
    common.end[0] = d.iterations;
  }
  meet();
  const begin = performance.now();
  if (d.number === 0) {
    d.init.forEach(step);
    toFronts();
    common.base.set(ix);
    for (const { id, slot, isFile } of common.ends) if (!isFile) common.base[slot] = position[id];
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
};
`;

const whole = `
const runAlone = (begin) => {
  reset();
  d.init.forEach(step);
  toFronts();
  const most = d.lines === Infinity ? common.multiplicity : 1;
  for (let left = d.steadyStates; left > 0 && lines < d.lines;) {
    const now = Math.min(left, most);
    call(exports.steady, common.steadyEnds, now);
    left -= now;
    if (performance.now() > d.until) return { kind: 'late' };
  }
  for (const each of d.tail) if (lines < d.lines) step(each);
  return { kind: 'done', printed, milliseconds: performance.now() - begin };
};
const runPart = (part, since) => {
  try {
    begin(part);
    return d.launch === undefined ? runAlone(since) : runLaunches();
  } catch (error) {
    if (!(error instanceof Fault)) {
      return { kind: 'failed', message: String(error && error.message), isMemory: error instanceof RangeError };
    }
    return d.launch === undefined ? { ...fault, order: [d.number] } : fault;
  } finally {
    d = undefined;
  }
};
// All pieces that no other machine takes first, or a core's part of launches.
const run = (parts) => {
  const since = performance.now();
  if (parts.length === 1) return [runPart(parts[0], since)];
  const answers = [];
  for (let at; (at = Atomics.add(common.gate, 2, 1)) < parts.length;) {
    const answer = runPart(parts[at], since);
    answers.push(answer);
    // Pieces before this one are taken; those after it no longer matter.
    if (answer.kind !== 'done') Atomics.store(common.gate, 2, parts.length);
  }
  return answers;
};
`;

/** The body of the function. */
export const machineText = `${instance}${launches}${whole}return run;`;
