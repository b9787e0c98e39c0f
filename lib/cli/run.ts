// warploom run: job files, one after another.
import { join } from 'node:path';
import { describeFile, listFolder } from '../core/files.ts';
import { loadJob } from '../jobs/load.ts';
import { runJob, type ItemResult, type RunEvent } from '../jobs/runner.ts';
import {
  backendNames, choiceFlag, ExitCode, parseFlags, UsageError, type Command, type CommandContext, type Options,
} from './command.ts';
import { formatSeconds } from './table.ts';

/** One table of what ran, where, how fast, how accurate, and where the pictures are. */
export function resultTable(results: readonly ItemResult[], folder: string, context: CommandContext): string {
  return context.table(['job', 'what ran', 'on', 'time', 'accuracy', 'results'], results.map((r) => [
    r.item === 'all' ? r.job : `${r.job}/${r.item}`, r.failed === true ? context.paint('red', r.summary) : r.summary, r.device.backend,
    formatSeconds(r.wallSeconds),
    Number.isFinite(r.accuracy.value) ? `${r.accuracy.value.toExponential(1)} (${r.accuracy.meaning})` : r.accuracy.meaning,
    join(folder, r.job, r.item)]));
}

/** Progress and notes, or JSON lines. */
export function watcher(context: CommandContext): (event: RunEvent) => void {
  const { out, json } = context;
  if (json) return (event) => out.write(`${JSON.stringify(event)}\n`);
  const bar = context.progress();
  const said = new Set<string>();
  const hints = new Set<string>();
  return (event) => {
    if (event.event === 'progress') bar.update(`${event.job}/${event.item}`, event.done, event.total);
    else bar.clear();
    if (event.event === 'skipped') context.note(`${event.job}/${event.item}: already finished, skipped (--again runs it again)`);
    const atEnd = event.event === 'finished' ? event.result?.notes ?? [] : [];
    const notes = event.event === 'warning' ? [event.note] : atEnd;
    for (const note of notes) {
      if (!said.has(note) && !hints.has(note)) context.note(`${event.job}/${event.item}: ${note}`);
      if (note.includes('install the optional package')) hints.add(note); // true of every item
      said.add(note);
    }
    if (event.event === 'finished') said.clear(); // of this item
  };
}

/** The job files meant by the command line: a folder stands for its .json files but the schemas. */
async function jobFiles(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
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

const runOptions = {
  results: { type: 'string', default: 'warploom-results', takes: 'folder' }, backend: { type: 'string', values: backendNames },
  again: { type: 'boolean', default: false }, 'follow-links': { type: 'boolean', default: false },
} as const satisfies Options;

/** `warploom run`. */
export const runCommand: Command = {
  name: 'run',
  summary: 'run job files: solve systems, step equations, interpolate series, process images',
  help: `Usage: warploom run JOB.json|FOLDER… [--results DIR] [options]

A job file says what to compute, on which inputs, with which parameters:

  { "kind": "heat-adi", "name": "cooling", "dt": 0.5, "steps": 200,
    "initial": { "file": "plate.png" }, "sweep": { "diffusivity": [0.5, 1, 2] } }

Kinds: solve (tridiagonal systems from .npy), heat-adi (2-D heat equation), spline (cubic splines
through a .csv), simulate (heat, Kuramoto–Sivashinsky and Euler equations in one dimension),
stencil (an equation of your own, in one to three dimensions), denoise, segment, register (images and volumes).
examples/jobs has an example of each kind and the JSON Schema for your editor.

      --results DIR   where results go: DIR/NAME/ITEM/ with result.json, arrays and pictures
                      (default warploom-results)
      --backend B     overrides the job file's device
      --again         also run items that are already finished
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
    for (const file of await jobFiles(positionals)) jobs.push(await loadJob(file, backend === undefined ? {} : { backend }));
    const names = jobs.map((job) => job.name.toLowerCase()); // not every file system tells capitals apart
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) throw new UsageError(`two job files are named '${twice}': their results would get mixed up`);
    const { 'follow-links': followLinks, again } = values;
    const onProgress = watcher(context);
    const results: ItemResult[] = [];
    for (const job of jobs) {
      results.push(...await runJob(job, {
        results: values.results, again, followLinks, signal: context.signal, onProgress,
      }));
    }
    if (!context.json) context.out.write(`${resultTable(results, values.results, context)}\n`);
    return results.some((r) => r.failed === true) ? ExitCode.failed : ExitCode.ok;
  },
};
