// A process that answers inferences on the port that it shares with others. Ends with the one that started it.
import { run, type Running } from '../app.ts';
import { stateOfDevices } from '../devices.ts';
import { letHeapGrow } from '../heap.ts';
import type { News, Order } from './messages.ts';

let running: Promise<Running> | undefined;

const tell = (news: News): void => {
  if (process.connected) process.send?.(news, () => undefined); // an error: the other end is gone, which 'disconnect' reports
};

async function start({ options, socket }: Order & { readonly kind: 'start' }): Promise<void> {
  try {
    running = run(options, { forwardTo: socket });
    tell({ kind: 'listening', url: (await running).url });
  } catch (error) {
    const { message, code } = error as Error & { readonly code?: string };
    tell({ kind: 'failed', message, code });
  }
}

async function report(id: number): Promise<void> {
  const { metrics, pool, statistics } = await (running as Promise<Running>);
  tell({ kind: 'report', id, report: { metrics: await metrics.json(), devices: stateOfDevices(pool), statistics: statistics.all() } });
}

async function stop(): Promise<void> {
  try {
    await (await running)?.close();
  } finally {
    process.exit(0);
  }
}

process.on('message', (order: Order) => {
  if (order.kind === 'start') void start(order);
  else if (order.kind === 'report') void report(order.id);
  else void stop();
});
process.once('disconnect', () => { void stop(); });

// Signals reach all processes of a terminal: the first one tells the others to stop.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

letHeapGrow();
tell({ kind: 'ready' });
