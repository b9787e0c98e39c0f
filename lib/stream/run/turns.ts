// Runs on a device at once: each makes many calls, and a device takes only so many. Those beyond wait for their turn.
import { Device } from '../../core/device.ts';
import { QueueFullError } from '../../core/errors.ts';
import { reasonOf } from '../../core/progress.ts';

/** Runs that a device has under way at most, and the calls of one run, which may be too many for a small `queueLimit`. */
const mostRuns = 16, callsOfRun = 64;

class Turns {
  readonly #most: number;
  readonly #mostWaiting: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(queueLimit: number) {
    this.#most = Math.max(1, Math.min(mostRuns, Math.floor(queueLimit / callsOfRun)));
    this.#mostWaiting = queueLimit;
  }

  async run<T>(work: (isAlone: boolean) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    if (this.#running < this.#most) ++this.#running;
    else await this.#turn(signal);
    try {
      return await work(this.#running === 1);
    } finally {
      const next = this.#waiting.values().next();
      // The next one takes over this one's place.
      if (next.done === true) --this.#running;
      else next.value();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#mostWaiting) {
      throw new QueueFullError(`the device already has ${this.#waiting.size} runs of stream programs waiting; await some of them, `
        + 'or open it with a larger queueLimit');
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(begin);
        signal?.removeEventListener('abort', stop);
      };
      const begin = (): void => {
        leave();
        resolve();
      };
      const stop = (): void => {
        leave();
        if (signal !== undefined) reject(reasonOf(signal));
      };
      this.#waiting.add(begin);
      signal?.addEventListener('abort', stop, { once: true });
    });
  }
}

const turns = new WeakMap<Device, Turns>();

/**
 * Does a run's work on a device, after those that came before if there are many; at once if there are few. It is told whether it is the
 * only one.
 * @throws QueueFullError if as many wait as the device's `queueLimit`; what the signal says if it comes before the turn
 */
export async function inTurn<T>(device: Device, work: (isAlone: boolean) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const own = turns.get(device) ?? new Turns(Device.queueLimit(device));
  turns.set(device, own);
  return own.run(work, signal);
}
