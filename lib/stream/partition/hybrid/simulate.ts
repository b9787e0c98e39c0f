// Follows items through a hybrid plan: each place of each ring holds the number of its item. A launch must read only what earlier launches
// wrote, and no place that it reads or writes may be written by another instance in the same launch.
import { addAt, elementAt } from '../../../core/known.ts';
import type { SdfChannel } from '../../sdf.ts';
import type { HybridPlan } from './types.ts';

/** Collects messages. */
interface Report { add(message: string): void; readonly list: readonly string[] }

/** A ring of whole iterations. Items are numbered in stream order, starting with those on the channel at the start. */
class Ring {
  readonly name: string;
  readonly onGpu: boolean;
  readonly isShuffled: boolean;
  private readonly items: number;
  private readonly held: Float64Array;
  private readonly readIn: Int32Array;
  private readonly writtenIn: Int32Array;
  private readonly report: Report;

  constructor(name: string, { slots, onGpu, isShuffled }: HybridPlan['buffers'][number], items: number, report: Report) {
    [this.name, this.items, this.report, this.onGpu, this.isShuffled] = [name, items, report, onGpu, isShuffled];
    this.held = new Float64Array(slots * items).fill(-1);
    this.readIn = new Int32Array(slots * items).fill(-1);
    this.writtenIn = new Int32Array(slots * items).fill(-1);
  }

  /** Where `place` places after the start of an iteration are. */
  at(iteration: number, place = 0): number {
    const length = this.held.length;
    return (((iteration * this.items + place) % length) + length) % length;
  }

  /** Stores an item before the first launch. */
  put(iteration: number, place: number, item: number): void {
    const at = this.at(iteration, place);
    if (this.held[at] !== -1) this.report.add(`${this.name}: items ${this.held[at]} and ${item} stand in one place at the start`);
    this.held[at] = item;
  }

  /** Reads at places after that of `start`, where items are due whose numbers follow `item`. */
  read(launch: number, start: number, item: number, { places, indices }: Access, who: string): void {
    const { held, writtenIn, readIn, report } = this;
    for (let i = 0; i < places.length; ++i) {
      const at = (start + (places[i] ?? 0)) % held.length;
      const due = item + (indices[i] ?? 0);
      if (held[at] !== due) report.add(`${this.name}: ${who} reads item ${held[at]} for ${due} in launch ${launch}`);
      if (writtenIn[at] === launch) report.add(`${this.name}: ${who} reads what is written in the same launch ${launch}`);
      readIn[at] = launch;
    }
  }

  write(launch: number, start: number, item: number, { places, indices }: Access, who: string): void {
    const { held, writtenIn, readIn, report } = this;
    for (let i = 0; i < places.length; ++i) {
      const at = (start + (places[i] ?? 0)) % held.length;
      if (readIn[at] === launch) report.add(`${this.name}: ${who} overwrites item ${held[at]}, read in the same launch ${launch}`);
      if (writtenIn[at] === launch) report.add(`${this.name}: ${who} writes to a place written twice in launch ${launch}`);
      writtenIn[at] = launch;
      held[at] = item + (indices[i] ?? 0);
    }
  }
}

/** What a task accesses in an iteration, in order: places from its start on, and indices of the items there. */
interface Access {
  readonly places: Int32Array;
  readonly indices: Int32Array;
}

/** A channel with its rings, in order from producer to consumer. */
interface Line {
  readonly channel: SdfChannel;
  readonly items: number;
  readonly rings: readonly Ring[];
  readonly first: Ring;
  readonly last: Ring;
}

/** An actor or operation, which runs in each launch. All tasks read before any of them writes. */
interface Task {
  readonly stage: number;
  readonly read: (launch: number, iteration: number) => void;
  readonly write: (launch: number, iteration: number) => void;
}

/** The item of an iteration at a place of a shuffled buffer, by (3.15). */
const streamIndex = (place: number, items: number, width: number): number =>
  Math.floor(place / width) + place % width * (items / width);

function linesOf({ contracted: { graph }, repetitions, buffers }: HybridPlan, report: Report): Line[] {
  return graph.channels.map((channel): Line => {
    const items = channel.push * elementAt(repetitions, channel.from);
    const rings = buffers.filter((buffer) => buffer.channel === channel.id)
      .map((buffer, at) => new Ring(`ring ${at} of channel ${channel.id}`, buffer, items, report));
    if (rings.length === 0) {
      report.add(`channel ${channel.id} has no ring`);
      const none = { channel: channel.id, slots: 1, onGpu: false, isShuffled: false, written: 0, read: 0, bytes: 0 };
      rings.push(new Ring(`no ring of channel ${channel.id}`, none, items, report));
    }
    return { channel, items, rings, first: elementAt(rings, 0), last: elementAt(rings, rings.length - 1) };
  });
}

