// Worker threads pinned to cores (section 4.9 of the thesis): what each core has in its caches stays with the filters that it runs.
import os from 'node:os';
import { addon } from '../../core/binding.ts';

/** Cores beside those of the workers, and those that are busy: for the calling thread and the device's. */
const spareCores = 2;

/**
 * Has threads keep to cores of their own, those on which they ran last, until the end of a block. Only where the process may use more
 * cores: a pinned thread waits for its core even while others are idle. `shared`: the system's numbers of the threads; 0: unknown.
 */
export function pinned(shared: Int32Array): Disposable {
  const own = addon(), threads = Int32Array.from(shared);
  const spare = spareCores + Math.round(os.loadavg()[0] ?? 0);
  const isPinned = threads.length > 0 && threads.every((thread) => thread > 0) && own.pinThreads?.(threads, spare) === true;
  return { [Symbol.dispose]: () => { if (isPinned) own.unpinThreads?.(threads); } };
}
