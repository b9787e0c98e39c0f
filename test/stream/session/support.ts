// Sessions in tests: all that a session gives for an input in chunks.
import assert from 'node:assert/strict';
import { open, StreamRunError, type StreamSessionOptions } from '../../../lib/stream/index.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { Random } from '../emit/random-programs.ts';

/** How an input is cut, from its length: chunks of one length, or of random lengths with empty ones among them. */
export type Cut = number | 'random';

/** Parts of an array. */
export function* cut(input: ArrayLike<number>, how: Cut, seed = 1): Generator<ArrayLike<number>> {
  const random = new Random(seed);
  const all = ArrayBuffer.isView(input) ? input as unknown as Float32Array : Float64Array.from(input);
  for (let at = 0; at < all.length;) {
    const length = how === 'random' ? random.below(5) === 0 ? 0 : random.below(97) : how;
    yield all.subarray(at, at + length);
    at += length;
  }
}

/** Everything that a session gives. */
export interface All {
  readonly output: number[];
  readonly text: string;
  readonly error?: unknown;
  readonly backend: string;
  readonly note: string | undefined;
}

/** Gives an input to a session chunk by chunk. */
export async function inChunks(
  graph: StreamGraph, chunks: Iterable<ArrayLike<number>>, options: StreamSessionOptions = {},
): Promise<All> {
  let text = '';
  const session = await open(graph, { print: (more) => { text += more; }, ...options });
  const output: number[] = [];
  const take = (block: ArrayLike<number> | string): void => {
    if (typeof block === 'string') text += block;
    else for (let i = 0; i < block.length; ++i) output.push(block[i]!);
  };
  const { backend, note } = session;
  try {
    for (const chunk of chunks) take(await session.push(chunk));
    take(await session.end());
    assert.ok(session.closed);
    return { output, text, backend, note };
  } catch (error) {
    assert.ok(session.closed, String(error));
    if (error instanceof StreamRunError && error.output !== undefined) take(error.output);
    return { output, text, error, backend, note };
  } finally {
    await session.close();
  }
}
