// Connections on their way to a worker. node:cluster forgets those that a worker has not taken when it is killed: they would stay open,
// and their clients would wait for an answer that nobody gives.
import type { Worker } from 'node:cluster';

/** What node:cluster sends with a connection, and what comes back. */
interface Handed {
  readonly act?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/** A connection in this process: closing it twice does no harm. */
interface Handle {
  close(): void;
}

/** Closes the connections that `worker` has not taken when it ends, so that clients see that they have to ask again. */
export function closeUntaken(worker: Worker): void {
  const { process: child } = worker;
  const underway = new Map<number, Handle>();
  const send = child.send.bind(child) as (...args: readonly unknown[]) => boolean;
  const watched = (message: Handed, handle?: Handle, ...more: readonly unknown[]): boolean => {
    if (message.act === 'newconn' && message.seq !== undefined && handle !== undefined) underway.set(message.seq, handle);
    return send(message, handle, ...more);
  };
  child.send = watched as typeof child.send;
  child.on('internalMessage', ({ ack }: Handed) => {
    if (ack !== undefined) underway.delete(ack);
  });
  worker.once('exit', () => { for (const handle of underway.values()) handle.close(); });
}
