// Cleans up after a pass that changes only a few functions: programs may have many, and processing all of them takes time.
import type { Program } from '../ir.ts';
import { dropDead } from './dead.ts';
import { useRanges } from './ranges.ts';
import { simplify } from './simplify.ts';

/** Simplifies the functions that have changed since `before`. */
export function tidy(before: Program, after: Program): Program {
  const same = new Set(before.functions);
  const changed = after.functions.filter((f) => !same.has(f));
  if (changed.length === 0) return after;
  const { functions } = simplify(useRanges(dropDead({ ...after, functions: changed })));
  const made = new Map(changed.map((f, i) => [f, functions[i] ?? f]));
  return { ...after, functions: after.functions.map((f) => made.get(f) ?? f) };
}
