// What is told to and by runs of programs on a device.
import type { DeviceArray } from '../../core/device.ts';
import type { DeviceMode, ShareChoice } from './backends.ts';
import type { Borrowed } from './borrowed.ts';
import type { StreamMemory } from './gpu-ends.ts';
import type { StateSpan } from './gpu-state.ts';
import type { ThreadOptions } from './prepare.ts';

/** How a program's text is compiled. */
export interface GpuLimits {
  /** Lets float operations be joined, so that outputs differ in rounding. */
  readonly fast?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeout?: number | undefined;
  /** Whether the compiler gives way to other programs, and to the end of this process. */
  readonly isBackground?: boolean | undefined;
}

/** Steady states on arrays of the device. */
export interface GpuSpan {
  readonly input: StreamMemory;
  readonly output: StreamMemory;
  /** Items before the first steady state in the arrays; on the input at least those of `CompiledGpu.warmStates`. */
  readonly firstInput: number;
  readonly firstOutput: number;
  readonly states: number;
  /** What a program with state needs: see gpu-state.ts. */
  readonly state?: StateSpan | undefined;
  /** The word for faults, if there is one already: it holds `noFault`. */
  readonly fault?: DeviceArray | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What launches tell: their seconds on the device, and the first steady state that went wrong, if any did. */
export interface GpuOutcome {
  readonly deviceSeconds: number;
  readonly fault?: number;
}

/** What a schedule of chapter 3, or a plan of chapter 4 for long runs, comes to. */
export interface ScheduleFigures {
  readonly mode: Exclude<DeviceMode, 'fused'>;
  /**
   * With the modes of chapter 4: where filters run. `both`: on the device and on cores, as planned; `device`: all there that can be;
   * `fused`: all there, as the one kernel of mode `fused`; `cores`: none there, as WebAssembly on threads. With `synergistic` the best
   * one, by estimate or by the runs that were made.
   */
  readonly placed?: 'both' | 'device' | 'fused' | 'cores';
  /** n of SWPn; 1 with modes that have none. */
  readonly coarsening: number;
  /** Steady states of an iteration, and instances of all filters in it. */
  readonly states: number;
  readonly instances: number;
  /** Most threads of an instance on the device; 0: nothing runs there. */
  readonly threads: number;
  /** Launches from the first to the last stage of an iteration; 1 with `serial`. */
  readonly stages: number;
  /** With `swp`, `swpnc` and `serial`: how launches are made; undefined until runs have shown which way is faster. */
  readonly launch?: 'plain' | 'persistent';
  /** Bytes of all channels in the device's memory (Table 3.2). */
  readonly channelBytes: number;
  /** Interval per unit of work over its bound, minus 1 (Table 3.3: relaxation); undefined with `serial`. */
  readonly gap?: number;
}

/** How a run went. */
export interface GpuWork {
  readonly milliseconds: number;
  /** Seconds on the device; undefined if another back end made everything. */
  readonly deviceSeconds?: number;
  /** The share of the steady states that the device made, of those for which it was there: the cores made the others. */
  readonly deviceShare?: number;
  /** Filters whose sums of floats the device made in another order (option `algebraic`). */
  readonly recurrences?: readonly string[];
  /** Why another back end made everything. */
  readonly note?: string;
}

/** Options of a run. */
export interface GpuRunOptions extends ThreadOptions {
  /** Whether the cores take part; default: they do not. */
  readonly share?: ShareChoice | undefined;
  /** Called if and when a run that succeeds is sure to read nothing of its input any more. */
  readonly release?: (() => void) | undefined;
  /** What makes the input, if that is the caller's until the call returns. */
  readonly borrowed?: Borrowed | undefined;
}
