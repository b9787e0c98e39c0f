// warploom run: job files, one after another.
import { join } from 'node:path';
import { ArgumentError } from '../core/errors.ts';
import { describeFile, listFolder } from '../core/files.ts';
import { loadJob } from '../jobs/load.ts';
import type { ItemResult } from '../jobs/events.ts';
import { itemStates, type ItemState } from '../jobs/items.ts';
import type { LoadedJob } from '../jobs/loaded.ts';
import { runJob, type Shard } from '../jobs/runner.ts';
import {
  backendNames, choiceFlag, ExitCode, integerFlag, parseFlags, UsageError, type Command, type CommandContext, type Options,
} from './command.ts';
import { readInputText } from './standard-input.ts';
import { formatSeconds } from './table.ts';
import { resultTable, watcher } from './watch.ts';

/** What a job file gives; what is wrong with it is said with its name. */
async function ofFile<T>(file: string, loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    if (file === '-' || !(error instanceof ArgumentError) || error.argument === file) throw error;
    const { expected, received } = error;
    throw new ArgumentError('', `${file}: ${error.message}`, { expected, received, cause: error });
  }
}

/** A job from standard input; its paths are relative to the working folder. */
async function jobFromInput(context: CommandContext): Promise<object> {
  const text = await readInputText(context);
  try {
    return JSON.parse(text) as object;
  } catch (error) {
    throw new UsageError(`standard input is not a JSON job: ${text.trim() === '' ? 'it is empty' : (error as Error).message}`);
  }
}

/** What a run would do, without doing it. */
async function dryRun(jobs: readonly LoadedJob[], folder: string, again: boolean, context: CommandContext): Promise<ExitCode> {
  const will = { finished: again ? 'run again' : 'skip, finished', begun: again ? 'run again' : 'continue', waiting: 'run' } as const;
  const plan = (await Promise.all(jobs.map(async (job) => (await itemStates(job, folder)).map((item) => ({
    job: job.name, item: item.name, kind: item.job.kind, backend: job.device.backend, state: item.state,
    will: will[item.state], inputs: item.inputs.map(({ path }) => path), folder: item.folder,
  }))))).flat();
  const left = plan.filter(({ state }) => again || state !== 'finished').length;
  const rows = plan.map((each) => [
    each.item === 'all' ? each.job : `${each.job}/${each.item}`, each.kind, each.backend, each.will, each.inputs.join(', ') || '–',
    each.folder]);
  context.result(plan, `${context.table(['job', 'kind', 'on', 'would', 'reads', 'results'], rows)}\n\n`
    + `${left} of ${plan.length} would run; nothing was written`);
  return ExitCode.ok;
}

/** The job files meant by the command line: a folder stands for its .json files but the schemas. */
async function jobFiles(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  if (paths.indexOf('-') !== paths.lastIndexOf('-')) throw new UsageError('only one job can come from standard input');
  for (const path of paths) {
    if (path === '-') {
      files.push(path);
      continue;
    }
    if (!(await describeFile(path)).isDirectory()) {
      files.push(path);
      continue;
    }
    const names = (await listFolder(path)).map(({ name }) => name).filter((n) => n.endsWith('.json') && !n.endsWith('.schema.json'));
    if (names.length === 0) throw new UsageError(`no job file (.json) in ${path}`);
    files.push(...names.map((name) => join(path, name)));
  }
  return files;
}

const ensembleNames = ['auto', 'yes', 'no'] as const;
/** What they stand for. */
const ensembles = { auto: 'auto', yes: true, no: false } as const;

const runOptions = {
  results: { type: 'string', default: 'warploom-results', takes: 'folder' }, backend: { type: 'string', values: backendNames },
  again: { type: 'boolean', default: false }, 'follow-links': { type: 'boolean', default: false },
  parallel: { type: 'string' }, shard: { type: 'string' }, ensemble: { type: 'string', values: ensembleNames },
  'keep-going': { type: 'boolean', default: false },
  status: { type: 'boolean', default: false }, 'dry-run': { type: 'boolean', default: false },
} as const satisfies Options;

/** The part of a sweep that `--shard I/N` names. */
function shardFlag(text: string | undefined): Shard | undefined {
  if (text === undefined) return undefined;
  const [index = 0, count = 0] = (/^(\d{1,7})\/(\d{1,7})$/.exec(text) ?? []).slice(1).map(Number);
  if (index < 1 || index > count) throw new UsageError(`--shard takes I/N with I from 1 to N, such as 2/16, not '${text}'`);
  return { index, count };
}

