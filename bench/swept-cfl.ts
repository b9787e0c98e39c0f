// The largest CFL numbers at which `swept.euler` stays stable, by limiter, problem and number of cells: what `cflLimits` of
// lib/swept/stability.ts and the table in docs/swept.md are taken from.
//
//   <limiter>/<problem>    the largest stable CFL number, the least over the sizes; 0: breaks down at every one
//
// A run is stable when every step keeps density and pressure positive and finite to the end, and the total variation of the density
// ends at most at twice that of the same run at CFL 0.1. The largest stable number is bisected to 0.01 between 0.02 and 1.6, and
// 0.9, 0.75 and 0.5 times it are tried too: one that fails there becomes the new upper bound.
import { InstabilityError } from '../lib/core/errors.ts';
import type { Device } from '../lib/index.ts';
import { euler, limiters, type EulerOptions, type GasState, type Limiter } from '../lib/swept/index.ts';
import type { BenchContext } from './domain.ts';

type Fields = Record<'density' | 'velocity' | 'pressure', Float64Array>;

interface CflProblem {
  readonly name: string;
  readonly end: number;
  readonly sizes: readonly number[];
  options(n: number): Pick<EulerOptions, 'initial' | 'boundary' | 'length' | 'n'>;
}

const namedSizes = [101, 401, 1601, 3201];
const randomSizes = [201, 801];
const randomProblems = 24;
const range = { least: 0.02, most: 1.6, reference: 0.1, within: 0.01 };
const mostVariation = 2;

/** The states of cells of [0, length] from the state at their centres. */
function fieldsOf(n: number, length: number, at: (x: number) => readonly [density: number, velocity: number, pressure: number]): Fields {
  const fields: Fields = { density: new Float64Array(n), velocity: new Float64Array(n), pressure: new Float64Array(n) };
  for (let i = 0; i < n; i += 1) {
    [fields.density[i], fields.velocity[i], fields.pressure[i]] = at(((i + 0.5) * length) / n);
  }
  return fields;
}

const gas = (density: number, velocity: number, pressure: number): GasState => ({ density, velocity, pressure });

function tube(name: string, end: number, left: GasState, right: GasState, diaphragm = 0.5, sizes = namedSizes): CflProblem {
  const initial = { kind: 'riemann', left, right, diaphragm } as const;
  return { name, end, sizes, options: (n) => ({ n, length: 1, boundary: 'outflow', initial }) };
}

/** Numbers in [0, 1), the same in every run (mulberry32 of T. Ettinger). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Densities 0.1 to 2, pressures 0.05 to 2, velocities to 0.8 of the slower sound. */
function randomTube(index: number): CflProblem {
  const next = randomNumbers(index + 1);
  const state = (): GasState => gas(0.1 * 20 ** next(), 0, 0.05 * 40 ** next());
  const [left, right] = [state(), state()];
  const sound = Math.sqrt(1.4 * Math.min(left.pressure / left.density, right.pressure / right.density));
  const velocity = (): number => sound * 0.8 * (2 * next() - 1);
  const fastest = Math.sqrt(1.4 * Math.max(left.pressure / left.density, right.pressure / right.density)) + sound;
  return tube(`random-${index}`, 0.4 / fastest, { ...left, velocity: velocity() }, { ...right, velocity: velocity() }, 0.5, randomSizes);
}

const problems: readonly CflProblem[] = [
  tube('sod', 0.25, gas(1, 0, 1), gas(0.125, 0, 0.1)),
  tube('lax', 0.14, gas(0.445, 0.698, 3.528), gas(0.5, 0, 0.571)),
  tube('mach-3', 0.09, gas(3.857, 0.92, 10.333), gas(1, 3.55, 1)),
  tube('two-rarefactions', 0.15, gas(1, -2, 0.4), gas(1, 2, 0.4)),
  {
    name: 'shu-osher', end: 1.8, sizes: namedSizes,
    options: (n) => ({
      n, length: 10, boundary: 'outflow',
      initial: fieldsOf(n, 10, (x) => (x < 1 ? [3.857143, 2.629369, 10.33333] : [1 + 0.2 * Math.sin(5 * (x - 5)), 0, 1])),
    }),
  },
  {
    name: 'blast-waves', end: 0.038, sizes: namedSizes,
    options: (n) => ({
      n, length: 1, boundary: 'reflective', initial: fieldsOf(n, 1, (x) => [1, 0, x < 0.1 ? 1000 : x < 0.9 ? 0.01 : 100]),
    }),
  },
  {
    name: 'steepening-wave', end: 4, sizes: [101, 401],
    options: (n) => ({ n, length: 1, boundary: 'periodic', initial: { kind: 'wave', amplitude: 0.2 } }),
  },
  ...Array.from({ length: randomProblems }, (_, index) => randomTube(index)),
];

/** Total variation of the density at the end; undefined where the run breaks down. */
async function variation(device: Device, problem: CflProblem, limiter: Limiter, n: number, cfl: number): Promise<number | undefined> {
  await using run = await euler({ ...problem.options(n), limiter, cfl, onUnstable: () => undefined, device });
  try {
    await run.advanceTo(problem.end);
  } catch (error) {
    if (error instanceof InstabilityError) return undefined;
    throw error;
  }
  const { density } = await run.read();
  let sum = 0;
  for (let i = 1; i < density.length; i += 1) sum += Math.abs(density[i]! - density[i - 1]!);
  return sum;
}

/** The largest stable CFL number of one problem and size; 0 where there is none. */
async function largestStable(device: Device, problem: CflProblem, limiter: Limiter, n: number): Promise<number> {
  const reference = await variation(device, problem, limiter, n, range.reference);
  const stable = async (cfl: number): Promise<boolean> => {
    const found = await variation(device, problem, limiter, n, cfl);
    return found !== undefined && (reference === undefined || found <= mostVariation * reference);
  };
  let [good, bad] = [0, range.most];
  if (await stable(range.least)) good = range.least;
  else return 0;
  for (;;) {
    while (bad - good > range.within) {
      const middle = (good + bad) / 2;
      if (await stable(middle)) good = middle;
      else bad = middle;
    }
    const island = await firstUnstable(stable, [0.9, 0.75, 0.5].map((share) => share * good).filter((cfl) => cfl > range.least));
    if (island === undefined) return good;
    [good, bad] = [range.least, island];
  }
}

async function firstUnstable(stable: (cfl: number) => Promise<boolean>, numbers: readonly number[]): Promise<number | undefined> {
  let found: number | undefined;
  for (const cfl of numbers) if (!await stable(cfl)) found = cfl;
  return found;
}

/** One row for each limiter and problem. */
export async function benchmarkSweptCfl({ device, wanted, emit, quick }: BenchContext): Promise<void> {
  for (const problem of quick ? problems.slice(0, 1) : problems) {
    for (const limiter of limiters) {
      const id = `${limiter}/${problem.name}`;
      if (!wanted(id)) continue;
      const sizes = quick ? [33] : problem.sizes;
      const found: number[] = [];
      for (const n of sizes) found.push(await largestStable(device, problem, limiter, n));
      const note = sizes.map((n, i) => `n ${n}: ${found[i]!.toFixed(2)}`).join(', ');
      emit({ id, value: Math.min(...found), unit: 'CFL', spread: 0, note });
    }
  }
}
