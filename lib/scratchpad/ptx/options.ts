// Options and result of `optimizePtx()`.
import { abortSignal, choice, rule, truth, whole } from '../../core/checks.ts';
import { normally, optionsOf, type ChecksOf, type Taken } from '../../core/options.ts';
import { architectures, type Architecture } from '../occupancy.ts';
import type { ScratchpadReport } from '../report.ts';
import { planners, type PlannerName } from '../../kernel/memory/types.ts';

/** Options of `optimizePtx`. */
export interface OptimizePtxOptions {
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
  /** Threads per block. Default: `.reqntid` or `.maxntid` of the kernel, that is `__launch_bounds__`. */
  readonly blockThreads?: number;
  /** Registers per thread as reported by ptxas. Default 32. */
  readonly registersPerThread?: number;
  /** Elementary operations that the searches may spend. Default 3·10⁷, about 0.5 s. */
  readonly budget?: number;
  /** Aborts the call. */
  readonly signal?: AbortSignal;
}

/** The result of `optimizePtx`. */
export interface OptimizePtxResult {
  /** The module with pools; unchanged, byte for byte, if there was nothing to gain. */
  readonly ptx: string;
  readonly report: ScratchpadReport;
  /** Bytes of dynamic shared memory that launches must request if a pool exceeds 48 KB: the largest of any kernel. */
  readonly dynamicBytes?: number;
}

const checks = {
  kernel: rule<string>('the name of a kernel', (value) => typeof value === 'string' && /^[\w$]+$/.test(value)),
  planner: normally(choice(planners), 'exact'), barriers: normally(choice(['none', 'gain', 'any'] as const), 'gain'),
  reorder: normally(truth, false), arch: choice(architectures),
  blockThreads: whole(1, 1024), registersPerThread: normally(whole(1, 255), 32),
  budget: whole(1), signal: abortSignal,
} satisfies ChecksOf<OptimizePtxOptions>;
/** Reads the options of `optimizePtx`. */
export const readOptions = optionsOf('scratchpad.optimizePtx', checks);
/** The options as read. */
export type TakenPtxOptions = Taken<OptimizePtxOptions, typeof checks>;
