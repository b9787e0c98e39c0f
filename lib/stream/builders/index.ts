// Streams made in TypeScript: filters whose code is StreamIt text, joined by functions whose types keep the ends together.
import { describeValue, isObject, isReal } from '../../core/arrays.ts';
import { hasFields, isArray, requireText, rule, text, type Check } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt, lastOf } from '../../core/known.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { snapshot } from '../../core/snapshot.ts';
import { defaultLimits } from '../elaborate/limits.ts';

/** Item types that have a name in the language; `void` for no channel. Arrays and structs: as they are spelled, such as 'float[4]'. */
export type ItemType = 'bit' | 'boolean' | 'int' | 'float' | 'double' | 'complex' | 'float2' | 'float3' | 'float4' | 'void' | (string & {});

/** A constant that a filter gets: a number, a boolean, or an array of numbers with any nesting of equal lengths. */
export type Constant = number | boolean | ArrayLike<number> | readonly Constant[];

/** How items are distributed or collected: `weights` items for each branch in turn, or a copy to all. */
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

/** A name as the language has them. */
const streamName = rule<string>('a name of letters, digits and underscores',
  (value) => typeof value === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value));

/** A stream from items of type `I` to items of type `O`. Immutable; the same stream may be used in several places. */
export class StreamNode<out I extends ItemType, out O extends ItemType> {
  readonly name: string;
  readonly input: I;
  readonly output: O;
  readonly parts: Parts;

