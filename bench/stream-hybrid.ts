// The twelve programs on a device and CPU cores together, as in chapter 4 of the thesis (Figures 4.6 to 4.9), those with state included:
// input and output lie in JavaScript's memory. Rows:
//   stream/<program>/cpu           items of output a second by the clock, all filters on cores
//   stream/<program>/gpu           all filters on the device that can be there
//   stream/<program>/synergistic   where it is fastest: each filter where a plan places it, all as one kernel on the device, or all on
//                                  cores; figures.planned: without the one kernel; plannedByHeuristic, plannedByIlp: by those partitions in
//                                  any case (Figures 4.6 and 4.8); planned16: for 4 cores and 16 multiprocessors (Figure 4.9); compile:
//                                  seconds, without measured costs and cache; note: both over the better of the other rows
// Costs of both sides are measured: on cores by `profile` with wasm, on the device by Algorithm 1. Every item that comes out is compared
// with what WebAssembly makes of the same input, bit for bit.
import { randomInput, type BenchmarkProgram } from '../examples/stream/programs.ts';
import type { StreamGraph } from '../lib/stream/graph.ts';
import { profile } from '../lib/stream/profile/index.ts';
import type { HybridMode } from '../lib/stream/run/backends.ts';
import { DeviceProgram } from '../lib/stream/run/device-program.ts';
import { HybridGpu, type HybridCompileOptions } from '../lib/stream/run/hybrid.ts';
import { run } from '../lib/stream/run/index.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import type { Row } from './report.ts';
import { bytesOf, type Items } from './stream-device-work.ts';
import { shapeFor, type Partitions } from './stream-gap.ts';
import { profileInput } from './stream-programs.ts';
import { summarise } from './statistics.ts';

export const hybridModes: readonly HybridMode[] = ['cpu', 'gpu', 'synergistic'];

/** Items of input, about; runs of each mode, and most of those before the first that counts. */
const inputItems = 2.5e7, quickItems = 30_000;
const repeats = 5, fewRepeats = 3, mostTrials = 12;

/** Iterations of quick runs. */
const short = { launchMicroseconds: 0, threads: 32, shuffleItems: 32, maxUnroll: 1 };

/** What plans are made from; `profile` only for programs without state. */
type Costs = Pick<Parameters<typeof HybridGpu.compileFor>[2], 'costs' | 'profile'>;

/** Rows of one program. */
export class HybridRows {
  readonly #context: BenchContext;
  readonly #program: BenchmarkProgram;
  readonly #graph: StreamGraph;
  #input: Items | undefined;
  #expected: ArrayLike<number> | undefined;
  #costs: Costs | undefined;
  readonly #rates = new Map<HybridMode, number>();

  constructor(context: BenchContext, program: BenchmarkProgram, graph: StreamGraph) {
    this.#context = context;
    this.#program = program;
    this.#graph = graph;
  }

