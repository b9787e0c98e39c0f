// A worker thread that turns valid calls of public functions into invalid ones, one after the other, and reports how each ends. The test
// always knows the current call, so that a call that never ends can be identified.
import { parentPort, workerData } from 'node:worker_threads';
import { ArgumentError, WarploomError } from '../../lib/index.ts';
import { functions, notCalled, objects, statics, walk, type PublicCall } from './misuse-calls.ts';
import { Random } from './random.ts';

/** What the test passes to the worker. */
export interface MisuseWork {
  readonly seed: number;
  /** Number of calls per function. */
  readonly each: number;
  /** Number of the first call to make. */
  readonly from: number;
  /** If not empty, only these functions. */
  readonly only: readonly string[];
}

/** Messages to the test: the available functions, a valid call that was rejected, a call that begins, one that ended wrongly, the end. */
export type MisuseNews =
  | { readonly kind: 'known'; readonly missing: readonly string[]; readonly functions: number; readonly cases: number }
  | { readonly kind: 'refused'; readonly name: string; readonly error: string }
  | { readonly kind: 'begins'; readonly index: number; readonly name: string; readonly what: string }
  | { readonly kind: 'wrong'; readonly index: number; readonly error: string }
  | { readonly kind: 'done' };

const { seed, each, from, only } = workerData as MisuseWork;
const tell = (news: MisuseNews): void => parentPort!.postMessage(news);

/** A promise that has not settled after this many milliseconds counts as one that never does. */
const patience = 60_000;

/** Functions whose valid calls take long, and how many calls of them are made. */
const slow: Readonly<Record<string, number>> = {
  'stream.profile': 12, 'stream.pipelineByIlp': 30, 'stream.partitionTasksByIlp': 30, 'stream.partitionInstancesByIlp': 30, 'tridiagonal.tune': 40,
};

const cyclic = (): object => {
  const value: Record<string, unknown> = { a: 1 };
  return Object.assign(value, { self: value, list: [value] });
};
const detached = (): Float64Array => {
  const array = new Float64Array(8);
  structuredClone(array, { transfer: [array.buffer] });
  return array;
};
const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;

/** Values of wrong types, created for each call. None of them is an integer that could be meant. */
const wrong: readonly (readonly [string, () => unknown])[] = [
  ['undefined', () => undefined], ['null', () => null], ['true', () => true], ['0', () => 0], ['-1', () => -1], ['1.5', () => 1.5], ['NaN', () => NaN],
  ['Infinity', () => Infinity], ['-Infinity', () => -Infinity], ['2**60', () => 2 ** 60], ['""', () => ''], ['"x"', () => 'x'], ['"__proto__"', () => '__proto__'],
  ['7n', () => 7n], ['Symbol()', () => Symbol('s')], ['() => 1', () => () => 1], ['[]', () => []], ['[1, 2]', () => [1, 2]], ['[null]', () => [null]], ['[1n]', () => [1n]],
  ['["x"]', () => ['x']], ['{}', () => ({})], ['{ length: 3 }', () => ({ length: 3 })], ['{ length: 2**60 }', () => ({ length: 2 ** 60 })],
  ['Object.create(null)', () => Object.create(null) as object], ['a cyclic object', cyclic], ['new Map()', () => new Map()], ['new Date(NaN)', () => new Date(NaN)],
  ['new Float64Array(3)', () => new Float64Array(3)], ['new Float32Array(0)', () => new Float32Array(0)], ['new BigInt64Array(8)', () => new BigInt64Array(8)],
  ['new ArrayBuffer(64)', () => new ArrayBuffer(64)], ['new DataView(…)', () => new DataView(new ArrayBuffer(64))], ['a detached array', detached],
  ['a resizable array', () => new Float64Array(new Resizable(64, { maxByteLength: 128 }))],
  ['Object.create(Float64Array.prototype)', () => Object.create(Float64Array.prototype) as object], ['a proxy of an array', () => new Proxy(new Float64Array(8), {})],
  ['Promise.resolve(1)', () => Promise.resolve(1)],
];

type Path = readonly (string | number)[];

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && (Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value) as null));

/** Places in arguments: each argument, each field, the first entries of lists. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  const own = path.length === 0 ? [] : [path];
  if (!isPlain(value) || path.length > 6) return own;
  const keys = Array.isArray(value) ? [...value.keys()].slice(0, 3) : Object.keys(value);
  return [...own, ...keys.flatMap((key) => pathsOf((value as Record<string | number, unknown>)[key], [...path, key]))];
}

function put(args: unknown[], path: Path, value: unknown): unknown[] {
  const copy = [...args];
  let owner = copy as unknown as Record<string | number, unknown>;
  for (const key of path.slice(0, -1)) { // copy everything on the path, because makers may share it
    const part = owner[key];
    owner[key] = Array.isArray(part) ? [...part as unknown[]] : { ...(part as object) };
    owner = owner[key] as Record<string | number, unknown>;
  }
  owner[path.at(-1)!] = value;
  return copy;
}

type Maker = () => Promise<PublicCall> | PublicCall;

/** Everything to call, by name. */
function makers(): Map<string, Maker> {
  const all = new Map<string, Maker>([...Object.entries(functions), ...Object.entries(statics)]);
  for (const [name, { make, calls: methods }] of Object.entries(objects)) {
    for (const [method, args] of Object.entries(methods)) all.set(`${name}#${method}`, async () => ({ self: await make(), args: args() }));
  }
  return all;
}

