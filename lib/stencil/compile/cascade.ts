// What the cells of a stage make in turn on a device: numbers from the fields, numbers from those of neighbours, fluxes from these, and at
// the end the cell. Calls that are the same but for an offset along the first or the last axis are made once, in one cell.
import { lastOf, required } from '../../core/known.ts';
import { call, get, set, type KernelFunction, type Local, type Program, type Statement } from '../../kernel/ir.ts';
import { dropUnreached } from '../../kernel/passes/dead.ts';
import { inlineCalls } from '../../kernel/passes/inline.ts';
import { localsSetBy, walkBody } from '../../kernel/visit.ts';
import type { Cascade, Link } from './links.ts';
import { ringLength } from './rings.ts';
import { alike, isCall, keyOf, moved, sharedOf, tidy, weightsOf, type Argument, type Found, type Shared, type Taken } from './sharing.ts';
import type { Stage } from './stages.ts';
import type { Input, Traced } from './trace.ts';

type Plain = Omit<Link, 'lead' | 'rows' | 'columns'>;

/** Nodes of a call that is worth taking from a neighbour: so many for each number. */
const leastWeight = 8;
/** How often calls are looked for. */
const mostRounds = 12;
/** Nodes that take as long as a load that is waited for. */
const loadNodes = 8;
const lanes = 32;
/**
 * By dimensions. Warps of a block share rows, so that fewer columns are made twice, but wait for each other: two and four are equally fast
 * (gas). With more of them on a multiprocessor there are too few registers, and no cache beside the shared memory for what does not fit:
 * 20 warps take nearly twice as long as 16.
 */
const warpsOf = [0, 8, 2, 1], heldOf = [0, 32, 16, 12];

/** Bytes of shared memory of a multiprocessor. */
const mostShared = 208 * 1024;

const cascades = new WeakMap<Shared, Cascade>();

/** How cells share what they have in common; undefined if that is nothing. */
export function cascadeOf(stage: Stage, s: number): Cascade | undefined {
  const shared = sharedOf(stage, s);
  if (shared === undefined) return undefined;
  const found = cascades.get(shared) ?? make(shared, stage.reach.length, s);
  cascades.set(shared, found);
  return found;
}

function make(shared: Shared, dimensions: number, s: number): Cascade {
  const { common, callees } = shared;
  const whole = tidy({ buffers: [], imports: [], functions: [...callees, common.f] });
  const plain = [plainLink(shared, lastOf(whole.functions), weightsOf(whole))], parts = taken(shared, dimensions, s);
  const ways = [plain, parts].flatMap((makers) => [false, true].map((isAhead) => planned(makers, shared, dimensions, isAhead)));
  const fitting = ways.filter((way, i) => i === 0 || 8 * ringLength(way) * (way.held / way.warps) <= mostShared);
  return fitting.reduce((best, way) => (costOf(way) < costOf(best) ? way : best));
}

/** Nodes for each cell that it makes, with those that a warp could compute while it waits for loads. */
function costOf({ links, lanes, width }: Cascade): number {
  const nodes = links.reduce((sum, { weight, loads, inputs }) =>
    sum + weight + (loads === undefined ? loadNodes * inputs.filter(({ kind }) => kind === 'y').length : 0), 0);
  return (nodes * lanes) / width;
}

const plainLink = ({ common: { inputs } }: Shared, f: KernelFunction, weights: ReadonlyMap<string, number>): Plain =>
  ({ f, inputs, takes: [], from: 0, weight: weights.get(f.name) ?? 0, loads: undefined });

