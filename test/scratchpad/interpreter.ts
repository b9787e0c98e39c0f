// Runs PTX kernels, one thread after another up to the next barrier, in a given order. Registers hold bits, so that every instruction
// reads them as its own type says. Shared memory is watched by byte: two threads that meet between two barriers of the whole block, one
// of them writing, are a race.
import { readModule, targetsOf, type Instruction, type PtxFunction, type PtxModule, type SharedVariable } from '../../lib/kernel/ptx/module.ts';
import { acrossLanes, arithmetic, big, compare, convert, decode, doubleOf, encode, encodeWide, floatOf, isFloat, sourceLane, widen, widthOf,
  type Value } from './values.ts';
import { Asynchronous } from './asynchronous.ts';
import { localWindow, Memory, sharedWindow } from './memory.ts';

/** A launch: the argument list in order; arrays are offsets into `memory`. */
export interface Run {
  readonly grid: readonly number[];
  readonly block: readonly number[];
  readonly parameters: readonly (bigint | number)[];
  /** Global memory; address 0x1000 + offset. */
  readonly memory: Uint8Array;
  readonly order: 'forward' | 'reverse' | number;
  /** Instructions of all threads together. */
  readonly most?: number;
}

interface Thread {
  readonly id: number;
  readonly tid: readonly number[];
  readonly registers: Value[];
  readonly local: DataView;
  readonly copies: { from: number; to: number; bytes: number; isThere: boolean }[][];
  at: number;
  state: 'ready' | 'barrier' | 'warp' | 'done';
  /** What it waits with. */
  value: Value;
}

type Step = (thread: Thread) => void;
type Reader = (thread: Thread) => Value;

/** A barrier that a thread waits at: its number, how many threads it takes (0: all), and its instruction. */
interface Waiting { readonly id: string; readonly count: number; readonly each: Instruction }

class Block {
  readonly #module: PtxModule;
  readonly #fn: PtxFunction;
  readonly #run: Run;
  readonly #ctaid: readonly number[];
  readonly #threads: Thread[];
  readonly #waiting = new Map<Thread, Waiting>();
  readonly #arrived = new Map<string, number>();
  readonly #places = new Map<string, bigint>();
  readonly #parameters = new Map<string, bigint | number>();
  readonly #registers = new Map<string, number>();
  readonly #code: (Step | undefined)[] = [];
  readonly memory: Memory;
  readonly #asynchronous: Asynchronous<Thread>;
  #steps = 0;

