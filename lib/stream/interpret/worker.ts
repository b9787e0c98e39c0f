// The interpreter in a worker thread: a run for each message. See apart.ts.
import { parentPort } from 'node:worker_threads';
import type { Answer, Task } from './apart.ts';
import { StreamRunError } from './error.ts';
import { interpretSync, recordChannels } from './index.ts';

function answerOf({ graph, options, recorded }: Task): Answer {
  try {
    if (recorded !== undefined) return { kind: 'recorded', channels: recordChannels(graph, options, recorded) };
    return { kind: 'done', made: interpretSync(graph, options) };
  } catch (error) {
    if (error instanceof StreamRunError) {
      const { message, diagnostic, node, firing } = error;
      return { kind: 'fault', message, details: { diagnostic, node, firing } };
    }
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error), isMemory: error instanceof RangeError };
  }
}

parentPort!.on('message', (task: Task) => { parentPort!.postMessage(answerOf(task)); });
parentPort!.postMessage('ready');
