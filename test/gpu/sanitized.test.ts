// Small calls of every algorithm, which `npm run test:gpu` repeats under each tool of compute-sanitizer: out-of-bounds
// and misaligned accesses, races in shared memory, uninitialised reads, barriers met by some threads only.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { scan, tridiagonal, type Device } from '../../lib/index.ts';
import type { Reports } from '../../lib/core/operations.gen.ts';
import { rowDominant } from '../support/families.ts';
import { eachBackend, skipCases } from '../support/backends.ts';
import { Random } from '../support/random.ts';
import { componentwiseError, epsilon } from '../support/reference.ts';

const algorithms = ['auto', 'cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas', 'cr-regpack', 'partition', 'pivoting'] as const;
const sizes = [1, 2, 33, 257];
const batch = 3;

/** Worst componentwise backward error of a batch, or undefined where the algorithm does not take it. */
async function solveBatch(
  device: Device, n: number, type: 'float32' | 'float64', method: tridiagonal.MethodOptions,
): Promise<number | undefined> {
  const random = new Random(n);
  const make = () => (type === 'float32' ? new Float32Array(n * batch) : new Float64Array(n * batch));
  const bands = { lower: make(), diagonal: make(), upper: make() };
  for (let s = 0; s < batch; s += 1) {
    const matrix = rowDominant(n, random, 0.5);
    for (const name of ['lower', 'diagonal', 'upper'] as const) bands[name].set(matrix[name], s * n);
  }
  const rhs = make().map(() => random.uniform()) as Float64Array;
  try {
    const { solution } = await tridiagonal.solve({ ...bands, rhs, n, batch, device, ...method });
    const part = (values: Float32Array | Float64Array, s: number) => Float64Array.from(values.subarray(s * n, (s + 1) * n));
    return Math.max(...Array.from({ length: batch }, (_, s) => componentwiseError({
      lower: part(bands.lower, s), diagonal: part(bands.diagonal, s), upper: part(bands.upper, s),
    }, part(solution, s), part(rhs, s))));
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_WARPLOOM_UNSUPPORTED') return undefined;
    throw error;
  }
}

const ends = {
  heat: [['periodic', 'periodic'], ['reflective', 'dirichlet']],
  'kuramoto-sivashinsky': [['periodic', 'periodic'], ['dirichlet', 'dirichlet']],
  euler: [['periodic', 'periodic'], ['reflective', 'outflow']],
} as const;
type Equation = keyof typeof ends;
const equations = Object.keys(ends) as Equation[];
const sweptVariants = ['classic-graph', 'shared', 'hybrid', 'register', 'tiled', 'auto'] as const;

/** A call of swept.advance beside equation and ends. */
interface Steps {
  readonly n: number;
  readonly steps: number;
  readonly batch?: number;
  readonly points?: number;
  readonly depth?: number;
  readonly threads?: number;
}

/** The pairs of ends that a variant takes. */
function sidesOf(variant: string, equation: Equation): readonly (0 | 1)[] {
  if (variant === 'register') return equation === 'heat' ? [0] : equation === 'euler' ? [] : [0, 1];
  return variant === 'hybrid' && equation === 'kuramoto-sivashinsky' ? [] : [0, 1];
}

