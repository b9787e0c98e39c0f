// An instance of a compiled program: its WebAssembly memory, the windows in it where functions find the items of streams, single firings.
import { addAt, elementAt, required } from '../../core/known.ts';
import { engine, type WasmFunction, type WasmMemory } from '../../core/wasm-engine.ts';
import type { Kind } from '../plan/layout.ts';
import type { Step } from '../schedule/index.ts';
import { Fault, type Printed } from './answers.ts';
import type { CommonData, MachineRun, StreamEnd } from './common.ts';
import type { Scalars } from './prepare.ts';

const pageBytes = 65536;
/** The maximum number of items that single firings of a node move in one call. */
const mostItems = 65536;

const viewOf = (kind: Kind, buffer: ArrayBufferLike, at: number, length: number): Scalars =>
  (kind === 'i' ? new Int32Array(buffer, at, length) : kind === 'f' ? new Float32Array(buffer, at, length)
    : new Float64Array(buffer, at, length));

/** The window in memory for a stream's scalars of one kind. */
type Window = CommonData['streams'][number] & {
  /** Index among the arrays of the streams. */
  readonly number: number;
  at: number;
  /** Size in scalars. */
  room: number;
  view: Scalars;
};

/** What a run keeps in memory from one stretch of its input to the next. */
export interface KeptRun {
  /** By name of the array: state as a whole, channels from their front as far as they hold items. */
  readonly arrays: ReadonlyMap<string, Scalars>;
  readonly ix: Int32Array;
  /** Nodes that have fired. */
  readonly fired: ReadonlySet<number>;
}

/** Arrays besides those of channels and state that runs change. */
const countedArrays = ['it', 'rs'];

/** An instance of a compiled program. */
export class Instance {
  readonly common: CommonData;
  /** The next item of each stream, by its number. */
  readonly position: number[] = [];
  /** Ends of channels and streams: indices of the next items to read and write. */
  ix = new Int32Array();
  /** Lines printed in this run. */
  lines = 0;
  readonly #memory: WasmMemory;
  readonly #exports: Readonly<Record<string, WasmFunction | undefined>>;
  /** Address of this machine's own part of the memory. */
  readonly #own: number;
  readonly #views = new Map<string, Scalars>();
  readonly #windows: readonly Window[];
  /** By number of the stream. */
  readonly #ends = new Map<number, { readonly slot: number; readonly windows: readonly Window[] }>();
  /** By channel: its arrays. */
  readonly #arraysOf: readonly (readonly CommonData['arrays'][number][])[];
  #run: MachineRun | undefined;
  #firstWanted: readonly number[] = [];
  /** Nodes that have fired. */
  #fired = new Set<number>();
  #printed: Printed[] = [];
  /** Values queued for printing. */
  #line: number[] = [];

  constructor(common: CommonData) {
    this.common = common;
    this.#memory = common.memory ?? new engine.Memory({ initial: common.pages, maximum: common.mostPages });
    this.#own = this.#allocate(common.ownBytes);
    this.#windows = common.streams.map((each, at) => ({ ...each, number: at, at: 0, room: 0, view: new Int32Array() }));
    for (const { id, slot } of common.ends) {
      this.#ends.set(id, { slot, windows: this.#windows.filter((each) => each.id === id) });
    }
    this.#arraysOf = Array.from({ length: common.channels }, (_, id) => common.arrays.filter(({ channel }) => channel === id));
    this.#renewViews();
    for (const { name, initial } of common.arrays) if (initial.length > 0) this.#view(name).set(initial);
    this.#exports = new engine.Instance(common.module, { host: {
      mod: (a: number, b: number) => a % b, memory: this.#memory, own: this.#own,
      trap: (site: number, value: number) => { throw new Fault(site, value); },
      put: (value: number) => { this.#line.push(value); },
      print: (site: number) => { this.#print(site); },
      room: (channel: number, need: number, capacity: number) => { this.#makeRoom(channel, need, capacity); },
    } }).exports;
  }

