// How many steady states the launches of a run take, and how many launches may be queued at once.
import { totalmem } from 'node:os';
import { Device } from '../../core/device.ts';

/**
 * Bytes that the arrays of a launch take at most, and the share of the device's memory. Short runs are cut into so many launches at least,
 * unless they were smaller than the least size.
 */
const launchBytes = 2 ** 25, leastLaunchBytes = 2 ** 22;
const launchesOfRun = 12;
const launchShare = 1 / 24;
/** Launches that are under way at once, unless all memory is too little for them. */
const mostInFlight = 6;
/** Bytes of the first and the last launch: only one way of the link is busy meanwhile. */
const rampBytes = 2 ** 23;
/** Seconds that a launch should take. */
const launchSeconds = 0.015;
const mostStates = 2 ** 30;
/** What one call may queue at most before it returns: bytes of input and output, and launches. */
const queuedBytes = 2 ** 30, queuedShare = 1 / 8, queuedSpans = 64, callsOfSpan = 8;

/** How much may be queued at once. */
export interface QueueLimits {
  readonly bytes: number;
  readonly spans: number;
}

/** Asking the system takes a file to be read. */
let machineBytes = 0;

export const noQueue: QueueLimits = { bytes: 0, spans: 0 };

export function queueLimits(device: Device): QueueLimits {
  const { limitBytes } = device.memory();
  const ofDevice = limitBytes === 0 ? Infinity : limitBytes;
  machineBytes ||= totalmem();
  return {
    bytes: Math.min(queuedBytes, queuedShare * Math.min(ofDevice, machineBytes)),
    spans: Math.min(queuedSpans, Math.floor(Device.queueLimit(device) / callsOfSpan)),
  };
}

/** What sizes depend on. */
export interface LaunchSizesRequest {
  readonly device: Device;
  /** Steady states of which launches make a whole number, except at the end. */
  readonly round: number;
  /** Bytes of the device's memory for a steady state; 0: the data is there already. */
  readonly stateBytes: number;
  /** Steady states of the run. */
  readonly states: number;
  /** The size that earlier runs have found, or the one to begin with. */
  readonly known: number | undefined;
  readonly first: number;
  /** Whether launches may be small at the beginning and at the end. */
  readonly isRamped: boolean;
}

/** The sizes of one run's launches. */
export class LaunchSizes {
  readonly #round: number;
  readonly #limit: number;
  readonly #ramp: number;
  readonly #isRamped: boolean;
  /** Launches of one steady state for which there is memory. */
  readonly #room: number;
  #size: number;

  constructor({ device, round, stateBytes, states, known, first, isRamped }: LaunchSizesRequest) {
    const { limitBytes } = device.memory(), each = Math.max(1, stateBytes);
    const wanted = Math.max(leastLaunchBytes, states * stateBytes / launchesOfRun);
    const bytes = Math.min(launchBytes, wanted, limitBytes === 0 ? Infinity : launchShare * limitBytes);
    this.#round = round;
    this.#limit = Math.min(mostStates, Math.floor(bytes / each));
    this.#ramp = Math.floor(rampBytes / each);
    this.#room = limitBytes === 0 ? Infinity : limitBytes / 2 / each;
    this.#isRamped = isRamped && known !== undefined && stateBytes > 0;
    this.#size = this.#whole(known ?? first);
  }

  /** The largest ones. */
  get most(): number {
    return this.#size;
  }

  /** Launches that may be under way at once. */
  get inFlight(): number {
    return Math.max(1, Math.min(mostInFlight, Math.floor(this.#room / this.#size)));
  }

  /** Steady states of the next launch, after `done` of the run; `left` are left. */
  next(done: number, left: number): number {
    const ramped = this.#isRamped ? this.#whole(Math.max(this.#ramp, Math.min(done, left / 2))) : Infinity;
    return Math.min(this.#size, ramped, left);
  }

  /** How many launches make so many steady states, if sizes stay as they are. */
  launches(states: number): number {
    let count = 0;
    for (let done = 0; done < states; ++count) done += this.next(done, states - done);
    return count;
  }

  /** A launch took so many seconds on the device: what the size is from here on, if that tells. */
  took(states: number, seconds: number): number | undefined {
    if (states !== this.#size || seconds === 0) return undefined;
    return this.#size = this.#whole(this.#size * Math.min(8, launchSeconds / seconds));
  }

  #whole(states: number): number {
    return Math.max(this.#round, Math.floor(Math.min(states, this.#limit) / this.#round) * this.#round);
  }
}
