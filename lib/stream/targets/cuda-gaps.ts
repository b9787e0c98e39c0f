// Gaps between the items of channels in shared memory, so that the threads of a warp find theirs in different banks.
import { valueOf, type Body, type Buffer, type KernelFunction } from '../../kernel/ir.ts';
import { paddedIndex } from '../../kernel/passes/pad.ts';
import { tripsOf } from '../../kernel/passes/unroll.ts';
import { bodiesOf, eachExpressionOf, walkExpression } from '../../kernel/visit.ts';
import type { Kind } from '../plan/layout.ts';

/**
 * Where gaps stand: one scalar behind every 2^`shift` (31: none), for windows that overlap; or `gap` items behind every row of so many
 * items, where positions alone tell what row an iteration is in.
 */
export interface Gaps {
  readonly shift: number;
  /** Items; 0: there are no rows. */
  readonly row: number;
  /** Items; 0: there are no gaps. */
  readonly gap: number;
}

export const noGaps = 31;

export const scalarBytes: Readonly<Record<Kind, number>> = { i: 4, f: 4, d: 8 };

/** Bytes that a thread moves by one instruction, and how many times that all banks hold. */
const widest = 16, groupsOfBanks = 8;

/** Scalars for which gaps are wanted. */
export interface Gapped {
  readonly kind: Kind;
  /** Items that an iteration moves at either end. */
  readonly moved: readonly number[];
  /** Scalars beside those of steady states. */
  readonly beside: number;
  /** Scalars in an item. */
  readonly stride: number;
  /** Whether most accesses are to neighbouring items, which one instruction then moves together. */
  readonly isDense: boolean;
  /** Not items: no gaps. */
  readonly isPlain?: true;
  /** Whether threads that read windows make so many firings together that they can load 16 bytes at once. */
  readonly isWide?: boolean;
  /** Items of a steady state, behind which there is a gap of so many and nowhere else: groups find items at strided indices. */
  readonly strided?: { readonly row: number; readonly gap: number };
}

/** Gaps for which threads whose items lie a power of two apart meet in few banks. */
export function gapsFor({ moved, kind, beside, stride, isDense, isPlain, isWide, strided }: Gapped): Gaps {
  if (strided !== undefined) return { shift: noGaps, ...strided };
  if (isPlain) return { shift: noGaps, row: 0, gap: 0 };
  if (beside === 0) {
    const row = moved.reduce((a, b) => a / gcd(a, b) * b);
    const items = isDense ? gcd(row, widest / scalarBytes[kind]) : 1;
    const groups = row / items;
    if (groups % 2 === 1) return { shift: noGaps, row, gap: 0 };
    // So many rows lie in different banks anyway.
    const rows = items === 1 ? 1 : groupsOfBanks / gcd(groups, groupsOfBanks);
    return { shift: noGaps, row: row * rows, gap: items };
  }
  // As many items lie between gaps as a firing takes, so that the places of a window differ by constants.
  const most = Math.max(...moved.map((items) => Math.log2(powerOfTwoIn(items * stride))));
  // Loads of 16 bytes by threads that stand as far apart use all banks, and need their items side by side.
  const isSideBySide = isWide === true && 2 ** most * scalarBytes[kind] === widest;
  return { shift: most <= 1 || isSideBySide ? noGaps : Math.min(10, most), row: 0, gap: 0 };
}

/** Where scalar `index` of a stretch stands. */
export function placeWith({ shift, row, gap }: Gaps, stride: number, index: number): number {
  return row === 0 ? paddedIndex(index, shift) : index + Math.floor(index / (row * stride)) * gap * stride;
}

/** By buffer: elements that a call of a function reads or writes, each as often as it does; loops of unknown length count once. */
export function accessesIn({ body }: KernelFunction): ReadonlyMap<Buffer, number> {
  const found = new Map<Buffer, number>();
  const add = (buffer: Buffer, times: number): void => { found.set(buffer, (found.get(buffer) ?? 0) + times); };
  const visit = (inner: Body, times: number): void => {
    for (const s of inner) {
      if (s.kind === 'store') add(s.buffer, times);
      else if (s.kind === 'fill') add(s.buffer, times * (valueOf(s.count) ?? 1));
      else if (s.kind === 'copy') for (const buffer of [s.from, s.to]) add(buffer, times * (valueOf(s.count) ?? 1));
      eachExpressionOf(s, (e) => {
        walkExpression(e, (part) => { if (part.kind === 'load') add(part.buffer, times); });
      });
      const trips = s.kind === 'for' ? tripsOf(s) ?? 1 : 1;
      for (const each of bodiesOf(s)) visit(each, times * trips);
    }
  };
  visit(body, 1);
  return found;
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

function powerOfTwoIn(x: number): number {
  return x === 0 ? 1 : x & -x;
}
