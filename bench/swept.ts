// Time steps of the equations of `swept`, by variant: the paper's Figs. 7 to 10 and what a step needs at least.
//
//   <heat|ks|euler>/<float64|float32>/<n>/<variant>                 seconds per time step
//   <sod|euler-default|sod-default>/float64/<n>/<variant>           the same for Euler's other problems (swept-problems.ts)
//   <problem>/float64/<n>/<variant>-best                            best of blocks of 32…1024 threads, as the paper has it
//   <problem>/float64/<n>/<variant>-whole                           with allocation and transfers, over 50,000 steps
//
// Limit of a row: for `classic`, `classic-graph` and `cpu-classic` the larger of the arithmetic at the GPU's issue rate and the
// bytes at the copy rate, measured on arrays of the same size; for variants that keep points on chip the arithmetic alone.
// Every variant is compared with `classic` bit for bit before it is timed.
import { openDevice, type Device } from '../lib/index.ts';
import type { DeviceArray } from '../lib/core/device.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import { copyFloor, streamFloor } from './floor.ts';
import type { Row } from './report.ts';
import { summarise } from './statistics.ts';
import { issueRate, problems, type Problem } from './swept-problems.ts';
import { bytesOf, type Precision } from './systems.ts';

const gpuVariants = ['classic', 'classic-graph', 'shared', 'hybrid', 'register', 'tiled', 'auto'];
const cpuVariants = ['cpu-classic', 'cpu-tiled', 'auto'];
const unblocked = new Set(['classic', 'classic-graph', 'cpu-classic']);

const powers = (...exponents: number[]): number[] => exponents.map((exponent) => 2 ** exponent);
const sizesOf: Readonly<Record<string, Readonly<Record<Precision, readonly number[]>>>> = {
  cuda: { float64: powers(11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24), float32: powers(11, 14, 17, 20, 24) },
  cpu: { float64: powers(12, 16, 20, 22), float32: powers(12, 16, 20, 22) },
};
const quickSizes = powers(9, 10);
/** Prefixes of variations of a problem, and of the rows timed as the paper did. */
const fewSizes: Readonly<Record<string, readonly number[]>> = { cuda: powers(11, 14, 17, 20, 24), cpu: powers(12, 20) };
const blocks = [32, 64, 128, 256, 512, 1024];
const wholeSteps = 50_000;
/** Prefix of the CPU's rows in the report of a GPU (Fig. 10). */
const besideSizes = powers(11, 14, 17, 20);

/** How long a timed call takes, and how many steps it has at least. */
interface Pace {
  readonly seconds: number;
  readonly leastSteps: number;
  readonly repeats: number;
}

function paceOf({ device, quick }: BenchContext): Pace {
  if (quick || device.backend === 'simt') return { seconds: 0, leastSteps: 4, repeats: 2 };
  return device.backend === 'cuda' ? { seconds: 0.03, leastSteps: 200, repeats: 5 } : { seconds: 0.25, leastSteps: 4, repeats: 5 };
}

/** Steps of the comparison with `classic`. */
function comparedSteps({ device, quick }: BenchContext, n: number): number {
  if (quick || device.backend === 'simt') return 13;
  return device.backend === 'cuda' || n <= 2 ** 16 ? 301 : n <= 2 ** 20 ? 67 : 19;
}

/** What a call reports of itself. */
interface Used {
  readonly variant: string;
  readonly points: number;
  readonly depth: number;
  readonly threads: number;
  readonly firstBad: number;
}

/** One problem of one size on one device. */
class Run {
  readonly device: Device;
  readonly problem: Problem;
  readonly n: number;
  readonly precision: Precision;
  readonly state: DeviceArray;
  readonly next: DeviceArray;
  readonly #values: Float32Array | Float64Array;

  constructor(problem: Problem, n: number, state: DeviceArray, next: DeviceArray) {
    this.device = state.device;
    this.problem = problem;
    this.n = n;
    this.precision = state.type as Precision;
    this.state = state;
    this.next = next;
    this.#values = this.precision === 'float32' ? new Float32Array(next.length) : new Float64Array(next.length);
  }

  static async open(
    device: Device, problem: Problem, n: number, precision: Precision, initial = problem.initial(n, precision),
  ): Promise<Run> {
    const state = await device.array(initial);
    return new Run(problem, n, state, await device.array(precision, initial.length));
  }

