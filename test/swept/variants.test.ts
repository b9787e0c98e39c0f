// Every variant gives the bits of `classic`, and every backend the same bits: any size, ends, step count, batch and precision.
import { strictEqual } from 'node:assert/strict';
import type { Device } from '../../lib/core/device.ts';
import { limiters, variants, type BoundaryName, type EquationName, type Limiter, type RealArray, type Variant } from '../../lib/swept/index.ts';
import { deviceOf, eachBackend, hasBackend, skipCases, type BackendName } from '../support/backends.ts';
import { ifSupported, pick, sameBits } from '../support/simulating.ts';
import { Random } from '../support/random.ts';

interface Case {
  readonly equation: EquationName;
  readonly type: 'float32' | 'float64';
  readonly n: number;
  readonly batch: number;
  readonly steps: number;
  readonly left: BoundaryName;
  readonly right: BoundaryName;
  readonly limiter: Limiter;
}

const ends: Record<EquationName, [BoundaryName, BoundaryName][]> = {
  heat: [['periodic', 'periodic'], ['reflective', 'reflective'], ['dirichlet', 'dirichlet'], ['reflective', 'dirichlet']],
  'kuramoto-sivashinsky': [['periodic', 'periodic'], ['dirichlet', 'dirichlet']],
  euler: [['periodic', 'periodic'], ['reflective', 'reflective'], ['dirichlet', 'dirichlet'], ['outflow', 'outflow'], ['outflow', 'reflective'], ['dirichlet', 'outflow']],
};
const sizes: [n: number, steps: number, batch: number][] = [[3, 7, 2], [5, 1, 1], [6, 9, 3], [31, 17, 1], [64, 33, 2], [257, 70, 1], [1000, 37, 2]];

/** Every equation, end and precision over the sizes; the limiter goes round. */
function* cases(backend: BackendName): Generator<Case> {
  let turn = 0;
  for (const [equation, pairs] of Object.entries(ends) as [EquationName, [BoundaryName, BoundaryName][]][]) {
    for (const [left, right] of pairs) for (const type of ['float64', 'float32'] as const) {
      for (const [n, steps, batch] of pick(backend, sizes, sizes.slice(0, 4))) {
        if (n < (equation === 'heat' ? 3 : 5)) continue;
        turn += 1;
        if (backend === 'simt' && turn % 3 !== 0) continue;
        yield { equation, type, n, batch, steps: pick(backend, steps, Math.min(steps, 9)), left, right, limiter: limiters[turn % 4]! };
      }
    }
  }
}

function initial({ equation, type, n, batch }: Case): RealArray {
  const random = new Random(n + batch);
  const values: number[] = [];
  for (let b = 0; b < batch; b += 1) {
    if (equation !== 'euler') {
      for (let i = 0; i < n; i += 1) values.push(random.uniform(-1, 1));
      if (equation === 'kuramoto-sivashinsky') values[b * n] = values[b * n + n - 1] = 0;
      continue;
    }
    const density = Array.from({ length: n }, () => random.uniform(0.8, 1.2));
    const momentum = Array.from({ length: n }, () => random.uniform(-0.2, 0.2));
    values.push(...density, ...momentum, ...density.map(() => random.uniform(2, 2.5)));
  }
  return type === 'float32' ? Float32Array.from(values) : Float64Array.from(values);
}

async function advance(device: Device, variant: Variant, given: Case): Promise<RealArray> {
  const state = initial(given);
  const next = state.slice();
  const view = (data: RealArray) => ({ data });
  const dx = given.equation === 'kuramoto-sivashinsky' ? 0.7 : 1;
  const dt = { heat: 0.3, 'kuramoto-sivashinsky': 0.01, euler: 0.15 }[given.equation];
  const { report } = await device.run('swept.advance', { ...given, variant, dx, dt, diffusivity: 1, gamma: 1.4, state: view(state), next: view(next) });
  strictEqual(report.completed, given.steps, 'all steps were finite');
  if (variant !== 'auto') strictEqual(report.variant, variant);
  return next;
}

describe('swept variants', function () {
  this.timeout(60_000);
  eachBackend((backend, device) => {
    const own = variants.filter((variant) => variant === 'auto' || variant.startsWith('cpu-') === (backend === 'cpu'));
    const base: Variant = backend === 'cpu' ? 'cpu-classic' : 'classic';
    for (const variant of own.filter((name) => name !== base)) {
      it(`${variant} gives the bits of ${base}`, async () => {
        for (const given of cases(backend)) {
          const label = `${backend} ${variant} ${JSON.stringify(given)}`;
          const found = await ifSupported(async () => advance(await device(), variant, given), `${backend} ${variant} ${given.equation}`);
          if (found !== undefined) sameBits(found, await advance(await device(), base, given), label);
        }
      });
    }
  });

  for (const backend of ['simt', 'cuda'] as const) {
    it(`${backend} gives the bits of cpu`, async () => {
      if (!hasBackend(backend)) return skipCases(`${backend}: not here`);
      for (const given of cases(backend)) {
        sameBits(await advance(await deviceOf(backend), 'classic', given), await advance(await deviceOf('cpu'), 'cpu-classic', given), JSON.stringify(given));
      }
    });
  }
});