interface Case { readonly name: string; readonly path: Path; readonly value: number }

/** The cases of all functions in turn: those of one function do not depend on the existence of others. */
async function casesOf(all: ReadonlyMap<string, Maker>): Promise<Case[]> {
  const lists: Case[][] = [];
  for (const [name, make] of [...all].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const random = new Random(seed + [...name].reduce((sum, letter) => (Math.imul(sum, 31) + letter.codePointAt(0)!) >>> 0, 7)); // its own, because other functions may come and go
    const { args } = await make();
    // The measurements of tune without options take long.
    const paths: Path[] = [...pathsOf(args), [args.length]].filter((path) => name !== 'tridiagonal.tune' || path.length > 1);
    const list = paths.flatMap((path) => wrong.map((_, value) => ({ name, path, value })));
    for (let i = list.length - 1; i > 0; i -= 1) {
      const j = random.integer(0, i);
      [list[i], list[j]] = [list[j]!, list[i]!];
    }
    if (only.length === 0 || only.includes(name)) lists.push(list.slice(0, Math.min(each, slow[name] ?? each)));
  }
  const cases: Case[] = [];
  for (let round = 0; round < each; round += 1) {
    for (const list of lists) if (round < list.length) cases.push(list[round]!);
  }
  return cases;
}

/** Uses the result of a call far enough to complete its work. */
async function settle(result: unknown): Promise<void> {
  const value = await result as Record<PropertyKey, unknown> | undefined;
  if (typeof value !== 'object' || value === null) return;
  if (typeof value[Symbol.asyncIterator] === 'function') {
    const iterator = value as unknown as AsyncGenerator;
    await iterator.next();
    await iterator.return(undefined);
  } else if (typeof value[Symbol.iterator] === 'function' && !ArrayBuffer.isView(value)) {
    for (const _ of value as unknown as Iterable<unknown>) break;
  }
  if (typeof value[Symbol.asyncDispose] === 'function') await (value as unknown as AsyncDisposable)[Symbol.asyncDispose]();
  else if (typeof value[Symbol.dispose] === 'function') (value as unknown as Disposable)[Symbol.dispose]();
}

function isExplained({ expected, received }: ArgumentError): boolean {
  return expected !== '' && received !== '' && expected !== received;
}

/** What is wrong with the way a call ended; undefined if it returned a result, or threw one of the library's own errors. */
async function outcome(fn: (...args: unknown[]) => unknown, self: object | undefined, args: unknown[]): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => { timer = setTimeout(() => resolve('never settles'), patience); });
  try {
    return await Promise.race([settle(Reflect.apply(fn, self, args)).then(() => undefined), late]);
  } catch (error) {
    if (error instanceof ArgumentError && !isExplained(error)) return `does not tell what was expected from what was received: ${error.message}`;
    if (error instanceof WarploomError && error.code !== 'ERR_WARPLOOM_INTERNAL') return undefined;
    return error instanceof Error ? `${error.name}: ${error.message.split('\n')[0]}` : `throws ${typeof error}`;
  } finally {
    clearTimeout(timer);
  }
}

const prototypes = [Object.prototype, Array.prototype, Function.prototype, Map.prototype];
const unspoilt = prototypes.map((prototype) => new Set(Reflect.ownKeys(prototype)));

/** Whether a call has modified Object.prototype (by using '__proto__' as an id); restores it for later calls. */
function spoilt(): boolean {
  const added = prototypes.map((prototype, i) => Reflect.ownKeys(prototype).filter((key) => !unspoilt[i]!.has(key)));
  added.forEach((keys, i) => { for (const key of keys) Reflect.deleteProperty(prototypes[i]!, key); });
  Array.prototype.length = 0;
  return added.some((keys) => keys.length > 0);
}

const all = makers();
const known = walk();
const missing = [...known.keys()].filter((name) => !all.has(name) && !notCalled.includes(name));
const cases = await casesOf(all);
const fnOf = (name: string, self: object | undefined): ((...list: unknown[]) => unknown) =>
  (known.get(name) ?? (self as Record<string, unknown>)[name.split('#')[1]!]) as (...list: unknown[]) => unknown;
if (from === 0) {
  for (const [name, make] of all) {
    if (only.length > 0 && !only.includes(name)) continue;
    const { self, args } = await make();
    await Promise.resolve().then(() => settle(Reflect.apply(fnOf(name, self), self, args))).catch((error: unknown) => tell({ kind: 'refused', name, error: String(error) }));
  }
}
tell({ kind: 'known', missing, functions: all.size, cases: cases.length });
let running = from;
process.on('unhandledRejection', (error) => tell({ kind: 'wrong', index: running, error: `unhandled rejection: ${String(error)}` }));
for (let index = from; index < cases.length; index += 1) {
  const { name, path, value } = cases[index]!;
  running = index;
  tell({ kind: 'begins', index, name, what: `${path.join('.')} = ${wrong[value]![0]}` });
  const { self, args } = await all.get(name)!();
  const error = await outcome(fnOf(name, self), self, put(args, path, wrong[value]![1]()));
  if (self !== undefined && name.includes('#') && !name.startsWith('Device#')) await settle(self).catch(() => undefined);
  if (error !== undefined) tell({ kind: 'wrong', index, error });
  if (spoilt()) tell({ kind: 'wrong', index, error: 'writes into a prototype that all objects share' });
}
tell({ kind: 'done' });
process.exit(0);
