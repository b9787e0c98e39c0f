// The main thread of section 4.9: in every launch, it copies ring slots for the transfers whose stage has an iteration and queues the
// device's kernel for the next launch, while workers run what is placed on cores, and meets them at their barrier. The program's ends
// cross the link in batches of several iterations (hybrid-ends.ts).
import { setMaxListeners } from 'node:events';
import { unseenPart } from '../../core/arrays.ts';
import { inputArray, type Device, type DeviceArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { reasonOf } from '../../core/progress.ts';
import type { CommonData } from './common.ts';
import { noFault, turnsEach } from './gpu.ts';
import { untilAborted } from './gpu-stops.ts';
import { Batches, hostWords, mirror } from './hybrid-ends.ts';
import { bringRests, takeRests, type HybridMemory, type HybridTransfer } from './hybrid-memory.ts';
import type { HybridParts } from './hybrid-parts.ts';
import { isOnDevice } from './machine-launches.ts';
import { pinned } from './pins.ts';

/** What runs on the device. */
export interface DevicePart {
  readonly device: Device;
  readonly module: DeviceModule;
  readonly kernel: string;
  /** Copies words. */
  readonly moveKernel: string;
  /** The lists of blocks. */
  readonly lists: DeviceArray;
  /** The memory of the rings; whoever runs disposes of it. */
  readonly arena: DeviceArray;
}

/** What `Atomics.waitAsync` gives (ES2024). */
type Waiting = { readonly async: false } | { readonly async: true; readonly value: Promise<string> };
const atomics = Atomics as unknown as {
  waitAsync(array: Int32Array, index: number, value: number, milliseconds: number): Waiting;
};

/** Milliseconds after which a waiting conductor looks whether its run was stopped. */
const longestWait = 1000;
/**
 * Launches whose calls are under way at once, at least and at most: those of two batches, since results of one are copied on the device's
 * thread, which queues nothing meanwhile.
 */
const inFlight = 6, mostInFlight = 24;
/** Where cores have nothing to do: launches after which somebody looks whether the device met a fault. */
const lookEvery = 4;
/** Milliseconds for which a conductor spins at a barrier: as long as waking up takes. */
const spinMilliseconds = 0.05;

/** The first steady state that went wrong, and the zero of the kernel's barrier. */
interface Cells {
  readonly fault: DeviceArray;
  readonly barrier: DeviceArray;
}

/** The transfers of a launch. */
interface Transfers {
  readonly rings: Promise<unknown>[];
  readonly ends: Promise<unknown>[];
  readonly moves: ListedLaunch[];
  readonly takes: (() => Promise<unknown>)[];
}

/** The main loop of one run. */
export class Conductor {
  readonly #parts: HybridParts;
  readonly #part: DevicePart;
  readonly #common: CommonData;
  readonly #memory: HybridMemory;
  readonly #signal: AbortSignal;
  readonly #stopped: Promise<never>;
  /** Transfers that have arrays of their own. */
  #batches: ReadonlyMap<HybridTransfer, Batches> = new Map();
  /** Cores have nothing to do between the start and the rest of the run, and wait there. */
  readonly #isAlone: boolean;
  /** Seconds of the device's kernels. */
  deviceSeconds = 0;
  /** The first steady state that went wrong on the device. */
  fault = noFault;

  constructor(parts: HybridParts, part: DevicePart, common: CommonData, memory: HybridMemory, signal: AbortSignal) {
    this.#parts = parts;
    this.#part = part;
    this.#common = common;
    this.#memory = memory;
    this.#signal = signal;
    this.#isAlone = isOnDevice({ tasks: parts.launches.tasks.map(({ slices }) => slices) });
    setMaxListeners(0, signal); // every call under way listens
    this.#stopped = new Promise((_, reject) => {
      signal.addEventListener('abort', () => { reject(reasonOf(signal)); }, { once: true });
    });
    this.#stopped.catch(() => undefined);
  }

  /** Meets the workers at their barrier, as a machine does (machine-launches.ts). */
  async #meet(): Promise<void> {
    const { gate, stops, end, spin } = this.#common;
    const { orders: { length: parties } } = this.#parts.launches;
    this.#signal.throwIfAborted();
    const round = Atomics.load(gate, 1);
    if (Atomics.add(gate, 0, 1) === parties - 1) {
      end[0] = Math.min(...stops);
      Atomics.store(gate, 0, 0);
      Atomics.add(gate, 1, 1);
      Atomics.notify(gate, 1);
      return;
    }
    for (const until = performance.now() + Math.min(spin, spinMilliseconds); performance.now() < until;) {
      if (Atomics.load(gate, 1) !== round) return;
    }
    while (Atomics.load(gate, 1) === round) {
      const waiting = atomics.waitAsync(gate, 1, round, longestWait);
      if (waiting.async) await Promise.race([waiting.value, this.#stopped]);
      this.#signal.throwIfAborted();
    }
  }

  /** One launch's slots of a transfer; resolves when they are there. */
  async #copy({ isIn, parts }: HybridTransfer, iteration: number): Promise<void> {
    await Promise.all(parts.map(async ({ host, device }) => {
      const slot = hostWords(host, iteration), place = device.at + iteration % device.slots * device.each;
      if (isIn) return this.#part.arena.write(slot, place, { signal: this.#signal });
      await this.#part.arena.read(host.isUnseen ? unseenPart(slot) : slot, place, { signal: this.#signal });
      mirror(host, iteration);
    }));
  }

  /**
   * Starts a launch's transfers: those that cores wait for, and those of the program's ends. `moves`: what the device copies of the ends;
   * `takes` is to be called when that is queued.
   */
  #transfers(launch: number, iterations: number): Transfers {
    const made: Transfers = { rings: [], ends: [], moves: [], takes: [] };
    const outgoing: { readonly batches: Batches; readonly iteration: number; readonly moves: readonly ListedLaunch[] }[] = [];
    for (const transfer of this.#memory.transfers) {
      const iteration = launch - transfer.stage;
      if (iteration < 0 || iteration >= iterations) continue;
      const batches = this.#batches.get(transfer);
      if (batches === undefined) {
        (transfer.isEnd ? made.ends : made.rings).push(this.#copy(transfer, iteration));
        continue;
      }
      const moves = batches.moves(iteration);
      if (transfer.isIn) (transfer.isEnd ? made.ends : made.rings).push(batches.bring(iteration));
      if (transfer.isIn || transfer.isEnd) made.moves.push(...moves);
      if (!transfer.isIn && transfer.isEnd) made.takes.push(() => batches.take(iteration));
      if (!transfer.isIn && !transfer.isEnd) outgoing.push({ batches, iteration, moves });
    }
    // Cores wait for these, so they do not wait for the next kernel.
    const moved = outgoing.flatMap(({ moves }) => moves);
    if (moved.length > 0) made.rings.push(this.#launch(moved));
    for (const { batches, iteration } of outgoing) made.rings.push(batches.take(iteration));
    return made;
  }

  /** Queues kernels. */
  #launch(list: readonly ListedLaunch[]): Promise<void> {
    const launched = this.#part.module.launchAll(list, { signal: this.#signal })
      .then(({ deviceSeconds }) => { this.deviceSeconds += deviceSeconds; });
    launched.catch(() => undefined); // awaited later
    return launched;
  }

  /** Queues copies within the device, then its kernel, unless that has no launch any more. */
  #kernel(launch: number, iterations: number, { fault, barrier }: Cells, moves: readonly ListedLaunch[]): Promise<void> {
    const { lists: { entries, blocks, threads, sharedBytes, stagedBytes, listWords }, plan: { steadyStates }, launches } = this.#parts;
    const hasLaunch = entries > 0 && launch < iterations + launches.lastStage;
    if (!hasLaunch && moves.length === 0) return Promise.resolve();
    const { kernel, arena, lists } = this.#part;
    const own: KernelArgument[] = [
      arena, arena, fault, arena, lists, barrier, { i64: 0 }, { i64: 0 }, { f64: turnsEach },
      // All states of whole iterations are wanted, in one step a launch.
      ...[iterations * steadyStates, 0, steadyStates, iterations, 1, listWords, stagedBytes, launch, launch + 1, 0]
        .map((value) => ({ i32: value })),
    ];
    return this.#launch([...moves, ...hasLaunch ? [{ kernel, blocks, threads, sharedBytes, arguments: own }] : []]);
  }

  /** Looks whether a steady state went wrong on the device. Iterations before it end; nothing that follows matters. */
  async #look(fault: DeviceArray): Promise<void> {
    const first = Number(required((await fault.read(undefined, 0, { signal: this.#signal }))[0]));
    if (first === noFault || this.fault !== noFault) return;
    this.fault = first;
    const { stops } = this.#common;
    stops[stops.length - 1] = Math.floor(first / this.#parts.plan.steadyStates);
  }

  /** Conducts a run of so many iterations. */
  async run(iterations: number): Promise<void> {
    const { device, moveKernel, arena } = this.#part;
    const { plan: { width }, lists: { entries } } = this.#parts;
    const fault = inputArray(device, Int32Array.of(noFault)), barrier = inputArray(device, new Int32Array(1));
    const { leastBytes } = this.#parts;
    this.#batches = Batches.of(this.#memory.transfers, { device, moveKernel, arena, iterations, signal: this.#signal, leastBytes });
    using _ = untilAborted(this.#signal, () => {
      fault.dispose();
      barrier.dispose();
      for (const batches of this.#batches.values()) batches.dispose();
    });
    await this.#meet(); // all are there
    using __ = pinned(this.#isAlone ? new Int32Array() : this.#common.threadNumbers);
    await this.#meet(); // the first worker has made the start
    const rests = Promise.all(bringRests(this.#memory, arena, width));
    rests.catch(() => undefined); // awaited next
    await this.#meet();
    await Promise.race([rests, this.#stopped]);
    await this.#launches(iterations, { fault, barrier });
    if (this.fault === noFault && entries > 0) await Promise.race([this.#look(fault), this.#stopped]);
    if (this.fault === noFault && entries > 0 && this.#last(iterations) === iterations) {
      await takeRests(this.#memory, arena, width, iterations);
    }
    await this.#meet();
  }

  /** The first iteration that nobody needs any more. */
  #last(iterations: number): number {
    return this.#isAlone ? Math.min(iterations, ...this.#common.stops) : elementAt(this.#common.end, 0);
  }

  /**
   * All launches. What is queued in one of them follows its kernel, and precedes the next one. Cores wait for transfers of their rings
   * and for the look at the device's faults; everything else, and all where cores have nothing to do, may take some launches longer.
   */
  async #launches(iterations: number, cells: Cells): Promise<void> {
    const { lists: { entries }, launches: { lastStage } } = this.#parts;
    const underWay: Promise<unknown>[] = [];
    const sizes = [...this.#batches.values()].map(({ size }) => size);
    const most = Math.min(mostInFlight, Math.max(inFlight, 2 * Math.max(1, ...sizes)));
    let kernel = this.#kernel(0, iterations, cells, []);
    for (let launch = 0; launch < this.#last(iterations) + lastStage; ++launch) {
      const { rings, ends, moves, takes } = this.#transfers(launch, iterations);
      const isLooked = entries > 0 && (!this.#isAlone || launch % lookEvery === lookEvery - 1);
      const look = isLooked ? [this.#look(cells.fault)] : [];
      const before = kernel;
      kernel = this.#kernel(launch + 1, iterations, cells, moves);
      const own = Promise.all([before, ...ends, ...takes.map((take) => take()), ...this.#isAlone ? [...rings, ...look] : []]);
      own.catch(() => undefined); // awaited later
      underWay.push(own);
      const first = underWay.length >= most ? underWay.shift() : undefined;
      await Promise.race([Promise.all([first, ...this.#isAlone ? [] : [...rings, ...look]]), this.#stopped]);
      if (!this.#isAlone) await this.#meet();
    }
    const batches = [...this.#batches.values()].map(({ done }) => done);
    await Promise.race([Promise.all([kernel, ...underWay, ...batches]), this.#stopped]);
  }
}
