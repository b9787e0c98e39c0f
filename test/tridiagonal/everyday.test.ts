// Shapes off the powers of two, one matrix for many right-hand sides, periodic systems and check: what `auto` chooses for
// them on GPUs, and that it is, bit for bit, what its name and depth give.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Device } from '../../lib/core/device.ts';
import { solve, type SolveOptions } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';
import { componentwiseError } from '../support/reference.ts';

type Real = Float32Array | Float64Array;

/** Right-hand sides that fill a device: fewer are solved for latency. */
const unknownsOf = (device: Device): number => (device.backend === 'cuda' ? 1_200_000 : 36_000);
/** Right-hand sides of one matrix that give every block several. */
const sharedUnknownsOf = (device: Device): number => 4 * unknownsOf(device);

const mostRandom = 131_071;

function rows(type: 'float32' | 'float64', length: number, seed: number) {
  const random = new Random(seed);
  const make = (count: number, value: () => number): Real => {
    const made = type === 'float32' ? new Float32Array(count) : new Float64Array(count);
    // Random numbers take their time: large arrays repeat a prime number of them, which no size of a system divides.
    for (let i = 0; i < Math.min(count, mostRandom); i += 1) made[i] = value();
    for (let i = mostRandom; i < count; i += mostRandom) made.copyWithin(i, 0, Math.min(mostRandom, count - i));
    return made;
  };
  const lower = make(length, () => random.uniform()), upper = make(length, () => random.uniform());
  const diagonal = make(length, () => 0).map((_, i) => 0.5 + Math.abs(lower[i]!) + Math.abs(upper[i]!)) as Real;
  return { lower, diagonal, upper, rhs: make(length, () => random.uniform()) };
}

/** Solves as `auto` does and by the name of what ran. */
async function solveTwice(device: Device, options: SolveOptions<Real>) {
  const first = await solve({ ...options, device });
  const again = await solve({ ...options, algorithm: 'cr-regpack', depth: first.info.depth, device });
  ok(first.status.allOk && again.status.allOk);
  return { first, again };
}

const sameBits = (a: Real, b: Real): void => {
  strictEqual(Buffer.compare(new Uint8Array(a.buffer), new Uint8Array(b.buffer)), 0, 'other bits');
};

