// One firing of each filter as a device function that a thread runs, once for each code: filters that differ only in constants and tables
// share it, and find theirs by their number among them. Where a firing's items stand depends on how the channel is laid out.
import { elementAt, required } from '../../core/known.ts';
import {
  compare, exact, get, i32, select, set, valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Local,
  type Program,
} from '../../kernel/ir.ts';
import { dropCopies } from '../../kernel/passes/copies.ts';
import { dropDead } from '../../kernel/passes/dead.ts';
import { delayStores } from '../../kernel/passes/late-stores.ts';
import { paddedPlace } from '../../kernel/passes/pad.ts';
import { placeBuffers, type Placing } from '../../kernel/passes/place.ts';
import { dropNeedlessFills } from '../../kernel/passes/scalars.ts';
import { shareFunctions, type SharedFunctions } from '../../kernel/passes/share.ts';
import { simplify } from '../../kernel/passes/simplify.ts';
import { tabulate } from '../../kernel/passes/tables.ts';
import { tidy } from '../../kernel/passes/tidy.ts';
import { isStraight } from '../../kernel/passes/slice.ts';
import { sizeOf, unrollInner, unrollShort } from '../../kernel/passes/unroll.ts';
import { buffersIn, mapBody, Names, walkBody } from '../../kernel/visit.ts';
import type { SdfChannel } from '../sdf.ts';
import { lowerProgram, type LoweredProgram } from '../lower/program.ts';
import type { ProgramActors } from '../plan/actors.ts';
import { countsOf, kinds, kindsIn, type Kind } from '../plan/layout.ts';
import { scalarTypes } from '../lower/value.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { noGaps } from './cuda-gaps.ts';
import { constantsOf, fromTables, joinedTables } from './cuda-member-tables.ts';
import { together, type Together } from './cuda-together.ts';

/** How channels are laid out. */
export interface ChannelLayout {
  /** Threads whose items stand side by side: (3.15); 1: the order of the stream. */
  readonly width: number;
  /** Actors whose channels are in the order of the stream all the same; default: none. */
  readonly isOrdered?: (actor: number) => boolean;
  /** In the order of the stream: bytes of shared memory in which a block stages the windows and outputs of an instance. */
  readonly stagedBytes: number;
  /** Threads of an instance for which these must fit; of more, it is staged where they do. */
  readonly stagedThreads: number;
  /** Whether staged items have gaps, so that threads find theirs in different banks. */
  readonly gaps: boolean;
}

/**
 * How a thread finds the items of a firing: `column`: at distances of the width; `staged`: in shared memory; `direct`: one after the other
 * in the ring; `wrapped`: the same, where a window may go on at the ring's front; `kept`: no items, but what an actor keeps between
 * firings.
 */
export type Access = 'column' | 'staged' | 'direct' | 'wrapped' | 'kept';

/** One kind of scalars of a channel, at one of its ends; or state. */
export interface InstanceEnd {
  /** Number of the channel or stream; −1: none. */
  readonly channel: number;
  readonly isInput: boolean;
  readonly kind: Kind;
  /** Scalars in an item. */
  readonly stride: number;
  /** Items that a firing moves, and those that it sees. */
  readonly rate: number;
  readonly window: number;
  readonly access: Access;
  /** Of staged items: one gap behind every 2^shift scalars. */
  readonly shift: number;
  /** What is kept. */
  readonly kept?: Buffer;
}

/** What a function is told, beside the buffers. */
export interface InstanceParameter {
  readonly local: Local;
  /** Place among the ends. */
  readonly end: number;
  /**
   * `at`: items before the thread's; `base`, `size`: where in the ring its window begins, and the size of the ring; `count`: firings that a
   * thread makes, one after the other.
   */
  readonly what: 'at' | 'base' | 'size' | 'count';
}

