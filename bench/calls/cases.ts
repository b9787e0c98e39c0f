// The calls that `npm run bench -- calls` times: every operation of every domain as a user writes it, with default options.
import { imaging, scan, swept, tridiagonal } from '../../lib/index.ts';
import type { Device, DeviceArray } from '../../lib/core/device.ts';

/** Where a call's arrays are: in device memory, page-locked, or plain. */
export type Memory = 'device' | 'pinned' | 'plain';
export type Reals = Float32Array | Float64Array | DeviceArray;

/** A call that is ready to be made again and again. */
export interface Prepared {
  /** Makes the call once; seconds on the device, where the call says. */
  call(): Promise<number | undefined>;
  /** Bytes that a call on plain arrays takes and gives. */
  readonly bytes: number;
}

/** One row's call, but for where its arrays are. */
export interface CallCase {
  /** domain.operation */
  readonly operation: string;
  readonly shape: string;
  readonly type: 'float32' | 'float64';
  readonly memories: readonly Memory[];
  /** Short enough that its steps are told apart. */
  readonly steps?: boolean;
  /** Puts what the call needs into `made`; whoever asked frees it. */
  prepare(where: Placement): Promise<Prepared>;
}

/** Makes arrays where a row wants them, and frees them. */
export class Placement {
  readonly device: Device;
  readonly memory: Memory;
  readonly #owned: { [Symbol.dispose](): void }[] = [];

  constructor(device: Device, memory: Memory) {
    this.device = device;
    this.memory = memory;
  }

  /** `count` numbers of a type, the first `most` values of `value` again and again, in the row's memory. */
  async reals(type: 'float32' | 'float64', count: number, value: (i: number) => number, most = kPeriod): Promise<Reals> {
    const plain = type === 'float32' ? new Float32Array(count) : new Float64Array(count);
    const period = Math.min(count, most); // what repeats is made faster than a sine for each of 33 million
    for (let i = 0; i < period; i += 1) plain[i] = value(i);
    for (let made = period; made < count; made *= 2) plain.copyWithin(made, 0, Math.min(made, count - made));
    if (this.memory === 'plain') return plain;
    if (this.memory === 'device') return this.own(await this.device.array(plain));
    const pinned = await this.device.pinned(type, count) as Float32Array | Float64Array;
    pinned.set(plain);
    return pinned;
  }

  own<T extends { [Symbol.dispose](): void }>(value: T): T {
    this.#owned.push(value);
    return value;
  }

