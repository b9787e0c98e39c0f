// openPool: several devices behind one queue each; calls go to the one with the least work, and are repeated if a device is lost.
import { describeValue } from './arrays.ts';
import { requireTake, workAlone, type AsyncFunction, type Batcher, type BatcherLoad } from './batching/batcher.ts';
import {
  batcherChecks, runOptions, wrapOptions, type BatcherOptions, type QueuedCallOptions, type QueuedRunOptions, type SubmitOptions,
} from './batching/options.ts';
import type { TakenCall } from './batching/rule.ts';
import { rule } from './checks.ts';
import { openDevice, type Device, type OpenDeviceOptions } from './device.ts';
import { devices } from './devices.ts';
import { DeviceLostError, DisposedError, refusal } from './errors.ts';
import { optionsOf, type ChecksOf } from './options.ts';

/** Options of {@link openPool}: which devices, and the queue of each. */
export interface PoolOptions extends BatcherOptions {
  /** What to open; default: every GPU that can be used, or else the cpu backend. */
  readonly devices?: readonly OpenDeviceOptions[];
}

/** One device of a pool, and its work. */
export interface PoolMember extends BatcherLoad {
  readonly device: Device;
  /** Whether the device was lost; then it gets no more calls. */
  readonly lost: boolean;
}

interface Member {
  readonly device: Device;
  readonly batcher: Batcher<Device>;
  lost: boolean;
}

const poolOptions = optionsOf('openPool', {
  ...batcherChecks,
  devices: rule<readonly OpenDeviceOptions[]>('an array with the options of at least one device',
    (value) => Array.isArray(value) && value.length > 0),
} satisfies ChecksOf<PoolOptions>);

/**
 * Several devices, each with a {@link Batcher}. Made by {@link openPool}.
 *
 * A call goes to the device with the fewest calls. If that device is lost before the call has ended, it is made again on another one,
 * and rejects with `ERR_WARPLOOM_DEVICE_LOST` if there is none left.
 */
export class DevicePool {
  readonly #members: readonly Member[];
  #closing: Promise<void> | undefined;

  /** @internal Use {@link openPool}. */
  constructor(opened: readonly Device[], options: BatcherOptions) {
    this.#members = opened.map((device) => ({ device, batcher: device.batcher(options), lost: false }));
  }

  /** The devices and how much work they have now. */
  get members(): readonly PoolMember[] {
    return this.#members.map(({ device, batcher, lost }) => ({ device, lost, ...batcher.load }));
  }

  /** Whether the pool was closed. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** The same function, with calls that share launches on any of the devices: see {@link Batcher.wrap}. */
  wrap<Call extends AsyncFunction>(target: Call | { readonly solve: Call }, given: QueuedCallOptions = {}): Call {
    const take = requireTake<Device>(target);
    const options = wrapOptions.read(given);
    return ((...args: never[]) => this.#submit(() => take(args, target, false), options, target)) as unknown as Call;
  }

  /** @internal One call of a function with arrays that nobody else writes to: they are not copied. */
  callOwned<Call extends AsyncFunction>(target: Call, options: SubmitOptions, ...args: Parameters<Call>): ReturnType<Call> {
    return this.#submit(() => requireTake<Device>(target)(args, target, true), options, undefined) as ReturnType<Call>;
  }

  /** Queues any other work: see {@link Batcher.run}. It is called again, with another device, if a device is lost. */
  async run<Result>(
    work: (device: Device, signal: AbortSignal | undefined) => Promise<Result>, given: QueuedRunOptions = {},
  ): Promise<Result> {
    const { signal, ...options } = runOptions.read(given);
    return this.#submit(() => workAlone(work, signal), options, undefined) as Promise<Result>;
  }

  /** @internal The same for a caller that may depart. */
  runFor<Result>(
    work: (device: Device, signal: AbortSignal | undefined) => Promise<Result>, options: SubmitOptions,
  ): Promise<Result> {
    return this.#submit(() => workAlone(work, undefined), options, undefined) as Promise<Result>;
  }

  /** Refuses further calls, waits for those that were made, and closes the devices. Calling it again returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= Promise.all(this.#members.map(async ({ device, batcher }) => {
      await batcher.close();
      await device.close();
    })).then(() => undefined);
    return this.#closing;
  }

  /** The same as `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal From now on, calls wait for no others. */
  hurry(): void {
    for (const { batcher } of this.#members) batcher.hurry();
  }

  #submit(take: () => TakenCall<Device>, options: SubmitOptions, target: unknown): Promise<unknown> {
    const own = ownDevice(target);
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const taken = take();
      const attempt = (left: SubmitOptions): void => {
        if (this.#closing !== undefined) throw new DisposedError('the pool was closed; open another one');
        const member = this.#choose(own);
        member.batcher.enqueue(taken, left, {
          resolve,
          reject: (error) => {
            try {
              if (!(error instanceof DeviceLostError)) throw error;
              member.lost = true;
              if (own !== undefined || this.#members.every(({ lost }) => lost)) throw error;
              const { deadline } = options;
              attempt(deadline === undefined ? options : { ...options, deadline: Math.max(1, deadline - (performance.now() - began)) });
            } catch (last) {
              reject(last);
            }
          },
        });
      };
      attempt(options);
    });
  }

  /** The device of a plan, or the one with the least work. */
  #choose(own: Device | undefined): Member {
    if (own !== undefined) {
      const found = this.#members.find(({ device }) => device === own);
      if (found !== undefined) return found;
      throw refusal('target', 'a plan on a device of the pool', 'one on another device');
    }
    let least: Member | undefined, fewest = Infinity;
    for (const member of this.#members) {
      const { waiting, running } = member.batcher.load;
      if (member.lost || waiting + running >= fewest) continue;
      [least, fewest] = [member, waiting + running];
    }
    if (least === undefined) throw new DeviceLostError('every device of the pool is lost; start another process to use them');
    return least;
  }
}

/** A plan stays on its device. */
function ownDevice(target: unknown): Device | undefined {
  return typeof target === 'object' && target !== null ? (target as { readonly device?: Device }).device : undefined;
}

/**
 * Opens several devices as one.
 *
 * @example
 * await using pool = await openPool();
 * const { solution } = await pool.wrap(tridiagonal.solve)({ lower, diagonal, upper, rhs });
 *
 * @throws ArgumentError for an invalid option; UnavailableError if a device cannot be opened: then none is left open
 */
export async function openPool(given: PoolOptions = {}): Promise<DevicePool> {
  const { devices: wanted, ...options } = poolOptions.read(given);
  wanted?.forEach((each, index) => {
    if (typeof each === 'object' && (each as unknown) !== null) return;
    throw refusal(`devices[${index}]`, 'options of openDevice', describeValue(each));
  });
  const gpus = devices().filter(({ backend, available }) => backend === 'cuda' && available);
  const list: readonly OpenDeviceOptions[] = wanted
    ?? (gpus.length > 0 ? gpus.map(({ index }) => ({ backend: 'cuda' as const, index })) : [{ backend: 'auto' }]);
  const opened = await Promise.allSettled(list.map((each) => openDevice(each)));
  const usable = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = opened.find((each) => each.status === 'rejected');
  if (failed === undefined) return new DevicePool(usable, options);
  await Promise.all(usable.map((device) => device.close()));
  throw failed.reason;
}
