// Steady states shared between a device and the processor's cores, for data in JavaScript's memory: the device works from the front, worker
// threads take parts from the back, until they meet. Where the link to the device binds, the rates of both add.
import { setTimeout as after } from 'node:timers/promises';
import { reasonOf } from '../../core/progress.ts';
import type { ShareChoice } from './backends.ts';

/** With `auto`: milliseconds of the device alone before cores take part, and what must then be left for it. */
const aloneMilliseconds = 60;
const worthSharing = 150;
/** With `auto`: how much faster both must be than the device alone. */
const worthGoingOn = 1.02;
/** Milliseconds that a part should take the cores: the first one, and the longest; and the share of what is left that one may take. */
const firstMilliseconds = 20;
const mostMilliseconds = 100;
const partOfRest = 1 / 4;
/** Parts of the cores after which `auto` looks whether sharing is worth it. */
const trialParts = 3;

/** What cores do. */
export interface Cores {
  /** Makes steady states and puts their output in place; rejects where that fails, or with the signal's reason. */
  make(state: number, states: number, signal: AbortSignal): Promise<void>;
  /** Microseconds that a steady state takes all cores together, by estimate. */
  readonly stateMicroseconds: number;
  /** Fewer are not worth starting them. */
  readonly least: number;
}

/** How one run is shared. */
export class Share {
  /** Steady states from this one on are made by cores. */
  end: number;
  /** The next steady state that the device will take. */
  front: number;
  readonly #cores: Cores | undefined;
  readonly #choice: ShareChoice;
  readonly #to: number;
  readonly #from: number;
  readonly #begin = performance.now();
  readonly #stop = new AbortController();
  /** Steady states that the device has made, and when it was done with the last of them. */
  #byDevice = 0;
  #lastDone = this.#begin;
  /** Steady states per millisecond: of the device alone, and of the cores. */
  #alone = 0;
  #coreRate: number;
  #parts = 0;
  /** When the cores began, and what the device had made by then. */
  #shared: { readonly since: number; readonly byDevice: number } | undefined;
  /** The cores at work; their part of the run while they make it. */
  #working: Promise<void> | undefined;
  #part: { readonly states: number; readonly begun: number } | undefined;
  #isOver: boolean;
  #gaveUp = false;

  /** @param cores none: the device makes everything, from `from` to `to` */
  constructor(from: number, to: number, cores: Cores | undefined, choice: ShareChoice) {
    this.#from = this.front = from;
    this.#to = this.end = to;
    this.#cores = cores;
    this.#choice = choice;
    this.#coreRate = cores === undefined ? 0 : 1000 / Math.max(1e-3, cores.stateMicroseconds);
    this.#isOver = cores === undefined || choice === false;
    if (choice === true) this.#start();
  }

  /** The share of the steady states that the device made. */
  get deviceShare(): number {
    return this.#to === this.#from ? 1 : (this.end - this.#from) / (this.#to - this.#from);
  }

  /** The device has made some steady states. */
  deviceDid(states: number): void {
    const now = performance.now();
    this.#byDevice += states;
    this.#lastDone = now;
    if (this.#shared !== undefined || this.#isOver) return;
    this.#alone = this.#byDevice / Math.max(1e-3, now - this.#begin);
    if (now - this.#begin < aloneMilliseconds) return;
    if ((this.end - this.front) / this.#alone >= worthSharing) this.#start();
    else this.#isOver = true;
  }

  #start(): void {
    if (this.#isOver || this.#working !== undefined) return;
    this.#shared = { since: performance.now(), byDevice: this.#byDevice };
    this.#working = this.#work();
  }

  /** Rate of the device. */
  get #deviceRate(): number {
    return this.#byDevice / Math.max(1e-3, this.#lastDone - this.#begin);
  }

  /** How many steady states the cores should take next: few towards the end, so that the device need not wait for them. */
  #next(): number {
    const left = this.end - this.front;
    const both = this.#deviceRate + this.#coreRate;
    const most = this.#parts === 0 ? firstMilliseconds : mostMilliseconds;
    return Math.floor(Math.min(left, this.#coreRate * Math.min(most, partOfRest * left / both)));
  }

  /** Whether both together have proved no faster than the device alone. */
  #isIdle(): boolean {
    const { since, byDevice } = this.#shared ?? { since: 0, byDevice: 0 };
    if (this.#choice !== 'auto' || this.#parts < trialParts) return false;
    const made = this.#byDevice - byDevice + this.#to - this.end;
    return made / (performance.now() - since) < worthGoingOn * this.#alone;
  }

  async #work(): Promise<void> {
    const cores = this.#cores as Cores;
    const { signal } = this.#stop;
    while (!this.#isOver && !this.#isIdle()) {
      const states = this.#next();
      if (states < cores.least || states <= 0) break;
      this.end -= states;
      const begun = performance.now();
      this.#part = { states, begun };
      try {
        await cores.make(this.end, states, signal);
      } catch {
        // Whatever it is, the device takes over, and finds the first fault there is.
        this.#giveBack();
        break;
      }
      this.#part = undefined;
      this.#parts += 1;
      this.#coreRate = states / Math.max(1e-3, performance.now() - begun);
    }
    this.#isOver = true;
  }

  /** Whether the cores made all that they took, so that they read nothing any more. */
  get isQuiet(): boolean {
    return !this.#gaveUp;
  }

  #giveBack(): void {
    if (this.#part === undefined) return;
    this.#gaveUp = true;
    this.end += this.#part.states;
    this.#part = undefined;
  }

  /**
   * Called when the device is done up to {@link end}: waits for the cores, no longer than the device would take for what they are at. True
   * if everything is made; false if the device takes over what was theirs.
   */
  async settle(): Promise<boolean> {
    this.#isOver = true;
    const part = this.#part;
    if (part !== undefined) {
      const byDevice = part.states / Math.max(1e-9, this.#deviceRate);
      const left = part.states / this.#coreRate - (performance.now() - part.begun);
      const patience = new AbortController();
      const wait = Math.max(0, left > byDevice ? 0 : byDevice);
      await Promise.race([this.#working, after(wait, undefined, { signal: patience.signal }).catch(() => undefined)]);
      patience.abort();
      if (this.#part === part) {
        this.#giveBack();
        this.stop(new Error('the device takes over'));
      }
    }
    return this.front >= this.end;
  }

  /** Ends the work of the cores. */
  stop(reason: Error): void {
    this.#isOver = true;
    this.#part = undefined;
    this.#stop.abort(reason);
  }

  /** Has the cores end with a signal. Returns what ends that. */
  endsWith(signal: AbortSignal | undefined): () => void {
    const forward = (): void => { this.stop(reasonOf(signal as AbortSignal)); };
    signal?.addEventListener('abort', forward, { once: true });
    return () => { signal?.removeEventListener('abort', forward); };
  }
}