/** Puts the items on a channel at the start where iterations −1, −2, … of its producer would have put them. */
function prefill({ channel: { tokens }, items, last }: Line, width: number): void {
  if (items === 0) return;
  for (let item = 0; item < tokens; ++item) {
    const iteration = Math.floor((item - tokens) / items);
    const index = item - tokens - iteration * items;
    if (!last.isShuffled) last.put(iteration, index, item);
    // The place of the item, by the inverse of (3.15).
    else last.put(iteration, index % (items / width) * width + Math.floor(index / (items / width)), item);
  }
}

/** Called for each item that an instance accesses at one end of a channel, with the firing, the place, and the index in the iteration. */
type Visit = (firing: number, place: number, index: number) => void;

function visitInOrder(firings: number, instance: number, rate: number, length: number, visit: Visit): void {
  for (let firing = instance * firings; firing < (instance + 1) * firings; ++firing) {
    for (let item = 0; item < length; ++item) visit(firing, firing * rate + item, firing * rate + item);
  }
}

/** Visits the places of (3.16) and (3.17), with the offset of the instance (section 4.2). */
function visitRows(threads: number, instance: number, rate: number, items: number, width: number, visit: Visit): void {
  for (let thread = 0; thread < threads; ++thread) {
    for (let item = 0; item < rate; ++item) {
      const place = instance * rate * threads + width * item + Math.floor(thread / width) * width * rate + thread % width;
      const index = streamIndex(place, items, width);
      visit(Math.floor((index - item) / rate), place, index);
    }
  }
}

/** The work of an actor, by instance. Reports threads that do not do whole firings, or different firings at different ends. */
class ActorTask {
  private readonly plan: HybridPlan;
  private readonly id: number;
  private readonly name: string;
  private readonly inputs: readonly Line[];
  private readonly outputs: readonly Line[];
  private readonly readers: readonly (Line & { readonly access: Access })[];
  private readonly writers: readonly (Line & { readonly access: Access })[];
  private readonly report: Report;

  constructor(plan: HybridPlan, id: number, lines: readonly Line[], report: Report) {
    [this.plan, this.id, this.report] = [plan, id, report];
    this.name = elementAt(plan.contracted.graph.actors, id).name;
    this.inputs = lines.filter(({ channel, items }) => channel.to === id && items > 0);
    this.outputs = lines.filter(({ channel, items }) => channel.from === id && items > 0);
    this.checkEnds();
    this.readers = this.inputs.map((line) =>
      ({ ...line, access: this.accessOf(line.last, line.channel.pop, line.channel.peek, line.items) }));
    this.writers = this.outputs.map((line) =>
      ({ ...line, access: this.accessOf(line.first, line.channel.push, line.channel.push, line.items) }));
  }

  private get instances(): number {
    return elementAt(this.plan.repetitions, this.id) / elementAt(this.plan.firings, this.id);
  }

  private checkEnds(): void {
    const { width, firings, onGpu } = this.plan;
    const ends = [...this.inputs.map(({ last, channel, items }) => ({ ring: last, rate: channel.pop, items, isInput: true, channel })),
      ...this.outputs.map(({ first, channel, items }) => ({ ring: first, rate: channel.push, items, isInput: false, channel }))];
    const layouts = new Set(ends.map(({ ring }) => ring.isShuffled));
    if (layouts.size > 1) this.report.add(`${this.name} works in stream order and in rows at once`);
    for (const { ring, rate, items, isInput, channel } of ends) {
      if (ring.onGpu !== (onGpu[this.id] === true)) this.report.add(`${this.name}: ${ring.name} is on the other side`);
      if (!ring.isShuffled) continue;
      if (!onGpu[this.id]) this.report.add(`${this.name} reads or writes rows on the CPU`);
      const readsParts = isInput && (channel.peek > channel.pop || channel.tokens % items !== 0);
      if (readsParts) this.report.add(`${this.name} reads parts of iterations in rows`);
      const threads = elementAt(firings, this.id);
      if (threads % width !== 0) this.report.add(`${this.name}: ${threads} threads do not fill rows of ${width}`);
      this.checkRows(threads, rate, items);
    }
  }

  /** Checks that each thread does one whole firing, and that each firing has the same thread at all ends. */
  private checkRows(threads: number, rate: number, items: number): void {
    const by = new Map<number, number>();
    for (let instance = 0; instance < this.instances; ++instance) {
      let touched = 0;
      visitRows(threads, instance, rate, items, this.plan.width, (firing, _, index) => {
        const item = touched % rate, thread = instance * threads + Math.floor(touched++ / rate);
        if (index !== firing * rate + item) this.report.add(`${this.name}: thread ${thread} does parts of firings`);
        const expected = this.threadFirings.get(thread) ?? firing;
        this.threadFirings.set(thread, expected);
        if (expected !== firing) this.report.add(`${this.name}: thread ${thread} does firings ${expected} and ${firing} at two ends`);
        by.set(firing, thread);
      });
    }
    if (by.size !== elementAt(this.plan.repetitions, this.id)) this.report.add(`${this.name}: ${by.size} firings have threads`);
  }

  private readonly threadFirings = new Map<number, number>();

