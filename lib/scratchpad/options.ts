// Options of `optimize()`.
import { describeValue } from '../core/arrays.ts';
import { requireChoice, requireFields, requireWhole } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { architectures, type Architecture } from './occupancy.ts';
import { planners, type PlannerName } from './types.ts';

/** Options of {@link optimize}. */
export interface OptimizeOptions {
  /** Name of the one kernel to treat. Default: all kernels of the text. */
  readonly kernel?: string;
  /** How arrays are placed. Default `exact`. */
  readonly planner?: PlannerName;
  /** Whether independent statements may change places so that less is needed at a time. Default false. */
  readonly reorder?: boolean;
  /** Architecture whose occupancy is predicted. Default `sm_90`. */
  readonly arch?: Architecture;
  /**
   * Threads of a block. A number serves the occupancy only; default: what `__launch_bounds__` says. `[x, y, z]` also promises that all
   * launches have blocks of this shape: then the pass can see which statements write a whole array, and what loops need not keep.
   */
  readonly blockThreads?: number | readonly [number, number?, number?];
  /** Registers of a thread as ptxas reports them, for the occupancy. Default 32. */
  readonly registersPerThread?: number;
  /** Words that are blanked before the text is parsed: attribute macros the grammar cannot know. */
  readonly macros?: readonly string[];
  /**
   * What names stand for that are defined outside of the text, or by template parameters: whole numbers, or types by their text.
   * Values for template parameters only say which sizes the report counts with: the emitted layout holds for all.
   */
  readonly defines?: Readonly<Record<string, number | string>>;
  /** Functions without a body in the text that touch neither shared arrays nor barriers. */
  readonly functions?: readonly string[];
  /**
   * Shared arrays of which every iteration of a loop reads only what the same iteration wrote, `true`: all. Without it the content
   * of an array that a loop touches is kept around the loop. It is the caller's word and stands in the report.
   */
  readonly rewritten?: readonly string[] | true;
  /** `false` lays the arrays side by side in the pool: the same text without reuse, to compare with. Default true. */
  readonly reuse?: boolean;
  /** What to do where a multiprocessor would hold no more blocks than before: `rewrite` (default) or `keep` the text. */
  readonly whenNoGain?: 'rewrite' | 'keep';
  /**
   * Elementary operations that the searches for the fewest bytes and the fewest barriers may spend, over all kernels of the text.
   * Default 3·10⁷, some 0.5 s. Where they are used up the best layout found counts; `optimal` and `lowerBound` of the report say how
   * good it is.
   */
  readonly budget?: number;
  /** Ends the call, which then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

const kFields = ['kernel', 'planner', 'reorder', 'arch', 'blockThreads', 'registersPerThread', 'macros', 'defines', 'functions',
  'rewritten',
  'reuse', 'whenNoGain', 'budget', 'signal'] as const satisfies readonly (keyof OptimizeOptions)[];
const kMostThreads = 1024;
const kName = /^[A-Za-z_]\w*$/;

function requireNames(value: unknown, name: string): void {
  if (value === undefined) return;
  const fits = Array.isArray(value) && value.length <= 1000 && value.every((each) => typeof each === 'string' && kName.test(each));
  if (!fits) throw refusal(name, 'an array of names', describeValue(value));
}

function requireDefines(value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refusal('defines', 'an object of names and values', describeValue(value));
  }
  for (const [name, each] of Object.entries(value)) {
    if (!kName.test(name)) throw refusal('defines', 'names of C++', JSON.stringify(name));
    const fits = Number.isSafeInteger(each) || (typeof each === 'string' && /^[\w :*]{1,100}$/.test(each));
    if (!fits) throw refusal(`defines.${name}`, 'a whole number, or a type', describeValue(each));
  }
}

function requireThreads(value: unknown): void {
  if (!Array.isArray(value)) return requireWhole(value, 'blockThreads', 1, kMostThreads);
  const fits = value.length >= 1 && value.length <= 3 && value.every((each) => Number.isSafeInteger(each) && each >= 1)
    && value.reduce((product: number, each: number) => product * each, 1) <= kMostThreads;
  const expected = `one to three positive whole numbers whose product is at most ${kMostThreads}`;
  if (!fits) throw refusal('blockThreads', expected, `[${value.map(describeValue).join(', ')}]`);
}

/** Refuses options that are not what {@link OptimizeOptions} says. */
export function checkOptions(source: unknown, options: OptimizeOptions): void {
  if (typeof source !== 'string') throw refusal('source', 'the text of a CUDA C++ file', describeValue(source));
  requireFields(options, kFields, 'options', 'scratchpad.optimize');
  if (options.kernel !== undefined && (typeof options.kernel !== 'string' || !kName.test(options.kernel))) {
    throw refusal('kernel', 'the name of a kernel', describeValue(options.kernel));
  }
  requireChoice(options.planner, 'planner', planners);
  requireChoice(options.arch, 'arch', architectures);
  requireChoice(options.reorder, 'reorder', [true, false]);
  requireChoice(options.reuse, 'reuse', [true, false]);
  requireChoice(options.whenNoGain, 'whenNoGain', ['rewrite', 'keep']);
  requireThreads(options.blockThreads);
  requireWhole(options.registersPerThread, 'registersPerThread', 1, 255);
  requireWhole(options.budget, 'budget', 1, Number.MAX_SAFE_INTEGER);
  if (options.signal !== undefined && !(options.signal instanceof AbortSignal)) {
    throw refusal('signal', 'an AbortSignal', describeValue(options.signal));
  }
  requireNames(options.macros, 'macros');
  requireNames(options.functions, 'functions');
  if (options.rewritten !== true) requireNames(options.rewritten, 'rewritten');
  requireDefines(options.defines);
}
