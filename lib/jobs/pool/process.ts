// A process that runs items, one at a time or several together, for the process that started it. Ends with it.
import { Devices } from '../devices.ts';
import { runGroup } from '../run-group.ts';
import type { ItemTask } from '../run-item.ts';
import { errorOf, failureOf } from './failure.ts';
import type { News, Order } from './messages.ts';

const devices = new Devices();
let current: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;

const tell = (news: News): void => {
  if (process.connected) process.send?.(news, () => undefined); // an error: the other end is gone, which 'disconnect' reports
};

async function run(tasks: readonly ItemTask[], signal: AbortSignal): Promise<void> {
  await runGroup(tasks, devices, {
    signal, onEvent: (event) => { tell({ kind: 'event', event }); },
    onEnd: (place, ended) => {
      tell('result' in ended ? { kind: 'result', place, result: ended.result }
        : { kind: 'failure', place, failure: failureOf(ended.error) });
    },
  });
  tell({ kind: 'done' });
}

process.on('message', (order: Order) => {
  if ('stop' in order) {
    current?.stop.abort(errorOf(order.stop));
    return;
  }
  const stop = new AbortController();
  current = { stop, done: run(order.tasks, stop.signal) };
});

process.once('disconnect', () => {
  current?.stop.abort(new Error('the process that started this one has ended'));
  void Promise.resolve(current?.done).then(() => devices.close()).finally(() => process.exit(0));
});

// Ctrl-C reaches all processes of a terminal: the one that started this decides what becomes of the item.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

tell({ kind: 'ready' });
