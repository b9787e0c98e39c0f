// What a program of applications is, for the files beside this one.

/** A whole program with what it must give, worked out in plain TypeScript. */
export interface App {
  readonly name: string;
  readonly source: string;
  /** Items of the open input; none where the program has a source. */
  readonly input?: readonly number[];
  /** What the open output gives, or the numbers printed, one a line, where there is none. */
  readonly expected: readonly number[];
  /** Largest difference in terms of the largest number expected. Default: none. */
  readonly tolerance?: number;
  /** Messages and rates known only at run time: the interpreter alone runs these. */
  readonly interpreted?: boolean;
}

/** Numbers of 0 to 1 that look random, the same in each run. */
export function noise(count: number, seed = 1): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000;
  });
}

/** Whole numbers below `below` that look random. */
export const whole = (count: number, below: number, seed = 1): number[] => noise(count, seed).map((x) => Math.floor(x * below));
/** Numbers of -1 to 1, singles. */
export const signal = (count: number, seed = 1): number[] => noise(count, seed).map((x) => Math.fround(2 * x - 1));
/** 0, 1, … n - 1. */
export const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
/** Sum of `of(0)` … `of(n - 1)`. */
export const sum = (n: number, of: (i: number) => number): number => upTo(n).reduce((all, i) => all + of(i), 0);
/** What `of` makes of each whole run of `size` items. */
export const blocks = (items: readonly number[], size: number, of: (block: readonly number[], index: number) => readonly number[]): number[] =>
  upTo(Math.floor(items.length / size)).flatMap((i) => [...of(items.slice(i * size, (i + 1) * size), i)]);