/** The code of one or more actors. */
export interface InstanceCode {
  readonly f: KernelFunction;
  readonly parameters: readonly InstanceParameter[];
  /** Whether one thread makes all firings of an instance, one after the other. */
  readonly isOrdered: boolean;
  /** The number of the actor among `actors`, if the function takes it, as its last parameter. */
  readonly member: Local | undefined;
  /** Its buffers, by place among the ends. */
  readonly buffers: ReadonlyMap<Buffer, number>;
  readonly actors: readonly number[];
  /** By actor, as `actors` has them. */
  readonly ends: readonly (readonly InstanceEnd[])[];
  /** Several instances at once, where that gains. */
  readonly together?: Together | undefined;
}

export interface Instances {
  readonly codes: readonly InstanceCode[];
  /** Functions and buffers to print. */
  readonly program: Program;
  readonly lowered: LoweredProgram;
  /** The name of an actor. */
  readonly names: (actor: number) => string;
}

const scalarBytes: Readonly<Record<Kind, number>> = { i: 4, f: 4, d: 8 };

/** Bytes of shared memory for the items of so many threads. */
export function stagedBytes({ kind, stride, rate, window, shift }: InstanceEnd, threads: number): number {
  const scalars = ((threads - 1) * rate + window) * stride;
  return Math.ceil(scalarBytes[kind] * (scalars + (shift === noGaps ? 0 : scalars / 2 ** shift) + 1) / 16) * 16;
}

/** Most nodes to which the code of a firing is unrolled, beside what lowering does. */
const mostUnrolled = 400;
/** Iterations of a loop that moves items that are made together, so that their loads overlap; and the nodes of such a loop. */
const movesTogether = 8, mostMoved = 48;
/** Constants and buffers in which filters of one code may differ. */
const mostDifferences = 4096;

interface Made {
  readonly actor: number;
  readonly isOrdered: boolean;
  readonly f: KernelFunction;
  readonly ends: readonly InstanceEnd[];
  readonly parameters: readonly InstanceParameter[];
  /** By buffer: place among the ends. */
  readonly byBuffer: ReadonlyMap<Buffer, number>;
}

/** The functions of the actors of a program, default all of them. */
export function instancesFor(
  plan: ProgramPlan, actors: ProgramActors, layout: ChannelLayout, isWanted: (actor: number) => boolean = () => true,
): Instances {
  const lowered = lowerProgram(plan, { placed: true, nodes: [], passes, together: () => 1 });
  const maker = new InstanceMaker(plan, actors, layout, lowered);
  const order = new Map(plan.groups.map((group, at) => [group, at]));
  const made = actors.groups.flatMap((group, actor) => (isWanted(actor) ? [{ group, actor }] : []))
    .sort((a, b) => required(order.get(a.group)) - required(order.get(b.group))).map(({ group, actor }) => maker.make(group.id, actor));
  const alike = new Map<string, Made[]>();
  for (const each of made) {
    const key = JSON.stringify([each.ends.map(({ channel: _, kept, ...rest }) => [rest, kept?.length]), each.isOrdered,
      each.parameters.map(({ end, what }) => [end, what])]);
    alike.set(key, [...alike.get(key) ?? [], each]);
  }
  const before: Program = { ...lowered.program, functions: made.map(({ f }) => f) };
  const codes: InstanceCode[] = [];
  const tables: Buffer[] = [], placeholders: Buffer[] = [];
  for (const members of alike.values()) {
    const number = codes.length;
    const shared = shareFunctions(before, members.map(({ f }) => f), `work_${number}`, mostDifferences);
    placeholders.push(...shared.buffers);
    for (const f of shared.functions) {
      const own = members.filter((each) => shared.calls.get(each.f.name)?.callee === f.name);
      codes.push(...codeOf(before, f, own, shared, tables).map((code) => ({ ...code, together: togetherOf(before, code) })));
    }
  }
  const functions = codes.flatMap(({ f, together: more }) => (more === undefined ? [f] : [f, more.f]));
  // Tables that were joined to others need no room of their own.
  const read = new Set(functions.flatMap(({ body }) => [...buffersIn(body)]));
  const all = [...lowered.program.buffers, ...placeholders, ...tables];
  const buffers = all.filter((buffer) => buffer.role !== 'constant' || read.has(buffer));
  const names = (actor: number): string => elementAt(actors.graph.actors, actor).name;
  return { codes, lowered, program: { buffers, imports: [], functions }, names };
}