  /** The row of a mode; undefined where the program cannot run so. */
  async row(mode: HybridMode, baseline: number | undefined, partitions?: Partitions): Promise<Row | undefined> {
    const id = `stream/${this.#program.name}/${mode}`;
    try {
      const isBoth = mode === 'synergistic';
      const plans = isBoth ? await this.#plans(id, partitions) : {};
      const { planned } = plans;
      const { best, spread, note, device } = await this.#timed(mode, id);
      this.#rates.set(mode, best);
      const others = hybridModes.filter((each) => each !== 'synergistic').map((each) => this.#rates.get(each));
      const known = others.filter((rate) => rate !== undefined), most = Math.max(...known);
      const over = planned !== undefined && known.length === others.length
        ? `${(best / most).toPrecision(3)} of the better of cpu and gpu, by plan ${(planned / most).toPrecision(3)}; ` : '';
      const figures = { ...(device > 0 ? { device } : {}), ...plans };
      return { id, value: best, unit: 'items/s', spread, figures, note: `${over}${note}`,
        ...(baseline === undefined ? {} : { peers: { baseline } }) };
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      this.#context.say(`${id}: ${error.message}`);
      return undefined;
    }
  }

  /** Rates by plans alone: where the estimate is best, by given partitions, and on as many cores and multiprocessors as the thesis had. */
  async #plans(id: string, partitions: Partitions | undefined): Promise<Record<string, number>> {
    const rateOf = async (options: Pick<HybridCompileOptions, 'onDevice' | 'cores' | 'processors'>): Promise<number> =>
      (await this.#timed('synergistic', id, { fused: false, ...options }, fewRepeats)).best;
    const compile = await this.#compileSeconds();
    const planned = await rateOf({});
    if (partitions === undefined && this.#context.quick) return { compile, planned };
    const planned16 = await rateOf(shapeFor(this.#context, 'thesis'));
    if (partitions === undefined) return { compile, planned, planned16 };
    const { heuristic, ilp } = partitions;
    return {
      compile, planned, planned16, plannedByHeuristic: await rateOf({ onDevice: (node) => heuristic.has(node) }),
      plannedByIlp: await rateOf({ onDevice: (node) => ilp.has(node) }),
    };
  }

  /** Seconds that compiling takes a caller who gives nothing but the mode; what the cache has is not the same text. */
  async #compileSeconds(): Promise<number> {
    const begin = performance.now();
    using _compiled = await HybridGpu.compileFor(this.#graph, this.#context.device,
      { mode: 'synergistic', ...(this.#context.quick ? short : {}) });
    return (performance.now() - begin) / 1e3;
  }

  /** Measured costs; counted ones in a quick run, and of the device for programs that it cannot be asked about. */
  async #costsFor(mode: HybridMode): Promise<Costs> {
    const { quick, device } = this.#context;
    if (quick) return {};
    if (this.#costs === undefined) {
      const { microseconds: costs } = await profile(this.#graph, { backend: 'wasm', input: profileInput(this.#program) });
      const backend = device.backend as 'cuda' | 'simt';
      const measured = await profile(this.#graph, { backend, device, layout: 'warp' }).catch((error: unknown) => {
        if (isUnsupported(error)) return undefined;
        throw error;
      });
      this.#costs = { costs, profile: measured };
    }
    return mode === 'cpu' ? { costs: this.#costs.costs } : this.#costs;
  }

  async #timed(
    mode: HybridMode, id: string, options: Pick<HybridCompileOptions, 'fused' | 'onDevice' | 'cores' | 'processors'> = {},
    count = repeats,
  ): Promise<{ best: number; spread: number; note: string; device: number }> {
    const { device, quick } = this.#context;
    const { inputItems: each } = this.#program;
    this.#input ??= randomInput(this.#program, Math.max(1, Math.round((quick ? quickItems : inputItems) / each)) * each, 1);
    this.#expected ??= (await run(this.#graph, { input: this.#input, backend: 'wasm' })).output;
    const how = { mode, ...options, ...await this.#costsFor(mode), ...(quick ? short : {}) };
    using made = await HybridGpu.compileFor(this.#graph, device, how);
    // The first runs start threads, and with `synergistic` try where the program is fastest.
    for (let run = 0; run < (quick ? 1 : mostTrials) && !(run > 0 && made.choice.isSettled); ++run) await this.#run(made, id);
    const rates: number[] = [], seconds: number[] = [];
    for (let repeat = 0; repeat < (quick ? 1 : count); ++repeat) {
      const { rate, deviceSeconds } = await this.#run(made, id);
      rates.push(rate);
      seconds.push(deviceSeconds);
    }
    const { placed = 'both', states, stages, channelBytes } = made.figures;
    const { plan, placements } = made.planned, rungs = placements.get(placed)?.plan;
    const byPlan = rungs && `${rungs.onGpu.filter(Boolean).length} of ${plan.onGpu.length - 2} filters on the device; ${
      states} states an iteration of ${rungs.interval.toPrecision(4)} µs by plan, ${stages} stages; ${
      channelBytes} bytes of rings on the device, ${rungs.hostBytes} on the host`;
    const on = placed === 'fused' ? 'one kernel on the device'
      : byPlan ?? `all on ${made.planned.problem.cores} cores by WebAssembly`;
    const told = [...made.choice.estimates].map(([name, time]) => `${name} ${(time * 1e3).toPrecision(3)}`).join(', ');
    return {
      best: Math.max(...rates), spread: summarise(rates).spread, device: summarise(seconds).median,
      note: `${on}; ns a state by estimate: ${told}`,
    };
  }

  /** One run by the clock, whose output is compared. */
  async #run(made: HybridGpu, id: string): Promise<{ rate: number; deviceSeconds: number }> {
    const placed = made.choice.next, begin = performance.now();
    // As callers run it, who may change the input once the call has returned.
    const { output, note, deviceSeconds = 0 } = await new DeviceProgram(this.#graph, made).run(this.#input!);
    const taken = (performance.now() - begin) / 1e3;
    if (note !== undefined && placed !== 'cores') throw new Error(`${id}: ${note}`);
    this.#require(output, id);
    return { rate: output.length / taken, deviceSeconds };
  }

  #require(output: ArrayLike<number>, id: string): void {
    const expected = this.#expected!;
    if (output.length !== expected.length) throw new Error(`${id}: ${output.length} items came out, ${expected.length} on the CPU`);
    const [found, wanted] = [output, expected].map((items) => bytesOf(items as Items));
    if (Buffer.compare(found!, wanted!) === 0) return;
    // Slower by far, and only where something is wrong.
    const bits = [output, expected].map((items) => new Int32Array((items as Items).buffer, (items as Items).byteOffset, items.length));
    const at = bits[0]!.findIndex((value, i) => value !== bits[1]![i]);
    throw new Error(`${id}: item ${at} is ${output[at]}, on the CPU ${expected[at]}`);
  }
}
