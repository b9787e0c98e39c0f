// Names of the ways to run a program.
import { choice, rule, type Rule } from '../../core/checks.ts';

/**
 * `cuda`: compiled for the GPU; programs that it cannot run go to the CPU; `wasm`: compiled to WebAssembly; `cpp`: compiled by the system's
 * C++ compiler; `interpret`: step by step, runs every program; `simt`: the GPU code on threads of the CPU, for tests and debugging; `auto`:
 * cuda for long runs if there is a GPU that can run the program (and `WARPLOOM_BACKEND` names no other backend), otherwise wasm if
 * possible, otherwise interpret.
 */
export const streamBackends = ['auto', 'cuda', 'wasm', 'cpp', 'interpret', 'simt'] as const;
/** A way to run a program: see {@link streamBackends}. */
export type StreamBackend = (typeof streamBackends)[number];
/** A way to run a program on a device. */
export type DeviceBackend = Extract<StreamBackend, 'cuda' | 'simt'>;

/**
 * How a device runs a program: `fused`, all filters in one kernel; or as in chapter 3 of the thesis: `swp`, a software pipeline over the
 * multiprocessors with accesses that coalesce; `swpnc`, the same in the order of the stream; `serial`, one filter after the other; or as in
 * chapter 4, on the device and CPU cores together: `synergistic`, each filter where it is best; `gpu`, on the device whatever can be there;
 * `cpu`, all on cores.
 */
export const deviceModes = ['fused', 'swp', 'swpnc', 'serial', 'synergistic', 'gpu', 'cpu'] as const;
/** A way in which a device runs programs: see {@link deviceModes}. */
export type DeviceMode = (typeof deviceModes)[number];
/** Those of chapter 4. */
export type HybridMode = Extract<DeviceMode, 'synergistic' | 'gpu' | 'cpu'>;

/** Whether a mode places filters on cores too. */
export function isHybridMode(mode: DeviceMode): mode is HybridMode {
  return mode === 'synergistic' || mode === 'gpu' || mode === 'cpu';
}

/** Whether a back end runs programs on a device. */
export function isDeviceBackend(name: string): name is DeviceBackend {
  return name === 'cuda' || name === 'simt';
}

/** The note of a run that went to the CPU instead of a device. */
export const cpuNote = (reason: string): string => `the program ran on the CPU: ${reason}`;

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

/** Whether worker threads take part in a run on a device: as measured (`auto`), always, or never. */
export type ShareChoice = boolean | 'auto';
export const shareChoice = rule<ShareChoice>("true, false or 'auto'", (value) => typeof value === 'boolean' || value === 'auto');
