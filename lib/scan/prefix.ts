// scan.prefix: parallel prefix sums, products and maxima.
import { describeValue, elementTypeOf, requireLength, type TypedArray } from '../core/arrays.ts';
import type { BackendName } from '../core/binding.ts';
import { DeviceArray } from '../core/device-array.ts';
import { defaultDevice, Device } from '../core/device.ts';
import { ArgumentError, refusal } from '../core/errors.ts';
import type { CallOptions } from '../core/progress.ts';

/** Arrays a scan takes. */
export type ScanArray = Float32Array | Float64Array | DeviceArray;

/** What is accumulated. */
export const scanOperators = ['sum', 'product', 'max'] as const;
export type ScanOperator = (typeof scanOperators)[number];

/** How it is accumulated on cuda and simt; the cpu backend has one way. */
export const scanAlgorithms = ['auto', 'regpack', 'shared'] as const;
export type ScanAlgorithm = (typeof scanAlgorithms)[number];

/** Elements per thread of `regpack`; 0 leaves the choice to the policy. */
export const scanDepths = [0, 2, 4, 8, 16, 32] as const;
export type ScanDepth = (typeof scanDepths)[number];

/** Options of {@link scan}. */
export interface ScanOptions<V extends ScanArray = ScanArray> extends CallOptions {
  /** Default `sum`. `max` keeps a NaN from where it first stands, as sums and products do. */
  readonly operator?: ScanOperator;
  /** Result i without element i: rows and segments begin with 0, 1 or -Infinity. Default false. */
  readonly exclusive?: boolean;
  /** One byte per element: nonzero starts a new segment. Every row starts one in any case. */
  readonly flags?: Uint8Array | DeviceArray;
  /** Rows of equal length, one after the other, scanned independently. Default 1. */
  readonly batch?: number;
  /**
   * `regpack`: `depth` elements per thread in registers; `shared`: one element per thread in shared memory, the
   * peer it is measured against. Default `auto`: regpack with the policy's depth.
   */
  readonly algorithm?: ScanAlgorithm;
  /** With `regpack`: elements per thread. Default 0, by policy. */
  readonly depth?: ScanDepth;
  /** With `auto` and `regpack`: fan-in of a stage, 2 (default) or 4. */
  readonly radix?: 2 | 4;
  /** Default: the device of the device arrays among the arguments, else the thread's default device. */
  readonly device?: Device;
  /** Where the result goes; may be `values`. Default: a new array like `values`, on the device when they are there. */
  readonly out?: V;
}

/** Result of {@link scan}. */
export interface ScanResult<V extends ScanArray = ScanArray> {
  /** `out`, or a new array. */
  readonly result: V;
  readonly info: {
    readonly backend: BackendName;
    /** Seconds of the scan proper, without transfers. */
    readonly deviceSeconds: number;
    readonly type: 'float32' | 'float64';
    /** Elements per row. */
    readonly n: number;
    readonly batch: number;
  };
}

const known: ReadonlySet<string> = new Set([
  'operator', 'exclusive', 'flags', 'batch', 'algorithm', 'depth', 'radix', 'device', 'out', 'signal', 'onProgress',
]);

function requireChoice(value: unknown, name: string, choices: readonly unknown[]): void {
  if (value === undefined || choices.includes(value)) return;
  throw refusal(name, `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`, describeValue(value));
}

function typeOfValues(values: unknown, name: string): 'float32' | 'float64' {
  const type = values instanceof DeviceArray ? values.type : elementTypeOf(values);
  if (type === 'float32' || type === 'float64') return type;
  const received = values instanceof DeviceArray ? `a DeviceArray of ${values.type}` : describeValue(values);
  throw refusal(name, 'a Float64Array, a Float32Array or a DeviceArray of such', received);
}