  /** Begins a run, or a piece of one. `firstWanted`: for each output stream, the first item that is kept. */
  begin(run: MachineRun, firstWanted: readonly number[] = []): void {
    this.#run = run;
    this.takePrinted();
    this.lines = 0;
    this.#fired = new Set();
    this.#firstWanted = firstWanted;
    this.ix.set(run.ix);
    this.#view('steps')[0] = run.turns;
    for (const { id } of this.common.ends) this.position[id] = 0;
    // Files are read again from the start, so they are in memory as a whole.
    for (const window of this.#windows) {
      if (window.role !== 'reader') continue;
      const array = elementAt(run.streams, window.number);
      this.#widen(window, array.length);
      window.view.set(array);
    }
  }

  /** What the run has to find again to go on later, or elsewhere. */
  keep(): KeptRun {
    for (let id = 0; id < this.common.channels; ++id) this.#moveToFront(id);
    const arrays = new Map<string, Scalars>();
    for (const { name, role, channel, stride } of this.common.arrays) {
      if (role === 'channel') arrays.set(name, this.#view(name).slice(0, elementAt(this.ix, 2 * channel + 1) * stride));
      else if (role === 'state') arrays.set(name, this.#view(name).slice());
    }
    for (const name of countedArrays) arrays.set(name, this.#view(name).slice());
    return { arrays, ix: this.ix.slice(), fired: new Set(this.#fired) };
  }

  /** Goes on with a run, at the start of these streams; `kept`: with one that did not run here last. */
  resume(run: MachineRun, kept?: KeptRun): void {
    if (kept !== undefined) {
      this.begin(run);
      this.restore(kept);
    }
    this.#run = run;
    this.#view('steps')[0] = run.turns;
    for (const { id } of this.common.ends) this.position[id] = 0;
  }

  /** Goes back to what was kept. */
  restore({ arrays, ix, fired }: KeptRun): void {
    for (const { name, role, initial } of this.common.arrays) {
      const saved = arrays.get(name);
      if (saved !== undefined) this.#view(name).set(saved);
      // Programs that are made later, with functions for single firings, may have more fields.
      else if (role === 'state') this.#view(name).fill(0).set(initial);
    }
    for (const name of countedArrays) this.#view(name).set(required(arrays.get(name)));
    this.ix.set(ix);
    this.#fired = new Set(fired);
  }

  /** Releases the data of the run. */
  end(): void {
    this.#run = undefined;
  }

  /** What a buffer holds, as a copy; undefined if there is none of the name. */
  contents(name: string): Scalars | undefined {
    return this.#views.get(name)?.slice();
  }

  /** Returns what was printed since the last call. */
  takePrinted(): Printed[] {
    const printed = this.#printed;
    this.#printed = [];
    this.#line = [];
    return printed;
  }

  /** Resets state and channels to the start, and runs the firings before the first steady state. */
  initialise(): void {
    this.reset();
    for (const step of required(this.#run).init) this.fire(step);
    for (let id = 0; id < this.common.channels; ++id) this.#moveToFront(id);
  }

  /** Resets state and channels to the start. */
  reset(): void {
    const { seed } = required(this.#run);
    for (const { name, role, initial } of this.common.arrays) if (role !== 'table') this.#view(name).fill(0).set(initial);
    this.#view('it').fill(0);
    this.#view('rs').forEach((_, id, states) => { states[id] = (seed + id) | 0; });
  }

  /** Fires a node on its own. */
  fire({ actor, count }: Step): void {
    const { firstEnds, fireEnds } = this.common;
    let left = count;
    const first = this.#fired.has(actor) ? undefined : this.#exports[`first_${actor}`];
    this.#fired.add(actor);
    if (first !== undefined) {
      this.#call(first, elementAt(firstEnds, actor), 1);
      --left;
    }
    const ends = elementAt(fireEnds, actor);
    const most = Math.ceil(mostItems / Math.max(1, ...ends.map(({ each }) => each)));
    for (; left > 0; left -= most) this.#call(required(this.#exports[`fire_${actor}`]), ends, Math.min(left, most));
  }

  runGroup(group: number, iterations: number): void {
    this.#call(required(this.#exports[`group_${group}`]), elementAt(this.common.groupEnds, group), iterations);
  }

  /** Runs whole steady states, at most as many as the program supports in one call. */
  runStates(states: number): void {
    this.#call(required(this.#exports['steady']), this.common.steadyEnds, states);
  }

  /** Calls a function for n firings or iterations: copies its input from the streams to memory, and its output back. */
  #call(f: WasmFunction, ends: readonly StreamEnd[], n: number): void {
    for (const end of ends) this.#bring(end, n * end.each + end.more);
    f(n);
    for (const { id, isIn, each } of ends) {
      if (!isIn) this.#take(id, n * each);
      addAt(this.position, id, n * each);
    }
  }

  #bring({ id, isIn }: StreamEnd, items: number): void {
    const { slot, windows } = required(this.#ends.get(id));
    for (const window of windows) {
      this.#widen(window, items * window.stride);
      if (!isIn) continue;
      const from = this.#placeOf(id, elementAt(this.position, id)) * window.stride;
      window.view.set(elementAt(required(this.#run).streams, window.number).subarray(from, from + items * window.stride));
    }
    this.ix[slot] = 0;
  }

  #take(id: number, items: number): void {
    const position = elementAt(this.position, id);
    const from = Math.max(0, (this.#firstWanted[id] ?? 0) - position);
    if (from >= items) return;
    for (const { view, stride, number } of required(this.#ends.get(id)).windows) {
      elementAt(required(this.#run).streams, number).set(view.subarray(from * stride, items * stride),
        this.#placeOf(id, position + from) * stride);
    }
  }

  /** Where an item of a stream lies in the arrays of the run. */
  #placeOf(id: number, item: number): number {
    const gap = required(this.#run).gaps?.find((each) => each.id === id);
    return gap === undefined || item < gap.from + gap.items ? item : item - gap.items;
  }

  #allocate(bytes: number): number {
    return this.#memory.grow(Math.ceil(bytes / pageBytes)) * pageBytes;
  }

  /** Growing the memory invalidates views. */
  #renewViews(): void {
    const { buffer } = this.#memory;
    for (const { name, kind, at, isOwn, length } of this.common.places) {
      this.#views.set(name, viewOf(kind, buffer, at + (isOwn ? this.#own : 0), length));
    }
    this.ix = this.#view('ix') as Int32Array<ArrayBuffer>;
    for (const window of this.#windows) window.view = viewOf(window.kind, buffer, window.at, window.room);
  }

  #view(name: string): Scalars {
    return required(this.#views.get(name));
  }

  #widen(window: Window, scalars: number): void {
    if (scalars <= window.room) return;
    const bytes = window.kind === 'd' ? 8 : 4;
    const room = Math.max(scalars, 2 * window.room, pageBytes / bytes);
    window.at = this.#allocate(room * bytes);
    window.room = room;
    this.#renewViews();
    this.#view(window.name)[0] = window.at;
  }

  #print(site: number): void {
    if (this.#printed.length >= required(this.#run).mostPrinted) throw new Fault(site, 0);
    this.#printed.push([site, this.#line]);
    this.#line = [];
    this.lines += elementAt(this.common.linesOf, site);
  }

  #makeRoom(channel: number, need: number, capacity: number): void {
    if (elementAt(this.ix, 2 * channel + 1) + need <= capacity) return;
    this.#moveToFront(channel);
    if (elementAt(this.ix, 2 * channel + 1) + need > capacity) throw new Fault(-1, channel);
  }

  #moveToFront(channel: number): void {
    const from = elementAt(this.ix, 2 * channel), to = elementAt(this.ix, 2 * channel + 1);
    if (from === 0) return;
    this.copyItems(channel, 0, from, to);
    this.ix[2 * channel] = 0;
    this.ix[2 * channel + 1] = to - from;
  }

  /** Copies items of a channel to another place in its arrays. */
  copyItems(channel: number, to: number, begin: number, end: number): void {
    for (const { name, stride } of elementAt(this.#arraysOf, channel)) {
      this.#view(name).copyWithin(to * stride, begin * stride, end * stride);
    }
  }
}
