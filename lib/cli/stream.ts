// warploom stream: check, draw, schedule and run programs in the StreamIt language.
import { basename, dirname, isAbsolute, join } from 'node:path';
import { openDevice } from '../core/device.ts';
import { isAbsent, isThere, readBytes, readText, writeFileAtomic } from '../core/files.ts';
import { elementAt, required } from '../core/known.ts';
import { readItems, writeItems } from '../jobs/stream/files.ts';
import type { Diagnostic } from '../stream/diagnostics.ts';
import { coreBars } from '../stream/pictures/core-bars.ts';
import * as stream from '../stream/index.ts';
import { longestTime, timeOver, within } from '../stream/stop.ts';
import { ExitCode, integerFlag, numberFlag, parseFlags, UsageError, type Command, type CommandContext, type Options } from './command.ts';
import { readInput } from './standard-input.ts';

const text = { type: 'string' } as const;
const file = { type: 'string', takes: 'file' } as const;
const flags = {
  main: text, out: { type: 'string', short: 'o', takes: 'file' }, gantt: file, cores: text, costs: file, input: file, output: file,
  items: text, iterations: text, backend: { type: 'string', values: stream.streamBackends },
  mode: { type: 'string', values: stream.deviceModes }, layout: { type: 'string', values: ['block', 'warp'] },
  threads: text, timeout: text, seconds: text,
  param: { type: 'string', multiple: true }, limit: { type: 'string', multiple: true }, fast: { type: 'boolean' },
  algebraic: { type: 'boolean' }, stream: { type: 'boolean' }, chunk: text,
} as const satisfies Options;
type Values = ReturnType<typeof parseFlags<typeof flags>>['values'];

interface Job {
  /** When it began, and the milliseconds that it may take. */
  readonly begin: number;
  readonly timeout: number | undefined;
  readonly files: readonly stream.SourceFile[];
  readonly values: Values;
  readonly context: CommandContext;
}

/** `NAME=VALUE`: a number, true, false, an array as JSON, or else a text. */
function parameterOf(given: string): [string, stream.ParameterValue] {
  const at = given.indexOf('=');
  if (at < 1) throw new UsageError(`--param takes NAME=VALUE, not '${given}'`);
  const text = given.slice(at + 1);
  try {
    return [given.slice(0, at), JSON.parse(text) as stream.ParameterValue];
  } catch {
    return [given.slice(0, at), text];
  }
}

const limitNames = {
  syntax: ['characters', 'tokens', 'nesting', 'expression'],
  elaboration: ['nesting', 'nodes', 'steps', 'bytes', 'arrayElements', 'rate', 'errors'], run: ['firings', 'steps', 'bytes', 'nesting'],
} as const;

/** Limits of one stage from `--limit NAME=VALUE`; a name that several stages have counts for all. */
function limitsFor(stage: keyof typeof limitNames, { limit = [] }: Values): Record<string, number> {
  const known: string[] = [...new Set(Object.values(limitNames).flat())];
  const pairs = limit.map((given): [string, number] => {
    const [, name, value] = /^(\w+)=(\d+(?:[eE]\d+)?)$/.exec(given) ?? [];
    if (name === undefined || !known.includes(name) || !(Number(value) >= 1 && Number(value) <= Number.MAX_SAFE_INTEGER)) {
      throw new UsageError(`--limit takes NAME=NUMBER with one of the names ${known.join(', ')}, not '${given}'`);
    }
    return [name, Number(value)];
  });
  return Object.fromEntries(pairs.filter(([name]) => (limitNames[stage] as readonly string[]).includes(name)));
}

/** What ends the next stage: the signal, and what is left of the time. */
function stopOf({ begin, timeout, context: { signal } }: Job): { readonly signal: AbortSignal; readonly timeout?: number } {
  if (timeout === undefined) return { signal };
  const left = begin + timeout - performance.now();
  if (left <= 0) throw timeOver(timeout, 'command');
  return { signal, timeout: left };
}

const options = (job: Job): stream.CompileOptions => optionsOf(job.values, stopOf(job));
const optionsOf = (values: Values, stop: ReturnType<typeof stopOf>): stream.CompileOptions => ({
  ...stop, syntaxLimits: limitsFor('syntax', values), limits: limitsFor('elaboration', values),
  ...(values.main === undefined ? {} : { main: values.main }),
  ...(values.param === undefined ? {} : { parameters: Object.fromEntries(values.param.map(parameterOf)) }),
});

