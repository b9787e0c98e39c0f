// Streams made in TypeScript: filters whose code is StreamIt text, joined by functions whose types keep the ends together.
import { describeValue, isObject, isReal } from '../../core/arrays.ts';
import { requireText } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt, lastOf } from '../../core/known.ts';
import { snapshot } from '../../core/snapshot.ts';
import { defaultLimits } from '../elaborate/limits.ts';
import { requireFields, requireList } from '../require.ts';

/** Types of channels that have a name in the language; `void` for no channel. Arrays and structs: their spelling, such as 'float[4]'. */
export type ItemType = 'bit' | 'boolean' | 'int' | 'float' | 'double' | 'complex' | 'float2' | 'float3' | 'float4' | 'void' | (string & {});

/** A constant that a filter gets: a number, a boolean, or an array of numbers with any nesting of equal lengths. */
export type Constant = number | boolean | ArrayLike<number> | readonly Constant[];

/** How items are dealt out or taken in: each `weights` in turn, or a copy to all. */
export type Policy = { readonly kind: 'duplicate' } | { readonly kind: 'roundrobin'; readonly weights: readonly number[] };
/** What a joiner can do. */
export type JoinPolicy = Extract<Policy, { kind: 'roundrobin' }>;

/** What a stream is made of. */
export type Parts =
  | { readonly kind: 'filter'; readonly code: string; readonly constants: Readonly<Record<string, TypedConstant>>;
    readonly declarations: string }
  | { readonly kind: 'declared'; readonly source: string; readonly stream: string; readonly args: readonly TypedConstant[] }
  | { readonly kind: 'pipeline'; readonly children: readonly AnyStream[] }
  | { readonly kind: 'splitjoin'; readonly split: Policy; readonly children: readonly AnyStream[]; readonly join: JoinPolicy }
  | {
    readonly kind: 'feedbackloop'; readonly join: JoinPolicy; readonly body: AnyStream; readonly loop: AnyStream | undefined;
    readonly split: Policy; readonly enqueue: readonly number[];
  };

/** A constant argument with its type. */
export interface TypedConstant {
  /** As the language writes it. */
  readonly type: ItemType;
  readonly value: Constant;
}

/** A stream from items of type `I` to items of type `O`. Immutable; the same stream may stand in several places. */
export class StreamNode<out I extends ItemType, out O extends ItemType> {
  readonly name: string;
  readonly input: I;
  readonly output: O;
  readonly parts: Parts;

  constructor(name: string, ends: { input: I; output: O }, parts: Parts) {
    const isName = typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
    if (!isName) throw refusal('name', 'a name of letters, digits and underscores', describeValue(name));
    for (const end of ['input', 'output'] as const) requireText(ends[end], end);
    this.name = name;
    this.input = ends.input;
    this.output = ends.output;
    this.parts = parts;
  }
}
/** A stream of any types of items. */
export type AnyStream = StreamNode<ItemType, ItemType>;

/** A filter. */
export interface FilterOptions<I extends ItemType, O extends ItemType> {
  /** Default 'Filter'. */
  readonly name?: string;
  readonly input: I;
  readonly output: O;
  /** What stands between the braces of a filter: fields, `init`, `work push 1 pop 1 { … }`, functions. */
  readonly code: string;
  /** Parameters of the filter with their values. Numbers given bare are int if they are whole and float otherwise. */
  readonly constants?: Readonly<Record<string, Constant | TypedConstant>>;
  /** Structs, static sections and helper packages that the code uses; given once where several filters share them. */
  readonly declarations?: string;
}

function isTyped(value: unknown): value is TypedConstant {
  return isObject(value) && 'type' in value && 'value' in value;
}