/** The links up to what cells share, each with what can be taken from neighbours. */
function taken(shared: Shared, dimensions: number, s: number): Plain[] {
  const { common, callees } = shared;
  const inputOf = new Map<Local, Input | Taken>(common.f.parameters.map((local, i) => [local, required(common.inputs[i])]));
  let program = tidy({ buffers: [], imports: [], functions: [...callees, common.f] });
  const links: Plain[] = [];
  let from = 0;
  for (let round = 0; round < mostRounds; round += 1) {
    const point = lastOf(program.functions);
    const calls = point.body.filter(isCall);
    const weights = weightsOf(program);
    const heavy = calls.filter(({ callee, results }) => (weights.get(callee) ?? 0) >= leastWeight * results.length);
    const groups = alike(point, heavy, inputOf, dimensions).filter((found) => isTaken(found));
    if (groups.length === 0) {
      if (calls.length === 0) break;
      const top = new Set(calls.map(({ callee }) => callee));
      program = tidy(inlineCalls(program, ({ name }) => top.has(name), (f) => f === point));
      continue;
    }
    const locals = new Map<string, Local>();
    const sets = new Map<Statement, readonly Statement[]>();
    for (const found of groups) {
      const first = required(found[0]);
      const made = linkOf(first, inputOf, { name: `link_${s}_${links.length}`, from, weight: weights.get(first.call.callee) ?? 0 });
      links.push(...dimensions > 1 && readsOwn(made) ? fetched(made) : [made]);
      from = lastOf(links).from + first.call.results.length;
      const numberOf = numbersOf(lastOf(links), required(program.functions.find((f) => f.name === first.call.callee)));
      for (const { call: statement, reference } of found) {
        sets.set(statement, statement.results.map((result, i) => {
          const number = numberOf(i, reference);
          const local = locals.get(keyOf(number)) ?? { name: `${keyOf(number)}_t`, type: result.type };
          locals.set(keyOf(number), local);
          inputOf.set(local, number);
          return set(result, get(local));
        }));
      }
    }
    const next = { ...point, parameters: [...locals.values(), ...point.parameters],
      body: point.body.flatMap((each) => sets.get(each) ?? [each]) };
    program = tidy({ ...program, functions: [...program.functions.slice(0, -1), next] });
  }
  const ends = apart(program, shared.sizes);
  return [...links, ...ends.map(({ f, at, weight }) => fromFetched(lastLink(f, inputOf, from + at, weight), links))];
}

/**
 * What cells share as one function for each of the calls: a warp then starts with those that it needs. As one function if they have much
 * in common.
 */
function apart(
  program: Program, sizes: readonly number[],
): readonly { readonly f: KernelFunction; readonly at: number; readonly weight: number }[] {
  const whole = lastOf(program.functions), end = lastOf(whole.body);
  const weightOf = (f: KernelFunction, of: Program): number => weightsOf(of).get(f.name) ?? 0;
  const all = weightOf(whole, program);
  if (end.kind !== 'return' || sizes.length === 1) return [{ f: whole, at: 0, weight: all }];
  const called = dropUnreached(program, new Set([whole.name])).functions.slice(0, -1);
  const flat = tidy(inlineCalls({ ...program, functions: called })).functions;
  const parts = sizes.map((size, k) => {
    const at = sizes.slice(0, k).reduce((sum, each) => sum + each, 0);
    const f: KernelFunction = {
      ...whole, name: `${whole.name}_${k}`, results: whole.results.slice(at, at + size),
      body: [...whole.body.slice(0, -1), { kind: 'return', values: end.values.slice(at, at + size) }],
    };
    const cut = lastOf(tidy({ ...program, functions: [f] }).functions);
    const made = tidy(inlineCalls({ ...program, functions: [...flat, cut] }, () => true, (each) => each === cut));
    return { f: lastOf(made.functions), at, weight: weightOf(f, made) };
  });
  return parts.reduce((sum, { weight }) => sum + weight, 0) <= 1.1 * all ? parts : [{ f: whole, at: 0, weight: all }];
}

/**
 * The numbers that the results of a call at `reference` are, by result: those of the link that makes it, or those that the link takes,
 * where the function passes them on as they are.
 */
function numbersOf(
  { f: { parameters, body }, takes, from }: Plain, callee: KernelFunction,
): (i: number, reference: readonly number[]) => Taken {
  const end = lastOf(callee.body), [only] = body;
  const set = new Set<Local>();
  walkBody(callee.body, { statement: (s) => { for (const local of localsSetBy(s)) set.add(local); } });
  const passed = end.kind !== 'return' || only?.kind !== 'call' ? [] : end.values.map((value) => {
    if (value.kind !== 'get' || set.has(value.local)) return undefined;
    const arg = only.args[callee.parameters.indexOf(value.local)];
    return arg?.kind === 'get' ? takes[parameters.indexOf(arg.local)] : undefined;
  });
  return (i, reference) => {
    const own = passed[i];
    return { kind: 'number', index: own?.index ?? from + i, offset: reference.map((by, axis) => by + (own?.offset[axis] ?? 0)) };
  };
}

/** A link that takes what it reads of cells along the first and the last axis from those that have loaded it. */
function fromFetched<T extends Traced & { readonly takes: readonly Taken[] }>(link: T, links: readonly Plain[]): T {
  const { f, takes, inputs } = link;
  const inputOf = new Map<Local, Input | Taken>(f.parameters.map((local, i) =>
    [local, required(i < takes.length ? takes[i] : inputs[i - takes.length])]));
  for (const [local, input] of inputOf) {
    if (input.kind !== 'y' || (input.offset.length === 3 && input.offset[1] !== 0)) continue;
    for (const { loads, from, inputs: loaded } of links) {
      const i = loads !== undefined ? loaded.findIndex((each) => each.kind === 'y' && each.index === input.index) : -1;
      if (i >= 0) inputOf.set(local, { kind: 'number', index: from + i, offset: input.offset });
    }
  }
  return { ...link, ...ordered(f, inputOf) };
}