/** Bytes of the state after the steps, and what the call reports. */
async function advance(
  device: Device, equation: Equation, side: 0 | 1, type: 'float32' | 'float64', variant: string, call: Steps,
): Promise<{ bytes: Buffer; report: Reports['swept.advance'] }> {
  const { n, batch = 1 } = call;
  const components = equation === 'euler' ? 3 : 1;
  const random = new Random(n);
  const make = () => (type === 'float32' ? new Float32Array(batch * components * n) : new Float64Array(batch * components * n));
  const state = make();
  for (let i = 0; i < state.length; i += 1) {
    const component = Math.floor(i / n) % components;
    const base = equation !== 'euler' ? 0 : component === 0 ? 1 : component === 1 ? 0 : 2.5;
    const held = equation === 'kuramoto-sivashinsky' && side === 1 && (i % n === 0 || i % n === n - 1);
    state[i] = held ? 0 : base + 0.2 * random.uniform();
  }
  const next = make();
  const [left, right] = ends[equation][side];
  const { report } = await device.run('swept.advance', {
    type, equation, variant, left, right, batch: 1, ...call, dx: equation === 'kuramoto-sivashinsky' ? 0.5 : 1,
    dt: equation === 'heat' ? 0.23 : equation === 'euler' ? 0.05 : 0.004, limiter: 'paper', state: { data: state, offset: 0 },
    next: { data: next, offset: 0 } });
  return { bytes: Buffer.from(next.buffer), report };
}

/** Points per lane and threads of the tile that a small problem takes. */
async function smallestTile(device: Device, equation: Equation): Promise<[points: number, threads: number]> {
  const { report: { points, threads } } = await advance(device, equation, 0, 'float64', 'tiled', { n: 7, steps: 1 });
  return [points, threads];
}

/** Checks a variant against `classic` to the bit. */
async function compareVariant(device: Device, equation: Equation, variant: string, call: Steps): Promise<void> {
  for (const side of sidesOf(variant, equation)) {
    for (const type of ['float32', 'float64'] as const) {
      const { bytes: found } = await advance(device, equation, side, type, variant, call);
      const { n, steps, batch = 1 } = call;
      const base = device.backend === 'cpu' ? 'cpu-classic' : 'classic';
      const { bytes: expected } = await advance(device, equation, side, type, base, { n, steps, batch });
      ok(found.equals(expected), `${equation} ${ends[equation][side].join('/')} ${type} ${JSON.stringify(call)}`);
    }
  }
}

describe('sanitized', function () {
  this.timeout(600_000);
  eachBackend((backend, device) => {
    for (const algorithm of algorithms) {
      for (const type of ['float32', 'float64'] as const) {
        it(`solves by ${algorithm} in ${type}`, async () => {
          for (const n of sizes) {
            const method = algorithm === 'pivoting' ? { stable: true } : { algorithm };
            const error = await solveBatch(await device(), n, type, method);
            if (error === undefined) skipCases(`${backend}: ${algorithm} does not take n = ${n}`);
            else ok(error <= 1000 * epsilon[type], `n = ${n}: ${error}`);
          }
        });
      }
    }

    it('checks and re-solves', async () => {
      const error = await solveBatch(await device(), 65, 'float64', { check: true });
      ok(error !== undefined && error <= 100 * epsilon.float64, String(error));
    });

    for (const equation of equations) {
      for (const variant of backend === 'cpu' ? ['cpu-tiled', 'auto'] : sweptVariants) {
        if (sidesOf(variant, equation).length === 0) continue;
        it(`advances ${equation} by ${variant}`, async () => {
          for (const n of [7, 257, 1500]) await compareVariant(await device(), equation, variant, { n, steps: 21 });
        });
      }
      if (backend === 'cpu') continue;
      it(`advances ${equation} in passes over tiles`, async () => {
        const [points, threads] = await smallestTile(await device(), equation);
        const many = { n: 32 * points * (threads / 32), batch: backend === 'simt' ? 5 : 3000 }; // more tiles than stand on the device
        await compareVariant(await device(), equation, 'tiled', { ...many, steps: 7, points, threads, depth: 3 });
      });
    }

    for (const algorithm of ['regpack', 'shared'] as const) {
      it(`scans by ${algorithm}`, async () => {
        for (const n of [1, 33, 1025]) {
          const { result } = await scan(new Float64Array(n).fill(1), { algorithm, device: await device() });
          deepStrictEqual(result, Float64Array.from({ length: n }, (_, i) => i + 1));
        }
      });
    }
  });
});