  /** Seconds of `steps` steps, and how they were made. */
  async advance(variant: string, steps: number, ends: object, check = false): Promise<{ seconds: number; used: Used }> {
    const { deviceSeconds, report } = await this.device.run('swept.advance', {
      type: this.precision, n: this.n, batch: 1, steps, variant, check, ...this.problem.parameters(this.n), ...ends,
      state: { data: this.state, offset: 0 }, next: { data: this.next, offset: 0 },
    });
    return { seconds: deviceSeconds, used: report };
  }

  /** The bytes of `next`, until the next call of result(). */
  async result(): Promise<Buffer> {
    await this.next.read(this.#values);
    return Buffer.from(this.#values.buffer);
  }

  /** Whether every value of `next` is finite: of a NaN the least value is one. */
  async finite(): Promise<boolean> {
    const { report } = await this.device.run('swept.measure', {
      type: this.precision, n: this.next.length, rows: 1, state: { data: this.next, offset: 0 } });
    const { least, most } = report.rows.at(0);
    return Number.isFinite(least) && Number.isFinite(most);
  }

  [Symbol.dispose](): void {
    this.state.dispose();
    this.next.dispose();
  }
}

interface Measured {
  readonly seconds: number;
  readonly spread: number;
  readonly steps: number;
  readonly used: Used;
}

/** Seconds of a step: calls of as many whole passes as fill the pace, after warming up. */
async function timeSteps(run: Run, variant: string, ends: object, pace: Pace): Promise<Measured> {
  const most = 2 ** 24;
  let { seconds, used } = await run.advance(variant, pace.leastSteps, ends);
  let steps = 0;
  const wholePasses = (wished: number) => Math.ceil(Math.max(wished, pace.leastSteps) / Math.max(used.depth, 1)) * Math.max(used.depth, 1);
  for (let wished = pace.leastSteps; steps === 0 || (seconds < 0.7 * pace.seconds && steps < most);) {
    if (steps > 0) wished = Math.min(20 * steps, Math.max(2 * steps, (steps * pace.seconds) / seconds));
    steps = wholePasses(Math.min(wished, most));
    ({ seconds, used } = await run.advance(variant, steps, ends));
  }
  const samples: number[] = [];
  const repeats = seconds > 3 * pace.seconds ? Math.min(pace.repeats, 3) : pace.repeats;
  for (let i = 0; i < repeats; i += 1) samples.push((await run.advance(variant, steps, ends)).seconds / steps);
  const { median, spread } = summarise(samples);
  return { seconds: median, spread, steps, used };
}

/** Least seconds of a step of `classic` by its bytes. */
async function byteFloor({ device, problem, n, precision, state, next }: Run): Promise<number> {
  const arrays = problem.reads.reduce((sum, count) => sum + count + 1, 0);
  if (device.backend !== 'cuda') {
    return (await copyFloor(device, arrays * problem.components * n * bytesOf(precision))).seconds;
  }
  using other = await device.array(precision, next.length);
  let sum = 0;
  for (const reads of problem.reads) {
    const sets = [{ from: [state, other].slice(0, reads), to: next }];
    sum += (await streamFloor(device, precision, sets, { repeatSeconds: 1e-3, repeats: 5 })).seconds;
  }
  return sum;
}

/** Figures of the variant that ran. */
function limitOf(run: Run, variant: string, floor: number | undefined): { limit: number; bound: string } | undefined {
  const { computeCapability, multiprocessors } = run.device.description;
  const rate = run.device.backend === 'cuda' ? issueRate(computeCapability, multiprocessors, run.precision) : undefined;
  const arithmetic = rate === undefined ? 0 : (run.n * run.problem.instructions) / rate;
  const bytes = unblocked.has(variant) ? floor ?? 0 : 0;
  if (arithmetic === 0 && bytes === 0) return undefined;
  return { limit: Math.max(arithmetic, bytes), bound: arithmetic >= bytes ? 'bound by arithmetic' : 'bound by bytes' };
}

function rowOf(run: Run, id: string, measured: Measured, classic: Measured | undefined, floor: number | undefined, ends: object): Row {
  const { seconds, spread, steps, used } = measured;
  const limit = limitOf(run, used.variant, floor);
  const onCpu = run.device.backend === 'cpu';
  const updates = run.n / seconds / 1e9;
  const shape = `${used.points} points, depth ${used.depth}, ${used.threads} threads`;
  return {
    id, value: seconds, unit: 's', spread,
    ...(limit === undefined ? {} : { limit: limit.limit, fraction: limit.limit / seconds }),
    ...(classic === undefined ? {} : { peers: { [onCpu ? 'cpu-classic' : 'classic']: classic.seconds } }),
    note: [
      `${updates.toPrecision(4)} G updates/s`, ...(onCpu ? [`${(updates / used.threads).toPrecision(3)} G/s per thread`] : []),
      ...(limit === undefined ? [] : [limit.bound]),
      `${used.variant}: ${shape}, ${steps} steps`, ...('left' in ends ? [`${String(ends.left)} ends`] : []),
    ].join('; '),
  };
}

/** The variants of a problem, `classic` first: the state that the others must reach, and the time that they are compared with. */
class Comparison {
  readonly #context: BenchContext;
  readonly #run: Run;
  readonly #base: string;
  readonly #expected = new Map<string, Buffer>();
  readonly #times = new Map<string, Measured>();

  constructor(context: BenchContext, run: Run, base: string) {
    this.#context = context;
    this.#run = run;
    this.#base = base;
  }

  /** Throws unless the variant has the bits of `classic`. */
  async judge(variant: string, ends: object): Promise<void> {
    const key = JSON.stringify(ends);
    const steps = comparedSteps(this.#context, this.#run.n);
    if (!this.#expected.has(key)) {
      const { used } = await this.#run.advance(this.#base, steps, ends, true);
      if (used.firstBad !== 0) throw new Error(`${this.#base}: step ${used.firstBad} is not finite`);
      this.#expected.set(key, Buffer.from(await this.#run.result()));
    }
    if (variant === this.#base) return;
    await this.#run.advance(variant, steps, ends);
    if ((await this.#run.result()).equals(this.#expected.get(key)!)) return;
    throw new Error(`${variant} differs from ${this.#base} after ${steps} steps`);
  }

  async time(variant: string, ends: object): Promise<Measured> {
    const key = `${variant} ${JSON.stringify(ends)}`;
    const known = this.#times.get(key);
    if (known !== undefined) return known;
    const measured = await timeSteps(this.#run, variant, ends, paceOf(this.#context));
    if (!await this.#run.finite()) throw new Error(`${variant}: not finite after ${measured.steps} steps`);
    this.#times.set(key, measured);
    return measured;
  }
}

/** Ends of a variant that does not take the problem's own: `register` steps the heat equation between periodic ends only. */
async function endsFor(run: Run, variant: string): Promise<object> {
  try {
    await run.advance(variant, 1, {});
    return {};
  } catch (error) {
    if (variant !== 'register' || !isUnsupported(error)) throw error;
    const ends = { left: 'periodic', right: 'periodic' };
    await run.advance(variant, 1, ends);
    return ends;
  }
}

/** Rows of one problem and size; returns the ids of those that failed. */
async function benchmarkProblem(context: BenchContext, problem: Problem, n: number, precision: Precision): Promise<string[]> {
  const names = context.device.backend === 'cpu' ? cpuVariants : gpuVariants;
  const prefix = `${problem.name}/${precision}/${n}`;
  const wanted = names.filter((name) => context.wanted(`${prefix}/${name}`));
  if (wanted.length === 0) return [];
  const base = names[0]!;
  const failures: string[] = [];
  using run = await Run.open(context.device, problem, n, precision);
  const floor = wanted.some((name) => unblocked.has(name)) ? await byteFloor(run) : undefined;
  const comparison = new Comparison(context, run, base);
  for (const variant of wanted) {
    const id = `${prefix}/${variant}`;
    try {
      const ends = await endsFor(run, variant);
      await comparison.judge(variant, ends);
      const measured = await comparison.time(variant, ends);
      const classic = variant === base ? undefined : await comparison.time(base, ends);
      context.emit(rowOf(run, id, measured, classic, floor, ends));
    } catch (error) {
      context.say(`${id}: ${(error as Error).message}`);
      if (!isUnsupported(error)) failures.push(id);
    }
  }
  return failures;
}

/** The quickest of all block sizes that a variant takes. */
async function timeBest(run: Run, variant: string, pace: Pace): Promise<Measured> {
  let best: Measured | undefined;
  for (const threads of blocks) {
    const { used } = await run.advance(variant, pace.leastSteps, { threads });
    if (used.threads !== threads) continue; // it has a largest block of its own, or one for the whole domain
    const measured = await timeSteps(run, variant, { threads }, pace);
    if (best === undefined || measured.seconds < best.seconds) best = measured;
  }
  return best ?? await timeSteps(run, variant, {}, pace);
}

/** Wall time of a step when the state is allocated and sent, and the result is fetched. */
async function timeWhole({ device, problem, n }: Run, variant: string, steps: number, repeats: number): Promise<Measured> {
  const initial = problem.initial(n, 'float64');
  const samples: number[] = [];
  let last: Used | undefined;
  for (let i = 0; i < repeats; i += 1) {
    const begin = performance.now();
    using run = await Run.open(device, problem, n, 'float64', initial);
    last = (await run.advance(variant, steps, {})).used;
    await run.result();
    samples.push((performance.now() - begin) / 1e3 / steps);
  }
  const { median, spread } = summarise(samples);
  return { seconds: median, spread, steps, used: last! };
}

/** The paper's way of timing: best of blocks, and whole runs; returns the ids that failed. */
async function benchmarkPaper(context: BenchContext, problem: Problem, n: number): Promise<string[]> {
  const { device, quick } = context;
  const onCpu = device.backend === 'cpu';
  const prefix = `${problem.name}/float64/${n}`;
  const best = onCpu ? [] : ['classic', 'shared', 'hybrid', 'register'];
  // 50,000 steps of the largest would take minutes.
  const whole = n > (onCpu ? 2 ** 12 : 2 ** 17) ? [] : onCpu ? ['auto'] : ['classic', 'shared', 'auto'];
  const rows = [...best.map((variant) => `${variant}-best`), ...whole.map((variant) => `${variant}-whole`)]
    .filter((name) => context.wanted(`${prefix}/${name}`));
  if (rows.length === 0) return [];
  const failures: string[] = [];
  using run = await Run.open(device, problem, n, 'float64');
  for (const name of rows) {
    const id = `${prefix}/${name}`;
    const [variant = '', kind] = name.split('-');
    try {
      const measured = kind === 'best' ? await timeBest(run, variant, paceOf(context))
        : await timeWhole(run, variant, quick ? 40 : wholeSteps, quick ? 2 : 5);
      context.emit(rowOf(run, id, measured, undefined, undefined, {}));
    } catch (error) {
      context.say(`${id}: ${(error as Error).message}`);
      if (!isUnsupported(error)) failures.push(id);
    }
  }
  return failures;
}

/** Fig. 10 sets the paper's CPU program for KS beside the GPU: rows of this machine's cores in the GPU's report. */
async function benchmarkCpuBeside(context: BenchContext): Promise<string[]> {
  await using device = await openDevice({ backend: 'cpu' });
  const ks = problems.find(({ name }) => name === 'ks')!;
  const failures: string[] = [];
  const beside: BenchContext = { ...context, device, wanted: (id) => !id.endsWith('/auto') && context.wanted(id) };
  for (const n of context.quick ? quickSizes : besideSizes) failures.push(...await benchmarkProblem(beside, ks, n, 'float64'));
  return failures;
}

/** All rows of the domain on the context's device; throws at the end when a variant was wrong. */
export async function benchmarkSwept(context: BenchContext): Promise<void> {
  const { backend } = context.device;
  const failures: string[] = [];
  for (const precision of ['float64', 'float32'] as const) {
    for (const problem of problems) {
      const few = fewSizes[backend] ?? quickSizes;
      const sizes = context.quick ? quickSizes : problem.variation === true ? few : sizesOf[backend]?.[precision] ?? quickSizes;
      if (precision === 'float32' && problem.variation === true) continue;
      for (const n of sizes) failures.push(...await benchmarkProblem(context, problem, n, precision));
      if (precision === 'float32') continue;
      for (const n of context.quick ? quickSizes : few) failures.push(...await benchmarkPaper(context, problem, n));
    }
  }
  if (backend === 'cuda') failures.push(...await benchmarkCpuBeside(context));
  if (failures.length > 0) throw new Error(`no figures for ${failures.length} rows, ${failures.join(', ')}`);
}
