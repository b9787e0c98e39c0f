// warploom stream profile --backend cuda: Algorithm 1 of the thesis on a device, as a table and as a file.
import { openDevice } from '../core/device.ts';
import { writeFileAtomic } from '../core/files.ts';
import { elementAt } from '../core/known.ts';
import * as stream from '../stream/index.ts';
import { longestTime, within } from '../stream/stop.ts';
import { ExitCode, UsageError, type CommandContext } from './command.ts';
import { formatTable } from './table.ts';

/** What is measured, and how it is written. */
export interface DeviceProfileRequest {
  readonly graph: stream.StreamGraph;
  readonly backend: 'cuda' | 'simt';
  readonly flags: { readonly mode?: string | undefined; readonly layout?: string | undefined; readonly out?: string | undefined };
  readonly stop: { readonly signal: AbortSignal; readonly timeout?: number };
  readonly context: CommandContext;
}

const modes = ['swp', 'swpnc'] as const, layouts = ['block', 'warp'] as const;

/** The options that the flags name. */
function optionsOf({ mode, layout }: DeviceProfileRequest['flags']): Pick<stream.DeviceProfileOptions, 'mode' | 'layout'> {
  const [ownMode, ownLayout] = [modes.find((name) => name === mode), layouts.find((name) => name === layout)];
  if (mode !== undefined && ownMode === undefined) throw new UsageError(`--mode takes ${modes.join(' or ')} here, not '${mode}'`);
  if (layout !== undefined && ownLayout === undefined) throw new UsageError(`--layout takes ${layouts.join(' or ')}, not '${layout}'`);
  if (ownMode === 'swpnc' && ownLayout !== undefined) throw new UsageError("--layout is for --mode swp: swpnc keeps the stream's order");
  return { ...(ownMode === undefined ? {} : { mode: ownMode }), ...(ownLayout === undefined ? {} : { layout: ownLayout }) };
}

/** A row for each filter and limit on registers, a column for each number of threads; a star marks the filter's least time. */
function timesTable(actors: readonly { readonly name: string }[], { registers, threads, microseconds }: stream.RuntimeTable): string {
  const rows = actors.flatMap(({ name }, actor) => {
    const times = microseconds.map((byThreads) => byThreads.map((each) => elementAt(each, actor)));
    const least = Math.min(...times.flat());
    const cell = (time: number): string => (time === Infinity ? '∞ ' : `${time.toPrecision(4)}${time === least ? '*' : ' '}`);
    return times.map((own, limit) => [name, String(registers[limit]), ...own.map(cell)]);
  });
  return formatTable(['filter', 'registers', ...threads.map((count) => `${count} `)], rows);
}

/** What Algorithm 2 makes of the times, in words. */
function choiceOf(graph: stream.SdfGraph, table: stream.RuntimeTable): string {
  try {
    const { registers, threads, delays, perSteadyState } = stream.selectConfiguration(graph, table);
    const counts = [...new Set(threads.filter((_, actor) => elementAt(delays, actor) < Infinity))].sort((a, b) => a - b);
    return `Algorithm 2 chooses at most ${Math.max(...registers)} registers and instances of ${counts.join(', ')} threads: `
      + `${perSteadyState.toPrecision(4)} µs of one multiprocessor for a steady state`;
  } catch (error) {
    if (!(error instanceof stream.ScheduleError)) throw error;
    return `Algorithm 2 finds no configuration: ${error.message}`;
  }
}

/** The profile as JSON, with null for Infinity. */
function textOf(profile: stream.DeviceProfile): string {
  return `${JSON.stringify(profile, (_, value: unknown) => (value === Infinity ? null : value))}\n`;
}

/** Measures a program's filters on a device, prints the times and writes them where a file is named. */
export async function profileOnDevice({ graph, backend, flags, stop, context }: DeviceProfileRequest): Promise<ExitCode> {
  const options = optionsOf(flags);
  await using device = await openDevice({ backend });
  const bar = context.progress();
  const measure = (signal: AbortSignal): Promise<stream.DeviceProfile> => stream.profile(graph, {
    backend, device, ...options, signal, onProgress: (done, total) => { bar.update('runs', done, total); },
  });
  const made = await within({ timeout: longestTime, ...stop }, measure, performance.now(), 'profile').finally(() => { bar.clear(); });
  const sdf = stream.toSdf(graph, { ends: true });
  context.out.write(`${timesTable(sdf.actors, made.table)}\n\n`
    + `µs of ${made.table.firings} firings on each of ${made.device.multiprocessors} multiprocessors of ${made.device.name}`
    + `${made.cached ? ', measured before' : ''}; *: the least of a filter; ∞: cannot run\n${choiceOf(sdf, made.table)}\n`);
  if (flags.out !== undefined) await writeFileAtomic(flags.out, textOf(made));
  return ExitCode.ok;
}
