// What neighbouring cells have in common, such as the flux through the face between them: calls in the function of a stage that are
// the same but for an offset along an axis. They are made once, by one of the cells.
import { lastOf, required } from '../../core/known.ts';
import {
  call, get, set, type Expression, type KernelFunction, type Local, type Program, type Statement, type StatementOf,
} from '../../kernel/ir.ts';
import { dropDead } from '../../kernel/passes/dead.ts';
import { inlineCalls } from '../../kernel/passes/inline.ts';
import { simplify } from '../../kernel/passes/simplify.ts';
import { expressionText } from '../../kernel/text.ts';
import { localsSetBy, mapExpression, walkBody, walkExpression } from '../../kernel/visit.ts';
import { stageSize, type Stage } from './stages.ts';
import type { Input, Traced } from './trace.ts';

/** Which cell makes a number: this one, the one before it along the first axis, or the one before it along the last axis. */
export type Side = 'own' | 'before' | 'beside';

export interface Shared {
  /** What both call, callees first. */
  readonly callees: readonly KernelFunction[];
  /** What a cell makes for itself and for its neighbours. */
  readonly common: Traced;
  /** Makes the cell of these numbers, its first parameters, and of inputs. */
  readonly finish: Traced;
  readonly numbers: readonly { readonly component: number; readonly side: Side }[];
  /** How many of the numbers each of the shared calls makes, in order. */
  readonly sizes: readonly number[];
}

/** Nodes of a call that is worth sharing; divisions, roots and functions of Math count as ten. And how deep calls are looked for. */
const leastWeight = 200, mostDepth = 6;
/** Nodes of a stage whose calls are looked at. */
const leastSize = 300;
/** Nodes of an argument. */
const mostNodes = 400;

type Call = StatementOf<'call'>;
/** A number that a cell, so many cells on, has made (./cascade.ts). */
export interface Taken {
  readonly kind: 'number';
  readonly index: number;
  readonly offset: readonly number[];
}
type Read = Extract<Input, { kind: 'y' | 'c' }> | Taken;
export type Argument = Read | Extract<Input, { kind: 'scalar' }>;
export type Inputs = ReadonlyMap<Local, Input | Taken>;

/** A call, with arguments of inputs alone. */
export interface Found {
  readonly call: Call;
  readonly args: readonly Expression[];
  /** The middle of what it reads. */
  readonly reference: readonly number[];
}

/** Calls that differ by an offset. */
interface Group {
  readonly calls: readonly (Found & { readonly side: Side })[];
  /** The offsets of the call that a cell makes for itself. */
  readonly base: readonly number[];
}

const shared = new WeakMap<Stage, { readonly found: Shared | undefined }>();

/** What the cells of a stage share; undefined if that is nothing, or not worth it. */
export function sharedOf(stage: Stage, s: number): Shared | undefined {
  let known = shared.get(stage);
  if (known === undefined) shared.set(stage, known = { found: stageSize(stage) >= leastSize ? find(stage, s) : undefined });
  return known.found;
}

export const tidy = (program: Program): Program => dropDead(simplify(program));
export const isCall = (s: Statement): s is Call => s.kind === 'call';

function find(stage: Stage, s: number): Shared | undefined {
  const { f, inputs, callees } = stage.outlined();
  const dimensions = stage.reach.length;
  const inputOf = new Map(f.parameters.map((local, i) => [local, required(inputs[i])]));
  let program = tidy({ buffers: [], imports: [], functions: [...callees, f] });
  for (let depth = 0; depth < mostDepth; depth += 1) {
    const point = lastOf(program.functions);
    const calls = point.body.filter(isCall);
    if (calls.length === 0) return undefined;
    const weights = weightsOf(program);
    const heavy = calls.filter(({ callee, results }) => (weights.get(callee) ?? 0) >= leastWeight + 16 * results.length);
    const groups = groupsOf(point, heavy, inputOf, dimensions);
    if (groups.length > 0) return parted(program, groups, inputOf, s);
    const top = new Set(calls.map(({ callee }) => callee));
    program = tidy(inlineCalls(program, ({ name }) => top.has(name), (f) => f === point));
  }
  return undefined;
}

