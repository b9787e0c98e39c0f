// Names of the ways to run a program.
import { choice, rule, type Rule } from '../../core/checks.ts';

/**
 * `wasm`: compiled to WebAssembly; `cpp`: compiled by the system's C++ compiler; `interpret`: step by step, runs every program; `auto`:
 * wasm if possible, otherwise interpret.
 */
export const streamBackends = ['auto', 'wasm', 'cpp', 'interpret'] as const;
/** A way to run a program: see {@link streamBackends}. */
export type StreamBackend = (typeof streamBackends)[number];
/** The former name of `wasm`, accepted for one more version. */
export type FormerBackend = 'js';

/** The rule for an option that takes one of these back ends, or the former name. */
export function backendRule<T extends StreamBackend>(names: readonly T[]): Rule<T | FormerBackend> {
  const { expected, fits } = choice(names);
  return rule(expected, (value) => value === 'js' || fits(value));
}

/** A back end by its current name, and a note for callers who used the former one. */
export function backendNamed<T extends string>(given: T): { readonly backend: Exclude<T, FormerBackend> | 'wasm'; readonly note?: string } {
  if (given !== 'js') return { backend: given as Exclude<T, FormerBackend> };
  return { backend: 'wasm', note: "the back end 'js' is called 'wasm'; the next version no longer takes the former name" };
}
