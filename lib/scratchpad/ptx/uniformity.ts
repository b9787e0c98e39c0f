// Where the threads of a block may part, and where they certainly go together.
//
// Two degrees of certainty. New barriers need the strict one: only numbers of the block, kernel parameters, constants and memory that
// nobody writes are the same for all threads. A barrier that is already there must be reached by all threads together (CUDA C++
// Programming Guide, __syncthreads), so a branch around it that depends on nothing but memory loaded from the same address by all
// threads is taken at its word: otherwise the kernel itself would be wrong. A branch around a barrier that depends on the thread is not.
import { elementAt, required } from '../../core/known.ts';
import { between, type Blocks } from '../../kernel/ptx/blocks.ts';
import { pure } from '../../kernel/ptx/definitions.ts';
import type { Facts } from './facts.ts';
import type { Instruction } from '../../kernel/ptx/module.ts';

/** What is known of the branches of a kernel. */
export interface Uniformity {
  /** Sets of blocks, each passed by some threads only. */
  readonly parted: readonly ReadonlySet<number>[];
  /** Blocks in which no barrier may be put although threads pass them together. */
  readonly closed: ReadonlySet<number>;
  /** Blocks at whose end some threads may leave while others go on. */
  readonly leaving: ReadonlySet<number>;
  /** The first instruction at which some threads may miss a barrier that others pass; undefined if there is none. */
  readonly broken: Instruction | undefined;
}

const sameForAll = /^%(?:ctaid|ntid|nctaid|gridid|dynamic_smem_size|total_smem_size|clusterid|nclusterid|cluster_nctaid)\b/;

/** Whether what an instruction gives differs between threads even if all its operands agree. */
function differs({ opcode }: Instruction, { addresses, kind }: Facts, header: string, trusting: boolean): boolean {
  const [head = '', space = ''] = opcode;
  if (head === 'ld' || head === 'ldu') {
    if (space === 'param') return !addresses.some((name) => header.includes(name));
    const isFixed = space === 'const' || opcode.includes('nc') || head === 'ldu';
    return !isFixed && !(trusting && !/volatile|relaxed|acquire|mmio/.test(opcode.join(' ')));
  }
  return !(pure.has(head) || kind === 'barrier');
}

class Divergence {
  readonly registers = new Set<string>();
  readonly branches = new Set<number>();
  readonly #blocks: Blocks;
  readonly #facts: readonly Facts[];
  readonly #users = new Map<string, number[]>();
  readonly #uniform: ReadonlySet<string>;

  constructor(blocks: Blocks, facts: readonly Facts[]) {
    this.#blocks = blocks;
    this.#facts = facts;
    const defined = new Set<string>();
    facts.forEach(({ defs, uses, addresses }, at) => {
      const { guard } = elementAt(blocks.fn.instructions, at);
      for (const name of [...uses, ...addresses, ...(guard === undefined ? [] : [guard])]) {
        const list = this.#users.get(name);
        if (list === undefined) this.#users.set(name, [at]);
        else list.push(at);
      }
      for (const name of defs) defined.add(name);
    });
    this.#uniform = defined;
  }

  run(trusting: boolean, regionOf: (block: number) => Iterable<number>): void {
    const { fn, blockOf } = this.#blocks;
    const queue: number[] = [];
    const mark = (name: string): void => {
      if (this.registers.has(name)) return;
      this.registers.add(name);
      queue.push(...this.#users.get(name) ?? []);
    };
    for (const name of this.#users.keys()) {
      if (name.startsWith('%') && !this.#uniform.has(name) && !sameForAll.test(name)) mark(name);
    }
    fn.instructions.forEach((each, at) => {
      const own = elementAt(this.#facts, at);
      if (differs(each, own, fn.header, trusting)) own.defs.forEach(mark);
    });
    const parted = new Set<number>();
    for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
      elementAt(this.#facts, at).defs.forEach(mark);
      const block = elementAt(blockOf, at);
      const { opcode } = elementAt(fn.instructions, at);
      if (block < 0 || this.branches.has(block) || !/^(?:bra|brx|ret|exit|trap)$/.test(elementAt(opcode, 0))) continue;
      this.branches.add(block);
      for (const each of regionOf(block)) {
        if (parted.has(each)) continue;
        parted.add(each);
        const { begin, end } = elementAt(this.#blocks.blocks, each);
        for (let i = begin; i < end; ++i) elementAt(this.#facts, i).defs.forEach(mark);
      }
    }
  }
}

/** What lies behind a branch: the blocks of its sides, and whether it only lets threads leave. */
interface Region {
  readonly blocks: ReadonlySet<number>;
  readonly isExit: boolean;
}

/** Finds where threads may part. `touches`: whether an instruction accesses a variable that may move. */
export function analyseUniformity(blocks: Blocks, facts: readonly Facts[], touches: (at: number) => boolean): Uniformity {
  const { fn } = blocks;
  const some = (list: Iterable<number>, test: (at: number) => boolean): boolean => {
    for (const each of list) {
      const { begin, end } = elementAt(blocks.blocks, each);
      for (let at = begin; at < end; ++at) if (test(at)) return true;
    }
    return false;
  };
  const isBarrier = (at: number): boolean => /^(?:barrier|guarded|call)$/.test(elementAt(facts, at).kind);
  const isQuiet = (list: Iterable<number>): boolean => !some(list, (at) => isBarrier(at) || touches(at));
  const known = new Map<number, Region>();
  const regionOf = (block: number): Region => {
    const found = known.get(block);
    if (found !== undefined) return found;
    const follower = elementAt(blocks.follower, block);
    const sides = elementAt(blocks.blocks, block).successors.map((each) => between(blocks, each, follower));
    const quietSides = sides.filter(isQuiet);
    const isExit = sides.length - quietSides.length <= 1 && (follower < 0 || isQuiet(between(blocks, follower, -1)));
    const region = { isExit, blocks: new Set((isExit ? quietSides : sides).flatMap((side) => [...side])) };
    known.set(block, region);
    return region;
  };
  const strict = new Divergence(blocks, facts);
  strict.run(false, (block) => regionOf(block).blocks);
  const trusting = new Divergence(blocks, facts);
  trusting.run(true, (block) => regionOf(block).blocks);
  const parted: ReadonlySet<number>[] = [];
  const closed = new Set<number>();
  const leaving = new Set<number>();
  let broken = fn.instructions.find((each) => {
    const { kind } = elementAt(facts, each.index);
    return (kind === 'guarded' && trusting.registers.has(required(each.guard))) || kind === 'call';
  });
  for (const block of strict.branches) {
    const { blocks: region, isExit } = regionOf(block);
    const { leaves, end } = elementAt(blocks.blocks, block);
    if (isExit || leaves) leaving.add(block);
    if (isExit) continue;
    if (region.size === 0) continue;
    if (!some(region, isBarrier)) parted.push(region);
    else if (trusting.branches.has(block)) broken ??= elementAt(fn.instructions, end - 1);
    else for (const each of region) closed.add(each);
  }
  return { parted, closed, leaving, broken };
}
