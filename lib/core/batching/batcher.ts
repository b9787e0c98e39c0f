// device.batcher: calls that many callers make at the same time share launches.
import { describeValue } from '../arrays.ts';
import { traceBatch } from '../diagnostics.ts';
import { DeviceLostError, DisposedError, refusal } from '../errors.ts';
import {
  batcherOptions, runOptions, wrapOptions, type BatcherOptions, type QueuedCallOptions, type QueuedRunOptions, type SubmitOptions,
} from './options.ts';
import { batchableNames, takeOf, type Outcome, type Take, type TakenCall } from './rule.ts';
import { WaitingCall, WaitingCalls, type Left, type Settle } from './waiting.ts';

/** Launches with inputs of fewer bytes are over before it pays to stop them. */
const briefBytes = 2 ** 22;

/** What a batcher needs to know of its device. */
export interface BatchDevice {
  readonly backend: string;
  readonly name: string;
}

/** How much work a batcher has. */
export interface BatcherLoad {
  /** Calls that wait for a launch. */
  readonly waiting: number;
  /** Bytes of their inputs. */
  readonly waitingBytes: number;
  /** Calls of launches that have not ended. */
  readonly running: number;
}

/** A function that returns a promise. */
export type AsyncFunction = (...args: never[]) => Promise<unknown>;

/** How calls of `target` are taken. @throws ArgumentError if they cannot be batched */
export function requireTake<Device>(target: unknown): Take<Device> {
  const take = takeOf<Device>(target);
  if (take !== undefined) return take;
  throw refusal('target', `one of ${batchableNames()}; for other work there is run`, describeValue(target));
}

/** A call of `work` that shares its launch with no other. */
export function workAlone<Device>(
  work: (device: Device, signal: AbortSignal | undefined) => Promise<unknown>, signal: AbortSignal | undefined,
): TakenCall<Device> {
  if (typeof work !== 'function') throw refusal('work', 'a function', describeValue(work));
  return { name: 'run', bytes: 0, items: 1, signal, alone: async (device, stop) => work(device, stop) };
}

/**
 * Collects calls of equal operation, shape, element type and options into launches. Made by `device.batcher`; {@link Batcher.close} waits
 * for its calls.
 *
 * Every call keeps its own status, error, signal, priority and deadline, and its result is equal to the bit to that of the function
 * itself. Inputs are copied at the call. `deviceSeconds` of a result is that of the launch that the call was part of.
 */
export class Batcher<Device extends BatchDevice = BatchDevice> {
  readonly device: Device;
  readonly #most: number;
  #delay: number;
  readonly #waiting: WaitingCalls<Device>;
  /** Launches at a time: a device with a queue of its own prepares one while it runs another. */
  readonly #mostLaunches: number;
  readonly #idle: (() => void)[] = [];
  #launches = 0;
  #running = 0;
  #scheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  /** @internal Use `device.batcher`. */
  constructor(device: Device, given: BatcherOptions) {
    const { maxBatch, maxDelay, queueLimit, queueBytes } = batcherOptions.read(given);
    this.device = device;
    this.#most = maxBatch;
    this.#delay = maxDelay;
    this.#mostLaunches = device.backend === 'cuda' ? 2 : 1;
    this.#waiting = new WaitingCalls(queueLimit, queueBytes, { backend: device.backend, device: device.name });
  }

