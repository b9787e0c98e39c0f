// Bodies of requests: whole, aligned, and refused when they are too large or have another length than announced.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { giveBack, readBody } from '../../lib/server/body.ts';

/** Reads a body that comes in parts of `step` bytes. */
function read(
  bytes: Buffer, { step = 7, limit = 1 << 24, headerLength = 0, announced }: { step?: number; limit?: number; headerLength?: number; announced?: number },
): Promise<Buffer> {
  const raw = new PassThrough();
  const headers = {
    'inference-header-content-length': String(headerLength), ...(announced === undefined ? {} : { 'content-length': String(announced) }),
  };
  const body = readBody({ raw: raw as unknown as IncomingMessage, headers }, limit);
  for (let at = 0; at < bytes.length; at += step) raw.write(bytes.subarray(at, at + step));
  raw.end();
  return body;
}

describe('bodies of requests', () => {
  it('are whole, and tensors behind the header are aligned', async () => {
    for (const length of [0, 1, 2, 7, 8, 9, 40, (1 << 22) + 3]) {
      const bytes = Buffer.alloc(length).map((_, i) => i % 251) as Buffer;
      for (const headerLength of [0, 1, 3, 8]) {
        for (const announced of [undefined, length]) {
          const body = await read(bytes, { headerLength, step: length > 100 ? 1 << 16 : 7, ...(announced === undefined ? {} : { announced }) });
          strictEqual(Buffer.compare(body, bytes), 0);
          strictEqual((body.byteOffset + headerLength) % 8, 0);
        }
      }
    }
  });

  it('lie in memory that serves again once all bodies in it were given back', async () => {
    const bodies: Buffer[] = [];
    for (let i = 0; i < 200; i += 1) bodies.push(await read(Buffer.alloc(9000, i), { step: 9000, announced: 9000, headerLength: i % 9 }));
    for (const [i, body] of bodies.entries()) ok(body.every((byte) => byte === i), `body ${i} was written over`);
    const memories = new Set(bodies.map(({ buffer }) => buffer));
    const [, whole] = memories; // the first has bodies of other tests
    const inWhole = bodies.filter(({ buffer }) => buffer === whole), [last] = inWhole;
    for (const body of inWhole.slice(1)) giveBack(body);
    const before: Buffer[] = [];
    for (let i = 0; i < 100; i += 1) before.push(await read(Buffer.alloc(9000, 255), { step: 9000, announced: 9000 }));
    ok(before.every(({ buffer }) => buffer !== whole) && last!.every((byte) => byte === bodies.indexOf(last!)));
    giveBack(last!);
    const after: Buffer[] = [];
    for (let i = 0; i < 100; i += 1) after.push(await read(Buffer.alloc(9000, 255), { step: 9000, announced: 9000 }));
    ok(after.some(({ buffer }) => buffer === whole));
    ok(bodies.filter(({ buffer }) => buffer !== whole).every((body) => body.every((byte) => byte === bodies.indexOf(body))));
  });

  it('are refused over the limit, and with another length than announced', async () => {
    const bytes = Buffer.alloc(20);
    deepStrictEqual((await read(bytes, { limit: 20 })).length, 20);
    for (const announced of [undefined, 20]) {
      await rejects(read(bytes, { limit: 19, ...(announced === undefined ? {} : { announced }) }), { statusCode: 413 });
    }
    for (const announced of [5, 19, 21, NaN]) await rejects(read(bytes, { announced }), { statusCode: 400 });
    await rejects(read(bytes, { announced: 5, limit: 10 }), { statusCode: 413 });
    await rejects(read(Buffer.alloc(0), { announced: 1 }), { statusCode: 400 });
  });
});
