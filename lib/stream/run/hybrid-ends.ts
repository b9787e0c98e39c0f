// Large transfers of a run go through arrays of their own, between which and the rings the device copies: so transfers in both directions
// overlap with kernels, which use the rings. Items of the program's ends cross the link in batches of several iterations, which are large
// enough for the link and the host's memory whatever the length of an iteration. Items of other channels cross it as soon as they are
// there, and somebody waits for them.
import { unseenPart } from '../../core/arrays.ts';
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { elementAt } from '../../core/known.ts';
import type { ListedLaunch } from '../../core/module.ts';
import type { HostPart, HybridTransfer } from './hybrid-memory.ts';

/** Bytes of a batch, about; batches of a run, at least, as far as its iterations allow. */
const batchBytes = 2 ** 24, leastBatches = 8;
/** Arrays that batches take turns in: one that crosses the link, one that the device copies, one that waits. */
const turns = 3;
/** The share of the device's memory that the arrays of an end may take; and those of all other channels. */
const endShare = 1 / 32, ringShare = 1 / 16;
/** Bytes of an iteration from which on a transfer pays for a stream of its own (cuda/core/submission.h). */
const leastBytes = 2 ** 20;
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
  /** For tests: bytes of an iteration from which on any transfer has arrays of its own. */
  readonly leastBytes?: number | undefined;
}

const bytesOf = ({ parts }: HybridTransfer): number => 4 * parts.reduce((sum, { device: { each } }) => sum + each, 0);

/** The words of the host that belong to some iterations, from one on; only ends have more than one side by side. */
export function hostWords({ words, at, each, slots }: HostPart, iteration: number, count = 1): Int32Array {
  const begin = at + (slots === Infinity ? iteration : iteration % slots) * each;
  return words.subarray(begin, begin + count * each);
}

/** Has items behind the last slot stored at the front too, once an iteration has come. */
export function mirror({ words, at, each, slots, residual }: HostPart, iteration: number): void {
  if (residual === 0) return;
  const length = slots * each, own = at + iteration % slots * each, begin = Math.max(own, length);
  if (own + each > begin) words.copyWithin(begin - length, begin, own + each);
}

/** The batches of one transfer. */
export class Batches {
  readonly transfer: HybridTransfer;
  /** Iterations of a batch. */
  readonly size: number;
  readonly #run: BatchRun;
  /** By turn and part. */
  readonly #arrays: readonly (readonly DeviceArray[])[];
  /** Batches that were given to the link, and the transfer of the last one with all before. */
  #begun = 0;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(transfer: HybridTransfer, size: number, run: BatchRun) {
    this.transfer = transfer;
    this.size = size;
    this.#run = run;
    this.#arrays = Array.from({ length: turns }, () =>
      transfer.parts.map(({ device: { each } }) => resultArray(run.device, 'int32', size * each)));
  }

  /** Those of a run's transfers for which this pays, as far as the device has memory to spare. */
  static of(transfers: readonly HybridTransfer[], run: BatchRun): Map<HybridTransfer, Batches> {
    const { limitBytes } = run.device.memory(), { iterations } = run;
    const made = new Map<HybridTransfer, Batches>();
    const most = (share: number): number => (limitBytes === 0 ? Infinity : share * limitBytes / turns);
    let left = most(ringShare);
    for (const transfer of transfers) {
      const each = bytesOf(transfer);
      if (each === 0 || iterations === 0) continue;
      const bytes = Math.min(batchBytes, each * iterations / leastBatches, most(endShare));
      const size = transfer.isEnd ? Math.min(iterations, Math.max(1, Math.floor(bytes / each))) : 1;
      const least = run.leastBytes ?? (transfer.isEnd ? 0 : leastBytes);
      if (each < least || each > (transfer.isEnd ? most(endShare) : left)) continue;
      if (!transfer.isEnd) left -= each;
      made.set(transfer, new Batches(transfer, size, run));
    }
    return made;
  }

  /**
   * Items come to the device up to those of an iteration. At an end, the next batch comes too, and this resolves when those before have
   * come; elsewhere it resolves when the iteration has.
   */
  bring(iteration: number): Promise<unknown> {
    const { isEnd } = this.transfer, before = this.#last;
    const wanted = Math.min(Math.floor(iteration / this.size) + (isEnd ? 2 : 1), Math.ceil(this.#run.iterations / this.size));
    while (this.#begun < wanted) this.#cross(this.#begun++);
    return isEnd ? before : this.#last;
  }

  /**
   * Takes the batch that an iteration ends, if it ends one. At an end, this resolves when the one before is there; elsewhere when the
   * iteration is.
   */
  take(iteration: number): Promise<unknown> {
    const before = this.#last;
    if ((iteration + 1) % this.size !== 0 && iteration + 1 !== this.#run.iterations) return before;
    this.#cross(this.#begun++);
    return this.transfer.isEnd ? before : this.#last;
  }

  /** Resolves when everything that was begun is there. */
  get done(): Promise<unknown> {
    return this.#last;
  }

  /** A batch crosses the link. */
  #cross(batch: number): void {
    const { iterations, signal } = this.#run;
    const { isIn, parts } = this.transfer;
    const from = batch * this.size, count = Math.min(this.size, iterations - from);
    const arrays = elementAt(this.#arrays, batch % turns);
    const crossed = parts.map(async ({ host }, part): Promise<void> => {
      const items = hostWords(host, from, count), array = elementAt(arrays, part);
      if (isIn) return array.write(items, 0, { signal });
      await array.read(host.isUnseen ? unseenPart(items) : items, 0, { signal });
      mirror(host, from);
    });
    this.#last = Promise.all([this.#last, ...crossed]);
    this.#last.catch(() => undefined); // awaited later
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
