// An end of a program whose filter there is on the device. Its items cross the link in batches of several iterations, through arrays of
// their own: transfers in both directions overlap with kernels, which use the rings, and are large enough for the link and the host's
// memory whatever the length of an iteration. The device itself copies them between these arrays and the rings.
import { unseenPart } from '../../core/arrays.ts';
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { elementAt } from '../../core/known.ts';
import type { ListedLaunch } from '../../core/module.ts';
import type { HybridTransfer } from './hybrid-memory.ts';

/** Bytes of a batch, about; batches of a run, at least, as far as its iterations allow. */
const batchBytes = 2 ** 24, leastBatches = 8;
/** Arrays that batches take turns in: one that crosses the link, one that the device copies, one that waits. */
const turns = 3;
/** The share of the device's memory that the arrays of an end may take. */
const mostShare = 1 / 32;
/** Threads of a block that copies words, words of each, and most blocks. */
const moveThreads = 256, wordsEach = 8, mostBlocks = 1024;

/** What batches need to know of a run. */
export interface BatchRun {
  readonly device: Device;
  /** Copies words (cuda/stream/move.cuh). */
  readonly moveKernel: string;
  /** The memory of the rings. */
  readonly arena: DeviceArray;
  readonly iterations: number;
  readonly signal: AbortSignal;
}

/** The batches of one transfer. */
export class Batches {
  readonly transfer: HybridTransfer;
  /** Iterations of a batch. */
  readonly size: number;
  readonly #run: BatchRun;
  /** By turn and part. */
  readonly #arrays: readonly (readonly DeviceArray[])[];
  /** Batches that were given to the link, and the transfer of the last one. */
  #begun = 0;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(transfer: HybridTransfer, size: number, run: BatchRun) {
    this.transfer = transfer;
    this.size = size;
    this.#run = run;
    this.#arrays = Array.from({ length: turns }, () =>
      transfer.parts.map(({ device: { each } }) => resultArray(run.device, 'int32', size * each)));
  }

  /** Undefined where the device has no memory to spare for it. */
  static of(transfer: HybridTransfer, run: BatchRun): Batches | undefined {
    const { iterations, device } = run;
    const each = 4 * transfer.parts.reduce((sum, part) => sum + part.device.each, 0);
    const { limitBytes } = device.memory();
    const bytes = Math.min(batchBytes, each * iterations / leastBatches, limitBytes === 0 ? Infinity : mostShare * limitBytes / turns);
    const size = Math.min(iterations, Math.max(1, Math.floor(bytes / each)));
    if (limitBytes > 0 && turns * size * each > mostShare * limitBytes) return undefined;
    return new Batches(transfer, size, run);
  }

  /** Items of an input come to the device up to those of an iteration, and of the next batch. Resolves when those before have come. */
  bring(iteration: number): Promise<unknown> {
    const { iterations } = this.#run;
    const last = this.#last;
    const wanted = Math.min(Math.floor(iteration / this.size) + 2, Math.ceil(iterations / this.size));
    for (; this.#begun < wanted; ++this.#begun) this.#note(this.#cross(this.#begun));
    return last;
  }

  /** Takes the batch that an iteration ends, if it ends one. Resolves when the one before is there. */
  take(iteration: number): Promise<unknown> {
    const last = this.#last;
    if ((iteration + 1) % this.size !== 0 && iteration + 1 !== this.#run.iterations) return Promise.resolve();
    this.#note(this.#cross(this.#begun++));
    return last;
  }

  /** Resolves when everything that was begun is there. */
  get done(): Promise<unknown> {
    return this.#last;
  }

  #note(work: Promise<unknown>): void {
    const before = this.#last;
    this.#last = Promise.all([before, work]);
    this.#last.catch(() => undefined); // awaited later
  }

  /** A batch crosses the link. */
  #cross(batch: number): Promise<unknown> {
    const { iterations, signal } = this.#run;
    const { isIn, parts } = this.transfer;
    const from = batch * this.size, count = Math.min(this.size, iterations - from);
    const arrays = elementAt(this.#arrays, batch % turns);
    return Promise.all(parts.map(({ host: { words, at, each, isUnseen } }, part) => {
      const items = words.subarray(at + from * each, at + (from + count) * each);
      const array = elementAt(arrays, part);
      return isIn ? array.write(items, 0, { signal }) : array.read(isUnseen ? unseenPart(items) : items, 0, { signal });
    }));
  }

  /** The device's copies of an iteration between its batch and the rings. */
  moves(iteration: number): ListedLaunch[] {
    const arrays = elementAt(this.#arrays, Math.floor(iteration / this.size) % turns);
    return this.transfer.parts.map(({ device: { at, each, slots } }, part) => {
      const own = elementAt(arrays, part), ownAt = iteration % this.size * each, ringAt = at + iteration % slots * each;
      const [from, to, firstFrom, firstTo] = this.transfer.isIn
        ? [own, this.#run.arena, ownAt, ringAt] as const : [this.#run.arena, own, ringAt, ownAt] as const;
      return {
        kernel: this.#run.moveKernel, blocks: Math.min(mostBlocks, Math.ceil(each / (moveThreads * wordsEach))), threads: moveThreads,
        arguments: [from, to, { i64: firstFrom }, { i64: firstTo }, { i64: each }],
      };
    });
  }

  dispose(): void {
    for (const array of this.#arrays.flat()) array.dispose();
  }
}
