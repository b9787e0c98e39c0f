// The main thread of section 4.9: in every launch, it queues the device's kernel for the next one, copies ring slots for the transfers
// whose stage has an iteration, while workers run what is placed on cores, and meets them at their barrier.
import { setMaxListeners } from 'node:events';
import { inputArray, type Device, type DeviceArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule, KernelArgument } from '../../core/module.ts';
import { reasonOf } from '../../core/progress.ts';
import type { CommonData } from './common.ts';
import { noFault, turnsEach, untilAborted } from './gpu.ts';
import { bringRests, takeRests, type HybridMemory, type HybridParts, type HybridTransfer } from './hybrid-memory.ts';

/** What runs on the device. */
export interface DevicePart {
  readonly device: Device;
  readonly module: DeviceModule;
  readonly kernel: string;
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

/** The main loop of one run. */
export class Conductor {
  readonly #parts: HybridParts;
  readonly #part: DevicePart;
  readonly #common: CommonData;
  readonly #memory: HybridMemory;
  readonly #signal: AbortSignal;
  readonly #stopped: Promise<never>;
  readonly #kernels: Promise<unknown>[] = [];
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
    setMaxListeners(0, signal); // every call under way listens
    this.#stopped = new Promise((_, reject) => {
      signal.addEventListener('abort', () => { reject(reasonOf(signal)); }, { once: true });
    });
    this.#stopped.catch(() => undefined);
  }

  /** Meets the workers at their barrier, as a machine does (machine-launches.ts). */
  async #meet(): Promise<void> {
    const { gate, stops, end } = this.#common;
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
    while (Atomics.load(gate, 1) === round) {
      const waiting = atomics.waitAsync(gate, 1, round, longestWait);
      if (waiting.async) await Promise.race([waiting.value, this.#stopped]);
      this.#signal.throwIfAborted();
    }
  }

  /** One launch's slots of a transfer; resolves when they are there. */
  async #copy({ isIn, parts }: HybridTransfer, iteration: number): Promise<void> {
    await Promise.all(parts.map(async ({ host, device }) => {
      const { words, each, residual, slots } = host;
      const at = host.at + (slots === Infinity ? iteration : iteration % slots) * each;
      const slot = words.subarray(at, at + each), place = device.at + iteration % device.slots * device.each;
      if (isIn) return this.#part.arena.write(slot, place, { signal: this.#signal });
      await this.#part.arena.read(slot, place, { signal: this.#signal });
      if (residual === 0) return;
      // Items past the last slot are also stored at the front.
      const length = slots * each, begin = Math.max(at, length);
      if (at + each > begin) words.copyWithin(begin - length, begin, at + each);
    }));
  }

  #kernel(launch: number, iterations: number, fault: DeviceArray, barrier: DeviceArray): void {
    const { lists: { entries, blocks, threads, sharedBytes, stagedBytes, listWords }, plan: { steadyStates } } = this.#parts;
    if (entries === 0) return;
    const { module, kernel, arena, lists } = this.#part;
    const common: readonly KernelArgument[] = [
      arena, arena, fault, arena, lists, barrier, { i64: 0 }, { i64: 0 }, { f64: turnsEach },
      // All states of whole iterations are wanted, in one step a launch.
      ...[iterations * steadyStates, 0, steadyStates, iterations, 1, listWords, stagedBytes, launch, launch + 1]
        .map((value) => ({ i32: value })),
    ];
    const launched = module.launch(kernel, { blocks, threads, sharedBytes, arguments: common, signal: this.#signal })
      .then(({ deviceSeconds }) => { this.deviceSeconds += deviceSeconds; });
    launched.catch(() => undefined); // awaited at the end
    this.#kernels.push(launched);
  }

  /** Conducts a run of so many iterations. */
  async run(iterations: number): Promise<void> {
    const { lists: { entries }, launches: { lastStage }, plan: { width, steadyStates } } = this.#parts;
    const { device, arena } = this.#part;
    const { stops, end } = this.#common;
    const fault = inputArray(device, Int32Array.of(noFault)), barrier = inputArray(device, new Int32Array(1));
    using _ = untilAborted(this.#signal, () => {
      fault.dispose();
      barrier.dispose();
    });
    await this.#meet(); // all are there
    await this.#meet(); // the first worker has made the start
    const rests = Promise.all(bringRests(this.#memory, arena, width));
    rests.catch(() => undefined); // awaited next
    await this.#meet();
    await Promise.race([rests, this.#stopped]);
    this.#kernel(0, iterations, fault, barrier);
    for (let launch = 0; launch < elementAt(end, 0) + lastStage; ++launch) {
      // What is queued here follows the kernel of this launch, and precedes that of the next one.
      const copies = this.#memory.transfers.flatMap((transfer) => {
        const iteration = launch - transfer.stage;
        return iteration < 0 || iteration >= iterations ? [] : [this.#copy(transfer, iteration)];
      });
      const found = entries === 0 ? undefined : fault.read(undefined, 0, { signal: this.#signal });
      if (launch + 1 < iterations + lastStage) this.#kernel(launch + 1, iterations, fault, barrier);
      await Promise.race([Promise.all([found, ...copies]), this.#stopped]);
      const first = found === undefined ? noFault : Number(required((await found)[0]));
      if (first !== noFault) {
        // Iterations before it end; nothing that follows matters.
        this.fault = first;
        stops[stops.length - 1] = Math.floor(first / steadyStates);
      }
      await this.#meet();
    }
    await Promise.race([Promise.all(this.#kernels), this.#stopped]);
    if (this.fault === noFault && entries > 0 && end[0] === iterations) await takeRests(this.#memory, arena, width, iterations);
    await this.#meet();
  }
}
