// What sessions take, and the options of their forms.
import { truth } from '../../core/checks.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';

/** What a session takes at a time: scalars of items, in chunks or one by one. */
export type StreamChunk = ArrayLike<number> | number;

/** Options of {@link StreamSession.process}, {@link StreamSession.transform} and {@link StreamSession.duplex}. */
export interface StreamFormOptions {
  /**
   * Takes and gives bytes (`Uint8Array`) instead of numbers: items as 32-bit words and 64-bit doubles, little-endian, as in the files of
   * programs; bits are packed 32 to a word, text is UTF-8. Default false.
   */
  readonly bytes?: boolean;
}

export const formOptions = optionsOf('process', { bytes: normally(truth, false) } satisfies ChecksOf<StreamFormOptions>);

export type Source = AsyncIterable<unknown> | Iterable<unknown>;
