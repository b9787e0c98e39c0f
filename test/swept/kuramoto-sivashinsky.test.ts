// The Kuramoto–Sivashinsky equation against the growth of small waves, and the bounds of its chaos.
import { ok, strictEqual } from 'node:assert/strict';
import { kuramotoSivashinsky, kuramotoSivashinskyGrowth } from '../../lib/swept/index.ts';
import { eachBackend } from '../support/backends.ts';
import { largest, pick, sum } from '../support/simulating.ts';

/** Amplitude of cos(2π waves i/n) in a state. */
function amplitude(state: ArrayLike<number>, waves: number): number {
  const n = state.length;
  return (2 / n) * sum(state, (i) => Math.cos((2 * Math.PI * waves * i) / n));
}

describe('swept Kuramoto–Sivashinsky', () => {
  eachBackend((backend, device) => {
    it('lets small waves grow at the rate of the scheme', async () => {
      const [n, dx, dt] = [pick(backend, 1024, 64), 0.5, 0.005];
      const steps = pick(backend, 400, 20);
      for (const waves of pick(backend, [20, 58, 81], [1, 4, 5])) {
        await using flame = await kuramotoSivashinsky({ n, dx, dt, initial: { kind: 'mode', waves, amplitude: 1e-6 }, device: await device() });
        await flame.advance(steps);
        const { rate, factor } = kuramotoSivashinskyGrowth((2 * Math.PI * waves) / (n * dx), { dx, dt });
        const measured = Math.log(amplitude(await flame.read(), waves) / 1e-6) / (steps * dt);
        ok(Math.abs(measured - rate) < 1e-6, `${waves} waves: ${measured}, formula ${rate}`);
        ok(Math.abs(Math.log(factor) / dt - rate) < 1e-12);
      }
    });

    it('keeps the sum, and dirichlet ends at zero', async () => {
      const n = pick(backend, 512, 32);
      const steps = pick(backend, 2000, 20);
      const initial = Float64Array.from({ length: n }, (_, i) => 1 + Math.cos((2 * Math.PI * 3 * i) / n) + 0.3 * Math.sin((2 * Math.PI * 5 * i) / n));
      await using ring = await kuramotoSivashinsky({ n, dx: 0.5, dt: 0.005, initial, device: await device() });
      await ring.advance(steps);
      const drift = (sum(await ring.read()) - sum(initial)) / n;
      ok(Math.abs(drift) < 1e-12, `mean moved by ${drift}`);
      await using fixed = await kuramotoSivashinsky({ n, dx: 0.5, dt: 0.005, initial, boundary: 'dirichlet', device: await device() });
      await fixed.advance(pick(backend, 500, 5));
      const state = await fixed.read();
      ok(state[0] === 0 && state[n - 1] === 0 && largest(state) > 0.5);
    });
  });

  eachBackend((_, device) => {
    it('saturates within the known bounds', async () => {
      // A start without symmetry, so that the waves break up at once.
      const n = 1024;
      const initial = Float64Array.from({ length: n }, (_, i) => {
        const at = (2 * Math.PI * i) / n;
        return Math.cos(3 * at) + 0.5 * Math.sin(7 * at + 1) + 0.3 * Math.cos(19 * at);
      });
      await using flame = await kuramotoSivashinsky({ n, dx: 0.5, dt: 0.005, initial, device: await device() });
      const seen: string[] = [];
      for await (const { time, state } of flame.snapshots({ times: [150, 160, 170] })) {
        strictEqual(flame.time, time);
        const rms = Math.sqrt(sum(state.map((value) => value * value)) / n);
        const most = largest(state);
        seen.push(`t ${time}: rms ${rms}, max ${most}`);
        ok(rms >= 1.1 && rms <= 1.6 && most < 4.5, seen.join('; '));
      }
      strictEqual(flame.stepsDone, 34_000);
    });

    it('has the growth of the equation in the limit of small steps', async () => {
      const rates: [number, number][] = [[0.2454, 0.056544], [0.7118, 0.2499983], [0.994, 0.0310675]];
      for (const [q, rate] of rates) ok(Math.abs(kuramotoSivashinskyGrowth(q, { dx: 0.5, dt: 0.005 }).rate - rate) < 0.02, `${q}`);
      const { exact, rate } = kuramotoSivashinskyGrowth(0.6, { dx: 1e-3, dt: 1e-9 });
      ok(Math.abs(exact - rate) < 1e-5, `${exact} ${rate}`);
      strictEqual((await device()).closed, false);
    });

    it('reproduces the set-up of the paper, which repeats every 512 points', async () => {
      await using flame = await kuramotoSivashinsky({ n: 1024, paper: true, device: await device() });
      await flame.advance(1000);
      strictEqual(flame.time, 5);
      const state = await flame.read();
      ok(largest(state.subarray(0, 512).map((value, i) => value - state[i + 512]!)) < 1e-9);
    });
  }, { backends: ['cpu', 'cuda'], cases: 3 });
});