  constructor(module: PtxModule, fn: PtxFunction, run: Run, ctaid: readonly number[], dynamicBytes: number) {
    this.#module = module;
    this.#fn = fn;
    this.#run = run;
    this.#ctaid = ctaid;
    let end = 16;
    const place = ({ name, bytes, alignment }: SharedVariable): void => {
      end = Math.ceil(end / Math.max(alignment, 1)) * Math.max(alignment, 1);
      this.#places.set(name, BigInt(end));
      end += bytes;
    };
    const all = [...module.shared, ...fn.shared];
    all.filter((each) => each.fixed !== 'dynamic').forEach(place);
    end = Math.ceil(end / 16) * 16;
    for (const each of all) if (each.fixed === 'dynamic') this.#places.set(each.name, BigInt(end));
    this.memory = new Memory(end + dynamicBytes, run.memory);
    this.#asynchronous = new Asynchronous(this.memory, run.memory);
    const names = [...fn.header.matchAll(/\.param\s[^,)]*?([\w$]+)\s*(?:\[\d+\])?\s*(?=[,)])/g)].map((found) => found[1]!);
    names.forEach((name, index) => this.#parameters.set(name, run.parameters[index]!));
    const [x, y, z] = run.block as [number, number, number];
    this.#threads = Array.from({ length: x * y * z }, (_, id) => ({
      id, tid: [id % x, Math.floor(id / x) % y, Math.floor(id / x / y)], registers: [], local: new DataView(new ArrayBuffer(1024)), copies: [[]],
      at: 0, state: 'ready', value: 0,
    }));
  }

  run(): void {
    const { order } = this.#run;
    let seed = typeof order === 'number' ? order : 1;
    const next = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
    for (;;) {
      const ready = this.#threads.filter((thread) => thread.state === 'ready');
      if (ready.length === 0) {
        if (this.#threads.every((thread) => thread.state === 'done')) return;
        if (!this.#release()) throw new Error(`deadlock: ${[...this.#waiting.values()].map((each) => each.each.line).join(' ')}`);
        continue;
      }
      if (order === 'reverse') ready.reverse();
      else if (typeof order === 'number') ready.sort(() => next() - 0.5);
      // A thread in a loop that waits for another one must let it run.
      for (const thread of ready) {
        this.#asynchronous.isIdle = false;
        for (let i = 0; i < 4000 && thread.state === 'ready' && !this.#asynchronous.isIdle; ++i) this.#step(thread);
      }
    }
  }

  #release(): boolean {
    const alive = this.#threads.filter((thread) => thread.state !== 'done');
    let released = false;
    for (const id of new Set([...this.#waiting.values()].map((each) => each.id))) {
      const own = alive.filter((thread) => this.#waiting.get(thread)?.id === id);
      const count = Math.max(...own.map((thread) => this.#waiting.get(thread)!.count));
      const arrived = own.length + (this.#arrived.get(id) ?? 0);
      if (id.startsWith('warp')) {
        if (own.length < alive.filter((thread) => `warp${thread.id >> 5}` === id).length) continue;
        this.#shuffle(own);
      } else if (count > 0 ? arrived < count : own.length < alive.length) {
        continue;
      } else {
        this.#combine(own);
        this.#arrived.delete(id);
        if ((id === '0' && count === 0) || arrived === this.#threads.length) ++this.memory.epoch;
      }
      for (const thread of own) {
        thread.state = 'ready';
        this.#waiting.delete(thread);
      }
      released = true;
    }
    return released;
  }

  /** Gives the threads at `bar.red` the combination of their predicates. */
  #combine(own: readonly Thread[]): void {
    const count = own.filter((thread) => thread.value === true).length;
    for (const thread of own) {
      const { each } = this.#waiting.get(thread)!;
      if (!each.opcode.includes('red')) continue;
      const result = each.opcode.includes('popc') ? count : each.opcode.includes('or') ? count > 0 : count === own.length;
      thread.registers[this.#register(each.operands[0]!)] = result;
    }
  }

  /** Shuffles of a warp whose threads are all here. */
  #shuffle(own: readonly Thread[]): void {
    const values = new Map(own.map((thread) => [thread.id & 31, thread.value]));
    for (const thread of own) {
      const { each } = this.#waiting.get(thread)!;
      if (each.opcode[0] !== 'shfl') {
        if (each.opcode[0] !== 'bar') thread.registers[this.#register(each.operands[0]!)] = acrossLanes(each.opcode, thread.value, values);
        continue;
      }
      const lane = thread.id & 31;
      const [b, c] = [2, 3].map((at) => Number(this.#operand(each.operands[at]!, 'u32')(thread))) as [number, number];
      const how = each.opcode.find((part) => /^(?:up|down|bfly|idx)$/.test(part));
      const { from, isInside } = sourceLane(how ?? '', lane, b, c);
      const [name, flag] = each.operands[0]!.split('|') as [string, string?];
      thread.registers[this.#register(name)] = isInside && values.has(from) ? values.get(from)! : thread.value;
      if (flag !== undefined) thread.registers[this.#register(flag)] = isInside;
    }
  }

  #register(name: string): number {
    const known = this.#registers.get(name);
    if (known !== undefined) return known;
    this.#registers.set(name, this.#registers.size);
    return this.#registers.size - 1;
  }

  #special(name: string): ((thread: Thread) => number) | undefined {
    const axis = 'xyz'.indexOf(name.at(-1)!);
    const { block, grid } = this.#run;
    if (name.startsWith('%tid.')) return (thread) => thread.tid[axis]!;
    if (name.startsWith('%ntid.')) return () => block[axis]!;
    if (name.startsWith('%ctaid.')) return () => this.#ctaid[axis]!;
    if (name.startsWith('%nctaid.')) return () => grid[axis]!;
    return name === '%laneid' ? (thread) => thread.id & 31 : name === 'WARP_SZ' ? () => 32 : undefined;
  }

  /** Reads an operand. */
  #operand(operand: string, type: string): Reader {
    if (operand.startsWith('!')) {
      const own = this.#operand(operand.slice(1), type);
      return (thread) => !(own(thread) as boolean);
    }
    if (/^-?\d/.test(operand)) {
      const number = /^0[fd]/i.test(operand) ? 0n : BigInt(operand.replace(/U$/, '').replace(/^-/, '')) * (operand.startsWith('-') ? -1n : 1n);
      const value = /^0f/i.test(operand) ? floatOf(parseInt(operand.slice(2), 16)) : /^0d/i.test(operand) ? doubleOf(BigInt(`0x${operand.slice(2)}`))
        : type === 'pred' ? number !== 0n : isFloat(type) ? Number(number) : decode(encode(number, type), type);
      return () => value;
    }
    const special = this.#special(operand);
    if (special !== undefined) return special;
    if (operand.startsWith('%') || this.#registers.has(operand)) { // names of inline assembly have no %
      const index = this.#register(operand);
      const zero: Value = type === 'pred' ? false : type.endsWith('64') && type !== 'f64' ? 0n : 0;
      return (thread) => {
        const raw = thread.registers[index];
        return raw === undefined ? zero : decode(raw, type);
      };
    }
    const [, name = '', plus = '0'] = /^([\w$]+)(?:\+(-?\d+))?$/.exec(operand) ?? [];
    const place = this.#places.get(name);
    if (place !== undefined) {
      const value = type.endsWith('64') ? place + BigInt(plus) : Number(place) + Number(plus);
      return () => value;
    }
    if (name.startsWith('__local_depot')) return () => 0n;
    throw new Error(`no value for ${operand}`);
  }

  /** Reads an address: of 32 bits if its register has as many. */
  #address(operand: string): (thread: Thread) => number {
    const [, name = '', plus = '0'] = /^\[\s*([%\w$]+)\s*(?:\+\s*(-?\d+))?\s*\]$/.exec(operand) ?? [];
    const extra = Number(plus);
    if (/^\d/.test(name)) return () => Number(name) + extra;
    if (!name.startsWith('%')) {
      const base = this.#operand(name, 'u64');
      return (thread) => Number(base(thread)) + extra;
    }
    const index = this.#register(name);
    return (thread) => {
      const raw = thread.registers[index] ?? 0;
      return typeof raw === 'number' ? (raw + extra) >>> 0 : Number(BigInt.asUintN(64, BigInt(raw) + BigInt(extra)));
    };
  }

  readonly #operands = {
    address: (operand: string) => this.#address(operand), value: (operand: string, type: string) => this.#operand(operand, type),
    set: (operand: string) => ((index) => (thread: Thread, value: Value) => { thread.registers[index] = value; })(this.#register(operand)),
  };

  #step(thread: Thread): void {
    const at = thread.at++;
    if (at >= this.#fn.instructions.length) {
      thread.state = 'done';
      return;
    }
    if (++this.#steps > (this.#run.most ?? 2e7)) throw new Error('too many steps');
    const step = this.#code[at] ??= this.#guarded(this.#fn.instructions[at]!);
    step(thread);
  }

  #guarded(each: Instruction): Step {
    const step = this.#compile(each);
    if (each.guard === undefined) return step;
    const index = this.#register(each.guard);
    const isNegated = /^@\s*!/.test(this.#module.text.slice(each.start, each.start + 8));
    return (thread) => { if ((thread.registers[index] === true) !== isNegated) step(thread); };
  }

  #compile(each: Instruction): Step {
    const [head = '', ...modifiers] = each.opcode;
    const type = modifiers.at(-1) ?? '';
    const { operands } = each;
    const value = (at: number, as = type): Reader => this.#operand(operands[at]!, as);
    const give = (read: Reader, as = type): Step => {
      const index = this.#register(operands[0]!);
      return (thread) => { thread.registers[index] = encode(read(thread), as); };
    };
    switch (head) {
      case 'bra': {
        const [target] = targetsOf(this.#fn, operands[0]!, each);
        return (thread) => { thread.at = target!; };
      }
      case 'ret': case 'exit': return (thread) => { thread.state = 'done'; };
      case 'bar': case 'barrier': case 'shfl': case 'redux': case 'match': return this.#wait(each);
      case 'activemask': return give(() => 0xffff_ffff, 'u32');
      case 'membar': case 'fence': case 'nanosleep': return () => undefined;
      case 'ld': case 'st': case 'atom': case 'red': return this.#memory(each);
      case 'cp': return this.#asynchronous.copy(each, this.#operands);
      case 'mbarrier': return this.#asynchronous.barrier(each, this.#operands);
      case 'mov': return this.#move(each);
      case 'cvta': {
        const window = modifiers.includes('shared') ? sharedWindow : modifiers.includes('local') ? localWindow : 0n;
        const [read, shift] = [value(1), modifiers[0] === 'to' ? -window : window];
        return give((thread) => big(read(thread)) + shift);
      }
      case 'cvt': return give(((read) => (thread: Thread) => convert(modifiers, read(thread)))(value(1)), modifiers.at(-2)!);
      case 'setp': {
        const [yes, no] = operands[0]!.split('|').map((name) => this.#register(name)) as [number, number?];
        const [a, b, how] = [value(1), value(2), modifiers[0]!];
        return (thread) => {
          const result = compare(how, a(thread), b(thread));
          thread.registers[yes] = result;
          if (no !== undefined) thread.registers[no] = !result;
        };
      }
      case 'selp': {
        const [a, b, p] = [value(1), value(2), value(3, 'pred')];
        return give((thread) => (p(thread) === true ? a : b)(thread));
      }
      default: {
        const isShift = head === 'shl' || head === 'shr';
        const wide = modifiers.includes('wide') ? widen(type) : type;
        const [a, b, c] = operands.slice(1).map((_, at) => value(at + 1, isShift && at === 1 ? 'u32' : at === 2 ? wide : type));
        return give((thread) => arithmetic(head, modifiers, type, [a!(thread), b?.(thread) ?? 0, c?.(thread) ?? 0]),
          head === 'popc' || head === 'clz' || head === 'bfind' ? 'u32' : wide);
      }
    }
  }

  #move(each: Instruction): Step {
    const type = each.opcode.at(-1)!;
    const [to, from] = each.operands as [string, string];
    const names = (text: string): string[] => text.replace(/[{}\s]/g, '').split(',');
    const width = type === 'pred' ? 32 : widthOf(type);
    if (from.startsWith('{')) {
      const part = width / names(from).length;
      const parts = names(from).map((name) => this.#operand(name, `u${part}`));
      const index = this.#register(to);
      return (thread) => {
        thread.registers[index] = encode(parts.reduce((sum, one, at) => sum | (big(one(thread)) << BigInt(part * at)), 0n), `u${width}`);
      };
    }
    if (to.startsWith('{')) {
      const part = width / names(to).length;
      const read = this.#operand(from, `u${width}`);
      const indices = names(to).map((name) => this.#register(name));
      return (thread) => {
        const raw = big(read(thread));
        indices.forEach((index, at) => { thread.registers[index] = encode(raw >> BigInt(part * at), `u${part}`); });
      };
    }
    const [index, read] = [this.#register(to), this.#operand(from, type)];
    return (thread) => { thread.registers[index] = encode(read(thread), type); };
  }

  #wait(each: Instruction): Step {
    const { opcode, operands } = each;
    const isWarp = /^(?:shfl|redux|match)$/.test(opcode[0]!) || opcode.includes('warp');
    const isRed = opcode.includes('red');
    const list = isRed ? operands.slice(1) : operands;
    const number = isWarp ? undefined : this.#operand(list[0]!, 'u32');
    const count = isWarp || isRed || list[1] === undefined ? undefined : this.#operand(list[1], 'u32');
    const given = isWarp && opcode[0] !== 'bar' ? this.#operand(operands[1]!, opcode.at(-1)!) : isRed ? this.#operand(list.at(-1)!, 'pred') : undefined;
    return (thread) => {
      const id = isWarp ? `warp${thread.id >> 5}` : String(number!(thread));
      if (opcode.includes('arrive')) return void this.#arrived.set(id, (this.#arrived.get(id) ?? 0) + 1);
      thread.value = given?.(thread) ?? 0;
      thread.state = isWarp ? 'warp' : 'barrier';
      this.#waiting.set(thread, { id, count: Number(count?.(thread) ?? 0), each });
    };
  }

  #memory(each: Instruction): Step {
    const [head = '', ...modifiers] = each.opcode;
    const type = modifiers.at(-1)!;
    const space = modifiers.find((part) => /^(?:shared|global|local|param|const)/.test(part))?.replace(/::.*/, '') ?? '';
    const place = each.operands.find((operand) => operand.startsWith('['))!;
    if (space === 'param') {
      const given = encode(this.#parameters.get(/\[\s*([\w$]+)/.exec(place)![1]!)!, type);
      const index = this.#register(each.operands[0]!);
      return (thread) => { thread.registers[index] = given; };
    }
    const address = this.#address(place);
    const bytes = widthOf(type) / 8;
    if (head === 'ld' || head === 'st') {
      const names = each.operands.find((operand) => operand !== place)!.replace(/[{}\s]/g, '').split(',');
      const indices = names.map((name) => head === 'ld' ? this.#register(name) : 0);
      const readers = names.map((name) => head === 'st' ? this.#operand(name, type) : () => 0);
      return (thread) => {
        const where = address(thread);
        for (let at = 0; at < names.length; ++at) {
          if (head === 'st') this.memory.store(thread, space, where + at * bytes, bytes, encode(readers[at]!(thread), type), each);
          // A small load fills its register: sign or zeros.
          else thread.registers[indices[at]!] = encodeWide(decode(this.memory.load(thread, space, where + at * bytes, bytes, each), type), type);
        }
      };
    }
    const [given, other] = each.operands.slice(each.operands.indexOf(place) + 1).map((operand) => this.#operand(operand, type));
    const how = modifiers.filter((part) => part !== type).find((part) => /^(?:add|min|max|and|or|xor|exch|cas|inc|dec)$/.test(part))!;
    const index = head === 'atom' ? this.#register(each.operands[0]!) : -1;
    return (thread) => {
      const old = decode(this.memory.load(thread, space, address(thread), bytes, each, false), type);
      const value = given!(thread);
      const result = how === 'exch' ? value : how === 'cas' ? (old === value ? other!(thread) : old) : arithmetic(how, [], type, [old, value]);
      this.memory.store(thread, space, address(thread), bytes, encode(result, type), each, false);
      if (index >= 0) thread.registers[index] = encode(old, type);
    };
  }
}

const modules = new Map<string, PtxModule>();

/** Runs a kernel of a module; returns the races it met. The results are in `run.memory`. */
export function interpret(text: string, kernel: string, run: Run, dynamicBytes = 0): string[] {
  if (modules.size > 8) modules.clear();
  const module = modules.get(text) ?? readModule(text);
  modules.set(text, module);
  const fn = module.functions.find((each) => each.isEntry && each.name === kernel);
  if (fn === undefined) throw new Error(`no kernel ${kernel}`);
  const [x, y, z] = run.grid as [number, number, number];
  return Array.from({ length: x * y * z }, (_, id) => {
    const block = new Block(module, fn, run, [id % x, Math.floor(id / x) % y, Math.floor(id / x / y)], dynamicBytes);
    block.run();
    return [...block.memory.races];
  }).flat();
}
