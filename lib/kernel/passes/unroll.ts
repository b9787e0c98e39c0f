// Combines iterations of loops: full unrolling, partial unrolling, and jamming, so that outer iterations share inner loops.
import {
  binary, exact, get, i32, set, valueOf, type Body, type Expression, type Label, type Local, type Program, type Statement, type StatementOf,
} from '../ir.ts';
import {
  bodiesOf, eachExpressionOf, expressionsOf, localsSetBy, mapBodies, mapBody, mapFunctions, Names, walkBody, walkExpression,
} from '../visit.ts';
import { copyBody, freshLocals, isLeft, renameBody } from './clone.ts';
import { isSame } from './fold.ts';
import { required } from '../../core/known.ts';

type For = StatementOf<'for'>;

/** Size of a body in nodes. */
export function sizeOf(body: Body): number {
  let size = 0;
  walkBody(body, { statement: () => { ++size; }, expression: () => { ++size; } });
  return size;
}

/** The trip count of a loop with constant bounds. */
export function tripsOf({ from, to, step }: For): number | undefined {
  const [first, end] = [valueOf(from), valueOf(to)];
  return first === undefined || end === undefined ? undefined : Math.max(0, Math.ceil((end - first) / step));
}

/** Whether a loop may have at least `factor` iterations. */
export function mayMake(s: For, factor: number): boolean {
  return (s.most ?? factor) >= factor && (tripsOf(s) ?? factor) >= factor;
}

/** A single iteration, in which `continue` jumps to the end. */
function iteration(body: Body, label: Label, names: Names): Body {
  const copy = copyBody(body, names);
  let continues = false as boolean;
  walkBody(copy, { statement: (s) => { continues ||= s.kind === 'continue' && s.label === label; } });
  if (!continues) return copy;
  const end: Label = { name: names.make(label.name) };
  const replace = (inner: Body): Body => inner.map((s) =>
    (s.kind === 'continue' && s.label === label ? { kind: 'break', label: end } : mapBodies(s, replace)));
  return [{ kind: 'block', label: end, body: replace(copy) }];
}

function breaks(body: Body, label: Label): boolean {
  let found = false;
  walkBody(body, { statement: (s) => { found ||= s.kind === 'break' && s.label === label; } });
  return found;
}

/** A fully unrolled loop. */
export function whole(s: For, trips: number, names: Names): Body {
  const from = required(valueOf(s.from));
  const copies = Array.from({ length: trips }, (_, i): Body =>
    [set(s.counter, i32(from + i * s.step)), ...iteration(s.body, s.label, names)]);
  return breaks(s.body, s.label) ? [{ kind: 'block', label: s.label, body: copies.flat() }] : copies.flat();
}

/** Unrolls loops with constant bounds if the result has at most `most` nodes, inner ones first. */
export function unrollShort(program: Program, most = 256): Program {
  return mapFunctions(program, (f) => {
    const names = Names.of(program, f);
    const body = mapBody(f.body, { statement: (s) => {
      const trips = s.kind === 'for' ? tripsOf(s) : undefined;
      return s.kind !== 'for' || trips === undefined || trips * sizeOf(s.body) > most ? s : whole(s, trips, names);
    } });
    return body === f.body ? f : { ...f, body };
  });
}

/**
 * A loop split into one with a multiple of `factor` iterations, and one with the remaining iterations; undefined if its step does not allow
 * it.
 */
export interface Split {
  /** Statements that must precede the loops. */
  readonly before: Body;
  readonly from: Expression;
  /** Where the first loop ends and the second one begins. */
  readonly middle: Expression;
  readonly to: Expression;
}

/** @param factor a power of two */
export function splitLoop(s: For, factor: number, names: Names): Split | undefined {
  const trips = tripsOf(s);
  if (trips !== undefined) {
    const middle = required(valueOf(s.from)) + Math.floor(trips / factor) * factor * s.step;
    return { before: [], from: s.from, middle: i32(middle), to: s.to };
  }
  if (s.step !== 1) return undefined;
  const local = (name: string): Local => ({ name: names.make(name), type: 'i32' });
  const [from, to, middle] = [local('first'), local('end'), local('middle')];
  // As unsigned numbers, because the difference may exceed the range of i32.
  const count = binary('band', binary('sub', binary('max', get(to), get(from)), get(from)), i32(-factor));
  return {
    before: [set(from, s.from), set(to, s.to), set(middle, binary('add', get(from), count))],
    from: get(from), middle: get(middle), to: get(to),
  };
}

/** A body for the counter plus an offset. */
function shifted(body: Body, counter: Local, by: number): Body {
  if (by === 0) return body;
  return renameBody(body, { locals: new Map([[counter, exact('add', get(counter), i32(by))]]) });
}

function unrolled(s: For, factor: number, names: Names): Statement | Body {
  const split = breaks(s.body, s.label) || !mayMake(s, factor) ? undefined : splitLoop(s, factor, names);
  if (split === undefined) return s;
  const body = Array.from({ length: factor }, (_, i) => shifted(iteration(s.body, s.label, names), s.counter, i * s.step)).flat();
  const label: Label = { name: names.make(s.label.name) };
  const rest = renameBody(copyBody(s.body, names), { labels: new Map([[s.label, label]]) });
  return [
    ...split.before, { ...s, from: split.from, to: split.middle, step: s.step * factor, body },
    { ...s, label, from: split.middle, to: split.to, body: rest, most: factor - 1 },
  ];
}

