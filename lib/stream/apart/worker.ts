// A worker thread of the interpreter, the elaborator and the printer of kernels: a task for each message. See index.ts.
import { parentPort } from 'node:worker_threads';
import { required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import type { Answer, Task } from './index.ts';

/** The graph of the last layouts, which share what has been planned for it. */
let last: { readonly number: number; readonly graph: StreamGraph } | undefined;

async function printed({ graph, number, options }: Extract<Task, { kind: 'print' }>): Promise<string> {
  const [{ printedText }, { trusted }] = await Promise.all([import('../run/printed.ts'), import('../require.ts')]);
  if (number === undefined) return printedText(graph, options);
  if (last?.number !== number) last = { number, graph: trusted(graph) };
  return printedText(last.graph, options);
}

async function made(task: Task): Promise<unknown> {
  if (task.kind === 'print') return printed(task);
  if (task.kind === 'elaborate') {
    const [{ check }, { elaborate }] = await Promise.all([import('../front/check.ts'), import('../elaborate/index.ts')]);
    const { main, parameters = {} } = task.options;
    const { checked } = check(task.program, { ...(main === undefined ? {} : { entry: main }), parameters: Object.keys(parameters) });
    return elaborate(checked, task.options);
  }
  const { interpretSync, recordChannels } = await import('../interpret/index.ts');
  return task.kind === 'record' ? recordChannels(task.graph, task.options, task.most) : interpretSync(task.graph, task.options);
}

async function answerOf(task: Task): Promise<Answer> {
  try {
    return { kind: 'done', made: await made(task) };
  } catch (error) {
    const [{ StreamRunError }, { UnsupportedProgram }] = await Promise.all(
      [import('../interpret/error.ts'), import('../plan/unsupported.ts')]);
    if (error instanceof UnsupportedProgram) return { kind: 'unsupported', reason: error.reason };
    if (error instanceof StreamRunError) {
      const { message, diagnostic, node, firing } = error;
      return { kind: 'fault', message, details: { diagnostic, node, firing } };
    }
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error), isMemory: error instanceof RangeError };
  }
}

const port = required(parentPort);
port.on('message', (task: Task) => { void answerOf(task).then((answer) => { port.postMessage(answer); }); });
port.postMessage('ready');
