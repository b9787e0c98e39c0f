// Safe inflating: never more bytes than the header announces, so that a small file cannot fill the memory.
import { promisify } from 'node:util';
import { createGunzip, gunzip, inflate, inflateRaw } from 'node:zlib';
import { damaged } from './common.ts';

const inflaters = { zlib: promisify(inflate), raw: promisify(inflateRaw), gzip: promisify(gunzip) };

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? '';

/**
 * Inflates to exactly `expected` bytes.
 *
 * @throws `ERR_WARPLOOM_DAMAGED_FILE` when the data inflates to more (as soon as it does) or to less, or is not deflated data
 */
export async function inflateExactly(
  bytes: Uint8Array, expected: number, name: string, kind: keyof typeof inflaters = 'zlib',
): Promise<Uint8Array> {
  const result = await inflateAtMost(bytes, expected, name, kind);
  if (result.length < expected) throw damaged(name, `inflates to ${result.length} bytes, but its header announces ${expected}`);
  return result;
}

/** The same, to at most `limit` bytes. */
export async function inflateAtMost(
  bytes: Uint8Array, limit: number, name: string, kind: keyof typeof inflaters = 'zlib',
): Promise<Uint8Array> {
  try {
    return await inflaters[kind](bytes, { maxOutputLength: Math.max(limit, 1) });
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw damaged(name, `inflates to more than the ${limit} bytes that its header announces`);
    throw damaged(name, `cannot be inflated: ${(error as Error).message}`, error);
  }
}

/**
 * Inflates a gzip file whose length is given in a header inside it.
 *
 * @param header bytes that `lengthOf` needs
 * @param lengthOf most bytes that the file may inflate to, from its first `header` bytes
 */
export async function gunzipByHeader(
  bytes: Uint8Array, header: number, name: string, lengthOf: (start: Buffer) => number,
): Promise<Uint8Array> {
  const stream = createGunzip({ chunkSize: 1 << 18 });
  const pieces: Buffer[] = [];
  let length = 0;
  let limit: number | undefined;
  try {
    stream.end(bytes);
    for await (const piece of stream as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (limit === undefined && length >= header) limit = lengthOf(Buffer.concat(pieces));
      if (limit !== undefined && length > limit) throw damaged(name, `inflates to more than the ${limit} bytes that its header announces`);
    }
  } catch (error) {
    if (codeOf(error).startsWith('ERR_WARPLOOM')) throw error;
    throw damaged(name, `cannot be inflated: ${(error as Error).message}`, error);
  } finally {
    stream.destroy();
  }
  if (limit === undefined) throw damaged(name, `inflates to ${length} bytes, less than a header`);
  return Buffer.concat(pieces);
}
