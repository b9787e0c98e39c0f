// Cuts a function into slices that can run in parallel: each performs some of the function's stores and computes what they need. Loops
// with independent iterations can also be divided.
import {
  binary, exact, get, i32, isVector, set, valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Program,
  type Statement, type StatementOf,
} from '../ir.ts';
import {
  assignedIn, eachChild, labelsLeft, loadedIn, mapBody, Names, walkBody, walkExpression, writesIn,
} from '../visit.ts';
import { required } from '../../core/known.ts';
import { dropDead } from './dead.ts';
import { forwardLocals } from './forward.ts';
import { linearOf } from './linear.ts';
import { replaceArrays } from './scalars.ts';
import { simplify } from './simplify.ts';
import { mentionsIn, privateTo, sizeOf, tripsOf, unrollShort } from './unroll.ts';

type For = StatementOf<'for'>;

/** One of the functions into which a function is cut. */
export interface Slice {
  readonly f: KernelFunction;
  /** The number of calls that do the whole work of the slice. If there are several, the first parameter is the number of the call. */
  readonly parts: number;
  /** The number of nodes in its code. */
  readonly size: number;
}

export interface SliceOptions {
  /** The maximum number of slices and parts together. */
  readonly most: number;
  /** The minimum number of nodes in a slice. Default 24. */
  readonly least?: number;
  /** The maximum number of parts of a slice that is a loop. Default: what is left of `most`. */
  readonly parts?: number;
}

/** The largest local array that is replaced by locals, and the largest size up to which loops are unrolled. */
const mostElements = 1024;
const mostUnrolled = 6000;

/**
 * A function whose parameter is an iteration count, specialised for `times` iterations and without its stores to `dropped`. Loops of
 * known length are unrolled, up to `most` nodes.
 */
export function forCount(program: Program, f: KernelFunction, dropped: Buffer, times = 1, most = mostUnrolled): KernelFunction {
  const [n] = f.parameters;
  const body = mapBody(f.body, { statement: (s) => (s.kind === 'store' && s.buffer === dropped ? [] : s) });
  const made: KernelFunction = { ...f, parameters: [], body: n === undefined ? body : [set(n, i32(times)), ...body] };
  const alone = (g: KernelFunction): Program => ({ ...program, functions: [g] });
  const unrolled = unrollShort(simplify(dropDead(alone(made))), most);
  return required(forwardLocals(dropDead(simplify(replaceArrays(simplify(unrolled), mostElements)))).functions[0]);
}

/** Cuts a function without parameters; undefined if that gives fewer than two slices or parts. */
export function sliceFunction(
  program: Program, f: KernelFunction, { most, least = 24, parts = 0 }: SliceOptions,
): readonly Slice[] | undefined {
  const size = sizeOf(f.body);
  const wanted = Math.min(most, Math.floor(size / least));
  if (wanted < 2 || cannotBeCut(f.body)) return undefined;
  const closures = closuresOf(f.body);
  const clusters = clustersOf(f.body, closures);
  const made = packed(clusters, wanted).map((units, i) => {
    const closure = union(units, closures);
    const needed = f.body.filter((_, at) => has(closure, at));
    return sliceOf(program, { ...f, name: `${f.name}_${i}`, body: needed });
  });
  const spare = Math.max(parts, Math.floor(most / made.length));
  const shared = made.map((slice) => (spare > 1 ? sharedOut(slice, spare, program) : slice));
  if (shared.length === 1 && required(shared[0]).parts === 1) return undefined;
  const total = shared.reduce((sum, each) => sum + each.size, 0);
  return total > 1.6 * size + 64 ? undefined : shared;
}

/** Whether the code contains something that must stay in order: faults, calls, exits. */
function cannotBeCut(body: Body): boolean {
  let found = false;
  walkBody(body, { statement: (s) => {
    found ||= s.kind === 'trap' || s.kind === 'guard' || s.kind === 'call' || s.kind === 'return' || s.kind === 'while';
  } });
  return found || labelsLeft(body).size > 0;
}

/** Whether a function has no branches and cannot fail. */
export function isStraight({ body }: Pick<KernelFunction, 'body'>): boolean {
  return body.every(({ kind }) => kind === 'set' || kind === 'store');
}

function isUnit(s: Statement): boolean {
  if (s.kind === 'set') return false;
  return [...writesIn([s]).buffers].some((buffer) => buffer.role !== 'local');
}

/** The number of operations in an expression, without those of indices. */
function workOf(e: Expression): number {
  if (e.kind === 'load') return 0;
  let sum = e.kind === 'unary' || e.kind === 'binary' || e.kind === 'math' || e.kind === 'compare' || e.kind === 'select' ? 1 : 0;
  eachChild(e, (child) => { sum += workOf(child); });
  return sum;
}

