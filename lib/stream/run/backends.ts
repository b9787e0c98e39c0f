// Names of the ways to run a program.
import { choice, rule, type Rule } from '../../core/checks.ts';

/**
 * `wasm`: compiled to WebAssembly; `cpp`: compiled by the system's C++ compiler; `interpret`: step by step, takes every program; `auto`:
 * wasm, and interpret what wasm does not take.
 */
export const streamBackends = ['auto', 'wasm', 'cpp', 'interpret'] as const;
/** A way to run a program: see {@link streamBackends}. */
export type StreamBackend = (typeof streamBackends)[number];
/** The former name of `wasm`, taken for one version more. */
export type FormerBackend = 'js';

/** The rule of an option that is one of these back ends; the former name is taken too. */
export function backendRule<T extends StreamBackend>(names: readonly T[]): Rule<T | FormerBackend> {
  const { expected, fits } = choice(names);
  return rule(expected, (value) => value === 'js' || fits(value));
}

/** A back end by its name of today, and what to tell a caller who used the former one. */
export function backendNamed<T extends string>(given: T): { readonly backend: Exclude<T, FormerBackend> | 'wasm'; readonly note?: string } {
  if (given !== 'js') return { backend: given as Exclude<T, FormerBackend> };
  return { backend: 'wasm', note: "the back end 'js' is called 'wasm'; the next version no longer takes the former name" };
}
