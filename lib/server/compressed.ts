// Bodies of requests that came compressed (Content-Encoding), as some clients of the inference protocol send them.
import { promisify } from 'node:util';
import { unzip } from 'node:zlib';
import { RequestError } from './errors.ts';

const inflate = promisify(unzip);
/** Bodies that are inflated at a time: a few kilobytes may grow to the limit of a body. */
const mostAtOnce = 2;
const turns: (() => void)[] = [];
let running = 0;

/** Whether a body is compressed. @throws RequestError 415 if in another way than gzip or deflate */
export function isCompressed(encoding: string | undefined): boolean {
  if (encoding === undefined || /^identity$/i.test(encoding)) return false;
  if (/^(gzip|x-gzip|deflate)$/i.test(encoding)) return true;
  throw new RequestError(415, 'Content-Encoding must be gzip, deflate or identity', {}, { 'accept-encoding': 'gzip, deflate' });
}

/** What a body holds. @throws RequestError 413 for more than `limit` bytes, 400 for a body that is not compressed */
export async function inflated(body: Buffer, limit: number): Promise<Buffer> {
  if (running >= mostAtOnce) await new Promise<void>((resolve) => { turns.push(resolve); });
  else running += 1;
  try {
    return await inflate(body, { maxOutputLength: limit });
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new RequestError(413, `the body holds more than ${limit} bytes, the most that the server takes (bodyLimit)`);
    }
    throw new RequestError(400, 'the body cannot be decompressed as Content-Encoding says');
  } finally {
    const next = turns.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
