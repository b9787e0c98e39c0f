// Loops that bring a number into a range by adding or subtracting the length of the range: do … while (x < low || x > high). However often
// they turn, the result is the number of the range that has the same remainder.
import { required } from '../../core/known.ts';
import { isVector, valueOf, type Body, type Buffer, type Expression, type Local, type StatementOf } from '../../kernel/ir.ts';
import { assignedIn, walkBody, writesIn } from '../../kernel/visit.ts';
import type { Ends } from './ends.ts';
import { Scene } from './scene.ts';
import { known, knownNumber, unclear, given, type Bounds, type Value } from './value.ts';

/** What follows the code of a turn: see follow.ts. */
export interface TurnFollower {
  decide: ((e: Expression, parts: readonly Value[]) => Value | undefined) | undefined;
  value(e: Expression, scene: Scene): Value;
  body(body: Body, scene: Scene): Ends;
}

/** Where a loop keeps a number. */
export type Cell = { readonly local: Local } | { readonly buffer: Buffer; readonly index: number };

/** What a turn does to numbers between bounds. */
interface Piece {
  readonly bounds: Bounds;
  readonly isLast: boolean;
  readonly shift: number;
}

const lowest = -(2 ** 31), highest = 2 ** 31 - 1;
const mostPieces = 16, mostSteps = 2000;

/** If the loop is one of these, sets what it makes of the scene. */
export function wrapping(s: StatementOf<'while'>, scene: Scene, follower: (most: number) => TurnFollower): boolean {
  const cells = cellsOf(s, scene);
  for (const cell of cells) {
    const value = valueIn(scene, cell);
    if (value?.sum === undefined || value.from === 0n) continue;
    const pieces = piecesOf(s, scene, cells, cell, follower);
    const wrap = pieces && wrapOf(pieces);
    if (wrap === undefined) continue;
    const made = wrapped(value, wrap);
    // How often the loop turns decides what it leaves in the others, from what was there.
    const left = unclear(given, value, ...cells.flatMap((other) => valueIn(scene, other) ?? []));
    for (const other of cells) put(scene, other, other === cell ? made : left);
    return true;
  }
  return false;
}

/** What the loop assigns and something else may read; empty if that is not simple. */
function cellsOf(s: StatementOf<'while'>, scene: Scene): Cell[] {
  const cells: Cell[] = [...assignedIn(s.body)].map((local) => ({ local }));
  const known = [...writesIn(s.body).buffers].filter((buffer) => scene.buffers.has(buffer));
  let isSimple = true as boolean;
  walkBody(s.body, { statement: (each) => {
    if (each.kind === 'for' || each.kind === 'while' || each.kind === 'call' || each.kind === 'return' || each.kind === 'copy'
      || each.kind === 'fill') isSimple = false;
    if (each.kind !== 'store' || !known.includes(each.buffer)) return;
    const at = valueOf(each.index);
    if (at === undefined || isVector(each.value.type)) isSimple = false;
    else if (!cells.some((cell) => 'buffer' in cell && cell.buffer === each.buffer && cell.index === at + each.offset)) {
      cells.push({ buffer: each.buffer, index: at + each.offset });
    }
  } });
  return isSimple ? cells : [];
}

function valueIn(scene: Scene, cell: Cell): Value | undefined {
  return 'local' in cell ? scene.locals.get(cell.local) : scene.buffers.get(cell.buffer)?.[cell.index];
}

function put(scene: Scene, cell: Cell, value: Value): void {
  if ('local' in cell) scene.locals.set(cell.local, value);
  else scene.set(cell.buffer, cell.index, value);
}

/** What a turn does to every number in `cell`, in order of their bounds; undefined if it depends on more than the number. */
function piecesOf(
  s: StatementOf<'while'>, scene: Scene, cells: readonly Cell[], cell: Cell, follower: (most: number) => TurnFollower,
): readonly Piece[] | undefined {
  const open: Bounds[] = [[lowest, highest]];
  const pieces: Piece[] = [];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (pieces.length >= mostPieces) return undefined;
    let bounds: Bounds = next;
    const made = follower(mostSteps);
    made.decide = (e, parts) => {
      const decided = decisionOf(e, parts, bounds);
      if (decided === undefined) return undefined;
      if (decided.rest !== undefined) open.push(decided.rest);
      bounds = decided.bounds;
      return known(decided.is ? 1 : 0);
    };
    const begin = scene.copy();
    // What an earlier turn left in the others must not matter.
    for (const other of cells) put(begin, other, unclear({ ...given, from: -1n, isBitwise: false }));
    put(begin, cell, { ...unclear({ ...given, from: -1n }), bounds: [lowest, highest], shift: 0 });
    const turn = turnOf(s, begin, made);
    const shift = turn && valueIn(turn.scene, cell)?.shift;
    if (turn === undefined || shift === undefined) return undefined;
    pieces.push({ bounds, isLast: turn.isLast, shift });
  }
  return pieces.sort((a, b) => a.bounds[0] - b.bounds[0]);
}