/** Whether neighbours along the first or the last axis make the same. */
function isTaken(found: readonly Found[]): boolean {
  const places = new Set(found.map(({ reference }) => reference.join()));
  return places.size > 1 && found.every(({ reference }) => reference.length < 3 || reference[1] === 0);
}

/** The function that makes the numbers of a call, at the cell itself. */
function linkOf(
  { call: { callee, results }, args, reference }: Found, inputOf: ReadonlyMap<Local, Input | Taken>,
  { name, from, weight }: { readonly name: string; readonly from: number; readonly weight: number },
): Plain {
  const found = new Map<string, { readonly input: Argument; readonly local: Local }>();
  const own = args.map((arg) => moved(arg, inputOf, reference, (input, type) => {
    const each = found.get(keyOf(input)) ?? { input, local: { name: `${keyOf(input)}_i`, type } };
    found.set(keyOf(input), each);
    return each.local;
  }));
  const made = results.map(({ type }, i): Local => ({ name: `made_${i}`, type }));
  return { ...ordered({
    name, parameters: [...found.values()].map(({ local }) => local), results: made.map(({ type }) => type), buffers: [],
    body: [call(callee, own, made), { kind: 'return', values: made.map(get) }],
  }, new Map([...found.values()].map(({ input, local }) => [local, input]))), from, weight, loads: undefined };
}

/** Whether a link reads fields or coefficients of the cell itself, and nothing else that depends on the cell. */
const readsOwn = ({ inputs, takes }: Plain): boolean => takes.length === 0
  && inputs.every((input) => !('offset' in input) || input.offset.every((by) => by === 0));

/** The same link with a link before it that loads what it reads. */
function fetched(link: Plain): readonly [Plain, Plain] {
  const { f, inputs, from } = link;
  const read = new Map<Local, Input>(), inputOf = new Map<Local, Input | Taken>();
  f.parameters.forEach((local, i) => {
    const input = required(inputs[i]);
    inputOf.set(local, 'offset' in input ? { kind: 'number', index: from + read.size, offset: input.offset } : input);
    if ('offset' in input) read.set(local, input);
  });
  const parameters = [...read.keys()];
  return [
    loading(`fetch_${f.name}`, parameters, { inputs: [...read.values()], from, loads: 'ahead' }),
    { ...link, ...ordered(f, inputOf), from: from + read.size },
  ];
}

/** A link that only loads. */
function loading(name: string, parameters: readonly Local[], more: Pick<Plain, 'inputs' | 'from' | 'loads'>): Plain {
  return {
    f: {
      name, parameters, results: parameters.map(({ type }) => type as 'f64'), buffers: [],
      body: [{ kind: 'return', values: parameters.map(get) }],
    },
    takes: [], weight: 0, ...more,
  };
}

/** The links with one before them that loads the fields that they read, along the first and the last axis, ahead. */
function withAhead(links: readonly Plain[], name: string, from: number): readonly Plain[] {
  const fields = new Map<number, { readonly input: Input; readonly local: Local }>();
  for (const { f, inputs, takes } of links) {
    for (const [i, input] of inputs.entries()) {
      if (input.kind !== 'y' || (input.offset.length === 3 && input.offset[1] !== 0)) continue;
      fields.set(input.index, { input: { ...input, offset: input.offset.map(() => 0) }, local: required(f.parameters[takes.length + i]) });
    }
  }
  if (fields.size === 0) return links;
  const all = [...fields.values()];
  const ahead = loading(name, all.map(({ local }) => local), { inputs: all.map(({ input }) => input), from, loads: 'ahead' });
  return [ahead, ...links.map((each) => fromFetched(each, [ahead]))];
}

/** The last link with one before it that loads the cell's fields at the beginning of the step and the sum. */
function withHeld(end: Plain, name: string): readonly Plain[] {
  const { f, takes, inputs, from } = end;
  const isHeld = ({ kind }: Input): boolean => kind === 'u' || kind === 'a';
  const held = inputs.filter(isHeld);
  if (held.length === 0) return [end];
  const parameters = f.parameters.slice(takes.length);
  const zero = required(takes[0]).offset.map(() => 0);
  const inputOf = new Map<Local, Input | Taken>(f.parameters.slice(0, takes.length).map((local, i) => [local, required(takes[i])]));
  parameters.forEach((local, i) => {
    const input = required(inputs[i]);
    inputOf.set(local, isHeld(input) ? { kind: 'number', index: from + held.indexOf(input), offset: zero } : input);
  });
  return [
    loading(name, parameters.filter((_, i) => isHeld(required(inputs[i]))), { inputs: held, from, loads: 'now' }),
    { ...end, ...ordered(f, inputOf), from: from + held.length },
  ];
}

