// Checks a reordered kernel against the original, without anything of what reordered it. Statements are matched by their text.
//
// 1. The new text has the statements of the old one, each as often, but for `bar.sync 0`; outside of the kernel nothing changed.
// 2. A label and the branches to it, with all that lies between, are one block that moved as a whole. Only the last statement leaves.
// 3. What touches the same register or the same memory, one of the two writing, keeps its order; so does everything that is not known.
// 4. Of such a pair on memory with a barrier in between, a barrier is still in between.
// 5. No loop waits for another thread, so barriers may come anywhere outside of blocks.
import { Kernel } from './checker-kernel.ts';
import { fail, Objection, statementsOf, type Claim, type Statement } from './checker-text.ts';

interface Block {
  readonly first: number;
  readonly last: number;
}

const known = new RegExp('^(?:mov|add|sub|mul|mad|mad24|mul24|sad|div|rem|abs|neg|min|max|popc|clz|bfind|fns|brev|bfe|bfi|bmsk'
  + '|szext|dp4a|dp2a|addc|subc|madc|set|setp|selp|slct|and|or|xor|not|cnot|lop3|shf|shl|shr|prmt|cvt|cvta|fma|rcp|sqrt|rsqrt|sin|cos|lg2'
  + '|ex2|tanh|testp|copysign|isspacep|ld|st|bra|brx)$');

const barrier = /^(?:bar\.sync|barrier(?:\.cta)?\.sync(?:\.aligned)?) 0$/;

const otherBarrier = new RegExp('^(?:@ !? ?%\\w+ )?bar(?:rier)?\\.(?:warp\\.|cluster\\.|(?:cta\\.)?red\\.\\S+ %\\w+ , 0 , !? ?%\\w+$'
  + '|(?:cta\\.)?(?:sync|arrive)(?:\\.aligned)? [1-9])');

class Order {
  readonly #kernel: Kernel;
  readonly #statements: readonly Statement[];
  readonly #blocks: readonly Block[];
  readonly #place: readonly number[];
  /** Barriers passed before each statement, in the old order and in the new one. */
  readonly #early: readonly number[];
  readonly #late: readonly number[];