/** Diagnostics with their source lines, or for `check` as JSON. */
function show(diagnostics: readonly Diagnostic[], { files, context }: Job, isCheck = false): void {
  if (context.json && isCheck) {
    const plain = diagnostics.map(({ span, ...rest }) => ({ ...rest, start: span.start, end: span.end }));
    context.out.write(`${JSON.stringify(plain, null, 1)}\n`);
    return;
  }
  for (const diagnostic of diagnostics) context.err.write(`${stream.formatDiagnostic(diagnostic, { files })}\n\n`);
}

/** A file that the program names: where that leads from here or, if nothing is there, from the program's own folder. */
async function readNamed(path: string, { files }: Job): Promise<Uint8Array> {
  try {
    return await readBytes(path);
  } catch (error) {
    const beside = join(dirname(elementAt(files, 0).name), path);
    if (isAbsolute(path) || !isAbsent(error) || !isThere(beside)) throw error;
    return readBytes(beside);
  }
}

/** The program elaborated, with the tables that it reads from files where they are there. */
async function elaborated(job: Job): Promise<stream.Compiled> {
  const first = await stream.elaborate(job.files, options(job));
  const found = await Promise.all((first.graph.missing ?? []).map(async (path) => {
    const bytes = await readNamed(path, job).catch(() => undefined);
    return bytes === undefined ? [] : [[path, bytes] as const];
  }));
  const files = Object.fromEntries(found.flat());
  return Object.keys(files).length === 0 ? first : stream.elaborate(job.files, { ...options(job), files });
}

async function check(job: Job): Promise<ExitCode> {
  const isError = ({ severity }: Diagnostic) => severity === 'error';
  const found = await elaborated(job).then(({ diagnostics }) => diagnostics, (error: unknown) => {
    if (!(error instanceof stream.ProgramError)) throw error;
    return error.diagnostics;
  });
  show(found, job, true);
  const errors = found.filter(isError).length, warnings = found.length - errors;
  if (!job.context.json) job.context.out.write(`${errors} errors, ${warnings} warnings\n`);
  return errors > 0 ? ExitCode.failed : ExitCode.ok;
}

async function compiled(job: Job): Promise<stream.StreamGraph> {
  const { graph, diagnostics } = await elaborated(job);
  show(diagnostics, job);
  return graph;
}

async function graph(job: Job): Promise<ExitCode> {
  const { out } = job.values;
  const made = await compiled(job);
  if (out === undefined) {
    const { nodes, channels } = made;
    const plain = { nodes: nodes.map(({ id, name, kind }) => ({ id, name, kind })), channels };
    job.context.result(plain, stream.describeGraph(made).trimEnd());
    return ExitCode.ok;
  }
  if (!out.endsWith('.svg')) throw new UsageError('-o takes a name that ends in .svg');
  await writeFileAtomic(out, await stream.graphSvg(made, basename(elementAt(job.files, 0).name)));
  const [nodes, channels] = [made.nodes.length, made.channels.length];
  job.context.result({ nodes, channels, out }, `${nodes} nodes, ${channels} channels: ${out}`);
  return ExitCode.ok;
}

/** Files that the program reads, by its names for them. */
async function filesRead(made: stream.StreamGraph, job: Job): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const node of made.nodes) {
    if (node.kind === 'reader') files[node.file.path] ??= await readNamed(node.file.path, job);
  }
  return files;
}

/** Measures what firings take, as long as the command may. */
async function measured(job: Job, made: stream.StreamGraph, options: stream.ProfileOptions): Promise<stream.Profile> {
  const files = await filesRead(made, job);
  const stop = stopOf(job);
  const work = (signal: AbortSignal): Promise<stream.Profile> => stream.profile(made, { ...options, signal, files });
  return within({ timeout: longestTime, ...stop }, work, performance.now(), 'profile');
}

/** The items of `--input`, if the program reads any and they are given. */
async function inputOf({ input }: Values, made: stream.StreamGraph): Promise<{ readonly input?: ArrayLike<number> }> {
  return made.input === undefined || input === undefined ? {} : { input: (await readItems(input, made.input.type)).numbers };
}

