// The twelve programs on a device by the schedules of chapter 3 of the thesis. Rows, beside `auto` (stream-device.ts):
//   stream/<program>/swp         items of output a second by the software pipeline, n and launches as a caller gets them, threads and
//                                delays as Algorithm 1 measures them (programs with state: counted, seconds of the device in a whole run);
//                                figures: n1 … n16, by SWPn with a launch for each interval (Figure 3.11); persistent: in one launch with
//                                barriers; bufferBytes (Table 3.2) and aboveBound (Table 3.3)
//   stream/<program>/swpnc       the same without coalesced layouts (Figure 3.12), profiled so too
//   stream/<program>/serial      one filter after the other, with buffers no larger than SWP8's
//   stream/<program>/swp-ilp     seconds that the ILP of section 3.5 takes for the measured delays and at most 16 multiprocessors
//                                (Table 3.3); figures.aboveBound: the interval over its bound, less 1; none: nothing was found in time
//   stream/geomean/<mode>        geometric mean over the baseline
// limit: what memory and arithmetic allow a program whose channels cost nothing, as for `auto`.
import type { StreamGraph } from '../lib/stream/graph.ts';
import type { DeviceProfile } from '../lib/stream/profile/types.ts';
import type { PipelineMode } from '../lib/stream/run/gpu-lists.ts';
import { PipelinedGpu, textFor, type PipelineOptions } from '../lib/stream/run/gpu-pipelined.ts';
import { unroll, unrollFactor } from '../lib/stream/partition/index.ts';
import { UnsupportedProgram } from '../lib/stream/plan/unsupported.ts';
import { scheduleProblem } from '../lib/stream/run/gpu-schedule.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import type { Row } from './report.ts';
import type { LaunchTiming, StreamWork } from './stream-device-work.ts';
import { measureScheduleIlp } from './stream-partition.ts';
import { profileFor } from './stream-tables.ts';

export const pipelineModes: readonly PipelineMode[] = ['swp', 'swpnc', 'serial'];
/** n of SWPn in Figure 3.11; the rows have the default. */
export const coarsenings: readonly number[] = [1, 2, 4, 8, 16];
/** Seconds of launches of each. */
const timedSeconds = 0.5;

/** Multiprocessors of the thesis's GPU, for which its ILP schedules, and seconds that the solver has for a program. */
const ilpProcessors = 16, ilpSeconds = 20;
/** Binary variables that are worth a try. */
const mostVariables = 20_000;

/** What the modes' rows need to know. */
export interface ModeSubject {
  readonly name: string;
  readonly graph: StreamGraph;
  readonly work: StreamWork;
  /** `limit` and `fraction` of a rate. */
  readonly share: (rate: number) => Pick<Row, 'limit' | 'fraction'>;
  readonly peers: Pick<Row, 'peers'>;
}

interface Timed {
  readonly timing: LaunchTiming;
  readonly note: string;
  readonly coarsening: number;
  /** Of Tables 3.2 and 3.3: bytes of buffers, and the interval over its bound, minus 1. */
  readonly tables: Readonly<Record<string, number>>;
}

/** Rows of one program. */
export class ModeRows {
  readonly #context: BenchContext;
  readonly #subject: ModeSubject;
  readonly #profiles = new Map<string, Promise<DeviceProfile | undefined>>();

  constructor(context: BenchContext, subject: ModeSubject) {
    this.#context = context;
    this.#subject = subject;
  }

