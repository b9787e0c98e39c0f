// Reorders independent statements so that fewer arrays are needed at a time. The operands of every statement stay the same, so the results
// are bit-identical.
import { addAt, elementAt, lastOf, required } from '../core/known.ts';
import { analyse, type AnalysisOptions } from './analyse.ts';
import type { CheckOptions } from './check.ts';
import { dependenceOf, type Dependence } from './dependence.ts';
import { Library } from './model.ts';
import { Program, type FunctionNode } from './program.ts';
import { Refusal } from './refusal.ts';
import type { MovedStatement, SourcePlace } from './report.ts';
import { schedule, type Stages } from './schedule.ts';
import { WarploomError } from '../core/errors.ts';
import { parse, position, type Syntax } from './syntax.ts';

/** Source with reordered statements. */
export interface Reordered {
  readonly source: string;
  /** Maps an offset in this source to the original source. */
  offset(at: number): number;
  /** Line starts of the original source; undefined: as in this source. */
  readonly lines: readonly number[] | undefined;
  readonly moved: readonly (MovedStatement & { readonly kernel: string })[];
  /** Whether a barrier was inserted because statements were reordered. */
  isNew(at: number): boolean;
  /** Barriers, by their place in the original source, that the new order does not need. */
  readonly removed: readonly (SourcePlace & { readonly kernel: string })[];
}

/** Source in its original order. */
export const sameOrder: Reordered = { source: '', offset: (at) => at, lines: undefined, moved: [], isNew: () => false, removed: [] };

/** A piece of the new source and its origin; `isNew`: an inserted barrier. */
interface Piece {
  readonly text: string;
  readonly from: number;
  readonly isNew?: boolean;
}

interface ReorderedKernel {
  readonly start: number;
  readonly end: number;
  readonly pieces: readonly Piece[];
  readonly moved: Reordered['moved'];
  readonly removed: Reordered['removed'];
}

/** Units in their new order, -1 for a barrier. Units that need not wait keep their place relative to the others. */
function newOrder({ units, before }: Dependence, stages: Stages): number[] {
  const order: number[] = [];
  const done = new Set<number>();
  const emit = (unit: number): void => {
    if (done.has(unit)) return;
    done.add(unit);
    for (const each of [...elementAt(before, unit)].sort((a, b) => a - b)) if (elementAt(units, each).isLight) emit(each);
    order.push(unit);
  };
  const light = units.flatMap((unit, at) => unit.isLight && !unit.isBarrier ? [at] : []);
  const heavy = stages.flat();
  for (const [at, stage] of stages.entries()) {
    if (at > 0) order.push(-1);
    for (const unit of stage) {
      const waiting = heavy.filter((each) => !done.has(each));
      const first = Math.min(...waiting);
      // Light statements that preceded everything still to come, in their order.
      for (const each of light) if (each < first && [...elementAt(before, each)].every((other) => done.has(other))) emit(each);
      emit(unit);
    }
  }
  for (const each of light) emit(each);
  return order;
}

/** Units that keep their relative order: a longest increasing subsequence. */
function keptUnits(order: readonly number[]): Set<number> {
  const units = order.filter((unit) => unit >= 0);
  const best = units.map(() => 1);
  const link = units.map(() => -1);
  for (let i = 0; i < units.length; ++i) {
    for (let j = 0; j < i; ++j) {
      if (elementAt(units, j) < elementAt(units, i) && elementAt(best, j) + 1 > elementAt(best, i)) {
        best[i] = elementAt(best, j) + 1;
        link[i] = j;
      }
    }
  }
  const kept = new Set<number>();
  let at = best.indexOf(Math.max(0, ...best));
  for (; at >= 0; at = elementAt(link, at)) kept.add(elementAt(units, at));
  return kept;
}

function barrierPiece(syntax: Syntax, { units }: Dependence, used: number, next: number): Piece {
  const existing = units.filter((unit) => unit.isBarrier)[used];
  if (existing !== undefined) return { text: syntax.source.slice(existing.start, existing.end), from: existing.start };
  const { node } = elementAt(units, next);
  const lineStart = syntax.source.lastIndexOf('\n', node.start) + 1;
  const indent = required(/^[ \t]*/.exec(syntax.source.slice(lineStart, node.start)))[0];
  const newline = syntax.source.includes('\r\n') ? '\r\n' : '\n';
  return { text: `${newline}${indent}__syncthreads();`, from: node.start, isNew: true };
}

