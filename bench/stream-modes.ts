// The twelve programs on a device by the schedules of chapter 3 of the thesis. Rows, beside `auto` (stream-device.ts):
//   stream/<program>/swp         items of output a second by the software pipeline, SWP8, its threads and delays measured by Algorithm 1;
//                                figures: n1 … n16, the same by SWPn (Figure 3.11), and persistent: SWP8 in one launch with barriers
//   stream/<program>/swpnc       the same without coalesced layouts (Figure 3.12), profiled so too
//   stream/<program>/serial      one filter after the other, with buffers no larger than SWP8's
//   stream/geomean/<mode>        geometric mean over the baseline
// limit: what memory and arithmetic allow a program whose channels cost nothing, as for `auto`.
import type { StreamGraph } from '../lib/stream/graph.ts';
import { profile } from '../lib/stream/profile/index.ts';
import type { DeviceProfile } from '../lib/stream/profile/types.ts';
import { PipelinedGpu, type PipelineMode, type PipelineOptions } from '../lib/stream/run/gpu-pipelined.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import type { Row } from './report.ts';
import type { LaunchTiming, StreamWork } from './stream-device-work.ts';

export const pipelineModes: readonly PipelineMode[] = ['swp', 'swpnc', 'serial'];
/** n of SWPn in Figure 3.11, and the one of the others' rows. */
export const coarsenings: readonly number[] = [1, 2, 4, 8, 16];
const usual = 8;
/** Seconds of launches of each. */
const timedSeconds = 0.5;

/** What the modes' rows need to know. */
export interface ModeSubject {
  readonly name: string;
  readonly graph: StreamGraph;
  readonly work: StreamWork;
  /** `limit` and `fraction` of a rate. */
  readonly share: (rate: number) => Pick<Row, 'limit' | 'fraction'>;
  readonly peers: Pick<Row, 'peers'>;
}

/** Rows of one program. */
export class ModeRows {
  readonly #context: BenchContext;
  readonly #subject: ModeSubject;
  readonly #profiles = new Map<string, Promise<DeviceProfile>>();

  constructor(context: BenchContext, subject: ModeSubject) {
    this.#context = context;
    this.#subject = subject;
  }

  /** The row of a mode; undefined where the device cannot run the program so. */
  async row(mode: PipelineMode): Promise<Row | undefined> {
    const id = `stream/${this.#subject.name}/${mode}`;
    try {
      const { timing: { best, spread, launches }, note } = await this.#timed({ mode, coarsening: usual });
      const figures = mode !== 'swp' ? {} : { figures: await this.#sweep(best) };
      return { id, value: best, unit: 'items/s', spread, ...this.#subject.share(best), ...this.#subject.peers, ...figures,
        note: `${note}; best of ${launches}` };
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      this.#context.say(`${id}: ${error.message}`);
      return undefined;
    }
  }

  /** Figure 3.11. */
  async #sweep(atUsual: number): Promise<Record<string, number>> {
    const figures: Record<string, number> = {};
    for (const n of this.#context.quick ? [1, usual] : coarsenings) {
      figures[`n${n}`] = n === usual ? atUsual : (await this.#timed({ mode: 'swp', coarsening: n })).timing.best;
    }
    figures['persistent'] = (await this.#timed({ mode: 'swp', coarsening: usual, launch: 'persistent' })).timing.best;
    return figures;
  }

  #profile(mode: 'swp' | 'swpnc'): Promise<DeviceProfile> {
    const { device, quick } = this.#context;
    let found = this.#profiles.get(mode);
    if (found === undefined) {
      const backend = device.backend as 'cuda' | 'simt', small = quick ? { threads: [128, 256], firings: 1024 } : {};
      this.#profiles.set(mode, found = profile(this.#subject.graph, { backend, device, mode, ...small }));
    }
    return found;
  }

  async #timed(options: PipelineOptions): Promise<{ timing: LaunchTiming; note: string }> {
    const { graph, work, name } = this.#subject;
    const { mode, coarsening } = options;
    const measured = await this.#profile(mode === 'swpnc' ? 'swpnc' : 'swp');
    using compiled = await PipelinedGpu.compileFor(graph, this.#context.device, { ...options, profile: measured });
    const timing = await work.time(compiled, `stream/${name}/${mode} (n = ${coarsening})`, timedSeconds);
    const { schedule: { stages, states, instances, arenaBytes, threads, sharedBytes, gap }, kernel: { registers, localBytes } } = compiled;
    const bytes = bytesMoved(compiled);
    const balance = gap === undefined ? '' : `, ${(100 * gap).toPrecision(2)} % above the bound`;
    const rate = (timing.best / compiled.program.output.items * bytes / 1e9).toPrecision(4);
    const local = localBytes === 0 ? '' : `, ${localBytes} bytes local`;
    return { timing, note: `${rate} GB/s of channels (${bytes} bytes a state); ${threads} threads, ${registers} registers${local}, ${
      sharedBytes} bytes shared, ${states} states an iteration in ${instances} instances, ${stages} stages${balance}, ${
      arenaBytes} bytes of buffers` };
  }
}

/** Bytes that a steady state writes to channels and reads from them, each once. */
function bytesMoved({ program: { plan, input, output } }: PipelinedGpu): number {
  const inner = plan.sdf.channels.reduce((sum, { from, push, bytesPerItem }) =>
    sum + 2 * push * plan.steady.repetitions[from]! * bytesPerItem, 0);
  return inner + 3 * 4 * (input.items + output.items);
}
