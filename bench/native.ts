// The addon's benchmark hooks (native/bench/), present in builds of a clone only.
import { addon, type RawOutcome } from '../lib/core/binding.ts';
import type { DeviceArray } from '../lib/core/device.ts';
import { handleOf } from '../lib/core/device-memory.ts';
import { rethrow } from '../lib/core/native-error.ts';
import { pack } from '../lib/core/pack.ts';
import { reportOf } from '../lib/core/report.ts';

/** A peer the addon was built with. */
export interface NativePeer {
  readonly name: string;
  readonly available: boolean;
  /** The library it uses, or why it cannot run. */
  readonly reason: string;
}

/** A parameter object of an operation or a peer whose arrays are all device arrays. */
export type ParameterSet = Readonly<Record<string, unknown>>;

export interface BenchmarkOptions {
  /** Calls per repeat, back to back. */
  readonly calls: number;
  readonly repeats: number;
  /** Calls of each set before the first repeat. */
  readonly warmup: number;
}

export interface Measured {
  /** Seconds of one call, in each repeat. */
  readonly seconds: number[];
  /** What the operation reported of its last call; nothing for peers. */
  readonly report: Readonly<Record<string, unknown>>;
}

/** What native/bench/bench.cpp adds to the addon. */
export interface NativeBenchmarks {
  benchmark(
    array: number, operation: string, sets: readonly Float64Array[], options: BenchmarkOptions,
  ): Promise<{ readonly seconds: number[]; readonly report?: RawOutcome }>;
  peers(): NativePeer[];
  /** Whether calls note when they come to their {@link moments}; when the last one did, in nanoseconds of process.hrtime. */
  moments(on: boolean): number[];
  /** The sanitizer of the build, or ''. */
  readonly sanitizer: string;
}

/** Moment of native/core/moments.h. */
export const moments = [
  'entered', 'read', 'posted', 'taken', 'sent', 'launched', 'submitted', 'reached', 'settled', 'delivered',
] as const;

/** The hooks; throws where the build has none or is not fit to be timed. */
export function nativeBenchmarks(): NativeBenchmarks {
  return checkBuild(addon() as unknown as Partial<NativeBenchmarks>);
}

/** Refuses released binaries (no hooks) and sanitizer builds (their times mean nothing). */
export function checkBuild(hooks: Partial<NativeBenchmarks>): NativeBenchmarks {
  if (hooks.benchmark === undefined) {
    throw new Error('this build has no benchmark hooks: run npm run build:native in a clone');
  }
  if (hooks.sanitizer !== '') throw new Error(`a build with the ${hooks.sanitizer} sanitizer is not benchmarked`);
  return hooks as NativeBenchmarks;
}

/** Fields of the peers in the order of their C++ visit() (native/bench/peer.h, copy.cpp, cuda/bench/*.h). */
const peerFields: Readonly<Record<string, readonly string[]>> = {
  'bench.copy': ['type', 'from', 'to'],
  'bench.stream': ['type', 'first', 'second', 'third', 'fourth', 'to', 'threads', 'blocksPerMultiprocessor'],
  'bench.cub_scan': ['type', 'n', 'batch', 'values', 'result'],
  'bench.lapack': ['type', 'n', 'batch', 'lower', 'diagonal', 'upper', 'rhs', 'solution'],
  'bench.cusparse_strided': ['type', 'n', 'batch', 'lower', 'diagonal', 'upper', 'rhs', 'solution'],
  'bench.paper_regpack': ['type', 'n', 'batch', 'lower', 'diagonal', 'upper', 'rhs', 'solution', 'depth'],
};
const types = ['float32', 'float64'];

function packPeer(fields: readonly string[], parameters: ParameterSet): Float64Array {
  const numbers = fields.flatMap((name) => {
    const value = parameters[name];
    if (typeof value === 'number') return [value];
    if (value === undefined) return Array<number>(4).fill(NaN); // a view that is left out
    if (typeof value === 'string') return [types.indexOf(value)];
    const { data, offset = 0 } = value as { data: DeviceArray; offset?: number };
    return [handleOf(data, name), NaN, offset, NaN]; // all of the array: Binder::view of native/core/arguments.cpp
  });
  return Float64Array.from(numbers);
}

function packSet(operation: string, parameters: ParameterSet): Float64Array {
  const fields = peerFields[operation];
  if (fields !== undefined) return packPeer(fields, parameters);
  pack(operation, parameters);
  return addon().numbers.slice();
}

/** Runs the sets in turn. */
export async function benchmark(
  anchor: DeviceArray, operation: string, sets: readonly ParameterSet[], options: BenchmarkOptions,
): Promise<Measured> {
  const packed = sets.map((set) => packSet(operation, set));
  const { seconds, report } = await nativeBenchmarks().benchmark(handleOf(anchor, 'anchor'), operation, packed, options).catch(rethrow);
  const fields = addon().operations()[operation]?.report;
  return { seconds, report: fields === undefined || report === undefined ? {} : reportOf(fields, report) };
}