  /** How much work there is now. */
  get load(): BatcherLoad {
    return { waiting: this.#waiting.length, waitingBytes: this.#waiting.bytes, running: this.#running };
  }

  /** Whether the batcher was closed. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * The same function, with calls that share launches: `tridiagonal.solve`, `tridiagonal.multiply`, `tridiagonal.cubicSpline`, `scan`
   * or `kernel.map`, or `solve` of a plan. Calls that cannot share one (ragged batches, device arrays, given strides, large systems) wait
   * in the same queue and run alone. The option `device` of a call is ignored unless its arrays are on a device.
   *
   * @example
   * await using batcher = device.batcher();
   * const solve = batcher.wrap(tridiagonal.solve);
   * const urgent = batcher.wrap(tridiagonal.solve, { priority: 1, deadline: 20 });
   *
   * @throws ArgumentError for a function that cannot be batched: use {@link Batcher.run} for it. Calls reject as the function does, and
   *   with QueueFullError, WarploomError `ERR_WARPLOOM_DEADLINE` and, after {@link Batcher.close}, DisposedError
   */
  wrap<Call extends AsyncFunction>(target: Call | { readonly solve: Call }, given: QueuedCallOptions = {}): Call {
    const take = requireTake<Device>(target);
    const options = wrapOptions.read(given);
    return (async (...args: never[]) => this.submit(take(args, target, false), options)) as unknown as Call;
  }

  /**
   * Queues any other work: `work` is called with the device, alone, when its turn comes.
   * @param work receives the device and a signal that comes when the call is aborted or misses its deadline
   */
  async run<Result>(
    work: (device: Device, signal: AbortSignal | undefined) => Promise<Result>, given: QueuedRunOptions = {},
  ): Promise<Result> {
    const { signal, ...options } = runOptions.read(given);
    return this.submit(workAlone(work, signal), options) as Promise<Result>;
  }

  /** Refuses further calls, and waits until those that were made have settled. Calling it again returns the same promise. */
  close(): Promise<void> {
    this.#closing ??= new Promise<void>((resolve) => {
      this.#idle.push(resolve);
      this.#schedule();
    });
    return this.#closing;
  }

  /** The same as `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal From now on, calls wait for no others. */
  hurry(): void {
    this.#delay = 0;
    this.#schedule();
  }

  /** @internal Queues a call that was taken. */
  submit(taken: TakenCall<Device>, options: SubmitOptions): Promise<unknown> {
    return new Promise((resolve, reject) => { this.enqueue(taken, options, { resolve, reject }); });
  }

  /** @internal Queues a call that was taken, and says how it ended: without a promise of its own. */
  enqueue(taken: TakenCall<Device>, options: SubmitOptions, settle: Settle): void {
    try {
      if (this.#closing !== undefined) throw new DisposedError('the batcher was closed; make another one');
      taken.signal?.throwIfAborted();
      options.departure?.requirePresence();
      this.#waiting.requireRoom(taken);
      this.#waiting.add(new WaitingCall(taken, taken.keyOn?.(this.device), options, settle, this.#left));
    } catch (error) {
      settle.reject(error);
      return;
    }
    this.#schedule();
  }

  readonly #left: Left<Device> = (call, event) => {
    this.#waiting.drop(call, event);
    this.#settleIdle();
  };

  /** After the calls at hand: a server receives many requests in one turn of the event loop. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#launch();
    });
  }

  #launch(): void {
    clearTimeout(this.#timer);
    while (this.#launches < this.#mostLaunches) {
      const next = this.#waiting.next({ calls: this.#most, bytes: briefBytes }, this.#closing === undefined ? this.#delay : 0);
      if (!Array.isArray(next)) {
        if (next !== undefined) this.#timer = setTimeout(() => { this.#launch(); }, Math.ceil(next));
        break;
      }
      this.#launches += 1;
      this.#running += next.length;
      void this.#runAll(next).finally(() => {
        this.#launches -= 1;
        this.#running -= next.length;
        this.#schedule();
      });
    }
    this.#settleIdle();
  }

  #settleIdle(): void {
    if (this.#waiting.length > 0 || this.#launches > 0) return;
    for (const settle of this.#idle.splice(0)) settle();
  }

  async #runAll(calls: readonly WaitingCall<Device>[]): Promise<void> {
    const together = calls[0]?.taken.together;
    const { backend, name } = this.device;
    const oldest = calls.reduce((least, { since }) => Math.min(least, since), Infinity);
    const trace = () => ({
      operation: calls[0]?.taken.name ?? '', backend, device: name, calls: calls.length,
      items: calls.reduce((sum, { taken }) => sum + taken.items, 0), bytes: calls.reduce((sum, { taken }) => sum + taken.bytes, 0),
      waitSeconds: (performance.now() - oldest) / 1000, queueLength: this.#waiting.length,
    });
    await traceBatch(trace, async () => {
      if (calls.length === 1 || together === undefined) return this.#runSingly(calls);
      try {
        const outcomes = await together(this.device, calls.map(({ taken }) => taken), stopOf(calls));
        calls.forEach((call, index) => { call.settle(outcomes[index] as Outcome); });
      } catch (error) {
        if (error instanceof DeviceLostError) for (const call of calls) call.settle({ error });
        else await this.#runSingly(calls); // so that only calls fail that fail on their own
      }
    });
  }

  async #runSingly(calls: readonly WaitingCall<Device>[]): Promise<void> {
    for (const call of calls) {
      if (call.settled) continue;
      try {
        call.settle({ value: await call.taken.alone(this.device, isBrief(call.taken) ? undefined : call.stopSignal()) });
      } catch (error) {
        call.settle({ error });
      }
    }
  }
}

/** Whether a call is over before it pays to stop it. Nothing is known of the work of `run`. */
function isBrief({ bytes }: { readonly bytes: number }): boolean {
  return bytes > 0 && bytes < briefBytes;
}

/** A signal that comes when all calls of a launch have left; undefined: one of them cannot leave. */
function stopOf<Device>(calls: readonly WaitingCall<Device>[]): AbortSignal | undefined {
  if (calls.reduce((sum, { taken }) => sum + taken.bytes, 0) < briefBytes) return undefined;
  const signals = calls.map((call) => call.stopSignal());
  if (signals.includes(undefined)) return undefined;
  const all = new AbortController();
  let left = signals.length;
  const count = (): void => {
    left -= 1;
    if (left === 0) all.abort();
  };
  for (const signal of signals) {
    if (signal?.aborted === true) count();
    else signal?.addEventListener('abort', count, { once: true });
  }
  return all.signal;
}