/** Microseconds of a firing of each actor: estimated, measured, or from a JSON file { "name": microseconds }. */
async function costsOf(job: Job, made: stream.StreamGraph): Promise<number[]> {
  const { values } = job;
  const estimated = stream.estimateCosts(made);
  if (values.costs === undefined) return estimated;
  if (values.costs === 'measured') return [...(await measured(job, made, await inputOf(values, made))).microseconds];
  const text = await readText(values.costs);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--costs: ${values.costs} is not JSON: ${(error as Error).message}`);
  }
  if (typeof given !== 'object' || given === null) {
    throw new UsageError(`--costs: ${values.costs} contains no object { "name": microseconds }`);
  }
  if ('kind' in given && given.kind === 'gpu') {
    throw new UsageError(`--costs: ${values.costs} is a profile of a device, and costs are those of cores: profile with wasm or cpp`);
  }
  for (const [name, cost] of Object.entries(given)) {
    const id = made.nodes.findIndex((node) => node.name === name);
    if (id < 0) throw new UsageError(`--costs: the program has no node ${name}`);
    if (typeof cost !== 'number' || !(cost >= 0) || !Number.isFinite(cost)) throw new UsageError(`--costs: ${name} takes microseconds`);
    estimated[id] = cost;
  }
  return estimated;
}

/** Measured microseconds by node, as `schedule --costs` takes them; on a device the table of Algorithm 1. */
async function profile(job: Job): Promise<ExitCode> {
  const { values, context } = job;
  const made = await compiled(job);
  const backend = values.backend ?? 'wasm';
  if (backend === 'cuda' || backend === 'simt') {
    if (values.input !== undefined) throw new UsageError('--input is not for profiles of a device, which are taken with zeros');
    const { profileOnDevice } = await import('./stream-profile.ts');
    return profileOnDevice({ graph: made, backend, flags: values, stop: stopOf(job), context });
  }
  if (backend !== 'wasm' && backend !== 'cpp' && backend !== 'js') {
    throw new UsageError(`--backend takes wasm, cpp, cuda or simt here, not '${backend}'`);
  }
  const forDevices = (['mode', 'layout'] as const).find((name) => values[name] !== undefined);
  if (forDevices !== undefined) throw new UsageError(`--${forDevices} requires --backend cuda (or simt)`);
  const { microseconds, measured: isMeasured, cached, backend: used, note } = await measured(job, made, {
    backend, ...await inputOf(values, made),
  });
  if (note !== undefined) context.note(`note: ${note}`);
  const { repetitions } = stream.steadyState(stream.toSdf(made));
  const whole = microseconds.reduce((sum, each, id) => sum + each * elementAt(repetitions, id), 0);
  const rows = made.nodes.map(({ id, name }) => [name, elementAt(microseconds, id).toPrecision(3), String(repetitions[id]),
    (100 * elementAt(microseconds, id) * elementAt(repetitions, id) / whole).toFixed(1), isMeasured[id] ? '' : 'counted']);
  const actors = made.nodes.map(({ id, name }) => ({
    name, microseconds: microseconds[id], firings: repetitions[id], measured: isMeasured[id],
  }));
  context.result({ actors, microseconds: whole, backend: used, cached },
    `${context.table(['actor', 'µs each', 'firings', '% of all', ''], rows)}\n\n`
    + `${whole.toPrecision(4)} µs a steady state on one core (${used}${cached ? ', measured before' : ''})`);
  if (values.out !== undefined) {
    const table = Object.fromEntries(made.nodes.map(({ id, name }) => [name, microseconds[id]]));
    await writeFileAtomic(values.out, `${JSON.stringify(table, null, 1)}\n`);
  }
  return ExitCode.ok;
}

async function schedule(job: Job): Promise<ExitCode> {
  const made = await compiled(job);
  const cores = integerFlag('cores', job.values.cores, 1, 4096) ?? 4;
  const costs = await costsOf(job, made);
  const sdf = stream.toSdf(made);
  const steady = stream.steadyState(sdf);
  const single = stream.singleAppearanceSchedule(sdf, steady), push = stream.pushSchedule(sdf, steady);
  const plan = stream.assignToCores(sdf, steady, stream.cpuCosts(sdf, costs), { cores });
  const has = (slices: readonly stream.CoreSlice[], id: number) => slices.some(({ actor }) => actor === id);
  const coresOf = sdf.actors.map(({ id }) => plan.programs.flatMap((slices, core) => (has(slices, id) ? [core] : [])));
  const rows = steady.order.map((id) => {
    const [actor, own] = [elementAt(sdf.actors, id), elementAt(coresOf, id)];
    return [actor.name, String(steady.repetitions[id]), String(steady.initFirings[id]), elementAt(costs, id).toPrecision(3),
      String(plan.stages[id]), own.length === cores ? 'all' : own.join(', '), actor.stateful ? 'yes' : ''];
  });
  const sum = (list: readonly number[]) => list.reduce((total, value) => total + value, 0);
  const actors = steady.order.map((id) => ({
    name: sdf.actors[id]?.name, firings: steady.repetitions[id], initFirings: steady.initFirings[id], microseconds: costs[id],
    stage: plan.stages[id], cores: coresOf[id],
  }));
  const buffers = { singleAppearance: sum(single.buffers), push: sum(push.buffers) };
  const { interval, bound, multiplier } = plan;
  job.context.result({ actors, buffers, cores, multiplier, interval, bound },
    `${job.context.table(['actor', 'firings', 'at first', 'µs each', 'stage', 'cores', 'state'], rows)}\n\n`
    + `${sdf.actors.length} actors, ${sdf.channels.length} channels; ${sum(steady.repetitions)} firings in a steady state\n`
    + `items that channels hold: single appearance ${sum(single.buffers)}, push ${sum(push.buffers)}\n`
    + `${cores} cores, ${plan.multiplier} steady states per launch: ${plan.interval.toPrecision(4)} µs, `
    + `${(100 * (plan.interval / plan.bound - 1)).toFixed(1)} % above the bound of ${plan.bound.toPrecision(4)} µs`);
  const { gantt } = job.values;
  if (gantt !== undefined) {
    const title = `${basename(elementAt(job.files, 0).name)} on ${cores} cores`;
    await writeFileAtomic(gantt, stream.ganttSvg(sdf, coreBars(sdf, plan, costs), cores, plan.interval, title));
    if (!job.context.json) job.context.out.write(`one launch: ${gantt}\n`);
  }
  return ExitCode.ok;
}

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

async function run(job: Job): Promise<ExitCode> {
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
async function tune(job: Job): Promise<ExitCode> {
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

const actions: Readonly<Record<string, (job: Job) => Promise<ExitCode>>> = { check, graph, profile, schedule, tune, run };

/** `warploom stream`. */
export const streamCommand: Command = {
  name: 'stream',
  summary: 'check, draw, profile, schedule and run a program in the StreamIt language',
  help: `Usage: warploom stream check|graph|profile|schedule|tune|run PROGRAM.str [MORE.str …] [options]

The program - is standard input.

  check      reports what is wrong, with file, line and column; exit code 1 if anything is
  graph      the program as a graph: text, or a picture with -o GRAPH.svg
  profile    how long a firing of each filter takes on this machine; -o COSTS.json for schedule --costs. With --backend cuda: each
             filter alone on the GPU by threads and registers; -o PROFILE.json for stream.compileForDevice
  schedule   how often each filter fires, buffers, and a software pipeline over CPU cores
  tune       times up to 44 layouts of the program's kernel on the GPU and keeps the fastest for later runs on such a GPU;
             without it, the first run by cuda times eight (none if the environment has WARPLOOM_TUNE=0)
  run        runs the program

      --main NAME        the main stream. Default: the void->void stream that no other adds
      --param NAME=VALUE a value for a parameter of that stream (repeatable); arrays as JSON: --param 'taps=[1, 2.5]'
      --limit NAME=VALUE raises a limit that a message names (repeatable): characters, tokens, expression (of the text), nesting,
                         nodes, steps, bytes, arrayElements, rate, errors (of elaboration), firings (of runs in the interpreter)
  -o, --out FILE         graph: a picture (.svg); profile: the times (.json), of cores for --costs
      --cores N          schedule: number of cores, default 4
      --costs FILE       schedule, run: { "actor": microseconds of a firing } as JSON, or the word measured, which measures them
                         first (and caches them), on the first items of --input. Default: counted operations
      --gantt FILE.svg   schedule: a picture of one launch, bars coloured by pipeline stage
      --input FILE       run, profile (wasm, cpp), schedule --costs measured, tune: items of an open input (all but run make some up
                         without it); --output FILE: where those of an open output go: .npy, .wav (floats, one channel), .txt
                         (numbers), other names raw (32-bit words, little-endian)
      --backend B        run: auto (default: cuda for long runs on a machine with a GPU, otherwise wasm if the program allows it),
                         cuda (compiled for the GPU; what a GPU cannot run goes to the CPU, with a note), wasm (compiled to
                         WebAssembly), cpp (compiled by the system's C++ compiler), interpret, simt (the GPU code on the CPU,
                         for tests); profile: wasm (default), cpp, cuda or simt; tune: cuda (default) or simt
      --seconds N        tune: seconds after which no further layout is timed; default 60
      --mode M           run, with cuda: fused (default: all filters in one kernel), swp (a software pipeline over the
                         multiprocessors), swpnc (the same without coalesced layouts), serial (one filter after the other);
                         synergistic (filters on the GPU and on CPU cores at once, also for programs with state, or one of
                         the next two where it is faster), gpu (all on the GPU that can be there), cpu (WebAssembly on
                         all cores, for comparison); profile, with cuda: swp (default) or swpnc
      --layout L         profile, with cuda: threads whose items stand side by side, 128 (block, default) or 32 (warp, which the
                         modes synergistic and gpu use)
      --threads N        run: maximum number of threads of a compiled program. Default: all cores for long runs, otherwise one
      --stream           run: items from standard input to standard output as they come, in constant memory: 32-bit words, 64-bit
                         doubles, little-endian; bits 32 to a word. Programs that only print write their lines. Text that other
                         programs print goes to standard error. --backend auto, wasm, interpret, cuda or simt
      --chunk N          run --stream: the most items of input that are processed at once
      --fast             tune; run, with cpp or cuda: float operations may be contracted (with cpp reordered), outputs differ in rounding
      --algebraic        tune, run: linear filters are multiplied together where that takes fewer operations; outputs differ in
                         rounding. run says which filters were replaced
      --timeout SECONDS  ends commands that take longer, with exit code 1. Default: none (run: ten minutes)
      --items N, --iterations N   run: end after this many items or steady states. Default: when the input ends

Examples
  warploom stream check program.str
  warploom stream graph program.str -o graph.svg
  warploom stream profile program.str --backend cpp -o costs.json
  warploom stream profile program.str --backend cuda -o profile.json
  warploom stream schedule program.str --costs costs.json --cores 8 --gantt launch.svg
  warploom stream tune program.str --input samples.npy
  warploom stream run filter.str --param taps=32 --input noisy.wav --output clean.wav
  warploom stream run filter.str --input noisy.wav --output clean.wav --backend cpp --threads 4
  warploom stream run filter.str --input noisy.wav --output clean.wav --backend cuda
  cat samples.f32 | warploom stream run filter.str --stream > clean.f32

Exit codes: 0 success; 1 the program is wrong or failed; 2 invalid flags or files; 3 no GPU or C++ compiler; 130 interrupted.
`,
  options: flags,
  actions: Object.keys(actions),
  async run(argv, context) {
    const begin = performance.now();
    const { values, positionals } = parseFlags(flags, argv);
    const [name, ...paths] = positionals;
    const action = Object.hasOwn(actions, name ?? '') ? required(actions[required(name)]) : undefined;
    if (action === undefined || paths.length === 0) {
      throw new UsageError('name an action (check, graph, profile, schedule, tune, run) and a program');
    }
    if (paths.indexOf('-') !== paths.lastIndexOf('-')) throw new UsageError('only one file can come from standard input');
    if (paths.includes('-') && values.stream === true) {
      throw new UsageError('--stream reads items from standard input, which cannot be the program too');
    }
    const files = await Promise.all(paths.map(async (path) =>
      (path === '-' ? { name: 'standard input', text: String(await readInput(context)) } : { name: path, text: await readText(path) })));
    const seconds = numberFlag('timeout', values.timeout);
    if (seconds !== undefined && !(seconds > 0 && seconds <= 2e6)) throw new UsageError('--timeout takes seconds from above 0 to 2000000');
    return action({ begin, timeout: seconds === undefined ? undefined : 1000 * seconds, files, values, context });
  },
};