  constructor(name: string, ends: { input: I; output: O }, parts: Parts) {
    streamName(name, 'name');
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
  /** The text between the braces of a filter: fields, `init`, `work push 1 pop 1 { … }`, functions. */
  readonly code: string;
  /** Parameters of the filter with their values. Plain numbers are int if they are whole and float otherwise. */
  readonly constants?: Readonly<Record<string, Constant | TypedConstant>>;
  /** Structs, static sections and helper packages that the code uses; given only once if several filters share them. */
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

const ends = { input: needed(text()), output: needed(text()) };

const filterOptions = optionsOf('stream.filter', {
  ...ends, name: normally(streamName, 'Filter'), code: needed(text()), declarations: normally(text(), ''),
  constants: rule('constants by name', hasFields),
} satisfies ChecksOf<FilterOptions<ItemType, ItemType>>);

/** A filter whose code is StreamIt text. Errors in the text are reported as diagnostics by `toProgram`, `check` and `elaborate`. */
export function filter<I extends ItemType, O extends ItemType>(options: FilterOptions<I, O>): StreamNode<I, O> {
  const { name, code, declarations, constants: given = {}, ...own } = filterOptions.read(options);
  const constants = Object.fromEntries(Object.entries(given).map(([constant, value]) => {
    streamName(constant, 'constants');
    return [constant, typed(constant, value)];
  }));
  return new StreamNode(name, own, { kind: 'filter', code, constants, declarations });
}

/** A stream declared by StreamIt text. */
export interface SourceOptions<I extends ItemType, O extends ItemType> {
  readonly source: string;
  /** Its name. */
  readonly stream: string;
  readonly input: I;
  readonly output: O;
  readonly args?: readonly (Constant | TypedConstant)[];
}

const sourceOptions = optionsOf('stream.fromSource', {
  ...ends, source: needed(text()), stream: needed(streamName), args: rule('a list of constants', isArray),
} satisfies ChecksOf<SourceOptions<ItemType, ItemType>>);

/** A stream declared by StreamIt text, with its arguments. */
export function fromSource<I extends ItemType, O extends ItemType>(options: SourceOptions<I, O>): StreamNode<I, O> {
  const { source, stream, args = [], ...own } = sourceOptions.read(options);
  return new StreamNode(stream, own, { kind: 'declared', source, stream, args: Array.from(args, (value, i) => typed(String(i), value)) });
}

type Joins<S extends readonly AnyStream[]> = S extends readonly [StreamNode<infer _I, infer O>, StreamNode<infer I2, infer O2>, ...infer R]
  ? [O] extends [I2] ? R extends readonly AnyStream[] ? Joins<readonly [StreamNode<I2, O2>, ...R]> : unknown
    : { readonly 'the output of a stream is not the input of the next': [O, I2] }
  : unknown;
type First<S extends readonly AnyStream[]> = S extends readonly [StreamNode<infer I, infer _O>, ...unknown[]] ? I : ItemType;
type Last<S extends readonly AnyStream[]> = S extends readonly [...unknown[], StreamNode<infer _I, infer O>] ? O : ItemType;

/** Streams in sequence. The output type of each is the input type of the next: checked by TypeScript and again at run time. */
export function pipeline<const S extends readonly AnyStream[]>(...children: S & Joins<S>): StreamNode<First<S>, Last<S>> {
  const all: readonly AnyStream[] = children;
  streams(all, 'children');
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

/** `weights[i]` items for branch i in turn; a single weight applies to all branches, and none means 1 each. */
export function roundRobin(...weights: readonly number[]): JoinPolicy {
  weights.forEach((weight, i) => {
    if (!Number.isInteger(weight) || weight < 0 || weight > defaultLimits.rate) throw refusal(
      `weights[${i}]`, `an integer from 0 to ${defaultLimits.rate}`, describeValue(weight));
  });
  return { kind: 'roundrobin', weights };
}

const stream: Check<AnyStream> = rule('a stream', (value) => value instanceof StreamNode);

/** Streams, at least one. */
const streams: Check<readonly AnyStream[]> = (value, name) => {
  if (!Array.isArray(value) || value.length === 0) throw refusal(name, 'at least one stream in a list', describeValue(value));
  value.forEach((each, i) => stream(each, `${name}[${i}]`));
};

function isRoundRobin(value: unknown): value is JoinPolicy {
  const { kind, weights } = (value ?? {}) as Partial<JoinPolicy>;
  return kind === 'roundrobin' && Array.isArray(weights) && weights.every((weight) => Number.isSafeInteger(weight) && weight >= 0);
}

const policies = {
  split: needed(rule<Policy>('duplicate or roundRobin(…)',
    (value) => (value as Partial<Policy> | null)?.kind === 'duplicate' || isRoundRobin(value))),
  join: needed(rule<JoinPolicy>('roundRobin(…)', isRoundRobin)),
};

/** Parallel branches. */
export interface SplitJoinOptions<I extends ItemType, O extends ItemType> {
  readonly split: Policy;
  readonly branches: readonly StreamNode<I, O>[];
  readonly join: JoinPolicy;
}

const splitJoinOptions = optionsOf('stream.splitJoin', {
  ...policies, branches: needed(streams),
} satisfies ChecksOf<SplitJoinOptions<ItemType, ItemType>>);

/** Parallel branches. All branches take the same type and give the same type; `void` ends have the weight 0. */
export function splitJoin<I extends ItemType, O extends ItemType>(options: SplitJoinOptions<I, O>): StreamNode<I, O> {
  const { split, branches, join } = splitJoinOptions.read(options);
  const common = (end: 'input' | 'output') => branches.map((branch) => branch[end]).find((type) => type !== 'void') ?? 'void';
  return new StreamNode('SplitJoin', { input: common('input') as I, output: common('output') as O },
    { kind: 'splitjoin', split, children: branches, join });
}

/** A loop. */
export interface FeedbackLoopOptions<I extends ItemType, M extends ItemType> {
  /** Takes from the input (weight 0) and the loop (weight 1) into `body`. */
  readonly join: JoinPolicy;
  readonly body: StreamNode<I, M>;
  /** The stream on the feedback path. Default: none. */
  readonly loop?: StreamNode<M, I>;
  /** Gives to the output and to `loop`, whose items return to the joiner. */
  readonly split: Policy;
  /** Items on the feedback path before anything fires. */
  readonly enqueue: readonly number[];
}

const enqueued: Check<readonly number[]> = (value, name) => {
  if (!isArray(value)) throw refusal(name, 'a list of numbers', describeValue(value));
  Array.from(value, (item, i) => { if (typeof item !== 'number') throw refusal(`${name}[${i}]`, 'a number', describeValue(item)); });
};

const loopOptions = optionsOf('stream.feedbackLoop', {
  ...policies, body: needed(stream), loop: stream, enqueue: needed(enqueued),
} satisfies ChecksOf<FeedbackLoopOptions<ItemType, ItemType>>);

/** A feedback loop. */
export function feedbackLoop<I extends ItemType, M extends ItemType>(options: FeedbackLoopOptions<I, M>): StreamNode<I, M> {
  const { join, body, loop, split, enqueue } = loopOptions.read(options);
  const weights = (policy: Policy) => (policy.kind === 'duplicate' ? [1, 1] : policy.weights);
  const input = weights(join)[0] === 0 ? 'void' : body.input;
  const output = weights(split)[0] === 0 ? 'void' : body.output;
  return new StreamNode('FeedbackLoop', { input, output } as { input: I; output: M },
    { kind: 'feedbackloop', join, body, loop, split, enqueue });
}