  free(): void {
    for (const each of this.#owned.splice(0)) each[Symbol.dispose]();
  }
}

const kPeriod = 1 << 16;
const bytesOf = (type: 'float32' | 'float64'): number => (type === 'float32' ? 4 : 8);
const everywhere: readonly Memory[] = ['device', 'pinned', 'plain'];
/** A smooth value that differs from place to place. */
const wave = (i: number): number => 1 + 0.5 * Math.sin(i * 0.37);

async function systems(where: Placement, type: 'float32' | 'float64', batch: number, n: number) {
  const total = batch * n;
  const [lower, diagonal, upper, rhs, out] = [
    await where.reals(type, total, () => -1), await where.reals(type, total, (i) => 3 + wave(i)), await where.reals(type, total, () => -1),
    await where.reals(type, total, wave), await where.reals(type, total, () => 0),
  ];
  return { lower, diagonal, upper, rhs, out, n, batch, device: where.device };
}

function solving(batch: number, n: number, type: 'float32' | 'float64', options: object = {}, label = 'tridiagonal.solve'): CallCase {
  return {
    operation: label, shape: `${batch}x${n}`, type, memories: everywhere, steps: batch === 1,
    async prepare(where) {
      const problem = { ...await systems(where, type, batch, n), ...options };
      return { call: async () => (await tridiagonal.solve(problem)).info.deviceSeconds, bytes: 5 * batch * n * bytesOf(type) };
    },
  };
}

function planned(batch: number, n: number, type: 'float32' | 'float64'): CallCase {
  return {
    operation: 'tridiagonal.plan.solve', shape: `${batch}x${n}`, type, memories: everywhere,
    async prepare(where) {
      const { rhs, out, lower, diagonal, upper } = await systems(where, type, batch, n);
      const plan = await tridiagonal.plan({ lower, diagonal, upper, n, batch, device: where.device });
      where.own({ [Symbol.dispose]: () => { void plan[Symbol.asyncDispose](); } });
      return { call: async () => (await plan.solve({ rhs, out })).info.deviceSeconds, bytes: 2 * batch * n * bytesOf(type) };
    },
  };
}

function multiplying(batch: number, n: number, type: 'float32' | 'float64'): CallCase {
  return {
    operation: 'tridiagonal.multiply', shape: `${batch}x${n}`, type, memories: everywhere,
    async prepare(where) {
      const { lower, diagonal, upper, rhs, out, device } = await systems(where, type, batch, n);
      const options = { lower, diagonal, upper, x: rhs, y: out, n, batch, device };
      return { call: async () => (await tridiagonal.multiply(options)).info.deviceSeconds, bytes: 5 * batch * n * bytesOf(type) };
    },
  };
}

function judging(batch: number, n: number, type: 'float32' | 'float64'): CallCase {
  return {
    operation: 'tridiagonal.condition', shape: `${batch}x${n}`, type, memories: ['device', 'plain'],
    async prepare(where) {
      const { lower, diagonal, upper, device } = await systems(where, type, batch, n);
      const options = { lower, diagonal, upper, n, batch, device };
      return { call: async () => (await tridiagonal.condition(options)).info.deviceSeconds, bytes: 3 * batch * n * bytesOf(type) };
    },
  };
}

function differentiating(batch: number, n: number, type: 'float32' | 'float64'): CallCase {
  return {
    operation: 'tridiagonal.vjp', shape: `${batch}x${n}`, type, memories: ['device', 'plain'],
    async prepare(where) {
      const { lower, diagonal, upper, rhs, out, device } = await systems(where, type, batch, n);
      const options = { lower, diagonal, upper, solution: rhs, cotangent: out, n, batch, device };
      return {
        call: async () => {
          const { rhs: gradient, lower: a, diagonal: b, upper: c, info } = await tridiagonal.vjp(options);
          for (const each of [gradient, a, b, c] as Reals[]) if (each !== undefined && Symbol.dispose in each) each[Symbol.dispose]();
          return info.deviceSeconds;
        },
        bytes: 9 * batch * n * bytesOf(type),
      };
    },
  };
}

function summing(batch: number, n: number, type: 'float32' | 'float64'): CallCase {
  return {
    operation: 'scan', shape: `${batch}x${n}`, type, memories: everywhere,
    async prepare(where) {
      const values = await where.reals(type, batch * n, wave);
      const out = await where.reals(type, batch * n, () => 0);
      const { device } = where;
      return {
        call: async () => (await scan(values, { batch, out, device })).info.deviceSeconds, bytes: 2 * batch * n * bytesOf(type),
      };
    },
  };
}

function advancing(equation: 'heat' | 'kuramotoSivashinsky' | 'euler', n: number, steps: number): CallCase {
  return {
    operation: `swept.${equation}.advance`, shape: `${n}x${steps}`, type: 'float64', memories: ['device'],
    async prepare(where) {
      const simulation = equation === 'heat'
        ? await swept.heat({ n, fourier: 0.4, initial: { kind: 'cosine', mode: 1 }, device: where.device })
        : equation === 'euler' ? await swept.euler({ n, cfl: 0.4, initial: 'sod', boundary: 'dirichlet', device: where.device })
          : await swept.kuramotoSivashinsky({ n, dx: 0.5, dt: 0.005, initial: 'paper', device: where.device });
      where.own({ [Symbol.dispose]: () => { void simulation[Symbol.asyncDispose](); } });
      return {
        call: async () => {
          const before = simulation.info.deviceSeconds;
          await simulation.advance(steps);
          return simulation.info.deviceSeconds - before;
        },
        bytes: 0,
      };
    },
  };
}

function snapping(n: number, steps: number): CallCase {
  return {
    operation: 'swept.heat.snapshot', shape: `${n}x${steps}`, type: 'float64', memories: ['plain'],
    async prepare(where) {
      const simulation = await swept.heat({ n, fourier: 0.4, initial: { kind: 'cosine', mode: 1 }, device: where.device });
      where.own({ [Symbol.dispose]: () => { void simulation[Symbol.asyncDispose](); } });
      return {
        call: async () => {
          await simulation.advance(steps);
          await simulation.read();
          return undefined;
        },
        bytes: 8 * n,
      };
    },
  };
}

type Pixels = { data: Reals; width: number; height: number; depth?: number };

async function picture(where: Placement, size: number, dimensions: 2 | 3, disc = false): Promise<Pixels> {
  const count = size ** dimensions;
  const data = await where.reals('float32', count, disc
    ? (i) => (Math.hypot((i % size) - size / 2, (Math.floor(i / size) % size) - size / 2) < size / 4 ? 1 : 0) + 0.1 * Math.sin(i * 12.9898)
    : (i) => 0.5 + 0.3 * Math.sin(i * 0.01) + 0.1 * Math.sin(i * 12.9898), count);
  return { data, width: size, height: size, ...(dimensions === 3 ? { depth: size } : {}) };
}

function imagingCase(
  operation: string, size: number, dimensions: 2 | 3, memories: readonly Memory[], bytesPerPixel: number,
  run: (image: Pixels, device: Device, other: Pixels) => Promise<{ info?: { deviceSeconds: number }; image?: unknown } | undefined>,
): CallCase {
  return {
    operation: `imaging.${operation}`, shape: `${size}^${dimensions}`, type: 'float32', memories,
    async prepare(where) {
      const image = await picture(where, size, dimensions, operation === 'segment');
      const other = await picture(where, size, dimensions);
      return { call: async () => (await run(image, where.device, other))?.info?.deviceSeconds, bytes: bytesPerPixel * size ** dimensions };
    },
  };
}

/** Frees what a call made in device memory. */
function freed<T extends object>(result: T): T {
  for (const value of Object.values(result) as unknown[]) {
    const data = typeof value === 'object' && value !== null && 'data' in value ? value.data : value;
    if (typeof data === 'object' && data !== null && Symbol.dispose in data) (data as { [Symbol.dispose](): void })[Symbol.dispose]();
  }
  return result;
}

/* eslint-disable @typescript-eslint/no-explicit-any -- one list of calls for arrays of every kind */
const asImage = (image: Pixels): any => image;

function imagingCases(size2: number, size3: number): CallCase[] {
  return [
    imagingCase('denoise', size3, 3, everywhere, 8, async (image, device) =>
      freed(await imaging.denoise(asImage(image), { weight: 0.1, device }))),
    imagingCase('segment', size2, 2, everywhere, 9, async (image, device) => freed(await imaging.segment(asImage(image), { device }))),
    imagingCase('register', size2, 2, ['device', 'plain'], 16, async (image, device, other) =>
      freed(await imaging.register(asImage(image), asImage(other), { device } as any))),
    imagingCase('curvature', size2, 2, everywhere, 8, async (image, device) => freed(await imaging.curvature(asImage(image), { device }))),
    imagingCase('cosineTransform', size2, 2, everywhere, 8, async (image, device) =>
      freed(await imaging.cosineTransform(asImage(image), { device }))),
  ];
}
/* eslint-enable @typescript-eslint/no-explicit-any */

function transferring(count: number): CallCase[] {
  const one = (operation: string, run: (array: DeviceArray, plain: Float64Array) => Promise<unknown>): CallCase => ({
    operation: `array.${operation}`, shape: `${count}`, type: 'float64', memories: ['plain'],
    async prepare(where) {
      const array = where.own(await where.device.array('float64', count));
      const plain = new Float64Array(count);
      return { call: async () => { await run(array, plain); return undefined; }, bytes: 8 * count };
    },
  });
  return [
    one('read', (array, plain) => array.read(plain)),
    one('write', (array, plain) => array.write(plain)),
  ];
}

/** The cases of a device: what fits it, and small ones for the test of the bench itself. */
export function callCases(backend: string, quick: boolean): CallCase[] {
  if (quick || backend === 'simt') {
    return [
      solving(4, 32, 'float64'), planned(4, 32, 'float64'), multiplying(4, 32, 'float32'), judging(4, 32, 'float64'),
      differentiating(4, 32, 'float64'), summing(4, 32, 'float64'), advancing('heat', 64, 10), snapping(64, 10),
      ...imagingCases(32, 8), ...transferring(16),
    ];
  }
  const gpu = backend === 'cuda';
  const types = ['float32', 'float64'] as const;
  const large = gpu ? [[65536, 512], [1_000_000, 64]] as const : [[4096, 512]] as const;
  return [
    ...large.flatMap(([batch, n]) => types.map((type) => solving(batch, n, type))),
    solving(1, 512, 'float64'), solving(1, 5, 'float64'),
    ...(gpu ? [[65536, 512]] as const : [[4096, 512]] as const).flatMap(([batch, n]) => [
      solving(batch, n, 'float64', { stable: true }, 'tridiagonal.solve-stable'),
      solving(batch, n, 'float64', { check: true }, 'tridiagonal.solve-check'),
      planned(batch, n, 'float64'), multiplying(batch, n, 'float64'), judging(batch, n, 'float64'), differentiating(batch, n, 'float64'),
      summing(batch, n, 'float64'),
    ]),
    planned(1, 512, 'float64'), summing(1, 512, 'float64'),
    ...(['heat', 'kuramotoSivashinsky', 'euler'] as const).flatMap((equation) => [
      advancing(equation, 2048, 1), advancing(equation, 2048, 300), ...(gpu ? [advancing(equation, 2 ** 20, 300)] : []),
    ]),
    snapping(2048, 300),
    ...imagingCases(512, gpu ? 128 : 48), ...(gpu ? imagingCases(4096, 256) : []),
    ...transferring(1), ...transferring(2 ** 20),
  ];
}

/** Plain calls made at once against one after the other: megabytes of inputs and outputs of each, and how many. */
export function crowds(backend: string, quick: boolean): readonly { readonly batch: number; readonly n: number; readonly count: number }[] {
  if (quick || backend === 'simt') return [{ batch: 2, n: 32, count: 3 }];
  // 0.8, 8, 31 and 313 MB of five arrays of float64.
  return [{ batch: 40, n: 512, count: 24 }, { batch: 400, n: 512, count: 24 }, { batch: 1536, n: 512, count: 24 },
    { batch: 15_360, n: 512, count: 12 }];
}