/** A constant with the type that its value suggests. */
export function typed(name: string, given: Constant | TypedConstant): TypedConstant {
  const value = snapshot(given);
  if (isTyped(value)) {
    requireText(value.type, `constants.${name}.type`);
    return value;
  }
  let lengths = '';
  let all: Constant[] = [value];
  for (let depth = 1; typeof all[0] === 'object'; ++depth) {
    const isRows = depth <= 16 && all.every((row) => Array.isArray(row) || (ArrayBuffer.isView(row) && 'length' in row));
    if (!isRows) throw refusal(`constants.${name}`, 'a number, a boolean, or arrays of them at most 16 deep', describeValue(value));
    const rows = all.map((row) => Array.from(row as ArrayLike<Constant>));
    if (elementAt(rows, 0).length === 0 || rows.some((row) => row.length !== elementAt(rows, 0).length)) {
      throw refusal(`constants.${name}`, 'an array of equal rows that are not empty', 'rows of different lengths, or none');
    }
    lengths += `[${elementAt(rows, 0).length}]`;
    all = rows.flat();
  }
  if (all.every((x) => typeof x === 'boolean')) return { type: `boolean${lengths}`, value };
  if (!all.every((x) => typeof x === 'number' && Number.isFinite(x))) throw refusal(
    `constants.${name}`, 'finite numbers or booleans', 'something else');
  const isWhole = !isReal(value) && all.every((x) => x === ((x as number) | 0));
  return { type: `${isWhole ? 'int' : 'float'}${lengths}`, value };
}

/** A filter whose code is StreamIt text. Faults in the text come as diagnostics from `toProgram`, `check` and `elaborate`. */
export function filter<I extends ItemType, O extends ItemType>(options: FilterOptions<I, O>): StreamNode<I, O> {
  requireFields('options', options, 'options');
  requireText(options.code, 'code');
  if (options.declarations !== undefined) requireText(options.declarations, 'declarations');
  if (options.constants !== undefined) requireFields('constants', options.constants, 'constants by name');
  const constants = Object.fromEntries(Object.entries(options.constants ?? {}).map(([name, value]) => {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw refusal('constants', 'names of letters, digits and underscores', `'${name}'`);
    return [name, typed(name, value)];
  }));
  return new StreamNode(
    options.name ?? 'Filter', options, { kind: 'filter', code: options.code, constants, declarations: options.declarations ?? '' });
}

/** A stream that StreamIt text declares, with its arguments. */
export function fromSource<I extends ItemType, O extends ItemType>(options: {
  readonly source: string; readonly stream: string; readonly input: I; readonly output: O;
    readonly args?: readonly (Constant | TypedConstant)[];
}): StreamNode<I, O> {
  requireFields('options', options, 'options');
  for (const name of ['source', 'stream'] as const) requireText(options[name], name);
  if (options.args !== undefined) requireList('args', options.args, 'constants');
  const args = (options.args ?? []).map((value, i) => typed(String(i), value));
  return new StreamNode(options.stream, options, { kind: 'declared', source: options.source, stream: options.stream, args });
}

type Joins<S extends readonly AnyStream[]> = S extends readonly [StreamNode<infer _I, infer O>, StreamNode<infer I2, infer O2>, ...infer R]
  ? [O] extends [I2] ? R extends readonly AnyStream[] ? Joins<readonly [StreamNode<I2, O2>, ...R]> : unknown
    : { readonly 'the output of a stream is not the input of the next': [O, I2] }
  : unknown;
type First<S extends readonly AnyStream[]> = S extends readonly [StreamNode<infer I, infer _O>, ...unknown[]] ? I : ItemType;
type Last<S extends readonly AnyStream[]> = S extends readonly [...unknown[], StreamNode<infer _I, infer O>] ? O : ItemType;

/** Streams one behind the other. The output type of each is the input type of the next: checked by TypeScript and again at run time. */
export function pipeline<const S extends readonly AnyStream[]>(...children: S & Joins<S>): StreamNode<First<S>, Last<S>> {
  const all: readonly AnyStream[] = children;
  all.forEach((child, i) => requireStream(`children[${i}]`, child));
  if (all.length === 0) throw refusal('children', 'at least one stream of the pipeline', 'none');
  for (let i = 1; i < all.length; ++i) {
    const [before, child] = [elementAt(all, i - 1), elementAt(all, i)];
    if (before.output !== child.input) {
      throw refusal(`children[${i}]`, `a stream that takes ${before.output}`, `${child.name}, which takes ${child.input}`);
    }
  }
  return new StreamNode('Pipeline', { input: elementAt(all, 0).input, output: lastOf(all).output }, { kind: 'pipeline', children: all }) as
    StreamNode<First<S>, Last<S>>;
}

