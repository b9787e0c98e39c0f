// warploom stream run and tune.
import { openDevice } from '../core/device.ts';
import { writeFileAtomic } from '../core/files.ts';
import { elementAt, required } from '../core/known.ts';
import { readItems, writeItems } from '../jobs/stream/files.ts';
import * as stream from '../stream/index.ts';
import { ExitCode, integerFlag, numberFlag, UsageError } from './command.ts';
import { compiled, costsOf, filesRead, inputOf, limitsFor, stopOf, type Job, type Values } from './stream-job.ts';

function backendOf({ backend = 'auto' }: Values): stream.StreamBackend | stream.FormerBackend {
  const found = backend === 'js' ? backend : stream.streamBackends.find((name) => name === backend);
  if (found === undefined) throw new UsageError(`--backend takes ${stream.streamBackends.join(', ')}, not '${backend}'`);
  return found;
}

function modeOf({ mode }: Values, backend: string): stream.DeviceMode | undefined {
  if (mode === undefined) return undefined;
  const found = stream.deviceModes.find((name) => name === mode);
  if (found === undefined) throw new UsageError(`--mode takes ${stream.deviceModes.join(', ')}, not '${mode}'`);
  if (!['cuda', 'simt'].includes(backend)) throw new UsageError('--mode requires --backend cuda (or simt)');
  return found;
}

/** Runs a program between standard input and output. */
async function pipe(job: Job, made: stream.StreamGraph): Promise<ExitCode> {
  const { values, context } = job;
  const backend = stream.sessionBackends.find((name) => name === (values.backend ?? 'auto'));
  if (backend === undefined) throw new UsageError(`--backend takes ${stream.sessionBackends.join(', ')} here, not '${values.backend}'`);
  const chunk = integerFlag('chunk', values.chunk, 1, 2 ** 30);
  const { runPipe } = await import('./stream-pipe.ts');
  return runPipe({
    graph: made, flags: values, stop: stopOf(job), context,
    options: {
      backend, files: await filesRead(made, job), limits: limitsFor('run', values), ...(chunk === undefined ? {} : { chunk }),
      ...(values.fast === true ? { fast: true } : {}), ...(values.algebraic === true ? { algebraic: true } : {}),
    },
  });
}

/** Runs a program. */
export async function run(job: Job): Promise<ExitCode> {
  const { values, context } = job;
  const made = await compiled(job);
  if (values.stream === true) return pipe(job, made);
  if (values.chunk !== undefined) throw new UsageError('--chunk requires --stream');
  if (made.input !== undefined && values.input === undefined) throw new UsageError('the program has an open input: give --input FILE');
  if (made.output !== undefined && values.output === undefined) throw new UsageError('the program has an open output: give --output FILE');
  const files = await filesRead(made, job);
  const items = integerFlag('items', values.items, 1, 2 ** 40), iterations = integerFlag('iterations', values.iterations, 1, 2 ** 40);
  const threads = integerFlag('threads', values.threads, 1, 1024), backend = backendOf(values);
  const mode = modeOf(values, backend);
  if (values.fast === true && !['cpp', 'cuda', 'simt'].includes(backend)) throw new UsageError('--fast requires --backend cpp or cuda');
  const input = made.input === undefined ? undefined : await readItems(required(values.input), made.input.type);
  const begin = performance.now();
  const result = await stream.run(made, {
    backend, files, ...stopOf(job), ...(input === undefined ? {} : { input: input.numbers }),
    ...(items === undefined ? {} : { items }), ...(iterations === undefined ? {} : { iterations }),
    ...(threads === undefined ? {} : { threads }), limits: limitsFor('run', values),
    ...(values.costs === undefined ? {} : { costs: values.costs === 'measured' ? values.costs : await costsOf(job, made) }),
    ...(values.fast === true ? { fast: true } : {}), ...(values.algebraic === true ? { algebraic: true } : {}),
    ...(mode === undefined ? {} : { mode }),
  });
  const seconds = [result.milliseconds, performance.now() - begin].map((ms) => ms / 1e3);
  if (result.note !== undefined) context.note(`note: ${result.note}`);
  for (const { node, replaces, before, after } of result.algebraic ?? []) {
    context.err.write(`${node} replaces ${replaces.join(', ')}: ${before} operations in a steady state, now ${after}\n`);
  }
  const { backend: used, output, files: written } = result;
  const report = { backend: used, seconds: seconds[0], wholeSeconds: seconds[1], files: Object.keys(written), note: result.note };
  if (context.json) context.result({ ...report, printed: result.printed, items: output.length }, '');
  else context.out.write(result.printed);
  for (const [path, bytes] of Object.entries(result.files)) await writeFileAtomic(path, bytes);
  const [own, all] = seconds.map((each) => `${each.toPrecision(3)} s`);
  const by = `by ${result.backend} in ${own}, ${all} with translation\n`;
  if (made.output === undefined) {
    const written = Object.entries(result.files).map(([path, { length }]) => `${length} bytes in ${path}`).join(', ');
    context.err.write(`${written === '' ? 'done' : written} ${by}`);
    return ExitCode.ok;
  }
  const count = await writeItems(required(values.output), result.output, made.output.type, { rate: input?.rate });
  context.err.write(`${count} items in ${values.output}: ${(count / elementAt(seconds, 0)).toPrecision(3)} per second ${by}`);
  return ExitCode.ok;
}

/** Times layouts of the program's kernel on a device, and keeps the fastest. */
export async function tune(job: Job): Promise<ExitCode> {
  const { values, context } = job;
  const made = await compiled(job);
  const backend = values.backend ?? 'cuda';
  if (backend !== 'cuda' && backend !== 'simt') throw new UsageError(`--backend takes cuda or simt here, not '${backend}'`);
  const seconds = numberFlag('seconds', values.seconds);
  if (seconds !== undefined && !(seconds > 0 && seconds <= 1e6)) throw new UsageError('--seconds takes a number from above 0 to 1000000');
  const input = await inputOf(values, made);
  await using device = await openDevice({ backend });
  const bar = context.progress();
  using program = await stream.compileForDevice(made, {
    device, ...stopOf(job), ...(values.fast === true ? { fast: true } : {}), ...(values.algebraic === true ? { algebraic: true } : {}),
    tune: {
      ...input, ...(seconds === undefined ? {} : { seconds }),
      onProgress: (done, total) => { bar.update('layouts', done, total); },
    },
  }).finally(() => { bar.clear(); });
  const { layouts, skipped } = required(program.tuned);
  const { itemsPerSecond: usual } = required(layouts.find(({ name }) => name === 'default'));
  context.result({ device: device.name, layouts, skipped },
    `${context.table(['layout', 'G items/s', 'of default'], layouts.map(({ name, itemsPerSecond: rate }) =>
    [name, (rate / 1e9).toPrecision(4), (rate / usual).toFixed(2)]))}\n\n`
    + `timed on ${device.name}: ${layouts.length}, skipped: ${skipped.length}; the fastest layout is kept for this program and device`);
  return ExitCode.ok;
}