/** Whether a statement does enough work that only one slice should do it. */
function isHeavy(s: Statement): boolean {
  if (s.kind !== 'set') return !isUnit(s);
  return workOf(s.value) > 0;
}

/** For each top-level statement: the set of statements that it depends on, itself included. */
function closuresOf(body: Body): Uint32Array[] {
  const words = Math.ceil(body.length / 32);
  const setters = new Map<Local | Buffer, number[]>();
  const closures: Uint32Array[] = [];
  body.forEach((s, at) => {
    const own = new Uint32Array(words);
    own[at >> 5] = 1 << (at & 31);
    const take = (of: Local | Buffer): void => {
      for (const before of setters.get(of) ?? []) {
        if (has(own, before)) continue; // and so are all that it depends on
        const closure = required(closures[before]);
        for (let w = 0; w < words; ++w) own[w] = required(own[w]) | required(closure[w]);
      }
    };
    walkBody([s], { expression: (e) => { if (e.kind === 'get') take(e.local); } });
    for (const buffer of loadedIn([s])) if (buffer.role === 'local') take(buffer);
    closures.push(own);
    if (s.kind === 'set') {
      setters.set(s.local, [at]);
      return;
    }
    for (const local of assignedIn([s])) setters.set(local, [...setters.get(local) ?? [], at]);
    for (const buffer of writesIn([s]).buffers) if (buffer.role === 'local') setters.set(buffer, [...setters.get(buffer) ?? [], at]);
  });
  return closures;
}

/** The statements that any of these depends on. */
function union(of: readonly number[], closures: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(closures[0]?.length ?? 0);
  for (const each of of) required(closures[each]).forEach((word, w) => { all[w] = required(all[w]) | word; });
  return all;
}

/** Calls `visit` for the numbers that are in both sets. */
function eachInBoth(a: Uint32Array, b: Uint32Array, visit: (at: number) => void): void {
  for (let w = 0; w < a.length; ++w) {
    for (let bits = required(a[w]) & required(b[w]); bits !== 0; bits &= bits - 1) visit(32 * w + 31 - Math.clz32(bits & -bits));
  }
}

function setOf(body: Body, isIn: (s: Statement) => boolean): Uint32Array {
  const found = new Uint32Array(Math.ceil(body.length / 32));
  body.forEach((s, at) => { if (isIn(s)) found[at >> 5] = required(found[at >> 5]) | 1 << (at & 31); });
  return found;
}

const has = (closure: Uint32Array, at: number): boolean => (required(closure[at >> 5]) & 1 << (at & 31)) !== 0;

interface Cluster {
  readonly units: readonly number[];
  readonly size: number;
}

function leavesLocals(s: Statement): boolean {
  return assignedIn([s]).size > 0 || [...writesIn([s]).buffers].some((buffer) => buffer.role === 'local');
}

/** Groups units that share work. */
function clustersOf(body: Body, closures: readonly Uint32Array[]): readonly Cluster[] {
  const units = body.flatMap((s, at) => (isUnit(s) ? [at] : []));
  // By statement, as far as it is a unit, or a heavy statement that one needs: another one of the same cluster.
  const parent = Int32Array.from(body, (_, at) => at);
  const find = (at: number): number => {
    let root = at;
    while (required(parent[root]) !== root) root = required(parent[root]);
    for (let next = at; next !== root;) [next, parent[next]] = [required(parent[next]), root];
    return root;
  };
  // Units that use locals of another unit belong to its slice too, so that the locals are computed once.
  const joins = setOf(body, (s) => (isUnit(s) ? leavesLocals(s) : isHeavy(s)));
  for (const unit of units) eachInBoth(required(closures[unit]), joins, (at) => { parent[find(at)] = find(unit); });
  const sizes = body.map((s) => sizeOf([s]));
  const groups = new Map<number, number[]>();
  for (const unit of units) {
    const root = find(unit);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [unit]);
    else group.push(unit);
  }
  return [...groups.values()].map((members) => {
    const closure = union(members, closures);
    let size = 0;
    sizes.forEach((each, at) => { if (has(closure, at)) size += each; });
    return { units: members, size };
  });
}

/** Divides clusters, in order, into `count` parts of about the same size. */
function packed(clusters: readonly Cluster[], count: number): (readonly number[])[] {
  const total = clusters.reduce((sum, { size }) => sum + size, 0);
  const parts: number[][] = [];
  let done = 0;
  for (const { units, size } of clusters) {
    const part = Math.min(count - 1, Math.floor((done + size / 2) / total * count));
    (parts[part] ??= []).push(...units);
    done += size;
  }
  return parts.filter((units) => (units as number[] | undefined) !== undefined);
}

function sliceOf(program: Program, f: KernelFunction): Slice {
  const made = required(dropDead({ ...program, functions: [f] }).functions[0]);
  return { f: made, parts: 1, size: sizeOf(made.body) };
}

