// Calls that wait for a launch: in order of priority and arrival, bounded, each with its own signal and deadline.
import { QueueFullError, WarploomError } from '../errors.ts';
import { publishQueue, type QueueTrace } from '../diagnostics.ts';
import type { Departure } from './departure.ts';
import type { SubmitOptions } from './options.ts';
import type { Outcome, TakenCall } from './rule.ts';

/** How a call ends. */
export interface Settle {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** What is told of calls that leave on their own. */
export type Left<Device> = (call: WaitingCall<Device>, event: 'aborted' | 'expired') => void;

/** A call from the time it is made to the time it settles. */
export class WaitingCall<Device> {
  readonly taken: TakenCall<Device>;
  readonly key: string | undefined;
  readonly priority: number;
  readonly since = performance.now();
  readonly #settle: Settle;
  readonly #left: Left<Device>;
  readonly #departure: Departure | undefined;
  readonly #abort: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stop: AbortController | undefined;
  #settled = false;

  constructor(
    taken: TakenCall<Device>, key: string | undefined, { priority = 0, deadline, departure }: SubmitOptions, settle: Settle,
    left: Left<Device>,
  ) {
    this.taken = taken;
    this.key = key;
    this.priority = priority;
    this.#settle = settle;
    this.#left = left;
    this.#departure = departure;
    const { signal } = taken;
    if (departure !== undefined) departure.onLeave = (reason) => { this.#leave(reason, 'aborted'); };
    if (signal !== undefined) {
      this.#abort = () => { this.#leave(signal.reason, 'aborted'); };
      signal.addEventListener('abort', this.#abort, { once: true });
    }
    if (deadline !== undefined) this.#timer = setTimeout(expire<Device>, deadline, this, deadline);
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** A signal that comes when nobody waits for the call any more, for work that can be stopped; undefined: it cannot come. */
  stopSignal(): AbortSignal | undefined {
    if (this.#timer === undefined && this.#abort === undefined && this.#departure === undefined) return undefined;
    return (this.#stop ??= new AbortController()).signal;
  }

  /** The deadline has passed. */
  expire(deadline: number): void {
    this.#leave(new WarploomError('ERR_WARPLOOM_DEADLINE',
      `${this.taken.name} had no result within its deadline of ${deadline} ms; allow more time, or send fewer calls`), 'expired');
  }

  /** Its launch begins. */
  begin(now: number, company: number): void {
    if (this.#departure === undefined) return;
    this.#departure.launched = now;
    this.#departure.company = company;
  }

  settle(outcome: Outcome): void {
    if (!this.#end()) return;
    if ('value' in outcome) this.#settle.resolve(outcome.value);
    else this.#settle.reject(outcome.error);
  }

  #leave(reason: unknown, event: 'aborted' | 'expired'): void {
    if (!this.#end()) return;
    this.#settle.reject(reason);
    this.#left(this, event);
    this.#stop?.abort(reason);
  }

  #end(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    if (this.#departure !== undefined) this.#departure.onLeave = undefined;
    if (this.#abort !== undefined) this.taken.signal?.removeEventListener('abort', this.#abort);
    return true;
  }
}

const expire = <Device>(call: WaitingCall<Device>, deadline: number): void => { call.expire(deadline); };

/** What a launch holds at most: calls, and bytes of their inputs unless it is one call. */
export interface Most {
  readonly calls: number;
  readonly bytes: number;
}

/** The waiting calls of one batcher. */
export class WaitingCalls<Device> {
  readonly #calls: WaitingCall<Device>[] = [];
  readonly #limit: number;
  readonly #bytesLimit: number;
  readonly #source: Pick<QueueTrace, 'backend' | 'device'>;
  #bytes = 0;

  constructor(limit: number, bytesLimit: number, source: Pick<QueueTrace, 'backend' | 'device'>) {
    this.#limit = limit;
    this.#bytesLimit = bytesLimit;
    this.#source = source;
  }

  get length(): number {
    return this.#calls.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws QueueFullError if there is no room for a call of so many bytes */
  requireRoom({ bytes, name }: TakenCall<Device>): void {
    const full = this.#calls.length >= this.#limit, large = this.#calls.length > 0 && this.#bytes + bytes > this.#bytesLimit;
    if (!full && !large) return;
    this.#publish('refused', name, 0);
    const why = full ? `${this.#calls.length} calls wait, the most that queueLimit allows`
      : `waiting calls hold ${this.#bytes} bytes, and this one has ${bytes}; queueBytes allows ${this.#bytesLimit}`;
    throw new QueueFullError(`the batcher's queue is full: ${why}; try again later`,
      full ? {} : { requestedBytes: bytes, queuedBytes: this.#bytes, limitBytes: this.#bytesLimit });
  }

  /** Adds a call behind those of its priority. */
  add(call: WaitingCall<Device>): void {
    let at = this.#calls.length;
    while (at > 0 && (this.#calls[at - 1] as WaitingCall<Device>).priority < call.priority) at -= 1;
    this.#calls.splice(at, 0, call);
    this.#bytes += call.taken.bytes;
    this.#publish('queued', call.taken.name, 0);
  }

  /** A call has left for a reason of its own. */
  drop(call: WaitingCall<Device>, event: 'aborted' | 'expired'): void {
    const at = this.#calls.indexOf(call);
    if (at < 0) return;
    this.#calls.splice(at, 1);
    this.#bytes -= call.taken.bytes;
    this.#publish(event, call.taken.name, performance.now() - call.since);
  }

  /**
   * The calls of the next launch: the first in order whose group has the most calls or has waited for `delay` milliseconds, and those that
   * can join it. Otherwise the milliseconds until there will be some; undefined: none wait.
   */
  next(most: Most, delay: number): WaitingCall<Device>[] | number | undefined {
    const now = performance.now();
    const counts = new Map<string, number>();
    if (delay > 0) {
      for (const { key } of this.#calls) if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    let soonest: number | undefined;
    for (const call of this.#calls) {
      const left = call.since + delay - now;
      if (call.key === undefined || left <= 0 || (counts.get(call.key) ?? 0) >= most.calls) return this.#take(call, most);
      soonest = Math.min(soonest ?? left, left);
    }
    return soonest;
  }

  #take(first: WaitingCall<Device>, most: Most): WaitingCall<Device>[] {
    const picked: WaitingCall<Device>[] = [];
    const rest: WaitingCall<Device>[] = [];
    let left = most.bytes - first.taken.bytes;
    for (const call of this.#calls) {
      const fits = call === first
        || (first.key !== undefined && call.key === first.key && picked.length < most.calls && call.taken.bytes <= left);
      if (fits && call !== first) left -= call.taken.bytes;
      (fits ? picked : rest).push(call);
    }
    this.#calls.splice(0, this.#calls.length, ...rest);
    const now = performance.now();
    for (const call of picked) {
      this.#bytes -= call.taken.bytes;
      call.begin(now, picked.length);
      this.#publish('started', call.taken.name, now - call.since);
    }
    return picked;
  }

  #publish(event: QueueTrace['event'], operation: string, waitMilliseconds: number): void {
    publishQueue(() => ({
      event, operation, ...this.#source, queueLength: this.#calls.length, queueBytes: this.#bytes, waitSeconds: waitMilliseconds / 1000,
    }));
  }
}
