// warploom submit and warploom worker: sweeps over machines, by a queue.
import { loadJob } from '../jobs/load.ts';
import { submit, work } from '../jobs/submit.ts';
import {
  backendNames, choiceFlag, ExitCode, integerFlag, parseFlags, UsageError, type Command, type Options,
} from './command.ts';
import { resultTable, watcher } from './watch.ts';

/** The queue of `--queue`, or of WARPLOOM_QUEUE: a password on a command line can be seen by all users of a machine. */
const queueOf = (flag: string | undefined): string | undefined => flag ?? process.env['WARPLOOM_QUEUE'];

const addressHelp = `      --queue URL     redis://HOST[:PORT][/DB], rediss://… (TLS) or unix:///PATH; a password goes before the
                      host, is never printed, and is best given in WARPLOOM_QUEUE instead of here
      --name NAME     which queue of the server (default items)`;

const submitOptions = {
  queue: { type: 'string' }, name: { type: 'string' }, root: { type: 'string', takes: 'folder' },
  fetch: { type: 'boolean', default: false },
  results: { type: 'string', default: 'warploom-results', takes: 'folder' }, detach: { type: 'boolean', default: false },
  again: { type: 'boolean', default: false }, 'follow-links': { type: 'boolean', default: false },
  backend: { type: 'string', values: backendNames }, parallel: { type: 'string' },
} as const satisfies Options;

/** `warploom submit`. */
export const submitCommand: Command = {
  name: 'submit',
  summary: 'put the items of a job into a queue, for workers on any machines, and wait for them',
  help: `Usage: warploom submit JOB.json [--queue URL] [--fetch] [--detach] [options]

  redis-server &
  warploom worker --queue redis://localhost &
  warploom submit sweep.json --queue redis://localhost

Every item of the job's sweep goes to one of the workers (warploom worker). Results are those of
warploom run, to the byte. Ctrl-C ends the waiting, not the work: submit the job again to go on
waiting. Items that have finished are not run again, items that have failed get another chance, and
an item whose worker died goes to another one. Without a queue, the items run here.

${addressHelp}
      --root DIR      the folder here that is the workers' folder there; it contains the job and its
                      inputs (default: the folder of the job file)
      --fetch         bring the files of the results back through the queue, into --results
                      (default: they stay in the workers' folder, which may be shared)
      --results DIR   where --fetch, or a run without a queue, puts results (default warploom-results)
      --detach        do not wait
      --again         also run items that are already finished
      --backend B     overrides the job file's device
      --parallel N    without a queue: run N items at a time
      --follow-links  allow result folders that are symbolic links (default: reject them)

Needs the optional packages bullmq and ioredis (npm install bullmq ioredis), and Redis 6.2 or Valkey.

Exit codes: 0 success; 1 an item failed; 2 invalid flags or job file; 3 no server, or a device; 130 interrupted.
`,
  options: submitOptions,
  resumes: true,
  async run(argv, context) {
    const { values, positionals } = parseFlags(submitOptions, argv);
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) throw new UsageError('name one job file');
    const backend = choiceFlag('backend', values.backend, backendNames);
    const parallel = integerFlag('parallel', values.parallel, 1, 256);
    const queue = queueOf(values.queue);
    if (queue === undefined && (values.fetch || values.detach)) {
      throw new UsageError('--fetch and --detach need a queue: --queue URL or WARPLOOM_QUEUE');
    }
    const { 'follow-links': followLinks, results, again, fetch, detach, name: queueName, root } = values;
    const job = await loadJob(file, backend === undefined ? {} : { backend });
    const ended = await submit(job, {
      queue, queueName, root, fetch, results, again, followLinks, parallel, wait: !detach,
      signal: context.signal, onProgress: watcher(context),
    });
    if (context.json) return ExitCode.ok;
    if (detach) context.out.write(`${job.name}: ${job.items.length} items submitted, ${ended.length} have ended\n`);
    else context.out.write(`${resultTable(ended, results, context)}\n`);
    return ended.some((r) => r.failed === true) ? ExitCode.failed : ExitCode.ok;
  },
};

const workerOptions = {
  queue: { type: 'string' }, name: { type: 'string' }, folder: { type: 'string', default: '.', takes: 'folder' },
  results: { type: 'string', default: 'warploom-results' }, parallel: { type: 'string' }, 'allow-code': { type: 'boolean', default: false },
  drain: { type: 'boolean', default: false }, lease: { type: 'string' },
} as const satisfies Options;

/** `warploom worker`. */
export const workerCommand: Command = {
  name: 'worker',
  summary: 'run items of a queue, as warploom submit put them there',
  help: `Usage: warploom worker --queue URL [--folder DIR] [--parallel N] [options]

  warploom worker --queue redis://queue.example --folder /shared/sweeps --parallel 4

Takes items from a queue (warploom submit) and runs them, each in a process of its own, until it is
stopped. Ctrl-C or SIGTERM: items that run write a checkpoint and go back to the queue. A worker that
is killed loses nothing: its items go to others, and continue from their last checkpoints where those
see the same folder.

An item runs only if its parameters are valid, if all that it reads and writes lies in the worker's
folder, and if its inputs have the bytes that they have where it was submitted.

${addressHelp}
      --folder DIR    the only folder that items may read from and write to (default: this one)
      --results DIR   folder in it for results (default warploom-results)
      --parallel N    run N items at a time (default 1)
      --allow-code    also run items that name a file with code (equation files)
      --drain         end when the queue is empty and no worker has an item
      --lease S       seconds without a sign of life after which a worker's items go to others (default 30)

Needs the optional packages bullmq and ioredis (npm install bullmq ioredis), and Redis 6.2 or Valkey.

Exit codes: 0 stopped, or drained, and no item failed; 1 an item failed; 2 invalid flags; 3 no server.
`,
  options: workerOptions,
  async run(argv, context) {
    const { values, positionals } = parseFlags(workerOptions, argv);
    if (positionals.length > 0) throw new UsageError(`warploom worker takes no file: ${positionals.join(' ')}`);
    const queue = queueOf(values.queue);
    if (queue === undefined) throw new UsageError('which queue? --queue URL or WARPLOOM_QUEUE');
    const { folder, results, 'allow-code': allowCode, drain, name: queueName } = values;
    const done = await work({
      queue, queueName, folder, results, allowCode, untilEmpty: drain, parallel: integerFlag('parallel', values.parallel, 1, 256),
      leaseSeconds: integerFlag('lease', values.lease, 1, 3600), signal: context.signal, onProgress: watcher(context),
    });
    context.result(done, `${done.finished} items finished, ${done.failed} failed`);
    return done.failed > 0 ? ExitCode.failed : ExitCode.ok;
  },
};
