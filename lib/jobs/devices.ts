// Devices that items run on, opened when the first of them needs one.
import { openDevice, type Device } from '../core/device.ts';
import type { LoadedJob } from './loaded.ts';

/** The devices of one process, by what the jobs ask for. */
export class Devices {
  readonly #open = new Map<string, Promise<Device>>();

  /** The device that a job asks for. */
  of({ backend, index, memoryLimit }: LoadedJob['device']): Promise<Device> {
    const key = JSON.stringify([backend, index, memoryLimit]);
    let device = this.#open.get(key);
    if (device === undefined) {
      device = openDevice({
        backend, ...(index === undefined ? {} : { index }), ...(memoryLimit === undefined ? {} : { memoryLimit }),
      });
      this.#open.set(key, device);
      device.catch(() => this.#open.delete(key));
    }
    return device;
  }

  async close(): Promise<void> {
    const open = await Promise.allSettled(this.#open.values());
    this.#open.clear();
    for (const device of open) if (device.status === 'fulfilled') await device.value.close();
  }
}
