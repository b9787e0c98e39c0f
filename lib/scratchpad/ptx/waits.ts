// Loops that only another thread can end. A new barrier after such a loop could keep that thread from ending it.
import { elementAt, required } from '../../core/known.ts';
import { between, type Blocks } from '../../kernel/ptx/blocks.ts';
import type { Facts } from './facts.ts';

/** Whether an instruction gives what another thread may have changed since it was executed last. */
function isFresh(head: string, space: string, nc: boolean, { defs, memory, kind }: Facts): boolean {
  if (kind === 'wait' || kind === 'call') return defs.length > 0;
  if (head === 'ld') return space !== 'param' && space !== 'const' && space !== 'local' && !nc;
  return memory === 'rw' || memory === '?' || /^(?:shfl|vote|match|activemask|redux)$/.test(head);
}

/** Whether the end of a loop depends on memory that is read inside it. */
function waitsFor(blocks: Blocks, facts: readonly Facts[], loop: readonly number[]): boolean {
  const { fn } = blocks;
  const inside = new Set(loop);
  const defining = new Map<string, number[]>();
  const guardOf = (block: number): readonly string[] => {
    const last = elementAt(fn.instructions, elementAt(blocks.blocks, block).end - 1);
    return /^(?:bra|brx|ret|exit)$/.test(elementAt(last.opcode, 0))
      ? [...(last.guard === undefined ? [] : [last.guard]), ...(last.opcode[0] === 'brx' ? elementAt(facts, last.index).uses : [])] : [];
  };
  const open: string[] = [];
  const seen = new Set<string>();
  const need = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    open.push(name);
  };
  const branches = loop.filter((block) => guardOf(block).length > 0);
  for (const block of loop) {
    const { begin, end, successors, leaves } = elementAt(blocks.blocks, block);
    for (let at = begin; at < end; ++at) {
      for (const def of elementAt(facts, at).defs) {
        const list = defining.get(def);
        if (list === undefined) defining.set(def, [at]);
        else list.push(at);
      }
    }
    if (leaves || successors.some((each) => !inside.has(each))) guardOf(block).forEach(need);
  }
  // A loop without an exit waits for nothing, but nothing comes after it either.
  const controlled = new Map<number, string[]>();
  for (const branch of branches) {
    const { successors } = elementAt(blocks.blocks, branch);
    for (const side of successors) {
      for (const block of between(blocks, side, elementAt(blocks.follower, branch))) {
        if (inside.has(block)) controlled.set(block, [...controlled.get(block) ?? [], ...guardOf(branch)]);
      }
    }
  }
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const at of defining.get(name) ?? []) {
      const { opcode, guard } = elementAt(fn.instructions, at);
      const own = elementAt(facts, at);
      if (isFresh(elementAt(opcode, 0), opcode[1] ?? '', opcode.includes('nc'), own)) return true;
      [...own.uses, ...own.addresses, ...(guard === undefined ? [] : [guard])].forEach(need);
      controlled.get(elementAt(blocks.blockOf, at))?.forEach(need);
    }
  }
  return false;
}

/** Blocks of loops in which threads may wait for other threads. */
export function waitingBlocks(blocks: Blocks, facts: readonly Facts[]): Set<number> {
  const found = new Set<number>();
  for (const loop of blocks.loops) {
    if (loop.every((block) => found.has(block)) || !waitsFor(blocks, facts, loop)) continue;
    for (const block of loop) found.add(required(block));
  }
  return found;
}