/** A copy of each item to every branch. */
export const duplicate: Policy = { kind: 'duplicate' };

/** `weights[i]` items for branch i in turn; one weight stands for all, none for 1 each. */
export function roundRobin(...weights: readonly number[]): JoinPolicy {
  weights.forEach((weight, i) => {
    if (!Number.isInteger(weight) || weight < 0 || weight > defaultLimits.rate) throw refusal(
      `weights[${i}]`, `an integer from 0 to ${defaultLimits.rate}`, describeValue(weight));
  });
  return { kind: 'roundrobin', weights };
}

function requireStream(argument: string, value: unknown): void {
  if (!(value instanceof StreamNode)) throw refusal(argument, 'a stream', describeValue(value));
}

function requirePolicy(argument: string, value: unknown, mayDuplicate: boolean): void {
  const { kind, weights } = (value ?? {}) as Partial<JoinPolicy>;
  if (mayDuplicate && (kind as string) === 'duplicate') return;
  const fits = kind === 'roundrobin' && Array.isArray(weights) && weights.every((weight) => Number.isSafeInteger(weight) && weight >= 0);
  if (!fits) throw refusal(argument, mayDuplicate ? 'duplicate or roundRobin(…)' : 'roundRobin(…)', describeValue(value));
}

/** Branches side by side. All branches take the same type and give the same type; `void` ends have the weight 0. */
export function splitJoin<I extends ItemType, O extends ItemType>(options: {
  readonly split: Policy; readonly branches: readonly StreamNode<I, O>[]; readonly join: JoinPolicy;
}): StreamNode<I, O> {
  requireFields('options', options, 'options');
  const { split, branches, join } = options;
  requirePolicy('split', split, true);
  requirePolicy('join', join, false);
  requireList('branches', branches, 'streams');
  branches.forEach((branch, i) => requireStream(`branches[${i}]`, branch));
  if (branches.length === 0) throw refusal('branches', 'at least one branch of the split-join', 'none');
  const common = (end: 'input' | 'output') => branches.map((branch) => branch[end]).find((type) => type !== 'void') ?? 'void';
  return new StreamNode('SplitJoin', { input: common('input') as I, output: common('output') as O },
    { kind: 'splitjoin', split, children: branches, join });
}

/**
 * A feedback loop: `join` takes from the input (weight 0) and the loop (weight 1) into `body`; `split` gives to the output and to `loop`,
 * whose
 * items return to the joiner. `enqueue`: items on the way back before anything fires.
 */
export function feedbackLoop<I extends ItemType, M extends ItemType>(options: {
  readonly join: JoinPolicy; readonly body: StreamNode<I, M>; readonly loop?: StreamNode<M, I>; readonly split: Policy;
    readonly enqueue: readonly number[];
}): StreamNode<I, M> {
  requireFields('options', options, 'options');
  const { join, body, loop, split, enqueue } = options;
  requirePolicy('split', split, true);
  requirePolicy('join', join, false);
  requireStream('body', body);
  if (loop !== undefined) requireStream('loop', loop);
  requireList('enqueue', enqueue, 'numbers');
  enqueue.forEach((item, i) => {
    if (typeof item !== 'number') throw refusal(`enqueue[${i}]`, 'a number', describeValue(item));
  });
  const weights = (policy: Policy) => (policy.kind === 'duplicate' ? [1, 1] : policy.weights);
  const input = weights(join)[0] === 0 ? 'void' : body.input;
  const output = weights(split)[0] === 0 ? 'void' : body.output;
  return new StreamNode('FeedbackLoop', { input, output } as { input: I; output: M },
    { kind: 'feedbackloop', join, body, loop, split, enqueue });
}