  read(launch: number, iteration: number): void {
    for (const { channel: { tokens }, items, last, access } of this.readers) {
      const start = last.isShuffled ? last.at(iteration - tokens / items) : last.at(iteration, -tokens);
      last.read(launch, start, iteration * items, access, this.name);
    }
  }

  write(launch: number, iteration: number): void {
    for (const { channel: { tokens }, items, first, access } of this.writers) {
      first.write(launch, first.at(iteration), tokens + iteration * items, access, this.name);
    }
  }

  /** What all instances access at one end of a channel in an iteration. */
  private accessOf(ring: Ring, rate: number, length: number, items: number): Access {
    const firings = elementAt(this.plan.firings, this.id);
    const places: number[] = [], indices: number[] = [];
    const visit: Visit = (_, place, index) => {
      places.push(place);
      indices.push(index);
    };
    for (let instance = 0; instance < this.instances; ++instance) {
      if (ring.isShuffled) visitRows(firings, instance, rate, items, this.plan.width, visit);
      else visitInOrder(firings, instance, rate, length, visit);
    }
    return { places: Int32Array.from(places), indices: Int32Array.from(indices) };
  }
}

/** Transfers copy whole iterations; an instance of a shuffle moves `shuffleItems` places of the shuffled side. */
function operationTask({ width, shuffleItems, operations }: HybridPlan, at: number, line: Line, place: number, report: Report): Task {
  const { kind, stage, instances } = elementAt(operations, at);
  const { items, channel: { tokens, id } } = line;
  const [from, to] = [line.rings[place], line.rings[place + 1]];
  const who = `${kind} of channel ${id}`;
  if (!from || !to) {
    report.add(`${who} has no ring to write`);
    return { stage, read: () => undefined, write: () => undefined };
  }
  const isTransfer = kind === 'toGpu' || kind === 'toCpu';
  const sides = { toGpu: [false, true], toCpu: [true, false], shuffle: [true, true], deshuffle: [true, true] }[kind];
  if (from.onGpu !== sides[0] || to.onGpu !== sides[1]) report.add(`${who} is between the wrong sides`);
  const fits = isTransfer ? from.isShuffled === to.isShuffled
    : from.isShuffled === (kind === 'deshuffle') && to.isShuffled === (kind === 'shuffle');
  if (!fits) report.add(`${who} is between the wrong layouts`);
  const count = isTransfer ? items : instances * shuffleItems;
  if (!isTransfer && (count !== items || shuffleItems % width !== 0)) report.add(`${who} moves ${count} of ${items} items`);
  // A shuffle visits the places of its shuffled side in order, whether it reads or writes that side.
  const isOrdered = !from.isShuffled && !to.isShuffled;
  const spots = Int32Array.from({ length: Math.min(count, items) }, (_, spot) => spot);
  const indices = isOrdered ? spots : spots.map((spot) => streamIndex(spot, items, width));
  const accessOf = (ring: Ring): Access => ({ places: ring.isShuffled ? spots : indices, indices });
  const [reads, writes] = [accessOf(from), accessOf(to)];
  return {
    stage,
    read: (launch, iteration) => { from.read(launch, from.at(iteration), tokens + iteration * items, reads, who); },
    write: (launch, iteration) => { to.write(launch, to.at(iteration), tokens + iteration * items, writes, who); },
  };
}

/** The number of iterations after which each ring has been reused twice and the items of the start are gone. */
function enough({ depth, buffers, contracted: { graph }, repetitions }: HybridPlan): number {
  const rounds = Math.max(1, ...buffers.map(({ slots }) => slots));
  const old = Math.max(0, ...graph.channels.map(({ tokens, from, push }) =>
    push > 0 ? Math.ceil(tokens / (push * elementAt(repetitions, from))) : 0));
  return depth + 2 * rounds + old + 1;
}

/** Runs `launches` launches of a plan and adds defects to `report`. */
export function simulate(plan: HybridPlan, report: Report, launches = enough(plan)): void {
  const { contracted: { graph }, operations, width, stages } = plan;
  const lines = linesOf(plan, report);
  const passed = lines.map(() => 0);
  const tasks = operations.map(({ channel }, at): Task => {
    const line = elementAt(lines, channel);
    return operationTask(plan, at, line, addAt(passed, channel, 1) - 1, report);
  });
  lines.forEach(({ rings, channel }, id) => {
    if (elementAt(passed, id) + 1 !== rings.length) report.add(`channel ${channel.id}: ${rings.length} rings for ${passed[id]} operations`);
  });
  for (const { id } of graph.actors) {
    const actor = new ActorTask(plan, id, lines, report);
    tasks.push({
      stage: elementAt(stages, id), read: (launch, iteration) => actor.read(launch, iteration),
      write: (launch, iteration) => actor.write(launch, iteration),
    });
  }
  for (const line of lines) prefill(line, width);
  for (let launch = 0; launch < launches && report.list.length === 0; ++launch) {
    for (const { stage, read } of tasks) if (launch >= stage) read(launch, launch - stage);
    for (const { stage, write } of tasks) if (launch >= stage) write(launch, launch - stage);
  }
}