/** Nodes of functions and what they call. */
export function weightsOf({ functions }: Program): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  const isLong = (e: Expression): boolean =>
    e.kind === 'math' || (e.kind === 'binary' && e.op === 'div') || (e.kind === 'unary' && e.op === 'sqrt');
  for (const { name, body } of functions) {
    let sum = 0;
    walkBody(body, {
      expression: (e) => { sum += isLong(e) ? 10 : 1; },
      statement: (each) => { sum += each.kind === 'call' ? weights.get(each.callee) ?? 0 : 0; },
    });
    weights.set(name, sum);
  }
  return weights;
}

/** The values of locals that are set once, at the top. */
function definitionsOf({ body }: KernelFunction): ReadonlyMap<Local, Expression> {
  const times = new Map<Local, number>();
  walkBody(body, { statement: (s) => { for (const local of localsSetBy(s)) times.set(local, (times.get(local) ?? 0) + 1); } });
  return new Map(body.flatMap((s) => (s.kind === 'set' && times.get(s.local) === 1 ? [[s.local, s.value] as const] : [])));
}

/** Calls with arguments of inputs alone: those that are the same but for an offset together. */
export function alike(point: KernelFunction, calls: readonly Call[], inputOf: Inputs, dimensions: number): readonly Found[][] {
  const definitions = definitionsOf(point);
  const byText = new Map<string, Found[]>();
  for (const each of calls) {
    const args = each.args.map((arg) => ofInputs(arg, definitions, inputOf));
    if (!args.every((arg) => arg !== undefined)) continue;
    const reads = args.flatMap((arg) => readsIn(arg, inputOf));
    if (reads.length === 0) continue;
    const reference = Array.from({ length: dimensions }, (_, axis) => {
      const offsets = reads.map(({ offset }) => required(offset[axis]));
      return Math.floor((Math.min(...offsets) + Math.max(...offsets)) / 2);
    });
    const text = [each.callee, ...args.map((arg) => expressionText(moved(arg, inputOf, reference, (input) =>
      ({ name: keyOf(input), type: 'f64' }))))].join();
    byText.set(text, [...byText.get(text) ?? [], { call: each, args, reference }]);
  }
  return [...byText.values()];
}

function groupsOf(point: KernelFunction, calls: readonly Call[], inputOf: Inputs, dimensions: number): Group[] {
  return alike(point, calls, inputOf, dimensions).flatMap((found): Group[] => {
    const base = Array.from({ length: dimensions }, (_, axis) => Math.max(...found.map(({ reference }) => required(reference[axis]))));
    const sided = found.flatMap((each) => {
      const side = sideOf(each.reference.map((offset, axis) => required(base[axis]) - offset));
      return side === undefined ? [] : [{ ...each, side }];
    });
    const isShared = sided.length === found.length && new Set(sided.map(({ side }) => side)).size > 1;
    return isShared ? [{ calls: sided, base }] : [];
  });
}

/** The side of a cell so many cells before. */
function sideOf(back: readonly number[]): Side | undefined {
  if (back.every((by) => by === 0)) return 'own';
  const axis = back.findIndex((by) => by !== 0);
  if (back.some((by, i) => by !== (i === axis ? 1 : 0))) return undefined;
  return axis === back.length - 1 ? 'beside' : axis === 0 ? 'before' : undefined;
}

/** An argument with inputs in place of locals; undefined if it depends on anything but fields, coefficients and scalars. */
function ofInputs(
  given: Expression, definitions: ReadonlyMap<Local, Expression>, inputOf: Inputs,
): Expression | undefined {
  let [nodes, isGood] = [0, true];
  const expand = (e: Expression): Expression => mapExpression(e, (part) => {
    nodes += 1;
    if (part.kind !== 'get' || !isGood) return part;
    const input = inputOf.get(part.local);
    if (input !== undefined && (isRead(input) || input.kind === 'scalar')) return part;
    const value = definitions.get(part.local);
    isGood = input === undefined && value !== undefined && nodes < mostNodes;
    return isGood && value !== undefined ? expand(value) : part;
  });
  const made = expand(given);
  return isGood ? made : undefined;
}

