// Processes that run items: a crash ends one item, and what an item does cannot hold up the process that asked for it.
import type { ChildProcess } from 'node:child_process';
import { WarploomError } from '../../core/errors.ts';
import { reasonOf } from '../../core/progress.ts';
import { startProcess } from '../../core/thread.ts';
import { elementAt } from '../../core/known.ts';
import type { ItemResult } from '../events.ts';
import type { Ended, GroupWatch } from '../run-group.ts';
import type { ItemTask, ItemWatch } from '../run-item.ts';
import { errorOf, failureOf } from './failure.ts';
import type { News, Order } from './messages.ts';

/** Milliseconds within which an item that is stopped writes its checkpoint; its process is then ended. */
const patience = 30_000;

/** One process. */
class ItemProcess {
  readonly #child: ChildProcess = startProcess(new URL('./process.js', import.meta.url));
  readonly #end: Promise<string>;
  #hasEnded = false;
  #hear: (news: News) => void = () => undefined;

  constructor() {
    this.#end = new Promise((resolve) => {
      this.#child.once('error', (error) => { resolve(error.message); });
      this.#child.once('exit', (code, signal) => { resolve(signal === null ? `exit code ${code}` : `signal ${signal}`); });
    });
    void this.#end.then(() => { this.#hasEnded = true; });
    this.#child.on('message', (news: News) => { this.#hear(news); });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  #send(order: Order): void {
    if (this.#child.connected) this.#child.send(order, () => undefined); // an error: it has ended, which 'exit' reports
  }

  /** Runs items together; each ends once, whatever becomes of the process. */
  async run(tasks: readonly ItemTask[], { signal, onEvent, onEnd }: GroupWatch): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      this.#send({ stop: failureOf(reasonOf(signal)) });
      timer = setTimeout(() => this.#child.kill('SIGKILL'), patience);
    };
    const left = new Set(tasks.keys());
    const end = (place: number, ended: Ended): void => {
      if (left.delete(place)) onEnd(place, ended);
    };
    const done = new Promise<void>((resolve) => {
      this.#hear = (news) => {
        if (news.kind === 'event') onEvent(news.event);
        else if (news.kind === 'result') end(news.place, { result: news.result });
        else if (news.kind === 'failure') end(news.place, { error: signal.aborted ? reasonOf(signal) : errorOf(news.failure) });
        else if (news.kind === 'done') resolve();
      };
      void this.#end.then((how) => {
        for (const place of [...left]) {
          const error = signal.aborted ? reasonOf(signal) : new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', 'the process that ran the item '
            + `'${elementAt(tasks, place).item.name}' ended with ${how} (a crash, or out of memory); run the job again to go on`);
          end(place, { error });
        }
        resolve();
      });
    });
    signal.addEventListener('abort', stop, { once: true });
    this.#send({ tasks });
    if (signal.aborted) stop();
    try {
      await done;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  }

  /** Ends it; an item that it runs is stopped first. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), patience);
    await this.#end;
    clearTimeout(timer);
  }
}

/** Processes that wait for items; they are started as they are needed, and kept until {@link close}. */
export class ItemPool {
  readonly #all = new Set<ItemProcess>();
  readonly #idle: ItemProcess[] = [];

  /** Runs items together, on a process that is idle or a new one. */
  async runGroup(tasks: readonly ItemTask[], watch: GroupWatch): Promise<void> {
    const taken = this.#idle.pop() ?? new ItemProcess();
    this.#all.add(taken);
    try {
      await taken.run(tasks, watch);
    } finally {
      if (taken.hasEnded) this.#all.delete(taken);
      else this.#idle.push(taken);
    }
  }

  /** Runs an item. */
  run(task: ItemTask, { signal, onEvent }: ItemWatch): Promise<ItemResult> {
    return new Promise((resolve, reject) => {
      const onEnd = (_: number, ended: Ended): void => {
        if ('result' in ended) resolve(ended.result);
        else reject(ended.error);
      };
      this.runGroup([task], { signal, onEvent, onEnd }).catch(reject);
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((process) => process.end()));
    this.#all.clear();
  }
}
