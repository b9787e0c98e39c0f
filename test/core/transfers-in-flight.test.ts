// Transfers, copies and launches that are submitted without waiting for each other, on a device with memory of its own: whatever overlaps
// there, every read gives what the calls before it have made. The simt backend plays such a device (WARPLOOM_SIMT_DISCRETE); it makes
// downloads read as late as later work allows.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { openDevice, type Device, type DeviceArray, type DeviceModule } from '../../lib/core/index.ts';
import { eachBackend } from '../support/backends.ts';
import { canCompile, moduleText, ownCache } from '../support/modules.ts';
import { Random } from '../support/random.ts';

/** sum ← a + 3 b, modulo 2^32; `sum` may be one of them. */
const sum = {
  parameters: 'const int* a; const int* b; int* sum; long long n;',
  body: `for (long long j = i; j < p.n; j += (long long)block.count() * block.threads()) {
      p.sum[j] = int(unsigned(p.a[j]) + 3u * unsigned(p.b[j]));
    }`,
};

class Sequence {
  readonly #device: Device;
  readonly #module: DeviceModule;
  readonly #next: () => number;
  readonly #n: number;
  readonly #arrays: DeviceArray[] = [];
  readonly #models: Int32Array[] = [];
  readonly #pinned: Int32Array[] = [];
  readonly #pending: Promise<unknown>[] = [];

  private constructor(device: Device, module: DeviceModule, seed: number, n: number) {
    const random = new Random(seed);
    this.#next = () => random.bits() >>> 1;
    this.#device = device;
    this.#module = module;
    this.#n = n;
  }

  static async begin(device: Device, module: DeviceModule, seed: number, n: number, steps: number): Promise<Sequence> {
    const sequence = new Sequence(device, module, seed, n);
    for (let i = 0; i < steps; ++i) sequence.#pinned.push(await device.pinned('int32', n) as Int32Array);
    for (let i = 0; i < 3; ++i) {
      sequence.#models.push(sequence.#fresh());
      sequence.#arrays.push(await device.array(sequence.#models[i]!));
    }
    return sequence;
  }

  #fresh(): Int32Array {
    const first = this.#next(), step = this.#next();
    return Int32Array.from({ length: this.#n }, (_, i) => first + Math.imul(step, i));
  }

  /** Memory that is used in place, once. */
  #place(): Int32Array {
    return this.#pinned.pop() ?? new Int32Array(this.#n);
  }

  #later(call: Promise<unknown>, check: () => void = () => undefined): void {
    this.#pending.push(call.then(check));
  }

  /** One call, not waited for. */
  step(): void {
    const [i, j, k] = [0, 1, 2].map(() => this.#next() % 3) as [number, number, number];
    const array = this.#arrays[i]!, model = this.#models[i]!;
    switch (this.#next() % 7) {
      case 0: {
        const values = this.#fresh();
        const offset = this.#next() % 2 * (this.#next() % this.#n);
        this.#later(array.write(values.subarray(offset), offset));
        model.set(values.subarray(offset), offset);
        values.fill(-1);
        return;
      }
      case 1: {
        const values = this.#place();
        values.set(this.#fresh());
        this.#later(array.write(values));
        model.set(values);
        return;
      }
      case 2: {
        const into = this.#place(), expected = model.slice();
        this.#later(array.read(into), () => { deepStrictEqual(into, expected); });
        return;
      }
      case 3: {
        const expected = model.slice();
        const call = array.read();
        this.#pending.push(call.then((read) => { deepStrictEqual(read, expected); }));
        return;
      }
      case 4:
        if (i === j) return;
        this.#later(array.copyFrom(this.#arrays[j]!));
        model.set(this.#models[j]!);
        return;
      case 5: {
        const a = this.#models[j]!.slice(), b = this.#models[k]!.slice();
        this.#later(this.#module.launch('sum', {
          blocks: 4, threads: 64, arguments: [this.#arrays[j]!, this.#arrays[k]!, array, { i64: this.#n }],
        }));
        for (let at = 0; at < this.#n; ++at) model[at] = a[at]! + Math.imul(3, b[at]!);
        return;
      }
      default: {
        // Its memory may serve the new one at once.
        array.dispose();
        this.#models[i] = this.#fresh();
        const made = this.#device.array(this.#models[i]!.slice());
        this.#arrays[i] = undefined as never;
        this.#pending.push(made.then((fresh) => { this.#arrays[i] = fresh; }));
      }
    }
  }

  /** Waits until every array can be named. */
  async settle(): Promise<void> {
    await Promise.all(this.#pending.splice(0));
  }

  get isWhole(): boolean {
    return this.#arrays.every((array) => array !== undefined);
  }

  async end(): Promise<void> {
    await this.settle();
    for (const [i, array] of this.#arrays.entries()) deepStrictEqual(await array.read(), this.#models[i]);
    for (const array of this.#arrays) array.dispose();
  }
}

describe('transfers in flight', function () {
  this.timeout(240_000);
  const cache = ownCache();

  eachBackend((backend) => {
    let device: Device, module: DeviceModule;
    before(async function () {
      if (!await canCompile(backend, 4)) this.skip();
      process.env['WARPLOOM_SIMT_DISCRETE'] = '1';
      process.env['WARPLOOM_SIMT_DELAY'] = '1';
      device = await openDevice({ backend });
      module = await device.module({ source: moduleText({ sum }), kernels: ['sum'], cacheFolder: cache.folder() });
      delete process.env['WARPLOOM_SIMT_DISCRETE'];
      delete process.env['WARPLOOM_SIMT_DELAY'];
    });
    after(async () => { await device?.close(); });

    // From a megabyte on, transfers have streams of their own; from twelve on they are made in pieces.
    const sizes = backend === 'cuda' ? [5, 2 ** 18, 300_001, 4_000_001] : [5, 2 ** 18, 300_001];
    for (const n of sizes) {
      it(`of ${n} elements: any calls in any order`, async () => {
        for (let seed = 1; seed <= (n > 1e6 ? 6 : backend === 'cuda' ? 40 : n > 1000 ? 8 : 40); ++seed) {
          const sequence = await Sequence.begin(device, module, seed, n, 6);
          for (let step = 0; step < 30; ++step) {
            sequence.step();
            if (!sequence.isWhole) await sequence.settle();
          }
          await sequence.end();
        }
      });
    }

    it('both ways at once leave both sides as they should be', async () => {
      const n = 2 ** 20;
      const [up, down] = [await device.pinned('int32', n) as Int32Array, await device.pinned('int32', n) as Int32Array];
      using to = await device.array('int32', n);
      using from = await device.array(new Int32Array(n).fill(7));
      for (let round = 1; round <= 20; ++round) {
        up.fill(round);
        down.fill(0);
        await Promise.all([to.write(up), from.read(down)]);
        strictEqual(down.findIndex((x) => x !== 7), -1);
        strictEqual((await to.read()).findIndex((x) => x !== round), -1);
      }
    });
  }, { backends: ['simt', 'cuda'], cases: 5 });
});