/** Only items in the rings themselves stand at fixed distances. */
function togetherOf(program: Program, { f, buffers, ends: [ends], parameters, isOrdered }: InstanceCode): Together | undefined {
  if (isOrdered) return undefined;
  const isFixed = [...buffers.values()].every((end) => ['column', 'direct'].includes(elementAt(required(ends), end).access));
  return isFixed && parameters.length === 0 ? together(program, f, new Set(buffers.keys())) : undefined;
}

/** What a compiler does not do by itself. */
function passes(program: Program): Program {
  return tidy(program, dropCopies(dropNeedlessFills(tabulate(program))));
}

class InstanceMaker {
  readonly #plan: ProgramPlan;
  readonly #actors: ProgramActors;
  readonly #layout: ChannelLayout;
  readonly #lowered: LoweredProgram;

  constructor(plan: ProgramPlan, actors: ProgramActors, layout: ChannelLayout, lowered: LoweredProgram) {
    this.#plan = plan;
    this.#actors = actors;
    this.#layout = layout;
    this.#lowered = lowered;
  }

  make(group: number, actor: number): Made {
    const { program, system: { ix } } = this.#lowered;
    const isOrdered = this.#actors.isOrdered[actor] === true;
    const f = required(program.functions.find(({ name }) => name === `group_${group}`));
    const byBuffer = new Map<Buffer, number>();
    const width = isOrdered || this.#layout.isOrdered?.(actor) === true ? 1 : this.#layout.width;
    const ends = this.#staged(this.#endsOf(actor, byBuffer, width), width, isOrdered);
    if (isOrdered) ends.push(...this.#innerOf(actor, byBuffer, ends.length));
    if (isOrdered) ends.push(...this.#keptOf(f, byBuffer, ends.length));
    const names = Names.of(program, f);
    const parameters: InstanceParameter[] = [];
    const [n] = f.parameters;
    if (isOrdered) parameters.push({ end: 0, what: 'count', local: required(n) });
    const parameter = (end: number, what: InstanceParameter['what']): Local => {
      let found = parameters.find((each) => each.end === end && each.what === what);
      if (found === undefined) parameters.push(found = { end, what, local: { name: names.make(what), type: 'i32' } });
      return found.local;
    };
    const at = (slot: number): Expression => {
      const inner = this.#actors.inner.find(({ id }) => 2 * id + 1 === slot);
      if (isOrdered) return i32(inner === undefined ? 0 : inner.tokens);
      // Kinds of one channel have the same items.
      const end = ends.findIndex(({ channel, isInput, access }) => 2 * channel + (isInput ? 0 : 1) === slot && access === 'staged');
      return end < 0 ? i32(0) : get(parameter(end, 'at'));
    };
    const body = placedBody(f, ix, at, isOrdered ? undefined : i32(1));
    const placings = new Map<Buffer, Placing>();
    for (const [buffer, end] of byBuffer) {
      const { access, shift } = elementAt(ends, end);
      if (access === 'column') placings.set(buffer, (index) => exact('mul', index, i32(width)));
      if (access === 'staged' && shift !== noGaps) placings.set(buffer, (index) => paddedPlace(index, shift));
      if (access === 'wrapped') placings.set(buffer, wrappedPlace(get(parameter(end, 'base')), get(parameter(end, 'size'))));
    }
    const alone = { ...program, functions: [{ ...f, parameters: parameters.map(({ local }) => local), body }] };
    const placed = placeBuffers(dropDead(simplify(unrollShort(simplify(dropDead(alone)), mostUnrolled))), placings);
    const whole = required((isOrdered ? simplify(placed) : this.#batched(placed, ends, byBuffer)).functions[0]);
    const read = new Set<Local>();
    walkBody(whole.body, { expression: (e) => { if (e.kind === 'get') read.add(e.local); } });
    const taken = parameters.filter(({ local }) => read.has(local));
    return { actor, isOrdered, f: { ...whole, parameters: taken.map(({ local }) => local) }, ends, parameters: taken, byBuffer };
  }

  /** Loads of several turns of loops that move items, and of whole firings, before their stores. */
  #batched(placed: Program, ends: readonly InstanceEnd[], byBuffer: ReadonlyMap<Buffer, number>): Program {
    const written = new Set([...byBuffer].flatMap(([buffer, end]) => (elementAt(ends, end).isInput ? [] : [buffer])));
    const batched = unrollInner(simplify(placed), movesTogether, (loop) => isStraight(loop) && sizeOf(loop.body) <= mostMoved
      && loop.body.some((each) => each.kind === 'store'));
    return delayStores(simplify(batched), written);
  }

  /** The ends of an actor, a channel's kinds one after the other. */
  #endsOf(actor: number, byBuffer: Map<Buffer, number>, width: number): InstanceEnd[] {
    const ends: InstanceEnd[] = [];
    const isOrdered = this.#actors.isOrdered[actor] === true;
    const add = (channel: SdfChannel, isInput: boolean): void => {
      const number = elementAt(this.#actors.channels, channel.id);
      const { type, bufferOf } = this.#buffersOf(number);
      const counts = countsOf(type);
      for (const kind of kindsIn(counts)) {
        const [rate, window] = isInput ? [channel.pop, channel.peek] : [channel.push, channel.push];
        const moved = (rate * counts[kind]) & -(rate * counts[kind]);
        byBuffer.set(bufferOf(kind), ends.length);
        ends.push({
          channel: number, isInput, kind, stride: counts[kind], rate, window,
          access: width > 1 ? 'column' : isInput ? 'wrapped' : 'direct',
          shift: isOrdered || !this.#layout.gaps || moved <= 2 ? noGaps : Math.min(10, Math.log2(moved)),
        });
      }
    };
    for (const channel of this.#actors.graph.channels) {
      if (channel.to === actor && channel.peek > 0) add(channel, true);
      if (channel.from === actor && channel.push > 0) add(channel, false);
    }
    return ends;
  }

  /** Channels inside a loop: rings of their own, which are read and written from where the firings of an instance begin. */
  #innerOf(actor: number, byBuffer: Map<Buffer, number>, before: number): InstanceEnd[] {
    const ends: InstanceEnd[] = [];
    for (const { id, items, tokens } of this.#actors.inner.filter((each) => each.actor === actor)) {
      const { type, bufferOf } = this.#buffersOf(id);
      const counts = countsOf(type);
      for (const kind of kindsIn(counts)) {
        byBuffer.set(bufferOf(kind), before + ends.length);
        ends.push({
          channel: id, isInput: true, kind, stride: counts[kind], rate: items, window: items + tokens, access: 'wrapped', shift: noGaps,
        });
      }
    }
    return ends;
  }

  /** Fields, numbers of firings and states of random numbers. */
  #keptOf({ body }: KernelFunction, byBuffer: Map<Buffer, number>, before: number): InstanceEnd[] {
    const { ix, steps } = this.#lowered.system;
    const kept = [...buffersIn(body)].filter((buffer) =>
      buffer.role === 'global' && buffer !== ix && buffer !== steps && !byBuffer.has(buffer));
    return kept.map((buffer, i) => {
      byBuffer.set(buffer, before + i);
      const kind = required(kinds.find((each) => scalarTypes[each] === buffer.element));
      return { channel: -1, isInput: true, kind, stride: 1, rate: 0, window: 0, access: 'kept', shift: noGaps, kept: buffer };
    });
  }

  #buffersOf(channel: number) {
    const { graph, externals } = this.#plan;
    const external = externals.find(({ id }) => id === channel);
    const type = external === undefined ? elementAt(graph.channels, channel).type : external.type;
    const prefix = external === undefined ? 'c' : 'x';
    const { buffers } = this.#lowered.program;
    return { type, bufferOf: (kind: Kind): Buffer => required(buffers.find(({ name }) => name === `${prefix}${channel}${kind}`)) };
  }

