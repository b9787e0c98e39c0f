// What goes on on devices, so that what can wait, such as a search for a faster layout, gives way to it.
import type { Device } from '../../core/device.ts';

/** Runs, sessions' launches and first searches on one device. */
export class Activity {
  #underWay = 0;
  #ended = 0;
  readonly #begins = new Set<() => void>();
  #waiting: (() => void)[] = [];

  get isIdle(): boolean {
    return this.#underWay === 0;
  }

  /** How many uses have come to their end. */
  get ended(): number {
    return this.#ended;
  }

  /** Does work that others give way to. It begins before this returns. `isUse`: whether it counts as use of the device. */
  async during<T>(work: () => Promise<T>, isUse = true): Promise<T> {
    ++this.#underWay;
    for (const tell of [...this.#begins]) tell();
    try {
      return await work();
    } finally {
      --this.#underWay;
      if (isUse) ++this.#ended;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const tell of waiting) tell();
    }
  }

  /** Calls a function whenever something begins, until the returned one is called. */
  onBegin(tell: () => void): () => void {
    this.#begins.add(tell);
    return () => { this.#begins.delete(tell); };
  }

  /** Resolves when something ends. */
  next(): Promise<void> {
    return new Promise((resolve) => { this.#waiting.push(resolve); });
  }
}

const activities = new WeakMap<Device, Activity>();

export function activityOf(device: Device): Activity {
  const own = activities.get(device) ?? new Activity();
  activities.set(device, own);
  return own;
}

/** Does work on a device that others give way to. */
export const whileBusy = <T>(device: Device, work: () => Promise<T>): Promise<T> => activityOf(device).during(work);