function lastLink(f: KernelFunction, inputOf: ReadonlyMap<Local, Input | Taken>, from: number, weight: number): Plain {
  const used = new Set<Local>();
  walkBody(f.body, { expression: (e) => { if (e.kind === 'get') used.add(e.local); } });
  const parameters = f.parameters.filter((local) => used.has(local));
  return { ...ordered({ ...f, parameters }, inputOf), from, weight, loads: undefined };
}

/** Parameters that are numbers come first. */
function ordered(f: KernelFunction, inputOf: ReadonlyMap<Local, Input | Taken>): Traced & { readonly takes: readonly Taken[] } {
  const all = f.parameters.map((local) => ({ local, input: required(inputOf.get(local)) }));
  const numbers = all.filter(({ input }) => input.kind === 'number'), others = all.filter(({ input }) => input.kind !== 'number');
  return {
    f: { ...f, parameters: [...numbers, ...others].map(({ local }) => local) }, takes: numbers.map(({ input }) => input as Taken),
    inputs: others.map(({ input }) => input as Input),
  };
}

/** When each link runs: as late as the ones after it allow. */
function planned(
  makers: readonly Plain[], { callees, common, finish, numbers }: Shared, dimensions: number, isAhead: boolean,
): Cascade {
  const made = lastOf(makers).from + lastOf(makers).f.results.length, from = made - common.f.results.length;
  const last = dimensions - 1;
  const offsetOf = { own: [0, 0], before: [-1, 0], beside: [0, -1] } as const;
  const takes = numbers.map(({ component, side }): Taken => ({
    kind: 'number', index: from + component,
    offset: Array.from({ length: dimensions }, (_, axis) => (axis === last ? offsetOf[side][1] : axis === 0 ? offsetOf[side][0] : 0)),
  }));
  const weights = weightsOf({ buffers: [], imports: [], functions: [...callees, finish.f] });
  const finished = fromFetched({ ...finish, takes, from: made, weight: weights.get(finish.f.name) ?? 0, loads: undefined }, makers);
  const own: readonly Plain[] = [...makers, finished];
  const some = isAhead && dimensions > 1 ? withAhead(own, `ahead_${finish.f.name}`, made) : own;
  const end = { ...lastOf(some), from: made + (some.length > own.length ? required(some[0]).f.results.length : 0) };
  const all: readonly Plain[] = [...some.slice(0, -1), ...dimensions > 1 ? withHeld(end, `held_${finish.f.name}`) : [end]];
  const count = lastOf(all).from;
  const links: Link[] = [];
  let ages = 1;
  for (const each of [...all].reverse()) {
    const isEnd = links.length === 0;
    let lead = isEnd ? 0 : -Infinity;
    const [rows, columns]: [number, number][] = isEnd ? [[0, 0], [0, 0]] : [[Infinity, -Infinity], [Infinity, -Infinity]];
    const uses = links.flatMap((user) => user.takes.filter(({ index }) => index >= each.from && index < each.from + each.f.results.length)
      .map(({ offset }) => ({ user, row: dimensions > 1 ? required(offset[0]) : 0, column: required(offset[last]) })));
    for (const { user, row, column } of isEnd ? [] : uses) {
      lead = Math.max(lead, user.lead + row);
      widen(required(rows), user.rows, row);
      widen(required(columns), user.columns, column);
    }
    lead += Number(each.loads === 'ahead');
    for (const { user, row } of isEnd ? [] : uses) ages = Math.max(ages, lead - user.lead - row + 1);
    links.unshift({ ...each, lead, rows: required(rows), columns: required(columns) });
  }
  const low = Math.min(...links.map(({ columns }) => columns[0])), high = Math.max(...links.map(({ columns }) => columns[1]));
  const warps = required(warpsOf[dimensions]), together = dimensions === 1 ? lanes : lanes * warps;
  return {
    callees, links, numbers: count, ages, lanes: together, width: together + low - high, warps, held: required(heldOf[dimensions]),
  };
}

function widen(range: [number, number], of: readonly [number, number], by: number): void {
  range[0] = Math.min(range[0], of[0] + by);
  range[1] = Math.max(range[1], of[1] + by);
}
