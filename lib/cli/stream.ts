// warploom stream: check, draw, schedule and run programs in the StreamIt language.
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { readText, writeFileAtomic } from '../core/files.ts';
import { elementAt, required } from '../core/known.ts';
import { didYouMean } from '../core/similar.ts';
import type { Diagnostic } from '../stream/diagnostics.ts';
import { coreBars } from '../stream/pictures/core-bars.ts';
import * as stream from '../stream/index.ts';
import { ExitCode, integerFlag, numberFlag, parseFlags, UsageError, type Command } from './command.ts';
import { readInputText } from './standard-input.ts';
import { compiled, costsOf, elaborated, flags, inputOf, measured, show, stopOf, type Job } from './stream-job.ts';
import { run, tune } from './stream-run.ts';

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
  const cores = integerFlag('cores', job.values.cores, 1, 4096) ?? availableParallelism();
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

/** Which actions take an option that others would pass over in silence. */
const takenBy = {
  out: ['graph', 'profile'], gantt: ['schedule'], cores: ['schedule'], output: ['run'], items: ['run'], iterations: ['run'],
  seconds: ['tune'], chunk: ['run'], threads: ['run'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Refuses options that the action would ignore. */
function refuseOthers(action: string, values: Job['values']): void {
  const hints: Readonly<Record<string, string>> = { schedule: ': name the picture with --gantt', run: ': use --output' };
  for (const [flag, takers] of Object.entries(takenBy)) {
    if (values[flag as keyof typeof takenBy] === undefined || (takers as readonly string[]).includes(action)) continue;
    throw new UsageError(`--${flag} is for ${takers.join(' and ')}, not for ${action}${flag === 'out' ? hints[action] ?? '' : ''}`);
  }
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
  tune       times up to 56 layouts of the program's kernel on the GPU and keeps the fastest for later runs on such a GPU;
             without it, the first run by cuda times fourteen (none if the environment has WARPLOOM_TUNE=0)
  run        runs the program

      --main NAME        the main stream. Default: the void->void stream that no other adds
      --param NAME=VALUE a value for a parameter of that stream (repeatable); arrays as JSON: --param 'taps=[1, 2.5]'
      --limit NAME=VALUE raises a limit that a message names (repeatable): characters, tokens, expression (of the text), nesting,
                         nodes, steps, bytes, arrayElements, rate, errors (of elaboration), firings (of runs in the interpreter)
  -o, --out FILE         graph: a picture (.svg); profile: the times (.json), of cores for --costs
      --cores N          schedule: number of cores, default those of this machine
      --costs FILE       schedule, run: { "actor": microseconds of a firing } as JSON, or the word measured, which measures them
                         first (and caches them), on the first items of --input. Default: counted operations
      --gantt FILE.svg   schedule: a picture of one launch, bars coloured by pipeline stage
      --input FILE       run, profile (wasm, cpp), schedule --costs measured, tune: items of an open input (all but run make some up
                         without it); --output FILE: where those of an open output go: .npy, .wav (16 bits, one channel), .txt
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
      const known = Object.keys(actions);
      if (action !== undefined || name === undefined) throw new UsageError(`name an action (${known.join(', ')}) and a program`);
      throw new UsageError(`there is no action '${name}'; ${didYouMean(name, known, `there are ${known.join(', ')}`)}`);
    }
    refuseOthers(required(name), values);
    if (paths.indexOf('-') !== paths.lastIndexOf('-')) throw new UsageError('only one file can come from standard input');
    if (paths.includes('-') && values.stream === true) {
      throw new UsageError('--stream reads items from standard input, which cannot be the program too');
    }
    const files = await Promise.all(paths.map(async (path) =>
      (path === '-' ? { name: 'standard input', text: await readInputText(context) } : { name: path, text: await readText(path) })));
    const seconds = numberFlag('timeout', values.timeout);
    if (seconds !== undefined && !(seconds > 0 && seconds <= 2e6)) throw new UsageError('--timeout takes seconds from above 0 to 2000000');
    return action({ begin, timeout: seconds === undefined ? undefined : 1000 * seconds, files, values, context });
  },
};
