// Random interleavings of calls with transfers, detachings and collections of the buffers they use.
import { ok } from 'node:assert/strict';
import { ArgumentError, WarploomError } from '../../lib/core/errors.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { drillBackends } from '../support/backends.ts';
import { Random } from '../support/random.ts';
import { viewOf } from '../support/valid-parameters.ts';

const n = 32;
const batch = 8;
const total = n * batch;
const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;

type Maker = (device: Device) => Promise<Float64Array>;
const makers: readonly Maker[] = [
  () => Promise.resolve(new Float64Array(total)),
  () => Promise.resolve(new Float64Array(2 * total).subarray(total)),
  () => Promise.resolve(new Float64Array(new SharedArrayBuffer(8 * total))),
  () => Promise.resolve(new Float64Array(new Resizable(8 * total, { maxByteLength: 16 * total }))),
  (device) => device.pinned('float64', total) as Promise<Float64Array>,
];
const disturbances: readonly ((array: Float64Array) => void)[] = [
  () => undefined,
  (array) => void structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] }),
  (array) => (array.buffer as unknown as { resize(length: number): void }).resize(8),
  (array) => array.fill(NaN),
  () => gc?.({ type: 'minor' }), // of new buffers; a whole one takes as long as all that stands in this process
];

describe('buffers taken away during calls', function () {
  this.timeout(60000);

  for (const backend of drillBackends(1)) {
    it(`never crashes the ${backend} backend in 200 random interleavings`, async () => {
      const random = new Random({ cpu: 11, simt: 12, cuda: 13 }[backend]);
      const device = await openDevice({ backend, threads: 1 });
      let failed = 0;
      let done = 0;
      for (let round = 0; round < 200; round += 1) {
        const bands = await Promise.all([-1, 4, -1].map(async (value) => ((await makers[random.integer(0, 2)]!(device)).fill(value))));
        const rhs = (await makers[random.integer(0, makers.length - 1)]!(device)).fill(1);
        const solution = random.integer(0, 4) === 0 ? rhs : await makers[random.integer(0, makers.length - 1)]!(device);
        const all = [...bands, rhs, solution];
        const disturb = (): void => {
          try {
            disturbances[random.integer(0, disturbances.length - 1)]!(all[random.integer(0, all.length - 1)]!);
          } catch {
            // shared and pinned memory cannot be detached, fixed buffers not resized
          }
        };
        if (random.integer(0, 3) === 0) disturb();
        const pending = device.run('tridiagonal.solve', {
          type: 'float64', n, batch, lower: viewOf(bands[0], n), diagonal: viewOf(bands[1], n), upper: viewOf(bands[2], n),
          rhs: viewOf(rhs, n), solution: viewOf(solution, n),
        });
        for (let i = random.integer(0, 3); i > 0; i -= 1) disturb();
        const outcome = await pending.then(() => undefined, (error: unknown) => error);
        if (outcome === undefined) {
          done += 1;
        } else {
          failed += 1;
          ok(outcome instanceof ArgumentError || outcome instanceof WarploomError, String(outcome));
        }
        if (round % 20 === 0) gc?.();
      }
      await device.close();
      ok(done > 20 && failed > 20, `${done} done, ${failed} refused or failed`);
    });
  }
});
