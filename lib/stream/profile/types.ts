// Options and results of `stream.profile`.
import type { FormerBackend, StreamBackend } from '../run/backends.ts';
import type { Device } from '../../core/device.ts';
import type { DeviceBackend } from '../run/backends.ts';
import type { GpuProfile } from './gpu.ts';
import type { RecordOptions } from './parts.ts';

/** What can be measured. */
export type ProfiledBackend = Extract<StreamBackend, 'wasm' | 'cpp'>;

/** Options of {@link profile}. */
export interface ProfileOptions extends RecordOptions {
  /** What is measured: WebAssembly or C++, on one thread. Default `wasm`; `js` is its former name. */
  readonly backend?: ProfiledBackend | FormerBackend;
  /** Seconds that each measurement takes at least. Default 0.005. */
  readonly seconds?: number;
  /** Folder for profiles; default as for compiled programs: `warploom/stream` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Measures again even where a profile is kept. */
  readonly force?: boolean;
  /** Called with nodes measured and nodes in all. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Costs of a program on this machine. */
export interface Profile {
  /** Microseconds of one firing, by node. */
  readonly microseconds: readonly number[];
  /** By node: whether the time is measured; counted operations stand in for nodes that fail when they run alone. */
  readonly measured: readonly boolean[];
  readonly backend: ProfiledBackend;
  /** Whether the profile was kept from before. */
  readonly cached: boolean;
  /** Hash of the program's code and tables, the input, the back end, its compiler and the processor. */
  readonly key: string;
  /** What the caller should know, in words: that the name of a back end is a former one. */
  readonly note?: string;
}

/** Options of {@link profile} on a device: Algorithm 1 of the thesis. */
export interface DeviceProfileOptions {
  readonly backend: DeviceBackend;
  /** An open device of the backend. Default: one that is opened for the call. */
  readonly device?: Device;
  /** How channels are laid out: as the mode of {@link compileForDevice} does it. Default `swp`. */
  readonly mode?: 'swp' | 'swpnc';
  /** With `swp`: threads whose items stand side by side, 128 (`block`) or 32 (`warp`). Default `block`. */
  readonly layout?: 'block' | 'warp';
  /** Threads of an instance to measure, ascending, multiples of the layout's. Default 128, 256, 384, 512, 768 and 1024. */
  readonly threads?: readonly number[];
  /** Limits on the registers of a thread, 16 to 255, ascending. Default: those that let blocks of these threads run. */
  readonly registers?: readonly number[];
  /** Firings of each multiprocessor, a multiple of all threads and of 1024. Default: the least such multiple above 24 000. */
  readonly firings?: number;
  /** Folder for profiles; default as for compiled programs: `warploom/stream` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Measures again even where a profile is kept. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
  /** Called with runs made and runs in all. */
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Times of a program's filters on a device. The table has a column for each actor of `toSdf(graph, { ends: true })`, the open ends last:
 * they bring the input to the first channel, and the last channel to the output.
 */
export interface DeviceProfile extends GpuProfile {
  readonly mode: 'swp' | 'swpnc';
  readonly layout: 'block' | 'warp';
  /** Whether the profile was kept from before. */
  readonly cached: boolean;
}