  /** Stages what gains by it, the small ends first, as long as all of them fit; the kinds of a channel together. */
  #staged(ends: readonly InstanceEnd[], width: number, isOrdered: boolean): InstanceEnd[] {
    const { stagedBytes: most, stagedThreads: threads } = this.#layout;
    if (width > 1) return [...ends];
    // Instances of a thread have as many firings as fit.
    const stagedThreads = isOrdered ? 1 : threads;
    const channels = new Map<string, InstanceEnd[]>();
    for (const end of ends) {
      const key = `${end.channel} ${end.isInput}`;
      channels.set(key, [...channels.get(key) ?? [], end]);
    }
    const sized = [...channels.values()].map((own) => ({ own, bytes: own.reduce((sum, end) => sum + stagedBytes(end, stagedThreads), 0) }));
    const chosen = new Set<InstanceEnd>();
    let bytes = 0;
    for (const { own, bytes: more } of sized.sort((a, b) => a.bytes - b.bytes)) {
      // Threads read or write side by side as it is.
      if (!isOrdered && own.every(({ rate, window, stride }) => rate * stride === 1 && window === rate)) continue;
      bytes += more;
      if (bytes > most) break;
      for (const end of own) chosen.add(end);
    }
    return ends.map((end) => (chosen.has(end) ? { ...end, access: 'staged' } : end));
  }
}

