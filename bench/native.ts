// The addon's benchmark hooks (native/bench/), present in builds of a clone only.
import { addon } from '../lib/core/binding.ts';
import type { DeviceArray } from '../lib/core/device-array.ts';

/** A peer the addon was built with. */
export interface NativePeer {
  readonly name: string;
  readonly available: boolean;
  /** The library it uses, or why it cannot run. */
  readonly reason: string;
}

/** What native/bench/bench.cpp adds to the addon. */
export interface NativeBenchmarks {
  benchmark(
    anchor: DeviceArray, operation: string, sets: readonly object[],
    options: { calls: number; repeats: number; warmup: number },
  ): Promise<{ seconds: number[] }>;
  peers(): NativePeer[];
  /** The sanitizer of the build, or ''. */
  readonly sanitizer: string;
}

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