/** Checks that do not depend on other arguments. */
function checkOptions(options: ScanOptions): void {
  if (typeof options !== 'object' || options === null) throw refusal('options', 'an object', describeValue(options));
  for (const key of Object.keys(options)) {
    if (!known.has(key)) throw new ArgumentError(key, `scan has no such option; it takes ${[...known].join(', ')}`);
  }
  const { operator, exclusive, algorithm, depth, radix, device, signal, onProgress, batch } = options;
  requireChoice(operator, 'operator', scanOperators);
  requireChoice(exclusive, 'exclusive', [true, false]);
  requireChoice(algorithm, 'algorithm', scanAlgorithms);
  requireChoice(depth, 'depth', scanDepths);
  requireChoice(radix, 'radix', [2, 4]);
  if (batch !== undefined) requireLength(batch, 'batch');
  if (device !== undefined && !(device instanceof Device)) throw refusal('device', 'a Device', describeValue(device));
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw refusal('signal', 'an AbortSignal', describeValue(signal));
  }
  if (onProgress !== undefined && typeof onProgress !== 'function') {
    throw refusal('onProgress', 'a function', describeValue(onProgress));
  }
  if (depth !== undefined && depth !== 0 && algorithm !== 'regpack') {
    throw new ArgumentError('depth', `is the packing depth of regpack; algorithm "${algorithm ?? 'auto'}" has none`);
  }
  if (radix === 4 && algorithm === 'shared') throw new ArgumentError('radix', 'algorithm "shared" has radix 2');
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
  const ok = flags instanceof Uint8Array || (flags instanceof DeviceArray && flags.type === 'uint8');
  if (!ok) throw refusal('flags', 'a Uint8Array or a DeviceArray of uint8', describeValue(flags));
  const count = (flags as { length: number }).length;
  if (count !== length) throw refusal('flags', `${length} entries, one per element`, `${count}`);
}

function checkOut(out: unknown, values: ScanArray, type: string): void {
  if (out === undefined) return;
  if (typeOfValues(out, 'out') !== type) throw refusal('out', `${type} elements like values`, describeValue(out));
  const count = (out as { length: number }).length;
  if (count !== values.length) throw refusal('out', `${values.length} elements like values`, `${count}`);
}

function deviceOf(options: ScanOptions, values: ScanArray): Device | undefined {
  let device = options.device;
  for (const array of [values, options.out, options.flags]) {
    if (!(array instanceof DeviceArray)) continue;
    device ??= array.device;
    if (array.device !== device) throw new ArgumentError('device', 'expected every device array on the device of the call');
  }
  return device;
}

function viewOf(data: ScanArray) {
  return { data, offset: 0, systemStride: 0, rowStride: 1, rhsStride: 0 };
}

/**
 * Prefix sums, products or maxima of every row: result[i] = values[0] ∘ … ∘ values[i], or up to values[i-1] when
 * `exclusive`, started anew at each flag.
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
export async function scan<V extends ScanArray>(values: V, options: ScanOptions<V> = {}): Promise<ScanResult<V>> {
  checkOptions(options);
  const type = typeOfValues(values, 'values');
  const { operator = 'sum', exclusive = false, flags, batch = 1, algorithm = 'auto', depth = 0, radix = 2 } = options;
  const n = rowLength(values, batch);
  checkFlags(flags, values.length);
  checkOut(options.out, values, type);
  const chosen = deviceOf(options, values);
  options.signal?.throwIfAborted();
  const device = chosen ?? await defaultDevice();
  const result = (options.out ?? await allocateLike(values, type, device)) as V;
  try {
    const { deviceSeconds } = await device.run('scan.prefix', {
      type, n, batch, operator, exclusive, algorithm, depth, radix,
      values: viewOf(values), result: viewOf(result), ...(flags === undefined ? {} : { flags }),
    }, { signal: options.signal, onProgress: options.onProgress });
    return { result, info: { backend: device.backend, deviceSeconds, type, n, batch } };
  } catch (error) {
    if (options.out === undefined && result instanceof DeviceArray) result.dispose();
    throw error;
  }
}

async function allocateLike(values: ScanArray, type: 'float32' | 'float64', device: Device): Promise<TypedArray | DeviceArray> {
  if (values instanceof DeviceArray) return device.array(type, values.length);
  return type === 'float32' ? new Float32Array(values.length) : new Float64Array(values.length);
}