const isRead = ({ kind }: Input | Taken): boolean => kind === 'y' || kind === 'c' || kind === 'number';

function readsIn(e: Expression, inputOf: Inputs): Read[] {
  const found: Read[] = [];
  walkExpression(e, (part) => {
    const input = part.kind === 'get' ? inputOf.get(part.local) : undefined;
    if (input !== undefined && isRead(input)) found.push(input as Read);
  });
  return found;
}

export const keyOf = (input: Argument): string =>
  (input.kind === 'scalar' ? input.name : `${input.kind}_${input.index}_${input.offset.join('_')}`.replaceAll('-', 'm'));

/** An argument that reads cells so many cells before. */
export function moved(
  e: Expression, inputOf: Inputs, back: readonly number[], localOf: (input: Argument, type: Local['type']) => Local,
): Expression {
  return mapExpression(e, (part) => {
    if (part.kind !== 'get') return part;
    const input = required(inputOf.get(part.local)) as Argument;
    const there = input.kind === 'scalar' ? input
      : { ...input, offset: input.offset.map((offset, axis) => offset - required(back[axis]) + 0) };
    return get(localOf(there, part.local.type));
  });
}

/** The two functions. */
function parted(program: Program, groups: readonly Group[], inputOf: ReadonlyMap<Local, Input>, s: number): Shared {
  const point = lastOf(program.functions);
  const others = program.functions.slice(0, -1);
  const inputs = new Map<string, { readonly input: Argument; readonly local: Local }>();
  const localOf = (input: Argument, type: Local['type']): Local => {
    const key = keyOf(input);
    const found = inputs.get(key) ?? { input, local: { name: `${key}_i`, type } };
    inputs.set(key, found);
    return found.local;
  };
  const body: Statement[] = [], made: Local[] = [];
  const numbers = new Map<string, { readonly component: number; readonly side: Side; readonly local: Local }>();
  const sets = new Map<Statement, readonly Statement[]>();
  for (const { calls, base } of groups) {
    const first = required(calls[0]);
    const from = made.length;
    const results = first.call.results.map(({ type }, i): Local => ({ name: `made_${from + i}`, type }));
    made.push(...results);
    const back = first.reference.map((offset, axis) => offset - required(base[axis]));
    body.push(call(first.call.callee, first.args.map((arg) => moved(arg, inputOf, back, localOf)), results));
    for (const { call: { results: taken }, call: statement, side } of calls) {
      sets.set(statement, taken.map((local, i) => {
        const key = `${side}_${from + i}`;
        const number = numbers.get(key) ?? { component: from + i, side, local: { name: key, type: local.type } };
        numbers.set(key, number);
        return set(local, get(number.local));
      }));
    }
  }
  const common: KernelFunction = {
    name: `common_${s}`, parameters: [...inputs.values()].map(({ local }) => local), results: made.map(({ type }) => type), buffers: [],
    body: [...body, { kind: 'return', values: made.map(get) }],
  };
  const rest: KernelFunction = {
    ...point, name: `finish_${s}`, parameters: [...[...numbers.values()].map(({ local }) => local), ...point.parameters],
    body: point.body.flatMap((each) => sets.get(each) ?? [each]),
  };
  const finish = lastOf(tidy({ ...program, functions: [...others, rest] }).functions);
  const used = new Set<Local>();
  walkBody(finish.body, { expression: (e) => { if (e.kind === 'get') used.add(e.local); } });
  const parameters = finish.parameters.filter((local) => used.has(local));
  return {
    callees: others, common: { f: common, inputs: [...inputs.values()].map(({ input }) => input as Input) },
    finish: { f: { ...finish, parameters }, inputs: parameters.flatMap((local) => inputOf.get(local) ?? []) },
    numbers: [...numbers.values()].filter(({ local }) => used.has(local)),
    sizes: groups.map(({ calls: [first] }) => required(first).call.results.length),
  };
}
