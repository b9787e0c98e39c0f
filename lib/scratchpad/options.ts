// Options of `optimize()`.
import { describeValue } from '../core/arrays.ts';
import { abortSignal, choice, either, rule, truth, whole, type Check, type Rule } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { normally, optionsOf, type ChecksOf, type Taken } from '../core/options.ts';
import { requireObject } from '../core/shapes.ts';
import { architectures, type Architecture } from './occupancy.ts';
import { planners, type PlannerName } from '../kernel/memory/types.ts';

/** Options of {@link optimize}. */
export interface OptimizeOptions {
  /** Name of the only kernel to process. Default: all kernels of the source. */
  readonly kernel?: string;
  /** How arrays are placed. Default `exact`. */
  readonly planner?: PlannerName;
  /** Whether independent statements may be reordered so that fewer bytes are needed at a time. Default false. */
  readonly reorder?: boolean;
  /** Architecture whose occupancy is predicted. Default `sm_90`. */
  readonly arch?: Architecture;
  /**
   * Threads per block. A number is used only for the occupancy; default: the value in `__launch_bounds__`. `[x, y, z]` also guarantees that
   * all launches use blocks of this shape, so that the pass can detect which statements write a whole array, and what loops need not keep.
   */
  readonly blockThreads?: number | readonly [number, number?, number?];
  /** Registers per thread as reported by ptxas, for the occupancy. Default 32. */
  readonly registersPerThread?: number;
  /** Words that are blanked before parsing: attribute macros that the grammar cannot know. */
  readonly macros?: readonly string[];
  /**
   * Values of names that are defined outside the source, or of template parameters: integers, or types as text. Values of template
   * parameters affect only the sizes in the report; the emitted layout is valid for all values.
   */
  readonly defines?: Readonly<Record<string, number | string>>;
  /** Functions without a body in the source that access neither shared arrays nor barriers. */
  readonly functions?: readonly string[];
  /**
   * Shared arrays for which every iteration of a loop reads only what the same iteration wrote; `true`: all. Otherwise, the content of an
   * array that a loop accesses is kept around the loop. This is the caller's assurance, and the report lists it.
   */
  readonly rewritten?: readonly string[] | true;
  /** `false` places the arrays side by side in the pool: the same code without reuse, for comparison. Default true. */
  readonly reuse?: boolean;
  /** What to do if a multiprocessor would hold no more blocks than before: `rewrite` (default), or `keep` the source. */
  readonly whenNoGain?: 'rewrite' | 'keep';
  /**
   * Work budget: elementary operations that the searches for the fewest bytes and barriers may spend on all kernels together. Default
   * 3·10⁷, about 0.5 s. When it is used up, the best layout found is taken; `optimal` and `lowerBound` in the report say how good it is.
   */
  readonly budget?: number;
  /** Aborts the call, which then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

const kMostThreads = 1024;
const kName = /^[A-Za-z_]\w*$/;

const names: Rule<readonly string[]> = rule('an array of names', (value) =>
  Array.isArray(value) && value.length <= 1000 && value.every((each) => typeof each === 'string' && kName.test(each)));

const defines: Check<NonNullable<OptimizeOptions['defines']>> = (value, argument) => {
  requireObject(value, argument);
  for (const [name, each] of Object.entries(value)) {
    if (!kName.test(name)) throw refusal(argument, 'names of C++', JSON.stringify(name));
    const fits = Number.isSafeInteger(each) || (typeof each === 'string' && /^[\w :*]{1,100}$/.test(each));
    if (!fits) throw refusal(`${argument}.${name}`, 'a whole number, or a type', describeValue(each));
  }
};

const count = whole(1, kMostThreads);

const blockThreads: Check<NonNullable<OptimizeOptions['blockThreads']>> = (value, name) => {
  if (!Array.isArray(value)) return count(value, name);
  const fits = value.length >= 1 && value.length <= 3 && value.every((each) => Number.isSafeInteger(each) && each >= 1)
    && value.reduce((product: number, each: number) => product * each, 1) <= kMostThreads;
  const expected = `one to three positive whole numbers whose product is at most ${kMostThreads}`;
  if (!fits) throw refusal(name, expected, `[${value.map(describeValue).join(', ')}]`);
};

const checks = {
  kernel: rule<string>('the name of a kernel', (value) => typeof value === 'string' && kName.test(value)),
  planner: normally(choice(planners), 'exact'), arch: choice(architectures), reorder: normally(truth, false), reuse: normally(truth, true),
  whenNoGain: normally(choice(['rewrite', 'keep'] as const), 'rewrite'), blockThreads, registersPerThread: whole(1, 255), budget: whole(1),
  signal: abortSignal, macros: normally(names, []), functions: normally(names, []), rewritten: either(choice([true] as const), names),
  defines: normally(defines, {}),
} satisfies ChecksOf<OptimizeOptions>;

/** Reads the options of {@link optimize}. */
export const optimizeOptions = optionsOf('scratchpad.optimize', checks);
export type TakenOptimizeOptions = Taken<OptimizeOptions, typeof checks>;