  /** The row of a mode; undefined where the device cannot run the program so. */
  async row(mode: PipelineMode): Promise<Row | undefined> {
    const id = `stream/${this.#subject.name}/${mode}`;
    try {
      const { timing: { best, spread, launches }, note, coarsening, tables } = await this.#timed({ mode, launch: 'auto' });
      const figures = mode !== 'swp' ? {} : { figures: { ...await this.#sweep(coarsening), ...tables } };
      return { id, value: best, unit: 'items/s', spread, ...this.#subject.share(best), ...this.#subject.peers, ...figures,
        note: `${note}; best of ${launches}` };
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      this.#context.say(`${id}: ${error.message}`);
      return undefined;
    }
  }

  /** The row of Table 3.3. */
  async ilpRow(): Promise<Row | undefined> {
    const { graph, name } = this.#subject, { device, quick } = this.#context;
    const id = `stream/${name}/swp-ilp`;
    try {
      const { text, choice } = textFor(graph, { mode: 'swp', profile: await this.#profile('swp') });
      const problem = scheduleProblem(text, choice, Math.min(ilpProcessors, device.description.multiprocessors || 1));
      const instances = unroll(problem, unrollFactor(problem)).repetitions.reduce((sum, count) => sum + count, 0);
      if (instances * problem.processors > mostVariables) {
        throw new UnsupportedProgram(`the ILP of the schedule has ${instances * problem.processors} binary variables`);
      }
      const [found] = await measureScheduleIlp([{ name, problem }], quick ? 2 : ilpSeconds);
      const { spent, gap, processors } = found!;
      return { id, value: spent.wall, unit: 's', spread: 0, ...(gap === undefined ? {} : { figures: { aboveBound: gap } }),
        note: `${processors} multiprocessors, ${instances} instances${gap === undefined ? '; none found in time' : ''}` };
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      this.#context.say(`${id}: ${error.message}`);
      return undefined;
    }
  }

  /** Figure 3.11, as far as there is memory for it. */
  async #sweep(usual: number): Promise<Record<string, number>> {
    const figures: Record<string, number> = {};
    for (const n of this.#context.quick ? [1] : coarsenings) {
      try {
        figures[`n${n}`] = (await this.#timed({ mode: 'swp', coarsening: n })).timing.best;
      } catch (error) {
        if (!isUnsupported(error)) throw error;
        this.#context.say(`stream/${this.#subject.name}/swp with n = ${n}: ${error.message}`);
      }
    }
    figures['persistent'] = (await this.#timed({ mode: 'swp', coarsening: usual, launch: 'persistent' })).timing.best;
    return figures;
  }

  /** Undefined where the device cannot be asked, since firings follow each other: costs are counted. */
  #profile(mode: 'swp' | 'swpnc'): Promise<DeviceProfile | undefined> {
    let found = this.#profiles.get(mode);
    if (found === undefined) {
      found = profileFor(this.#context, this.#subject.graph, { mode }).catch((error: unknown) => {
        if (isUnsupported(error)) return undefined;
        throw error;
      });
      this.#profiles.set(mode, found);
    }
    return found;
  }

  async #timed(options: PipelineOptions): Promise<Timed> {
    const { graph, work, name } = this.#subject;
    const { mode } = options;
    const measured = await this.#profile(mode === 'swpnc' ? 'swpnc' : 'swp');
    using compiled = await PipelinedGpu.compileFor(graph, this.#context.device, { ...options, profile: measured });
    const timing = await work.time(compiled, `stream/${name}/${mode} (n = ${compiled.schedule.coarsening})`, { forSeconds: timedSeconds });
    const { schedule, kernel: { registers, localBytes } } = compiled;
    const { coarsening, stages, states, instances, arenaBytes, threads, sharedBytes, gap } = schedule;
    const bytes = bytesMoved(compiled);
    const balance = gap === undefined ? '' : `, ${(100 * gap).toPrecision(2)} % above the bound`;
    const rate = (timing.best / compiled.program.output.items * bytes / 1e9).toPrecision(4);
    const local = localBytes === 0 ? '' : `, ${localBytes} bytes local`;
    const block = `${threads} threads, ${registers} registers${local}, ${sharedBytes} bytes shared`;
    const tables = { bufferBytes: arenaBytes, aboveBound: gap ?? 0 };
    return { timing, coarsening, tables, note: `n = ${coarsening}, ${rate} GB/s of channels (${bytes} bytes a state); ${block}, ${
      states} states an iteration in ${instances} instances, ${stages} stages${balance}, ${arenaBytes} bytes of buffers` };
  }
}

/** Bytes that a steady state writes to channels and reads from them, each once. */
function bytesMoved({ program: { plan, input, output } }: PipelinedGpu): number {
  const inner = plan.sdf.channels.reduce((sum, { from, push, bytesPerItem }) =>
    sum + 2 * push * plan.steady.repetitions[from]! * bytesPerItem, 0);
  return inner + 3 * 4 * (input.items + output.items);
}