describe('everyday shapes', () => {
  eachBackend((_backend, device) => {
    it('takes 4096 rows at depth 4, the largest block of the paper', async () => {
      const n = 4096, batch = 2;
      const problem = { ...rows('float32', batch * n, n), n, batch, device: await device() };
      const widest = await solve({ ...problem, algorithm: 'cr-regpack', depth: 4 });
      deepStrictEqual([widest.info.depth, widest.info.threads], [4, 1024]);
      const other = await solve({ ...problem, algorithm: 'cr-regpack', depth: 16 });
      ok(widest.status.allOk && widest.solution.every((x, i) => Math.abs(x - other.solution[i]!) <= 64 * 2 ** -23));
    });

    for (const type of ['float32', 'float64'] as const) {
      it(`takes depths that are not powers of two where others leave lanes idle, in ${type}`, async () => {
        const onto = await device();
        const chosen: number[] = [];
        for (const n of [63, 65, 511, 513, 1025]) {
          const batch = Math.ceil(unknownsOf(onto) / n);
          const { first, again } = await solveTwice(onto, { ...rows(type, batch * n, n), n, batch });
          chosen.push(first.info.depth);
          sameBits(first.solution, again.solution);
        }
        deepStrictEqual(chosen, [17, 17, 17, 17, 17]);
        const n = 512, batch = Math.ceil(unknownsOf(onto) / n);
        ok([8, 16].includes((await solve({ ...rows(type, batch * n, n), n, batch, device: onto })).info.depth));
      });

      it(`takes few rows per lane where only those are read as vectors, in ${type}`, async () => {
        const onto = await device();
        const chosen: number[] = [];
        for (const n of [500, 600, 768, 1000, 1022]) {
          const batch = Math.ceil(unknownsOf(onto) / n);
          const { first, again } = await solveTwice(onto, { ...rows(type, batch * n, n), n, batch });
          chosen.push(first.info.depth);
          sameBits(first.solution, again.solution);
        }
        // 1022 rows of float32 do not end with a 16-byte vector.
        deepStrictEqual(chosen, type === 'float32' ? [8, 8, 8, 8, 17] : [8, 8, 8, 8, 8]);
      });

      it(`adds a launch for check where a kernel judges its answers, else three, and changes no answer, in ${type}`, async () => {
        const onto = await device();
        const epsilon = type === 'float32' ? 2 ** -23 : 2 ** -52;
        for (const n of [40, 512, 513, 1300]) {
          const batch = Math.ceil(unknownsOf(onto) / n);
          // On the device: calls on plain arrays of this size are cut, and their launches are those of all slices.
          const { lower, diagonal, upper, rhs } = rows(type, batch * n, n);
          const arrays = await Promise.all([lower, diagonal, upper, rhs].map((each) => onto.array(each)));
          const problem = { lower: arrays[0]!, diagonal: arrays[1]!, upper: arrays[2]!, rhs: arrays[3]!, n, batch, device: onto };
          const plain = await solve(problem);
          const checked = await solve({ ...problem, check: true });
          const more = n === 1300 ? 3 : 1;
          deepStrictEqual(checked.info, { ...plain.info, launches: plain.info.launches + more, deviceSeconds: checked.info.deviceSeconds });
          sameBits(await plain.solution.read() as Real, await checked.solution.read() as Real);
          const worst = (await checked.backwardError!.read() as Float64Array).reduce((a, b) => Math.max(a, b), 0) / epsilon;
          ok(worst > 0 && worst < 64, String(worst)); // what check promises, of up to 30,000 systems
          for (const each of [...arrays, plain.solution, checked.solution, checked.backwardError!]) each.dispose();
        }
      });

      it(`solves periodic systems in one pass, in ${type}`, async () => {
        const onto = await device();
        for (const n of [34, 200, 513]) {
          const batch = 5;
          const { first, again } = await solveTwice(onto, { ...rows(type, batch * n, n), n, batch, periodic: true });
          strictEqual(first.info.depth, 9);
          deepStrictEqual([first.info.launches, again.info.launches > 3], [1, true]);
          sameBits(first.solution, again.solution);
        }
      });

      it(`closes over the lanes that periodic systems fill, in ${type}`, async () => {
        const onto = await device();
        const limit = 40 * (type === 'float32' ? 2 ** -23 : 2 ** -52);
        for (const n of [64, 128, 256, 512]) {
          // The last warp has places without a system.
          for (const [batch, rhsCount, one, apart] of [[37, 1, false, 0], [37, 1, false, 3], [5, 3, false, 0], [9, 1, true, 0]] as const) {
            const bands = rows(type, (one ? n : batch * n) + apart, n), { rhs } = rows(type, batch * rhsCount * n + apart, n + 1);
            const part = (of: Real, index: number): Float64Array => Float64Array.from(of.subarray(apart + index * n, apart + (index + 1) * n));
            const [lower, diagonal, upper] = [bands.lower, bands.diagonal, bands.upper].map((band) => band.subarray(apart) as Real);
            const { solution, status, info } = await solve({
              lower: lower!, diagonal: diagonal!, upper: upper!, rhs: rhs.subarray(apart) as Real, n, batch, rhsCount, periodic: true, device: onto,
            });
            deepStrictEqual([info.depth, info.threads, info.launches, status.allOk], [16, n / 16, 1, true]);
            for (let s = 0; s < batch; s += 1) {
              const matrix = { lower: part(bands.lower, one ? 0 : s), diagonal: part(bands.diagonal, one ? 0 : s), upper: part(bands.upper, one ? 0 : s) };
              for (let r = s * rhsCount; r < (s + 1) * rhsCount; r += 1) {
                const error = componentwiseError(matrix, Float64Array.from(solution.subarray(r * n, (r + 1) * n)), part(rhs, r), true);
                ok(error <= limit, `n = ${n}, system ${s}: ${error}`);
              }
            }
          }
        }
      });

      it(`tells what stops a periodic system that fills its lanes, and in which row, in ${type}`, async () => {
        const onto = await device();
        for (const n of [64, 512]) {
          const batch = 11, bad = 4;
          const clean = await solve({ ...rows(type, batch * n, n), n, batch, periodic: true, device: onto });
          const cases: [keyof ReturnType<typeof rows>, number, number, string][] = [
            ['lower', 0, NaN, 'non-finite'], ['upper', n - 1, Infinity, 'non-finite'], ['rhs', n - 1, NaN, 'non-finite'],
            ['diagonal', 17, -Infinity, 'non-finite'], ['diagonal', 20, 0, 'zero-pivot'], ['diagonal', n - 1, 0, 'zero-pivot'],
          ];
          for (const [name, row, value, state] of cases) {
            const problem = rows(type, batch * n, n);
            const at = bad * n + row;
            problem[name][at] = value;
            if (state === 'zero-pivot') {
              // Alone: no other row gives it a pivot.
              problem.lower[at] = problem.upper[at] = 0;
            }
            const { solution, status } = await solve({ ...problem, n, batch, periodic: true, device: onto });
            deepStrictEqual(status.at(bad), { ...status.at(bad), state, row }, `${name}[${row}] = ${value}, n = ${n}`);
            strictEqual([...status.failures()].length, 1);
            for (let i = 0; i < batch * n; i += 1) {
              if (i < bad * n || i >= (bad + 1) * n) strictEqual(solution[i], clean.solution[i], `element ${i}`);
            }
          }
        }
      });

      it(`solves right-hand sides of one matrix as those of many, in ${type}`, async () => {
        const onto = await device();
        for (const [n, depth] of [[64, 8], [300, 16], [512, 16], [1024, 16]] as const) {
          const batch = Math.ceil(sharedUnknownsOf(onto) * (n > 512 ? 2 : 1) / n) + 1;
          const { lower, diagonal, upper, rhs } = rows(type, batch * n, 7);
          const repeat = (band: Real): Real => band.map((_, i) => band[i % n]!) as Real;
          const one = { lower: lower.slice(0, n), diagonal: diagonal.slice(0, n), upper: upper.slice(0, n), rhs, n, batch };
          const { first, again } = await solveTwice(onto, one);
          strictEqual(first.info.depth, depth);
          sameBits(first.solution, again.solution);
          const many = { lower: repeat(lower), diagonal: repeat(diagonal), upper: repeat(upper), rhs, n, batch };
          sameBits(first.solution, (await solve({ ...many, algorithm: 'cr-regpack', depth, device: onto })).solution);
        }
      });

      it(`solves many right-hand sides of each matrix as those of many matrices, in ${type}`, async () => {
        const onto = await device();
        const n = 60, rhsCount = type === 'float32' ? 65 : 11, batch = Math.ceil(sharedUnknownsOf(onto) / n / rhsCount);
        const { lower, diagonal, upper } = rows(type, batch * n, 11);
        const { rhs } = rows(type, batch * n * rhsCount, 12);
        const { first, again } = await solveTwice(onto, { lower, diagonal, upper, rhs, n, batch, rhsCount });
        strictEqual(first.info.depth, 8);
        sameBits(first.solution, again.solution);
        const one = { lower: lower.slice(0, n), diagonal: diagonal.slice(0, n), upper: upper.slice(0, n) };
        const few = await solve({ ...one, rhs: rhs.slice(0, rhsCount * n), n, batch: 1, rhsCount, algorithm: 'cr-regpack', depth: 8, device: onto });
        sameBits(few.solution, first.solution.slice(0, rhsCount * n));
      });

      it(`solves long interleaved systems in one pass where they share a matrix, in chunks otherwise, in ${type}`, async () => {
        const onto = await device();
        const n = 1100, batch = 70;
        const { lower, diagonal, upper, rhs } = rows(type, batch * n, 9);
        const shared = { lower: lower.slice(0, n), diagonal: diagonal.slice(0, n), upper: upper.slice(0, n) };
        const layouts = { rhs: 'interleaved', solution: 'interleaved' } as const;
        const turned = (values: Real): Real => values.map((_, i) => values[(i % batch) * n + Math.floor(i / batch)]!) as Real;
        const epsilon = type === 'float32' ? 2 ** -23 : 2 ** -52;
        const near = (x: Real, y: Real): boolean => x.every((each, i) => Math.abs(each - y[i]!) <= 64 * epsilon);
        const { first: across, again } = await solveTwice(onto, { ...shared, rhs: turned(rhs), n, batch, layouts });
        deepStrictEqual([across.info.algorithm, across.info.depth, across.info.launches], ['cr-regpack', 32, 1]);
        sameBits(across.solution, again.solution);
        const along = await solve({ ...shared, rhs, n, batch, device: onto });
        ok(near(across.solution, turned(along.solution)));
        const own = { lower: turned(lower), diagonal: turned(diagonal), upper: turned(upper), rhs: turned(rhs) };
        const chunks = await solve({ ...own, n, batch, layout: 'interleaved', device: onto });
        strictEqual(chunks.info.algorithm, 'partition');
        ok(near(chunks.solution, turned((await solve({ lower, diagonal, upper, rhs, n, batch, device: onto })).solution)));
      });
    }
  }, { backends: ['simt', 'cuda'] });
});
