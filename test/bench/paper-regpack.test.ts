// The paper's CR-RegPack (cuda/bench/paper_regpack_agent.cuh) on the shim: against elimination in double precision.
import { ok, rejects } from 'node:assert/strict';
import { benchmark, nativeBenchmarks } from '../../bench/native.ts';
import { DeviceSystems, randomBands, type HostBands, type Precision } from '../../bench/systems.ts';
import { openDevice } from '../../lib/index.ts';

/** Gaussian elimination of one system. */
function eliminate({ lower, diagonal, upper, rhs }: HostBands, first: number, n: number): Float64Array {
  const c = new Float64Array(n), x = new Float64Array(n);
  for (let i = 0; i < n; i += 1) {
    const at = first + i;
    const pivot = diagonal[at]! - (i > 0 ? lower[at]! * c[i - 1]! : 0);
    c[i] = i + 1 < n ? upper[at]! / pivot : 0;
    x[i] = (rhs[at]! - (i > 0 ? lower[at]! * x[i - 1]! : 0)) / pivot;
  }
  for (let i = n - 2; i >= 0; i -= 1) x[i] = x[i]! - c[i]! * x[i + 1]!;
  return x;
}

function wanted(): boolean {
  try {
    return nativeBenchmarks().peers().some(({ name, available }) => name === 'bench.paper_regpack' && available);
  } catch {
    return false;
  }
}

describe("bench: the paper's CR-RegPack", () => {
  before(function () {
    if (!wanted()) this.skip();
  });

  const cases = [[128, 4], [512, 4], [2048, 4], [256, 8], [512, 8], [2048, 8], [512, 16], [1024, 16]] as const;
  for (const precision of ['float32', 'float64'] as Precision[]) {
    for (const [n, depth] of cases) {
      it(`${precision}, n = ${n}, depth ${depth}`, async () => {
        using device = await openDevice({ backend: 'simt' });
        const systems = 3;
        const bands = randomBands(precision, systems * n, 7);
        using set = await DeviceSystems.upload(device, { systems, n }, precision, bands);
        await benchmark(set.arrays.solution, 'bench.paper_regpack', [{ ...set.peer(), depth }], { calls: 1, repeats: 1, warmup: 0 });
        const x = await set.arrays.solution.read() as Float32Array | Float64Array;
        const bound = 32 * (precision === 'float32' ? 2 ** -23 : 2 ** -52);
        for (let s = 0; s < systems; s += 1) {
          const expected = eliminate(bands, s * n, n);
          const size = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
          for (let i = 0; i < n; i += 1) {
            const error = Math.abs(x[s * n + i]! - expected[i]!) / size;
            ok(error <= bound, `system ${s}, row ${i}: ${x[s * n + i]} for ${expected[i]}`);
          }
        }
      });
    }
  }

  it('refuses what its threads do not hold', async () => {
    using device = await openDevice({ backend: 'simt' });
    for (const [n, depth] of [[128, 8], [768, 8], [8192, 8], [516, 4]] as const) {
      using set = await DeviceSystems.upload(device, { systems: 1, n }, 'float64', randomBands('float64', n, 1));
      const run = benchmark(set.arrays.solution, 'bench.paper_regpack', [{ ...set.peer(), depth }], { calls: 1, repeats: 1, warmup: 0 });
      await rejects(run, { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    }
  });
});
