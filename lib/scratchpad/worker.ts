// The worker thread of the pass: a module for each message. See apart.ts.
import { parentPort } from 'node:worker_threads';
import { ArgumentError } from '../core/errors.ts';
import { required } from '../core/known.ts';
import type { Answer, Task } from './apart.ts';
import { optimizeModule } from './ptx/optimize.ts';

async function answerOf({ text, options }: Task): Promise<Answer> {
  try {
    return { kind: 'done', result: await optimizeModule(text, options) };
  } catch (error) {
    if (error instanceof ArgumentError) {
      const { argument, expected, received } = error;
      return { kind: 'refused', argument, expected, received };
    }
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}

const port = required(parentPort);
port.on('message', (task: Task) => { void answerOf(task).then((answer) => { port.postMessage(answer); }); });
port.postMessage('ready');