function turnOf(s: StatementOf<'while'>, scene: Scene, follower: TurnFollower): { scene: Scene; isLast: boolean } | undefined {
  const condition = knownNumber(follower.value(s.condition, scene));
  if (condition === undefined) return undefined;
  if (condition === 0) return { scene, isLast: true };
  const { normal, breaks, continues, returned } = follower.body(s.body, scene);
  const found = [normal, breaks.get(s.label), continues.get(s.label)];
  if (returned !== undefined || breaks.size + continues.size + (normal === undefined ? 0 : 1) !== 1) return undefined;
  const only = found.findIndex((each) => each !== undefined);
  return only < 0 ? undefined : { scene: required(found[only]), isLast: only === 1 };
}

/** A comparison of the loop's number with a constant, for the lower of the numbers between bounds; and the bounds of the others. */
function decisionOf(
  e: Expression, [a, b]: readonly Value[], [low, high]: Bounds,
): { is: boolean; bounds: Bounds; rest: Bounds | undefined } | undefined {
  if (e.kind !== 'compare' || a?.shift === undefined || b === undefined) return undefined;
  const limit = knownNumber(b);
  // The number must not wrap before it is compared.
  if (limit === undefined || low + a.shift < lowest || high + a.shift > highest) return undefined;
  const edge = limit - a.shift;
  const is = (x: number): boolean | undefined => {
    switch (e.op) {
      case 'lt': return x < edge;
      case 'le': return x <= edge;
      case 'gt': return x > edge;
      case 'ge': return x >= edge;
      case 'eq': return x === edge;
      case 'ne': return x !== edge;
      default: return undefined;
    }
  };
  const first = is(low);
  if (first === undefined) return undefined;
  // All of these operators change their mind only here.
  for (const x of [edge, edge + 1]) {
    if (x > low && x <= high && is(x) !== first) return { is: first, bounds: [low, x - 1], rest: [x, high] };
  }
  return { is: first, bounds: [low, high], rest: undefined };
}

/** What a loop does to a number: below `low` it adds `step` until it is not, above `high` it subtracts it. */
export interface Wrap {
  readonly low: number;
  readonly high: number;
  /** A power of two, at most the length of the range. */
  readonly step: number;
}

function wrapOf(pieces: readonly Piece[]): Wrap | undefined {
  const last = pieces.filter(({ isLast }) => isLast);
  const [first, end] = [last[0], last.at(-1)];
  if (first === undefined || end === undefined || last.some(({ shift }) => shift !== 0)) return undefined;
  const [low, high] = [first.bounds[0], end.bounds[1]];
  const others = pieces.filter(({ isLast }) => !isLast);
  if (others.some(({ bounds }) => bounds[0] >= low && bounds[1] <= high)) return undefined;
  const [step] = others.map(({ shift }) => Math.abs(shift));
  if (step === undefined || step === 0 || (step & (step - 1)) !== 0 || step > high - low + 1 || step > 2 ** 30) return undefined;
  if (others.some(({ bounds, shift }) => shift !== (bounds[0] < low ? step : -step))) return undefined;
  return { low, high, step };
}

/** What such a loop makes of a value. */
function wrapped(value: Value, { low, high, step }: Wrap): Value {
  const isBelow = value.bounds[0] < low, isAbove = value.bounds[1] > high;
  const bounds: Bounds = [
    Math.min(isBelow ? low : value.bounds[0], isAbove ? high - step + 1 : highest),
    Math.max(isAbove ? high : value.bounds[1], isBelow ? low + step - 1 : lowest),
  ];
  const modulus = value.sum === undefined || value.sum.modulus === 0 ? step : Math.min(step, value.sum.modulus);
  return { from: value.from, isInput: value.isInput, isBitwise: false, sum: { ...value.sum, modulus }, bounds };
}

/** The one number that a loop changes beside locals of its turns, and how; undefined if the loop does anything else. */
export function wrapIn(
  s: StatementOf<'while'>, follower: (most: number) => TurnFollower,
): { readonly cell: Cell; readonly wrap: Wrap; readonly others: readonly Local[] } | undefined {
  const written = [...writesIn(s.body).buffers].filter(({ name }) => name !== 'steps');
  if (written.length > 1 || written.some(({ length }) => length === undefined)) return undefined;
  const scene = new Scene(new Map(), new Map(written.map((buffer) =>
    [buffer, Array<Value>(required(buffer.length)).fill(unclear({ ...given, from: -1n }))])));
  const cells = cellsOf(s, scene);
  const locals = cells.flatMap((cell) => ('local' in cell ? [cell.local] : []));
  const places = cells.filter((cell) => 'buffer' in cell);
  for (const cell of places.length > 0 ? places : cells) {
    if (places.length > 1) return undefined;
    const pieces = piecesOf(s, scene, cells, cell, follower), wrap = pieces && wrapOf(pieces);
    if (wrap !== undefined) return { cell, wrap, others: locals.filter((local) => !('local' in cell) || cell.local !== local) };
  }
  return undefined;
}