/** A line for every item, and one for each job. */
async function showStatus(jobs: readonly LoadedJob[], results: string, context: CommandContext): Promise<ExitCode> {
  const { out, json } = context;
  for (const job of jobs) {
    const items = await itemStates(job, results);
    const count = (state: ItemState['state']): number => items.filter((item) => item.state === state).length;
    if (json) {
      for (const { name, state, hash } of items) out.write(`${JSON.stringify({ job: job.name, item: name, state, hash })}\n`);
      continue;
    }
    const rows = items.map(({ name, state, result }) =>
      [name, state, result?.finished ?? '', result === undefined ? '' : formatSeconds(result.wallSeconds)]);
    out.write(`${context.table(['item', 'state', 'at', 'time'], rows)}\n`);
    out.write(`${job.name}: ${count('finished')} of ${items.length} finished, ${count('begun')} begun, ${count('waiting')} waiting\n`);
  }
  return ExitCode.ok;
}

/** `warploom run`. */
export const runCommand: Command = {
  name: 'run',
  summary: 'run job files: solve systems, step equations, interpolate series, process images',
  help: `Usage: warploom run JOB.json|FOLDER|-… [--results DIR] [options]
       warploom run JOB.json… --parallel 8 [--shard 2/16] [--keep-going]
       warploom run JOB.json… --status|--dry-run

A job file says what to compute, on which inputs, with which parameters:

  { "kind": "heat-adi", "name": "cooling", "dt": 0.5, "steps": 200,
    "initial": { "file": "plate.png" }, "sweep": { "diffusivity": [0.5, 1, 2] } }

Kinds: solve (tridiagonal systems from .npy), heat-adi (2-D heat equation), spline (cubic splines
through a .csv), simulate (heat, Kuramoto–Sivashinsky and Euler equations in one dimension),
stencil (an equation of your own, in one to three dimensions), denoise, segment, register (images and volumes).
- stands for a job on standard input. examples/jobs has an example of each kind and the JSON Schema for your editor.

      --results DIR   where results go: DIR/NAME/ITEM/ with result.json, arrays and pictures
                      (default warploom-results)
      --backend B     overrides the job file's device
      --again         also run items that are already finished
      --parallel N    run N items of a sweep at a time, each in a process of its own; same results
      --shard I/N     run part I of N of each sweep: for machines that share the work
                      (--results is a folder that all of them see; see examples/slurm)
      --ensemble E    auto, yes or no: whether items of kind stencil that differ in parameters and initial
                      values only are computed together (default auto: if they are small); same results
      --keep-going    when an item fails, run the others all the same
      --status        run nothing: show how far every item is
      --dry-run       check everything and list what would run, resume or be skipped, without running it
      --follow-links  allow result folders that are symbolic links (default: reject them)

A killed or interrupted run resumes when started again: finished items are skipped, and the one that
was running continues from its last checkpoint.

Exit codes: 0 success; 1 something failed; 2 invalid flags or job file; 3 device; 130 interrupted.
`,
  options: runOptions,
  resumes: true,
  async run(argv, context) {
    const { values, positionals } = parseFlags(runOptions, argv);
    if (positionals.length === 0) throw new UsageError('name at least one job file');
    const backend = choiceFlag('backend', values.backend, backendNames);
    // All files are read and checked before the first one runs.
    const jobs = [];
    for (const file of await jobFiles(positionals)) {
      jobs.push(await ofFile(file, loadJob(file === '-' ? await jobFromInput(context) : file, backend === undefined ? {} : { backend })));
    }
    const names = jobs.map((job) => job.name.toLowerCase()); // not every file system tells capitals apart
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) throw new UsageError(`two job files are named '${twice}': their results would get mixed up`);
    const { 'follow-links': followLinks, again, 'keep-going': keepGoing } = values;
    if (values.status) return await showStatus(jobs, values.results, context);
    if (values['dry-run']) return await dryRun(jobs, values.results, again, context);
    const parallel = integerFlag('parallel', values.parallel, 1, 256);
    const shard = shardFlag(values.shard);
    const ensemble = ensembles[choiceFlag('ensemble', values.ensemble, ensembleNames) ?? 'auto'];
    const onProgress = watcher(context);
    const results: ItemResult[] = [];
    for (const job of jobs) {
      results.push(...await runJob(job, {
        results: values.results, again, followLinks, keepGoing, ensemble, signal: context.signal, onProgress,
        ...(parallel === undefined ? {} : { parallel }), ...(shard === undefined ? {} : { shard }),
      }));
    }
    if (!context.json) context.out.write(`${resultTable(results, values.results, context)}\n`);
    return results.some((r) => r.failed === true) ? ExitCode.failed : ExitCode.ok;
  },
};
