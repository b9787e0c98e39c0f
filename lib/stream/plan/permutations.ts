// Nodes that only put items in another order, as splitters, joiners and transpositions do, and how such orders are strided: where item i of
// a steady state comes from is a sum of multiples of the digits of i.
import { elementAt } from '../../core/known.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import type { GraphNode } from '../graph.ts';
import type { FilterCode } from '../ir.ts';
import { onlyMoves } from '../lower/moves.ts';
import { sourcesOf } from '../savings/patterns.ts';
import { traceFiring } from '../savings/trace.ts';

/** Steps for which a firing is followed. */
const mostSteps = 400_000;

/** Offsets of the items from which each item that a firing pushes is computed. */
type Sources = readonly (readonly number[])[];

const known = new WeakMap<FilterCode, Sources | undefined>();

/** Sources of a filter's firing; undefined if it cannot be followed. */
export function sourcesIn(code: FilterCode): Sources | undefined {
  if (!known.has(code)) {
    const trace = code.stateful ? undefined : traceFiring(code, code.work, () => undefined, { left: mostSteps });
    const { push } = code.work.rates;
    known.set(code, trace && Array.from({ length: push }, (_, i) => trace.sources(i)));
  }
  return known.get(code);
}

/** For each item that a firing of a node pushes to a port: the input port and the offset of the item that it is; undefined: other nodes. */
function movedBy(node: GraphNode, port: number): readonly (readonly [port: number, place: number])[] | undefined {
  if (node.kind === 'splitter' || node.kind === 'joiner' || node.kind === 'identity') return sourcesOf(node, port);
  if (node.kind !== 'filter' || node.code.prework !== undefined || !onlyMoves(node.code.work.body)) return undefined;
  const sources = sourcesIn(node.code);
  return sources?.every(({ length }) => length === 1) ? sources.map(([place = 0]) => [0, place] as const) : undefined;
}

/** Whether a node pushes each item that it pops once, and nothing else. */
export function isPermutation(node: GraphNode): boolean {
  const taken = node.inputs.map((_, port) => new Set<number>(Array.from({ length: ratesOf(node, port).pop }, (__, i) => i)));
  for (const port of node.outputs.keys()) {
    const moved = movedBy(node, port);
    if (moved === undefined || !moved.every(([from, place]) => taken[from]?.delete(place))) return false;
  }
  return taken.every(({ size }) => size === 0);
}

/**
 * Of a permutation with one input (`isInput`) or one output: for each item of another channel in a steady state, its number on that one.
 * @param firings in a steady state
 */
export function orderOf(node: GraphNode, { port, isInput, firings }: { port: number; isInput: boolean; firings: number }): number[] {
  const order: number[] = [];
  if (!isInput) {
    // The other way round: where the items of an input go.
    const { push } = ratesOf(node, 0), { pop } = ratesOf(node, port);
    (movedBy(node, 0) ?? []).forEach(([from, place], to) => {
      if (from === port) for (let firing = 0; firing < firings; ++firing) order[firing * pop + place] = firing * push + to;
    });
    return order;
  }
  const { pop } = ratesOf(node, 0);
  for (let firing = 0; firing < firings; ++firing) {
    for (const [, place] of movedBy(node, port) ?? []) order.push(firing * pop + place);
  }
  return order;
}

/** A digit of a number with so many values, and how far apart what belongs to neighbouring values is. */
export interface Digit {
  readonly count: number;
  readonly step: number;
}

/** Item i is at `base` plus the sum of the digits of i, the least significant one first, times their steps. */
export interface Strided {
  readonly base: number;
  readonly digits: readonly Digit[];
}

/** Orders with more digits take too long to compute. */
const mostDigits = 4;

/** The digits of an order, if it has few. */
export function stridedOf(order: readonly number[]): Strided | undefined {
  const [base] = order;
  if (base === undefined) return undefined;
  const digits: Digit[] = [];
  for (let rest = order; rest.length > 1;) {
    if (digits.length === mostDigits) return undefined;
    const step = elementAt(rest, 1) - elementAt(rest, 0);
    const isRun = (count: number): boolean => rest.length % count === 0
      && rest.every((x, i) => x === elementAt(rest, i - i % count) + i % count * step);
    let count = rest.findIndex((x, i) => x !== elementAt(rest, 0) + i * step);
    if (count < 0) count = rest.length;
    while (count > 1 && !isRun(count)) --count;
    if (count === 1) return undefined;
    digits.push({ count, step });
    rest = rest.filter((_, i) => i % count === 0);
  }
  return { base, digits };
}

/** Whether a node is a permutation whose order has few digits in a steady state of so many firings. */
export function isStrided(node: GraphNode, firings: number): boolean {
  if (!isPermutation(node)) return false;
  const isInput = node.inputs.length === 1;
  return (isInput ? node.outputs : node.inputs).every((_, port) => stridedOf(orderOf(node, { port, isInput, firings })) !== undefined);
}

/** The digits of numbers below `each`, and those of multiples of it; undefined if it falls within a digit. */
export function splitDigits(digits: readonly Digit[], each: number): { inner: readonly Digit[]; outer: readonly Digit[] } | undefined {
  const inner: Digit[] = [], outer: Digit[] = [];
  let rest = each;
  for (const { count, step } of digits) {
    if (rest === 1) outer.push({ count, step });
    else if (rest % count === 0) {
      inner.push({ count, step });
      rest /= count;
    } else if (count % rest === 0) {
      inner.push({ count: rest, step });
      outer.push({ count: count / rest, step: step * rest });
      rest = 1;
    } else return undefined;
  }
  return rest === 1 ? { inner, outer } : undefined;
}

/** The sum for a number. */
export function sumOfDigits(digits: readonly Digit[], number: number): number {
  let sum = 0, rest = number;
  for (const { count, step } of digits) {
    sum += rest % count * step;
    rest = Math.floor(rest / count);
  }
  return sum;
}