/** Unrolls the innermost loops that `isWanted` selects by `factor`, a power of two. */
export function unrollInner(program: Program, factor: number, isWanted: (s: For) => boolean = () => true): Program {
  return mapFunctions(program, (f) => {
    const names = Names.of(program, f);
    const body = mapBody(f.body, { statement: (s) =>
      (s.kind === 'for' && isInnermost(s) && isWanted(s) ? unrolled(s, factor, names) : s) });
    return body === f.body ? f : { ...f, body };
  });
}

function isInnermost({ body }: For): boolean {
  let found = true;
  walkBody(body, { statement: (s) => { found &&= s.kind !== 'for' && s.kind !== 'while'; } });
  return found;
}

/** Locals that a body may read before it sets them. */
export function exposedIn(body: Body, known: ReadonlySet<Local> = new Set()): Set<Local> {
  const found = new Set<Local>();
  const set = new Set(known);
  for (const s of body) {
    eachExpressionOf(s, (e) => {
      walkExpression(e, (part) => { if (part.kind === 'get' && !set.has(part.local)) found.add(part.local); });
    });
    const inside = s.kind === 'for' ? new Set([...set, s.counter]) : set;
    for (const inner of bodiesOf(s)) for (const local of exposedIn(inner, inside)) found.add(local);
    // Sets in nested bodies may not be executed.
    if (s.kind === 'set' || s.kind === 'call') for (const local of localsSetBy(s)) set.add(local);
  }
  return found;
}

/** How often a body mentions each local. */
export function mentionsIn(body: Body): Map<Local, number> {
  const found = new Map<Local, number>();
  const add = (local: Local): void => { found.set(local, (found.get(local) ?? 0) + 1); };
  walkBody(body, {
    statement: (s) => { localsSetBy(s).forEach(add); },
    expression: (e) => { if (e.kind === 'get') add(e.local); },
  });
  return found;
}

/**
 * Locals that belong to one iteration: set in the body before they are read, and not mentioned outside. Undefined if others are set too.
 */
export function privateTo(body: Body, mentions: ReadonlyMap<Local, number>): Set<Local> | undefined {
  const exposed = exposedIn(body);
  const own = mentionsIn(body);
  const assigned = new Set<Local>();
  walkBody(body, { statement: (s) => { for (const local of localsSetBy(s)) assigned.add(local); } });
  for (const local of assigned) if (exposed.has(local) || own.get(local) !== mentions.get(local)) return undefined;
  return assigned;
}

/**
 * Whether iterations may be interleaved: no exits or calls, and everything that is written is written once, at the top level, and not read.
 */
function isIndependent(body: Body): boolean {
  const written = new Set<unknown>();
  let found = true;
  for (const s of body) {
    if (s.kind !== 'store') continue;
    found &&= !written.has(s.buffer);
    written.add(s.buffer);
  }
  const top = new Set<Statement>(body);
  walkBody(body, {
    statement: (s) => {
      if (s.kind !== 'set' && s.kind !== 'for' && s.kind !== 'if' && !(s.kind === 'store' && top.has(s))) found = false;
      for (const e of expressionsOf(s)) walkExpression(e, (part) => { if (part.kind === 'load') found &&= !written.has(part.buffer); });
    },
  });
  return found;
}

/** Interleaves copies of one body statement by statement; loops with the same bounds are fused. */
function jam(copies: readonly Body[]): Body {
  const [first, ...others] = copies as [Body, ...Body[]];
  return first.flatMap((s, i): Body => {
    const all = [s, ...others.map((copy) => required(copy[i]))];
    if (s.kind !== 'for' || !all.every((each) => isAlike(s, each as For))) return all;
    const bodies = (all as For[]).map(({ body, counter }) => renameBody(body, { locals: new Map([[counter, get(s.counter)]]) }));
    return [{ ...s, body: jam(bodies) }];
  });
}

function isAlike(a: For, b: For): boolean {
  return isSame(a.from, b.from) && isSame(a.to, b.to);
}

function hasLoop(body: Body): boolean {
  return body.some((s) => s.kind === 'for');
}

/**
 * Unrolls a loop around other loops by `factor` and fuses the copies of the inner loops; adds a loop for the remaining iterations. Returns
 * the loop itself if that is not possible.
 */
export function jammed(s: For, factor: number, names: Names, mentions: ReadonlyMap<Local, number>): Statement | Body {
  if (!mayMake(s, factor) || isLeft(s.body, s.label) || !hasLoop(s.body) || !isIndependent(s.body)) return s;
  const own = privateTo(s.body, mentions);
  const split = own === undefined ? undefined : splitLoop(s, factor, names);
  if (split === undefined) return s;
  const copies = Array.from({ length: factor }, (_, i) =>
    shifted(copyBody(s.body, names, i === 0 ? new Map() : freshLocals(required(own), names)), s.counter, i * s.step));
  const rest = copyBody(s.body, names, freshLocals(required(own), names));
  return [
    ...split.before, { ...s, from: split.from, to: split.middle, step: s.step * factor, body: jam(copies) },
    { ...s, label: { name: names.make(s.label.name) }, from: split.middle, to: split.to, body: rest, most: factor - 1 },
  ];
}

/** Unrolls outer loops by `factor`, a power of two, and fuses the copies of their inner loops. */
export function unrollAndJam(program: Program, factor: number): Program {
  return mapFunctions(program, (f) => {
    const names = Names.of(program, f);
    const mentions = mentionsIn(f.body);
    const body = mapBody(f.body, { statement: (s) => (s.kind === 'for' ? jammed(s, factor, names, mentions) : s) });
    return body === f.body ? f : { ...f, body };
  });
}
