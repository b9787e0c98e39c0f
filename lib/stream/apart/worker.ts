// The worker thread of the interpreter and the elaborator: a task for each message. See index.ts.
import { parentPort } from 'node:worker_threads';
import { required } from '../../core/known.ts';
import type { Answer, Task } from './index.ts';

async function made(task: Task): Promise<unknown> {
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
    const { StreamRunError } = await import('../interpret/error.ts');
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