/** A group's function whose ends begin where `at` says; `count`: iterations, if they are known. */
function placedBody(f: KernelFunction, ix: Buffer, at: (slot: number) => Expression, count: Expression | undefined): Body {
  const [n] = f.parameters;
  const body = mapBody(f.body, {
    expression: (e) => {
      if (e.kind !== 'load' || e.buffer !== ix) return e;
      const slot = valueOf(e.index);
      if (slot === undefined) throw new UnsupportedProgram('the program reads files');
      return at(slot + e.offset);
    },
    statement: (s) => (s.kind === 'store' && s.buffer === ix ? [] : s),
  });
  return n === undefined || count === undefined ? body : [set(n, count), ...body];
}

/** Places in a ring of a size, from a base on. */
function wrappedPlace(base: Expression, size: Expression): Placing {
  return (index) => {
    const place = exact('add', base, index);
    return select(compare('ge', place, size), exact('sub', place, size), place);
  };
}

/** The code that filters of one shape share, or that of each where they use their ends in different ways. */
function codeOf(
  program: Program, f: KernelFunction, members: readonly Made[], { calls, buffers: standIns }: SharedFunctions, tables: Buffer[],
): InstanceCode[] {
  const [first] = members as [Made];
  const alone = (each: Made): InstanceCode => ({
    f: each.f, parameters: each.parameters, isOrdered: each.isOrdered, member: undefined, buffers: each.byBuffer, actors: [each.actor],
    ends: [each.ends],
  });
  if (members.length === 1) return [alone(first)];
  const actual = members.map(({ f: { name } }) => required(calls.get(name)));
  const buffers = new Map<Buffer, number>(first.byBuffer);
  const combined = new Map<Buffer, { readonly table: Buffer; readonly row: number }>();
  for (const standIn of standIns.filter((each) => actual[0]?.buffers.has(each) === true)) {
    const all = actual.map((call) => required(call.buffers.get(standIn)));
    if (all.every(({ role }) => role === 'constant')) combined.set(standIn, joinedTables(all, tables));
    else {
      const ends = all.map((buffer, i) => members[i]?.byBuffer.get(buffer));
      if (ends[0] === undefined || ends.some((end) => end !== ends[0])) return members.map(alone);
      buffers.set(standIn, ends[0]);
    }
  }
  const own = f.parameters.slice(0, first.parameters.length);
  const member: Local = { name: Names.of(program, f).make('member'), type: 'i32' };
  const given = f.parameters.slice(own.length);
  const body = fromTables(f.body, member, combined, constantsOf(given, actual.map(({ args }) => args.map(({ value }) => value)), tables));
  const parameters = first.parameters.map((each, i) => ({ ...each, local: elementAt(own, i) }));
  const isNeeded = combined.size > 0 || given.length > 0;
  return [{
    f: { ...f, parameters: isNeeded ? [...own, member] : own, body }, parameters, isOrdered: first.isOrdered,
    member: isNeeded ? member : undefined, buffers, actors: members.map(({ actor }) => actor), ends: members.map(({ ends }) => ends),
  }];
}
