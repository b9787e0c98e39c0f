// Options and results of `stream.profile`.
import type { FormerBackend, StreamBackend } from '../run/backends.ts';
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
