// warploom stream run --stream: items from standard input, items or lines to standard output, as they come.
import type { Readable } from 'node:stream';
import * as stream from '../stream/index.ts';
import { longestTime, within, type StopOptions } from '../stream/stop.ts';
import { ExitCode, UsageError, type CommandContext } from './command.ts';

/** Options that a run in a pipe has no use for. */
const others = ['input', 'output', 'items', 'iterations', 'threads', 'costs', 'out', 'gantt', 'cores', 'json'] as const;

/** What is to run. */
export interface PipeJob {
  readonly graph: stream.StreamGraph;
  readonly options: stream.StreamSessionOptions;
  readonly flags: Readonly<Record<string, unknown>>;
  readonly stop: StopOptions;
  readonly context: CommandContext;
}

/** Waits until a stream takes more; whether it does. */
function drained(out: NodeJS.WritableStream, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void): void => {
      for (const [name, listener] of Object.entries(listeners)) out.off(name, listener);
      signal.removeEventListener('abort', onAbort);
      then();
    };
    const onAbort = (): void => { settle(() => { reject(signal.reason as Error); }); };
    const listeners = {
      drain: (): void => { settle(() => { resolve(true); }); },
      close: (): void => { settle(() => { resolve(false); }); },
      error: (error: NodeJS.ErrnoException): void => {
        settle(() => {
          if (error.code === 'EPIPE') resolve(false);
          else reject(error);
        });
      },
    };
    for (const [name, listener] of Object.entries(listeners)) out.on(name, listener);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Runs a program between standard input and output. */
export async function runPipe({ graph, options, flags, stop, context }: PipeJob): Promise<ExitCode> {
  const other = others.find((name) => flags[name] !== undefined);
  if (other !== undefined) throw new UsageError(`--stream reads standard input and writes standard output: it takes no --${other}`);
  const { out, err } = context;
  const source: Readable | undefined = graph.input === undefined ? undefined : context.in ?? process.stdin;
  try {
    await within({ timeout: longestTime, ...stop }, async (signal) => {
      await using session = await stream.open(graph, { ...options, signal, print: (text) => { err.write(text); } });
      if (session.note !== undefined) err.write(`note: ${session.note}\n`);
      for await (const block of session.process(source, { bytes: true })) {
        if (!out.write(block) && !await drained(out, signal)) break;
      }
    }, performance.now(), 'command');
    return ExitCode.ok;
  } finally {
    // A terminal or a pipe that goes on would keep the process.
    source?.destroy();
  }
}