function reorderKernel(syntax: Syntax, library: Library, fn: FunctionNode, options: AnalysisOptions): ReorderedKernel | undefined {
  const analysis = analyse(library, fn, options);
  if (analysis.arrays.length < 2) return undefined;
  const dependence = dependenceOf(analysis);
  if (dependence === undefined) return undefined;
  const stages = schedule(dependence, analysis.arrays.map((array) => array.bytes));
  const order = newOrder(dependence, stages);
  const kept = keptUnits(order);
  const { units } = dependence;
  if (order.every((unit) => unit < 0 || kept.has(unit))) return undefined;
  const pieces: Piece[] = [];
  const moved: (MovedStatement & { kernel: string })[] = [];
  let barriers = 0;
  for (const [at, unit] of order.entries()) {
    if (unit < 0) {
      pieces.push(barrierPiece(syntax, dependence, barriers++, elementAt(order, at + 1)));
      continue;
    }
    const { node, start, end } = elementAt(units, unit);
    pieces.push({ text: syntax.source.slice(start, end), from: start });
    if (kept.has(unit)) continue;
    const next = order.slice(at + 1).find((each) => each >= 0 && kept.has(each));
    moved.push({
      kernel: fn.name, ...position(syntax, node.start), text: elementAt(syntax.source.slice(node.start, node.end).split(/\r?\n/), 0),
      beforeLine: next === undefined ? undefined : position(syntax, elementAt(units, next).node.start).line,
    });
  }
  requireOrder(fn, dependence, order);
  const removed = units.filter((unit) => unit.isBarrier).slice(barriers).map(({ node }) =>
    ({ kernel: fn.name, ...position(syntax, node.start) }));
  return { start: elementAt(units, 0).start, end: lastOf(units).end, pieces, moved, removed };
}

/** Checks the new order against every pair of dependent statements. */
function requireOrder(fn: FunctionNode, { units, before, separated }: Dependence, order: readonly number[]): void {
  const place = new Map(order.map((unit, at) => [unit, at]));
  const barriers = order.map((unit) => Number(unit < 0));
  for (let at = 1; at < barriers.length; ++at) addAt(barriers, at, elementAt(barriers, at - 1));
  const fits = units.every((unit, late) => unit.isBarrier || (place.has(late) && [...elementAt(before, late)].every((early) => {
    const from = required(place.get(early));
    const to = required(place.get(late));
    return from < to && (!separated.has(early * units.length + late) || elementAt(barriers, to) > elementAt(barriers, from));
  })));
  if (fits) return;
  throw new WarploomError('ERR_WARPLOOM_INTERNAL',
    `the new order of the statements of ${fn.name} breaks a dependence. Please report this with the source`);
}

function assemble(syntax: Syntax, kernels: readonly ReorderedKernel[]): Reordered {
  const pieces: Piece[] = [];
  let from = 0;
  for (const kernel of [...kernels].sort((a, b) => a.start - b.start)) {
    pieces.push({ text: syntax.source.slice(from, kernel.start), from }, ...kernel.pieces);
    from = kernel.end;
  }
  pieces.push({ text: syntax.source.slice(from), from });
  const starts: number[] = [];
  let length = 0;
  for (const piece of pieces) {
    starts.push(length);
    length += piece.text.length;
  }
  const pieceAt = (at: number): number => Math.max(0, starts.findLastIndex((start) => start <= at));
  const offset = (at: number): number => {
    const piece = elementAt(pieces, pieceAt(at));
    return piece.isNew === true ? piece.from : Math.min(piece.from + at - elementAt(starts, pieceAt(at)), syntax.source.length);
  };
  return {
    source: pieces.map((piece) => piece.text).join(''), offset, lines: syntax.lines, moved: kernels.flatMap((kernel) => kernel.moved),
    isNew: (at) => elementAt(pieces, pieceAt(at)).isNew === true, removed: kernels.flatMap((kernel) => kernel.removed),
  };
}

/**
 * Reorders kernels by name.
 * @returns undefined if no kernel has an order that needs fewer bytes at a time
 */
export async function reorderSource(source: string, settings: CheckOptions, options: AnalysisOptions,
  wanted: (kernel: string) => boolean): Promise<Reordered | undefined> {
  const syntax = await parse(source, settings.macros);
  const program = new Program(syntax, settings.defines);
  const library = new Library(program);
  const kernels: ReorderedKernel[] = [];
  for (const fn of program.kernels) {
    if (!wanted(fn.name)) continue;
    try {
      const kernel = reorderKernel(syntax, library, fn, options);
      if (kernel !== undefined) kernels.push(kernel);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  return kernels.length === 0 ? undefined : assemble(syntax, kernels);
}
