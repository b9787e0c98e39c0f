// Bodies of requests, read so that binary tensors need not be moved again.
import type { IncomingMessage } from 'node:http';
import { KeptBuffers } from '../core/kept-buffers.ts';
import { inflated, isCompressed } from './compressed.ts';
import { RequestError } from './errors.ts';

/** Elements of all data types start at a multiple of this. */
const alignment = 8;
/** Larger bodies are put together when all of it is there: their length is no more than a claim until then. */
const mostAhead = 2 ** 22;
/** Small bodies lie next to each other in memory of so many bytes: each piece of memory is work for the garbage collector. */
const slabBytes = 2 ** 19, mostInSlab = 2 ** 16;

/** Memory of bodies serves again: the system takes longer to provide new memory than a body takes to be copied. */
const kept = new KeptBuffers<ArrayBuffer>(mostInSlab);

/** A piece of memory for small bodies. */
interface Slab {
  readonly memory: ArrayBuffer;
  /** Bytes that have been given out. */
  used: number;
  /** Bodies in it that are in use. */
  bodies: number;
}

let current: Slab | undefined;
const slabs = new WeakMap<ArrayBufferLike, Slab>();

function nextSlab(): Slab {
  const slab = { memory: kept.take(slabBytes) ?? Buffer.allocUnsafeSlow(slabBytes).buffer, used: 0, bodies: 0 };
  slabs.set(slab.memory, slab);
  return slab;
}

/** Says that nobody uses the body of a request any more; at most once of each. */
export function giveBack({ buffer, byteLength }: Buffer): void {
  if (byteLength > mostInSlab) {
    kept.give(buffer as ArrayBuffer);
    return;
  }
  const slab = slabs.get(buffer);
  if (slab === undefined) return;
  slab.bodies -= 1;
  if (slab.bodies > 0) return;
  if (slab === current) slab.used = 0;
  else kept.give(slab.memory);
}

/** Memory for `length` bytes, of which byte `aligned` has an address that is a multiple of 8. */
function memoryFor(length: number, aligned: number): Buffer {
  const shift = (alignment - (aligned % alignment)) % alignment;
  if (length > mostInSlab) {
    const memory = kept.take(length + alignment) ?? Buffer.allocUnsafeSlow(length + alignment).buffer;
    return Buffer.from(memory, shift, length);
  }
  if (current === undefined || current.used + alignment + length > slabBytes) current = nextSlab();
  const from = current.used + shift;
  current.used = Math.ceil((from + length) / alignment) * alignment;
  current.bodies += 1;
  return Buffer.from(current.memory, from, length);
}

/** A request whose body is to be read. */
interface Sent {
  readonly headers: IncomingMessage['headers'];
  readonly raw: IncomingMessage;
}

/** The place in a body where the bytes of tensors begin. */
function beginOfTensors({ 'inference-header-content-length': text = '0' }: IncomingMessage['headers']): number {
  const length = Number(text);
  return Number.isSafeInteger(length) ? length : 0;
}

/**
 * Reads the body of a request, decompressed. Its first byte behind the JSON part, where the bytes of tensors begin, is aligned.
 * @throws RequestError 413 for more than `limit` bytes, 400 for another number than the request has announced, 415 for an encoding that
 *   is not known
 */
export async function readBody(sent: Sent, limit: number): Promise<Buffer> {
  if (!isCompressed(sent.headers['content-encoding'])) return receive(sent, limit);
  const packed = await receive(sent, limit);
  const whole = await inflated(packed, limit);
  giveBack(packed);
  return assembled([whole], whole.byteLength, beginOfTensors(sent.headers));
}

function receive({ headers, raw }: Sent, limit: number): Promise<Buffer> {
  const announced = headers['content-length'] === undefined ? undefined : Number(headers['content-length']);
  const aligned = beginOfTensors(headers);
  const tooLarge = (): RequestError =>
    new RequestError(413, `the body is larger than ${limit} bytes, the most that the server takes (bodyLimit)`);
  return new Promise((resolve, reject) => {
    if (announced !== undefined && announced > limit) {
      reject(tooLarge());
      return;
    }
    let received = 0;
    let memory: Buffer | undefined;
    const parts: Buffer[] = [];
    const refuse = (error: Error): void => {
      raw.off('data', take).off('end', end).off('error', refuse);
      reject(error);
    };
    const end = (): void => {
      const isWhole = announced === undefined || received === announced;
      if (isWhole) resolve(memory ?? assembled(parts, received, aligned));
      else refuse(new RequestError(400, 'the body has not the length that was announced'));
    };
    const take = (part: Buffer): void => {
      if (received + part.length > limit) {
        refuse(tooLarge());
        return;
      }
      if (announced !== undefined && announced <= mostAhead) {
        memory ??= memoryFor(announced, aligned);
        part.copy(memory, received);
      } else {
        parts.push(part);
      }
      received += part.length;
    };
    raw.on('data', take).on('end', end).on('error', refuse);
  });
}

function assembled(parts: readonly Buffer[], length: number, aligned: number): Buffer {
  const all = memoryFor(length, aligned);
  let at = 0;
  for (const part of parts) at += part.copy(all, at);
  return all;
}
