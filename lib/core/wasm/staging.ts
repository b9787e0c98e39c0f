// The arrays of one call on the WebAssembly backend: where they lie in its memory.
import { describeValue, elementTypeOf, isFixed, typeNumber, type TypedArray } from '../arrays.ts';
import type { FieldDescription } from '../addon.ts';
import { refused, type Machine } from './machine.ts';

/** An array in the module's memory. */
export interface Room {
  readonly device: number;
  readonly type: number;
  readonly bytes: number;
  /** 0 until it is first used. */
  address: number;
  readonly zeroed: boolean;
}

/** Slot of native/wasm/call.h, and what it stands for. */
interface Slot {
  readonly name: string;
  readonly role: 'input' | 'output' | 'inOut';
  readonly array: TypedArray | undefined;
  readonly room: Room | undefined;
  /** Words that only the call sees. */
  readonly held: number;
}

/** Values of a packed call (pack.ts) by slot: one of each array, two of each view. */
function slotsOf(fields: readonly FieldDescription[], numbers: Float64Array, values: readonly unknown[],
  roomOf: (id: number, name: string) => Room): Slot[] {
  const slots: Slot[] = [];
  let at = 0, next = 0;
  const add = ({ role = 'input' }: FieldDescription, name: string, id: number): void => {
    const array = values[next] as TypedArray | undefined;
    next += 1;
    slots.push({ name, role, array, room: id >= 0 ? roomOf(id, name) : undefined, held: id <= -3 ? -3 - id : -1 });
  };
  for (const field of fields) {
    const number = numbers[at] as number;
    if (field.kind === 'array') add(field, field.name, number);
    if (field.kind !== 'view') {
      at += 1;
      continue;
    }
    add(field, field.name, number);
    add(field, `${field.name}.imaginary`, numbers[at + 1] as number);
    const code = numbers[at + 3] as number;
    at += Number.isNaN(code) ? 4 : code < 0 ? 4 - 1 - code : 4 + 2 * code;
  }
  return slots;
}

function requireMemory(name: string, array: TypedArray): void {
  if (array.buffer instanceof SharedArrayBuffer ? (array.buffer as { growable?: boolean }).growable === true : !isFixed(array)) {
    throw refused(name, 'an array of fixed length', 'an array on a resizable buffer');
  }
  if (array.length > 0) return;
  try {
    new Uint8Array(array.buffer);
  } catch {
    throw refused(name, 'an array with its memory', 'a detached array');
  }
}

/** Arrays that share memory are staged together, so that they overlap in the module's memory as they do in JavaScript's. */
interface Block {
  readonly buffer: ArrayBufferLike;
  begin: number;
  end: number;
  address: number;
}

function blocksOf(arrays: readonly TypedArray[]): Block[] {
  const blocks: Block[] = [];
  const sorted = [...arrays].filter(({ byteLength }) => byteLength > 0).sort((a, b) => a.byteOffset - b.byteOffset);
  for (const { buffer, byteOffset, byteLength } of sorted) {
    const last = blocks.findLast((block) => block.buffer === buffer);
    if (last !== undefined && byteOffset < last.end) last.end = Math.max(last.end, byteOffset + byteLength);
    else blocks.push({ buffer, begin: byteOffset, end: byteOffset + byteLength, address: 0 });
  }
  return blocks;
}

const kNumbers = 512;

/** Reads one call's arrays into the module's memory, and its results back. */
export class Staging {
  readonly slots: readonly Slot[];
  readonly #machine: Machine;
  readonly #device: number;
  readonly #blocks: readonly Block[];

  constructor(machine: Machine, device: number, fields: readonly FieldDescription[], numbers: Float64Array, values: readonly unknown[],
    roomOf: (id: number, name: string) => Room) {
    this.#machine = machine;
    this.#device = device;
    this.slots = slotsOf(fields, numbers, values, roomOf);
    for (const { name, array } of this.slots) if (array !== undefined) requireMemory(name, array);
    this.#blocks = blocksOf(this.slots.flatMap(({ array }) => array ?? []));
  }

  /** Takes memory for the arrays and says to the module where they are. */
  place(): void {
    try {
      for (const block of this.#blocks) block.address = allocate(this.#machine, this.#device, block.end - block.begin);
      for (const { room } of this.slots) if (room !== undefined) prepare(this.#machine, room);
    } catch (error) {
      this.free();
      throw error;
    }
    const numbers = this.#machine.numbers;
    this.slots.forEach((slot, index) => {
      const { array, room, held } = slot;
      const own = array === undefined ? undefined : elementTypeOf(array);
      const row = room !== undefined ? [1, room.type, room.address, room.bytes]
        : own !== undefined && array !== undefined ? [1, typeNumber(own), this.#addressOf(array), array.byteLength]
          : held >= 0 ? [2, 0, 0, 4 * held] : [0, 0, 0, 0];
      numbers.set([...row, 0], kNumbers + 5 * index);
    });
  }

  #addressOf(array: TypedArray): number {
    const { buffer, byteOffset } = array;
    const block = this.#blocks.find((each) => each.buffer === buffer && each.begin <= byteOffset && byteOffset < each.end);
    return block === undefined ? 0 : block.address + byteOffset - block.begin;
  }

  /** Copies what the operation needs, which the module has noted. */
  copyIn(): void {
    const isNeeded = (index: number): boolean => this.#machine.numbers[kNumbers + 5 * index + 4] === 1;
    const needed = this.slots.flatMap(({ array }, index) => (isNeeded(index) ? array ?? [] : []));
    for (const array of needed) if (array.byteLength > 0) this.#machine.write(this.#addressOf(array), array);
  }

  copyOut(): void {
    for (const { array, role } of this.slots) {
      if (array === undefined || role === 'input' || array.byteLength === 0) continue;
      this.#machine.read(this.#addressOf(array), array);
    }
  }

  free(): void {
    for (const block of this.#blocks) {
      if (block.address !== 0) this.#machine.call('warploom_release', this.#device, block.address);
      block.address = 0;
    }
  }

  /** Whether an array that check() reads may still be written by earlier calls. */
  get waits(): boolean {
    return this.slots.some(({ room, role }) => room !== undefined && role === 'input');
  }

  describe(slot: number): string {
    const found = this.slots[slot];
    return found?.room === undefined ? describeValue(found?.array) : 'a device array of another type';
  }
}

/** Memory of a device. */
export function allocate(machine: Machine, device: number, bytes: number): number {
  const address = machine.call('warploom_allocate', device, bytes);
  if (address === 0) throw machine.failure();
  return address;
}

/** Gives an array its memory, if it has none yet. */
export function prepare(machine: Machine, room: Room): void {
  if (room.address !== 0) return;
  room.address = allocate(machine, room.device, room.bytes);
  if (room.zeroed) machine.clear(room.address, room.bytes);
}
