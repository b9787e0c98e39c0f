// Memory of the PTX interpreter. Shared memory is watched by byte.
import type { Instruction } from '../../lib/kernel/ptx/module.ts';
import type { Value } from './values.ts';

/** Address of the first byte of global memory. */
export const globalBase = 0x10_0000;
/** Generic addresses of shared and local memory. */
export const sharedWindow = 0x7000_0000_0000n;
export const localWindow = 0x6000_0000_0000n;

/** A thread as far as memory goes. */
interface Owner {
  readonly id: number;
  readonly local: DataView;
}

/** The memory that the threads of a block see. */
export class Memory {
  readonly races = new Set<string>();
  /** Counts barriers of the whole block. */
  epoch = 1;
  readonly shared: DataView;
  readonly #global: DataView;
  readonly #writer: Int32Array;
  readonly #reader: Int32Array;
  readonly #wrote: Int32Array;
  readonly #read: Int32Array;

  constructor(bytes: number, global: Uint8Array) {
    this.shared = new DataView(new Uint8Array(bytes).fill(0xff).buffer);
    [this.#writer, this.#reader, this.#wrote, this.#read] = Array.from({ length: 4 }, () => new Int32Array(bytes)) as
      [Int32Array, Int32Array, Int32Array, Int32Array];
    this.#global = new DataView(global.buffer, global.byteOffset, global.byteLength);
  }

  /** Where an address lies, and whether that is shared memory. */
  #locate(local: DataView, space: string, address: number): [DataView, number, boolean] {
    if (space === 'shared' || (space === '' && address >= Number(sharedWindow))) {
      return [this.shared, space === 'shared' ? address : address - Number(sharedWindow), true];
    }
    if (space === 'local' || (space === '' && address >= Number(localWindow))) return [local, address % Number(localWindow), false];
    return [this.#global, address - globalBase, false];
  }

  /** Notes an access, and whether another thread met it. */
  touch(thread: Owner, at: number, bytes: number, writes: boolean, each: Instruction): void {
    const own = thread.id + 1;
    const epoch = this.epoch;
    for (let i = at; i < at + bytes; ++i) {
      if ((this.#wrote[i] === epoch && this.#writer[i] !== own) || (writes && this.#read[i] === epoch && this.#reader[i] !== own)) {
        this.races.add(`line ${each.line}, ${each.opcode.join('.')}`);
      }
      if (writes) [this.#writer[i], this.#wrote[i]] = [own, epoch];
      else [this.#reader[i], this.#read[i]] = [this.#read[i] === epoch && this.#reader[i] !== own ? -1 : own, epoch];
    }
  }

  /** Bits at an address. */
  load(thread: Owner, space: string, address: number, bytes: number, each: Instruction, watch = true): Value {
    const [view, at, isShared] = this.#locate(thread.local, space, address);
    if (isShared && watch) this.touch(thread, at, bytes, false, each);
    return bytes === 8 ? view.getBigUint64(at, true) : bytes === 4 ? view.getUint32(at, true) : bytes === 2 ? view.getUint16(at, true)
      : view.getUint8(at);
  }

  /** Stores bits at an address. */
  store(thread: Owner, space: string, address: number, bytes: number, raw: Value, each: Instruction, watch = true): void {
    const [view, at, isShared] = this.#locate(thread.local, space, address);
    if (isShared && watch) this.touch(thread, at, bytes, true, each);
    if (bytes === 8) view.setBigUint64(at, BigInt(raw), true);
    else if (bytes === 4) view.setUint32(at, Number(raw), true);
    else if (bytes === 2) view.setUint16(at, Number(raw), true);
    else view.setUint8(at, Number(raw));
  }
}
