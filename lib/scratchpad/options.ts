// Options and result of `optimize()`.
import { abortSignal, choice, rule, truth, whole, type Rule } from '../core/checks.ts';
import { normally, optionsOf, type ChecksOf, type Taken } from '../core/options.ts';
import { planners, type PlannerName } from '../kernel/memory/types.ts';
import { architectures, type Architecture } from '../kernel/occupancy.ts';
import type { ScratchpadReport } from './report.ts';

/** Options of {@link optimize}. */
export interface OptimizeOptions {
  /** The only kernel to treat, by its name in PTX or in the source. Default: all. */
  readonly kernel?: string;
  /** How arrays are placed. Default `exact`. */
  readonly planner?: PlannerName;
  /**
   * When barriers may be added. `gain` (default): only if a multiprocessor then holds more blocks, which takes the number of threads;
   * `any`: wherever they save bytes; `none`: never.
   */
  readonly barriers?: 'none' | 'gain' | 'any';
  /**
   * Whether independent parts of a kernel may change places so that fewer bytes are needed at a time. Default false. Barriers that the new
   * order needs are subject to `barriers`.
   */
  readonly reorder?: boolean;
  /** Architecture whose occupancy is predicted. Default: that of the module's `.target` if it is known, otherwise `sm_90`. */
  readonly arch?: Architecture;
  /**
   * Architectures for which the report says how many blocks fit, before and after. Default `sm_75`, `sm_80`, `sm_86`, `sm_89`, `sm_90`,
   * `sm_100`, `sm_120`.
   */
  readonly architectures?: readonly Architecture[];
  /** Threads per block. Default: `.reqntid` or `.maxntid` of the kernel, that is `__launch_bounds__`. */
  readonly blockThreads?: number;
  /** Registers per thread as reported by ptxas. Default 32. */
  readonly registersPerThread?: number;
  /**
   * Options of the compiler for CUDA source: `-I`, `-D`, `-std`, `-arch` (default: `arch`, or `sm_75`). Relative paths start at the
   * working directory of the process.
   */
  readonly compilerOptions?: readonly string[];
  /** Whether to assemble the result as well, which takes ptxas of the CUDA toolkit. Default false. */
  readonly cubin?: boolean;
  /** Elementary operations that the searches may spend on all kernels together. Default 3·10⁷, about 0.5 s. */
  readonly budget?: number;
  /** Aborts the call, which then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

/** The result of {@link optimize}. */
export interface OptimizeResult {
  /** The module with pools; unchanged, byte for byte, if there was nothing to gain. */
  readonly ptx: string;
  /** Machine code for the module's `.target`, with the option `cubin`. */
  readonly cubin?: Uint8Array;
  readonly report: ScratchpadReport;
  /**
   * Bytes of dynamic shared memory that launches must request if a pool exceeds 48 KB: the largest `dynamicBytes` of any kernel. Such
   * launches also need cudaFuncAttributeMaxDynamicSharedMemorySize.
   */
  readonly dynamicBytes?: number;
}

const words: Rule<readonly string[]> = rule('an array of at most 1000 strings', (value) =>
  Array.isArray(value) && value.length <= 1000 && value.every((each) => typeof each === 'string' && !each.includes('\0')));

const usual: readonly Architecture[] = ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_100', 'sm_120'];
const several: Rule<readonly Architecture[]> = rule(`an array of ${architectures.join(', ')}`, (value) =>
  Array.isArray(value) && value.every((each) => architectures.includes(each as Architecture)));

const checks = {
  kernel: rule<string>('the name of a kernel', (value) => typeof value === 'string' && /^[\w$]+$/.test(value)),
  planner: normally(choice(planners), 'exact'), barriers: normally(choice(['none', 'gain', 'any'] as const), 'gain'),
  reorder: normally(truth, false), arch: choice(architectures), architectures: normally(several, usual), blockThreads: whole(1, 1024),
  registersPerThread: normally(whole(1, 255), 32), compilerOptions: words, cubin: normally(truth, false), budget: whole(1),
  signal: abortSignal,
} satisfies ChecksOf<OptimizeOptions>;
/** Reads the options of {@link optimize}. */
export const optimizeOptions = optionsOf('scratchpad.optimize', checks);
/** The options as read. */
export type TakenOptimizeOptions = Taken<OptimizeOptions, typeof checks>;
