// Copies by cp.async and barriers in shared memory (mbarrier) of the PTX interpreter. Copies arrive as late as they may. The state of a
// barrier is in its eight bytes: threads that are expected (20 bits), those that have not arrived (20), bytes to come (23), and the phase.
import type { Instruction } from '../../lib/kernel/ptx/module.ts';
import { globalBase, type Memory } from './memory.ts';
import type { Value } from './values.ts';

interface Copy { readonly from: number; readonly to: number; readonly bytes: number; isThere: boolean }

/** A thread as far as copies go. */
interface Copier {
  readonly id: number;
  readonly local: DataView;
  /** Its groups of copies; the last one is open. */
  readonly copies: Copy[][];
}

/** What arrives at a barrier once copies are there: a thread, or bytes. */
interface Late { readonly barrier: number; readonly thread: Copier; readonly copies: readonly Copy[]; readonly bytes: number }

interface State { expected: number; pending: number; bytes: number; phase: number }

/** Makes readers of an instruction's operands. */
interface Operands<T> {
  address(operand: string): (thread: T) => number;
  value(operand: string, type: string): (thread: T) => Value;
  set(operand: string): (thread: T, value: Value) => void;
}

const pack = ({ expected, pending, bytes, phase }: State): bigint =>
  BigInt(expected) | BigInt(pending) << 20n | BigInt(bytes) << 40n | BigInt(phase) << 63n;
const unpack = (word: bigint): State => ({
  expected: Number(word & 0xf_ffffn), pending: Number(word >> 20n & 0xf_ffffn), bytes: Number(word >> 40n & 0x7f_ffffn), phase: Number(word >> 63n),
});

/** The copies and barriers of one block. */
export class Asynchronous<T extends Copier> {
  readonly #memory: Memory;
  readonly #global: Uint8Array;
  #late: Late[] = [];
  /** Set when a thread waits in vain: others must run. */
  isIdle = false;

  constructor(memory: Memory, global: Uint8Array) {
    this.#memory = memory;
    this.#global = global;
  }

  #state(at: number): State {
    return unpack(this.#memory.shared.getBigUint64(at, true));
  }

  /** Stores a state; where everybody and everything has arrived, that of the next phase, in which accesses race with no earlier ones. */
  #put(at: number, state: State): void {
    if (state.pending === 0 && state.bytes === 0) {
      state.phase ^= 1;
      state.pending = state.expected;
      ++this.#memory.epoch;
    }
    this.#memory.shared.setBigUint64(at, pack(state), true);
  }

  #bring(thread: Copier, copies: readonly Copy[], each: Instruction): void {
    for (const copy of copies) {
      if (copy.isThere) continue;
      copy.isThere = true;
      for (let i = 0; i < copy.bytes; ++i) this.#memory.shared.setUint8(copy.to + i, this.#global[copy.from - globalBase + i]!);
      this.#memory.touch(thread, copy.to, copy.bytes, true, each);
    }
  }

  #bringLate(barrier: number, each: Instruction): void {
    const own = this.#late.filter((late) => late.barrier === barrier);
    this.#late = this.#late.filter((late) => late.barrier !== barrier);
    for (const { thread, copies, bytes } of own) {
      this.#bring(thread, copies, each);
      const state = this.#state(barrier);
      if (bytes > 0) state.bytes -= bytes;
      else --state.pending;
      this.#put(barrier, state);
    }
  }

  /** A step of `cp.async`. */
  copy(each: Instruction, { address }: Operands<T>): (thread: T) => void {
    const { opcode, operands } = each;
    const what = opcode[2] ?? '';
    if (what === 'commit_group') return (thread) => { thread.copies.push([]); };
    if (what.startsWith('wait')) {
      const keep = what === 'wait_all' ? 0 : Number(operands[0]) + 1;
      return (thread) => {
        while (thread.copies.length > keep) this.#bring(thread, thread.copies.shift()!, each);
        if (thread.copies.length === 0) thread.copies.push([]);
      };
    }
    const to = address(operands[0]!);
    if (what === 'mbarrier') {
      return (thread) => {
        const barrier = to(thread), state = this.#state(barrier);
        if (!opcode.includes('noinc')) this.#put(barrier, { ...state, pending: state.pending + 1 });
        this.#late.push({ barrier, thread, copies: thread.copies.flat(), bytes: 0 });
      };
    }
    const from = address(operands[1]!), bytes = Number(operands[2]);
    const copyOf = (thread: T): Copy => ({ to: to(thread), from: from(thread), bytes, isThere: false });
    if (what !== 'bulk') return (thread) => { thread.copies.at(-1)!.push(copyOf(thread)); };
    const barrier = address(operands[3]!);
    return (thread) => { this.#late.push({ barrier: barrier(thread), thread, copies: [copyOf(thread)], bytes }); };
  }

  /** A step of `mbarrier`. */
  barrier(each: Instruction, { address, value, set }: Operands<T>): (thread: T) => void {
    const { opcode, operands } = each;
    const place = operands.findIndex((operand) => operand.startsWith('['));
    const at = address(operands[place]!);
    const type = opcode[1]!.endsWith('_wait') && !opcode.includes('parity') ? 'b64' : 'u32';
    const more = operands[place + 1] === undefined ? () => 1 : value(operands[place + 1]!, type);
    const give = place > 0 && operands[0] !== '_' ? set(operands[0]!) : () => undefined;
    switch (opcode[1]) {
      case 'init': return (thread) => { this.#put(at(thread), { expected: Number(more(thread)), pending: Number(more(thread)), bytes: 0, phase: 0 }); };
      case 'inval': return (thread) => { this.#memory.shared.setBigUint64(at(thread), 0n, true); };
      case 'arrive': return (thread) => {
        const state = this.#state(at(thread));
        give(thread, pack(state));
        const isBytes = opcode.includes('expect_tx');
        this.#put(at(thread), isBytes ? { ...state, bytes: state.bytes + Number(more(thread)), pending: state.pending - 1 }
          : { ...state, pending: state.pending - Number(more(thread)) });
      };
      case 'try_wait': case 'test_wait': return (thread) => {
        const phase = type === 'b64' ? unpack(more(thread) as bigint).phase : Number(more(thread)) & 1;
        const isOver = (): boolean => this.#state(at(thread)).phase !== phase;
        if (!isOver()) this.#bringLate(at(thread), each);
        give(thread, isOver());
        this.isIdle ||= !isOver();
      };
      default: throw new Error(`no ${opcode.join('.')}`);
    }
  }
}
