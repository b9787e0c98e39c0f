// scan.prefix: parallel prefix sums, products and maxima.
import { describeValue, holds } from '../core/arrays.ts';
import {
  callChecks, deviceFor, newReals, promised, requireOut, requireReals, runInto, viewOf, type CallInfo, type Reals, type RealType,
} from '../core/call.ts';
import { anything, choice, whole } from '../core/checks.ts';
import { type Device, DeviceArray } from '../core/device.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { maxElements } from '../core/limits.ts';
import { choices } from '../core/operations.gen.ts';
import { normally, optionsOf, parametersOf, type ChecksOf, type Taken } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';

/** Arrays a scan takes. */
export type ScanArray = Reals;

/** What is accumulated. */
export const scanOperators = choices['scan.prefix'].operator;
/** What is accumulated: `sum`, `product` or `max`. */
export type ScanOperator = (typeof scanOperators)[number];

/** Algorithm on cuda and simt; the cpu backend has only one. */
export const scanAlgorithms = choices['scan.prefix'].algorithm;
/** Algorithm on cuda and simt: `auto`, `regpack` or `shared`. The cpu backend has only one. */
export type ScanAlgorithm = (typeof scanAlgorithms)[number];

/** Elements per thread of `regpack`; 0 lets the policy choose. */
export const scanDepths = [0, 2, 4, 8, 16, 32] as const;
/** Elements per thread of `regpack`; 0 lets the policy choose. */
export type ScanDepth = (typeof scanDepths)[number];

/** Options of {@link scan}. */
export interface ScanOptions<V extends ScanArray = ScanArray> extends CallOptions {
  /** Default `sum`. As with sums and products, `max` is NaN from the first NaN on. */
  readonly operator?: ScanOperator;
  /** Result i without element i: rows and segments begin with 0, 1 or -Infinity. Default false. */
  readonly exclusive?: boolean;
  /** One byte per element: nonzero starts a new segment. Every row starts one as well. */
  readonly flags?: Uint8Array | DeviceArray;
  /** Rows of equal length, one after the other, scanned independently. Default 1. */
  readonly batch?: number;
  /**
   * `regpack`: `depth` elements per thread in registers; `shared`: one element per thread in shared memory, for comparison. Default
   * `auto`: regpack with the policy's depth.
   */
  readonly algorithm?: ScanAlgorithm;
  /** With `regpack`: elements per thread. Default 0: chosen by the policy, which never chooses 32. */
  readonly depth?: ScanDepth;
  /**
   * With `auto` and `regpack`: fan-in of a stage, 2 (default) or 4. On `cuda`, the addon that `npm ci` builds in a clone rejects
   * radix 4 and depth 32 with `ERR_WARPLOOM_NOT_COMPILED` (`npm run build:native` adds them; released packages have them).
   */
  readonly radix?: 2 | 4;
  /** Default: the device of the device arrays among the arguments, or else the thread's default device. */
  readonly device?: Device;
  /** Where the result goes; may be `values`. Default: a new array like `values`, on the device if they are there. */
  readonly out?: V;
}

/** Result of {@link scan}. */
export interface ScanResult<V extends ScanArray = ScanArray> {
  /** `out`, or a new array. */
  readonly result: V;
  readonly info: CallInfo & {
    readonly type: RealType;
    /** Elements per row. */
    readonly n: number;
    readonly batch: number;
  };
}

const checks = {
  ...parametersOf('scan.prefix', 'operator', 'exclusive', 'algorithm'), ...callChecks,
  depth: normally(choice(scanDepths), 0), radix: normally(choice([2, 4] as const), 2), batch: normally(whole(0, maxElements), 1),
  flags: anything, out: anything,
} satisfies ChecksOf<ScanOptions>;
/** @internal */
export const scanOptions = optionsOf('scan', checks);

/** Refuses options that do not go together. */
function checkTogether({ depth, radix, algorithm }: Taken<ScanOptions, typeof checks>): void {
  if (depth !== 0 && algorithm !== 'regpack') {
    throw refusal('depth', `none with algorithm "${algorithm}" (it is the packing depth of regpack)`, String(depth));
  }
  if (radix === 4 && algorithm === 'shared') throw refusal('radix', '2 with algorithm "shared"', '4');
}

/** Elements per row. */
function rowLength(values: ScanArray, batch: number): number {
  if (batch === 0 ? values.length !== 0 : values.length % batch !== 0) {
    throw refusal('values', `a multiple of ${batch} elements (batch)`, `${values.length}`);
  }
  return batch === 0 ? 0 : values.length / batch;
}

function checkFlags(flags: unknown, length: number): void {
  if (flags === undefined) return;
  const ok = holds(flags, 'uint8') || (flags instanceof DeviceArray && flags.type === 'uint8');
  if (!ok) throw refusal('flags', 'a Uint8Array or a DeviceArray of uint8', describeValue(flags));
  const count = (flags as { length: number }).length;
  if (count !== length) throw refusal('flags', `${length} entries, one per element`, `${count}`);
}

/**
 * Prefix sums, products or maxima of every row: result[i] = values[0] ∘ … ∘ values[i], or up to values[i-1] when
 * `exclusive`, restarted at each flag.
 *
 * Results repeat to the bit: the order of every sum depends on the row length and the options, never on timing, the
 * batch or (within one backend) the device. Floating-point sums differ from a sequential loop's by rounding; `max` and
 * sums that are exact do not.
 *
 * @example
 * const { result } = await scan(Float64Array.of(3, 1, 4, 1, 5));            // 3 4 8 9 14
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the argument, before any work;
 *   `ERR_WARPLOOM_OUT_OF_MEMORY`; `ERR_WARPLOOM_DEVICE_LOST`. Aborted calls reject with `signal.reason`.
 * @see Davidson, Owens: Register Packing for Cyclic Reduction (2011), section 3 and Figs. 2 and 8
 */
export function scan<V extends ScanArray>(values: V, given: ScanOptions<V> = {}): Promise<ScanResult<V>> {
  return promised(() => start(values, scanOptions.read(given)));
}

/** @internal Checks a scan. */
export function prepare(values: ScanArray, options: Taken<ScanOptions, typeof checks>): { readonly type: RealType; readonly n: number } {
  checkTogether(options);
  const type = requireReals(values, 'values');
  const n = rowLength(values, options.batch);
  checkFlags(options.flags, values.length);
  requireOut(options.out, type, values.length);
  return { type, n };
}

function start<V extends ScanArray>(values: V, options: Taken<ScanOptions<V>, typeof checks>): Promise<ScanResult<V>> {
  const { type, n } = prepare(values, options);
  const { operator, exclusive, flags, batch, algorithm, depth, radix, out } = options;
  const device = deviceFor(options, [values, out, flags]);
  const result = (out ?? newReals(values, type, values.length, device)) as V;
  const parameters = {
    type, n, batch, operator, exclusive, algorithm, depth, radix, values: viewOf(values), result: viewOf(result), flags,
  };
  const made = out === undefined ? [result] : [];
  return runInto({ device, operation: 'scan.prefix', parameters, options, made }, ({ deviceSeconds }) =>
    briefly('Scanned', { result, info: { backend: device.backend, deviceSeconds, type, n, batch } }));
}