  constructor(kernel: Kernel, after: readonly Statement[]) {
    this.#kernel = kernel;
    this.#statements = kernel.statements;
    this.#blocks = this.#findBlocks();
    const text = ({ tokens }: Statement): string => tokens.join(' ');
    const places = new Map<string, Set<number>>();
    after.forEach((each, at) => { places.set(text(each), (places.get(text(each)) ?? new Set<number>()).add(at)); });
    const inBlock = new Set(this.#blocks.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i)));
    let last = -1;
    this.#place = this.#statements.map((each, at) => {
      const own = text(each);
      if (barrier.test(own) && !inBlock.has(at)) return -1;
      if (/^bar/.test(kernel.opcode(at)) && !barrier.test(own) && !otherBarrier.test(own)) fail('a barrier that may be of the block');
      const known = places.get(own);
      // Of several equal statements, the one that follows what went before, as in the old text.
      const place = known?.has(last + 1) === true ? last + 1 : known?.values().next().value;
      if (place === undefined) fail('a statement is gone');
      known?.delete(place);
      last = place;
      return place;
    });
    for (const [each, rest] of places) if (rest.size > 0 && !barrier.test(each)) fail('a statement is new');
    const count = (list: readonly Statement[]): number[] => {
      let sum = 0;
      return list.map((each) => barrier.test(text(each)) ? ++sum : sum);
    };
    const late = count(after);
    this.#early = count(this.#statements);
    this.#late = this.#place.map((at) => late[at] ?? -1);
  }

  /** Blocks: labels and branches with all that lies between, joined where they have statements in common. */
  #findBlocks(): Block[] {
    const spans: { first: number; last: number }[] = [];
    this.#statements.forEach(({ next, tokens }, at) => {
      if (tokens[1] === ':' || !/^brx?a?\b/.test(this.#kernel.opcode(at))) return;
      for (const to of next) {
        if (to === at + 1 && this.#statements[to]?.tokens[1] !== ':') continue;
        spans.push({ first: Math.min(at, to), last: Math.max(at, to) });
      }
    });
    const open: number[] = [];
    this.#statements.forEach(({ tokens: [token] }, at) => {
      if (token === '{') open.push(at);
      if (token === '}') spans.push({ first: open.pop() ?? 0, last: at });
    });
    spans.sort((a, b) => a.first - b.first);
    const blocks: { first: number; last: number }[] = [];
    for (const each of spans) {
      const around = blocks.at(-1);
      if (around !== undefined && each.first <= around.last) around.last = Math.max(around.last, each.last);
      else blocks.push({ ...each });
    }
    return blocks;
  }

  check(): void {
    const last = this.#statements.length - 1;
    this.#statements.forEach((_, at) => {
      if (/^(?:ret|exit|trap|call)\b/.test(this.#kernel.opcode(at)) && at !== last) fail('threads may leave');
    });
    if (this.#place[last] !== Math.max(...this.#place)) fail('the end is not the end');
    for (const { first, last: until } of this.#blocks) {
      for (let at = first; at < until; ++at) {
        if (this.#place[at] === -1 || this.#place[at + 1] !== (this.#place[at] ?? 0) + 1) fail('a block is torn');
      }
      if (this.#waits(first, until)) fail('a loop may wait');
    }
    this.#checkRegisters();
    this.#checkMemory();
  }

  /** Whether what decides the branches of a block is loaded inside it, from memory that may change. */
  #waits(first: number, last: number): boolean {
    const inside = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    if (!inside.some((at) => this.#statements[at]?.next.some((to) => to <= at && to >= first))) return false;
    const needed = new Set<string>();
    for (const at of inside) {
      if (/^brx?a?\b/.test(this.#kernel.opcode(at))) for (const name of this.#kernel.names(at).used) needed.add(name);
    }
    for (const name of needed) {
      for (const at of inside) {
        const { used, defined } = this.#kernel.names(at);
        if (!defined.includes(name)) continue;
        const opcode = this.#kernel.opcode(at);
        const isFixed = !/^ldu?\b/.test(opcode) || /^ld\.(?:param|const|local)\b|\.nc\b/.test(opcode);
        if (!isFixed || !known.test(opcode.split('.')[0] ?? '')) return true;
        for (const each of used) needed.add(each);
      }
    }
    return false;
  }

  #checkRegisters(): void {
    const [wrote, touched] = [new Map<string, number>(), new Map<string, number>()];
    this.#statements.forEach((_, at) => {
      const place = this.#place[at] ?? -1;
      if (place < 0) return;
      const { used, defined } = this.#kernel.names(at);
      for (const name of used) if ((wrote.get(name) ?? -1) > place) fail(`${name} is read before it is written`);
      for (const name of defined) if ((touched.get(name) ?? -1) > place) fail(`${name} is written too early`);
      for (const name of [...used, ...defined]) touched.set(name, Math.max(place, touched.get(name) ?? -1));
      for (const name of defined) wrote.set(name, Math.max(place, wrote.get(name) ?? -1));
    });
  }

  /** Kinds of memory as bits above those of the arrays: reads, writes, and whether it is more than that. */
  #memory(at: number): { reads: bigint; writes: bigint; isMore: boolean } {
    const opcode = this.#kernel.opcode(at);
    const [head = ''] = opcode.split('.');
    const [token = '', colon] = this.#statements[at]?.tokens ?? [];
    const isLabel = colon === ':' || /^[.{}]/.test(token);
    const [own, written] = [this.#kernel.reads[at] ?? 0n, this.#kernel.writes[at] ?? 0n];
    const isMore = !isLabel && at < this.#statements.length - 1
      && (!known.test(head) || /volatile|relaxed|acquire|release|mmio|async|cluster/.test(opcode)
        || this.#kernel.names(at).used.some((name) => /^%(?:clock|globaltimer|pm)/.test(name)));
    if (isMore || !/^(?:ld|st)$/.test(head)) return { reads: own, writes: written, isMore };
    const shift = BigInt(this.#kernel.claim.moved.length);
    const others = own !== 0n || written !== 0n || /\.(?:param|const|nc)\b/.test(opcode) ? 0n
      : /\.global\b/.test(opcode) ? 1n : /\.local\b/.test(opcode) ? 2n : /\.shared\b/.test(opcode) ? 4n : 7n;
    return head === 'ld' ? { reads: own | others << shift, writes: 0n, isMore } : { reads: 0n, writes: written | others << shift, isMore };
  }

  #checkMemory(): void {
    const all = this.#statements.flatMap((_, at) => {
      const found = this.#memory(at);
      return (this.#place[at] ?? -1) >= 0 && (found.isMore || (found.reads | found.writes) !== 0n) ? [{ at, ...found }] : [];
    });
    all.forEach((b, index) => {
      for (let i = 0; i < index; ++i) {
        const a = all[i];
        if (a === undefined) continue;
        if (!a.isMore && !b.isMore && (a.writes & (b.reads | b.writes)) === 0n && (a.reads & b.writes) === 0n) continue;
        if ((this.#place[a.at] ?? 0) > (this.#place[b.at] ?? 0)) fail('accesses to the same memory changed their order');
        const isSeparated = this.#early[a.at] !== this.#early[b.at];
        if (isSeparated && this.#late[a.at] === this.#late[b.at]) fail('a barrier between two accesses is gone');
      }
    });
  }
}

/** What is wrong with a kernel in another order; undefined if nothing is. `moved` of the claim names its arrays that may move. */
export function checkOrder(before: string, after: string, claim: Claim): string | undefined {
  try {
    const [a, b] = [statementsOf(before, claim.kernel), statementsOf(after, claim.kernel)];
    if (a.rest !== b.rest) fail('something outside of the kernel changed');
    new Order(new Kernel(claim, a.statements, ''), b.statements).check();
    return undefined;
  } catch (error) {
    if (error instanceof Objection) return error.message;
    throw error;
  }
}