/** Divides the iterations of a slice that is a single loop, and those of a loop inside it, if they are independent. */
function sharedOut(slice: Slice, most: number, program: Program): Slice {
  const { f } = slice;
  const units = f.body.filter(isUnit);
  const [loop] = units;
  if (units.length !== 1 || loop?.kind !== 'for') return slice;
  const outer = partsOf(loop, most, f);
  if (outer < 2) return slice;
  const inside = loop.body.filter(({ kind }) => kind !== 'set');
  const [within] = inside;
  const inner = inside.length === 1 && within?.kind === 'for' ? within : undefined;
  const several = inner === undefined ? 1 : partsOf(inner, most / outer, f);
  const names = Names.of(program, f);
  const part: Local = { name: names.make('part'), type: 'i32' };
  const share = (of: For, parts: number, number: Expression): readonly [Statement, For] => {
    const begin: Local = { name: names.make('begin'), type: 'i32' };
    const stride = required(tripsOf(of)) / parts * of.step;
    const start = set(begin, exact('add', binary('mul', number, i32(stride)), i32(valueOf(of.from) ?? 0)));
    const most = required(tripsOf(of)) / parts;
    return [start, { ...of, from: get(begin), to: exact('add', get(begin), i32(stride)), most }];
  };
  const own = inner === undefined || several < 2 ? loop.body
    : loop.body.flatMap((s) => (s === inner ? share(inner, several, binary('rem', get(part), i32(several))) : [s]));
  const shared = share({ ...loop, body: own }, outer, several < 2 ? get(part) : binary('div', get(part), i32(several)));
  const body = f.body.flatMap((s) => (s === loop ? shared : [s]));
  return { ...slice, f: { ...f, parameters: [part], body }, parts: outer * several };
}

/** Into how many equal parts the iterations of a loop can be divided, at most so many. */
function partsOf(loop: For, most: number, f: KernelFunction): number {
  const trips = tripsOf(loop) ?? 0;
  let parts = Math.floor(Math.min(most, trips));
  while (parts > 1 && trips % parts !== 0) --parts;
  return parts < 2 || valueOf(loop.from) === undefined || !isParallel(loop, f) ? 1 : parts;
}

/** Whether the iterations of a loop store to different elements and have no other effects. */
function isParallel(loop: For, f: KernelFunction): boolean {
  if (privateTo(loop.body, mentionsIn(f.body)) === undefined) return false;
  const { buffers } = writesIn(loop.body);
  const loaded = loadedIn(loop.body);
  for (const buffer of buffers) if (buffer.role === 'local' || loaded.has(buffer)) return false;
  const inner = new Map<Local, readonly [number, number]>();
  const stores: StatementOf<'store'>[] = [];
  let isPlain = true as boolean;
  walkBody(loop.body, { statement: (s) => {
    if (s.kind === 'store') stores.push(s);
    else if (s.kind === 'for') {
      const from = valueOf(s.from), trips = tripsOf(s);
      if (from === undefined || trips === undefined) isPlain = false;
      else inner.set(s.counter, [from, from + Math.max(0, trips - 1) * s.step]);
    } else isPlain &&= s.kind === 'set' || s.kind === 'if';
  } });
  const variable = assignedIn(loop.body);
  return isPlain && [...buffers].every((buffer) => areApart(stores.filter((s) => s.buffer === buffer), loop, inner, variable));
}

function areApart(
  stores: readonly StatementOf<'store'>[], { counter, step }: For, inner: ReadonlyMap<Local, readonly [number, number]>,
  variable: ReadonlySet<Local>,
): boolean {
  let factor: number | undefined, common: string | undefined;
  let [low, high] = [Infinity, -Infinity];
  for (const { index, offset, value } of stores) {
    if (isVector(value.type)) return false;
    const { terms, constant } = linearOf(index);
    let [least, most, own] = [constant + offset, constant + offset, 0];
    const rest: string[] = [];
    for (const { of, factor: by } of terms) {
      const range = of.kind === 'get' ? inner.get(of.local) : undefined;
      if (of.kind === 'get' && of.local === counter) own = by;
      else if (range !== undefined) {
        least += Math.min(by * range[0], by * range[1]);
        most += Math.max(by * range[0], by * range[1]);
      } else {
        let isFixed = true as boolean;
        walkExpression(of, (part) => {
          if (part.kind === 'load' || (part.kind === 'get' && (variable.has(part.local) || part.local === counter))) isFixed = false;
        });
        if (!isFixed || of.kind !== 'get') return false;
        rest.push(`${of.local.name} ${by}`);
      }
    }
    const key = rest.sort().join();
    if (own === 0 || (factor ?? own) !== own || (common ?? key) !== key) return false;
    [factor, common, low, high] = [own, key, Math.min(low, least), Math.max(high, most)];
  }
  return factor !== undefined && high - low < Math.abs(factor) * step;
}
