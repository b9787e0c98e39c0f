// The control-flow graph of a PTX function in basic blocks, with post-dominators and loops.
import { elementAt, required } from '../../core/known.ts';
import { targetsOf, type Instruction, type PtxFunction } from './module.ts';

/** A basic block: instructions [begin, end). */
export interface Block {
  readonly id: number;
  readonly begin: number;
  readonly end: number;
  readonly successors: readonly number[];
  /** Whether a thread may leave the kernel at its end. */
  readonly leaves: boolean;
  /** Loops around it, by the number of the loop. */
  readonly loops: readonly number[];
}

/** The reachable blocks of a function in order of the text; number 0 is the entry. */
export interface Blocks {
  readonly fn: PtxFunction;
  readonly blocks: readonly Block[];
  /** The block of every instruction; -1 if it is never reached. */
  readonly blockOf: readonly number[];
  /** The block's nearest post-dominator; -1 for none but the end of the kernel. */
  readonly follower: readonly number[];
  /** Loops, each by the blocks on its cycles. */
  readonly loops: readonly (readonly number[])[];
}

const leaving = new Set(['ret', 'exit', 'trap']);

/** Instructions that may follow one; the length of the list stands for the end of the function. */
export function followers(fn: PtxFunction, at: Instruction): { next: number[]; leaves: boolean } {
  const [kind = ''] = at.opcode;
  const through = at.guard === undefined ? [] : [at.index + 1];
  if (leaving.has(kind)) return { next: through, leaves: true };
  if (kind === 'bra') return { next: [...new Set([...through, ...targetsOf(fn, at.operands[0] ?? '', at)])], leaves: false };
  if (kind === 'brx') {
    const known = targetsOf(fn, at.operands[1] ?? '', at);
    const all = fn.labels.flatMap((label) => label.targets === undefined ? [label.before] : []);
    return { next: [...new Set([...through, ...(known.length > 0 ? known : all)])], leaves: false };
  }
  return { next: [at.index + 1], leaves: false };
}

/** Strongly connected components with a cycle, without recursion (Tarjan 1972). */
function cycles(successors: readonly (readonly number[])[], inside: (node: number) => boolean): number[][] {
  const number = successors.map(() => -1);
  const low = successors.map(() => 0);
  const open: number[] = [];
  const isOpen = successors.map(() => false);
  const found: number[][] = [];
  let count = 0;
  const visit = (root: number): void => {
    const stack: [node: number, edge: number][] = [[root, 0]];
    while (stack.length > 0) {
      const frame = required(stack.at(-1));
      const [node] = frame;
      if (frame[1] === 0) {
        number[node] = low[node] = count++;
        open.push(node);
        isOpen[node] = true;
      }
      const next = elementAt(successors, node)[frame[1]++];
      if (next !== undefined) {
        if (!inside(next)) continue;
        if (number[next] === -1) stack.push([next, 0]);
        else if (isOpen[next] === true) low[node] = Math.min(elementAt(low, node), elementAt(number, next));
        continue;
      }
      stack.pop();
      const parent = stack.at(-1)?.[0];
      if (parent !== undefined) low[parent] = Math.min(elementAt(low, parent), elementAt(low, node));
      if (low[node] !== number[node]) continue;
      const component = open.splice(open.indexOf(node));
      for (const each of component) isOpen[each] = false;
      if (component.length > 1 || elementAt(successors, node).includes(node)) found.push(component);
    }
  };
  for (let node = 0; node < successors.length; ++node) if (inside(node) && number[node] === -1) visit(node);
  return found;
}

/** Loops and the loops inside them: a component without its entries falls into smaller components. */
function nestedLoops(successors: readonly (readonly number[])[]): number[][] {
  const loops: number[][] = [];
  const split = (within: ReadonlySet<number> | undefined, depth: number): void => {
    for (const component of cycles(successors, (node) => within?.has(node) ?? true)) {
      loops.push(component);
      if (depth >= 16) continue;
      const members = new Set(component);
      const entered = new Set<number>();
      successors.forEach((list, from) => {
        if (!members.has(from)) for (const to of list) if (members.has(to)) entered.add(to);
      });
      if (entered.size === 0) entered.add(elementAt(component, component.length - 1));
      for (const each of entered) members.delete(each);
      if (members.size > 0) split(members, depth + 1);
    }
  };
  split(undefined, 0);
  return loops;
}

/** Nearest post-dominators (Cooper, Harvey, Kennedy 2001, on the reversed graph). */
function postDominators(blocks: readonly { successors: readonly number[]; leaves: boolean }[]): number[] {
  const end = blocks.length;
  const before: number[][] = Array.from({ length: end + 1 }, () => []);
  const after = blocks.map(({ successors, leaves }) => leaves || successors.length === 0 ? [...successors, end] : [...successors]);
  after.forEach((list, from) => { for (const to of list) elementAt(before, to).push(from); });
  const order: number[] = [];
  const seen = new Set<number>();
  const walk = (root: number): void => {
    const stack: [number, number][] = [[root, 0]];
    seen.add(root);
    while (stack.length > 0) {
      const frame = required(stack.at(-1));
      const next = elementAt(before, frame[0])[frame[1]++];
      if (next === undefined) {
        order.push(frame[0]);
        stack.pop();
      } else if (!seen.has(next)) {
        seen.add(next);
        stack.push([next, 0]);
      }
    }
  };
  walk(end);
  // Blocks that never end (an endless loop): as if the kernel could end there.
  for (let block = end - 1; block >= 0; --block) {
    if (seen.has(block)) continue;
    elementAt(before, end).push(block);
    elementAt(after, block).push(end);
    order.length = 0;
    seen.clear();
    walk(end);
  }
  const rank = new Map(order.map((block, at) => [block, at]));
  const parent: number[] = new Array<number>(end + 1).fill(-1);
  parent[end] = end;
  const meet = (a: number, b: number): number => {
    while (a !== b) {
      if (required(rank.get(a)) < required(rank.get(b))) a = elementAt(parent, a);
      else b = elementAt(parent, b);
    }
    return a;
  };
  for (let changed = true; changed;) {
    changed = false;
    for (const block of [...order].reverse()) {
      if (block === end) continue;
      const known = elementAt(after, block).filter((each) => parent[each] !== -1);
      const nearest = known.reduce((a, b) => meet(a, b));
      if (parent[block] === nearest) continue;
      parent[block] = nearest;
      changed = true;
    }
  }
  return parent.slice(0, end).map((each) => each === end ? -1 : each);
}

/** Cuts a function into blocks. */
export function cutBlocks(fn: PtxFunction): Blocks {
  const { instructions } = fn;
  const count = instructions.length;
  const after = instructions.map((each) => followers(fn, each));
  const leads = new Set<number>([0]);
  after.forEach(({ next, leaves }, at) => {
    if (leaves || next.length !== 1 || next[0] !== at + 1) for (const each of [...next, at + 1]) leads.add(each);
  });
  const reached = new Set<number>();
  const stack = count > 0 ? [0] : [];
  while (stack.length > 0) {
    const at = required(stack.pop());
    if (at >= count || reached.has(at)) continue;
    reached.add(at);
    stack.push(...elementAt(after, at).next);
  }
  const starts = [...leads].filter((at) => reached.has(at)).sort((a, b) => a - b);
  const blockOf: number[] = new Array<number>(count).fill(-1);
  const idOf = new Map(starts.map((at, id) => [at, id]));
  const raw = starts.map((begin, id) => {
    let end = begin + 1;
    while (end < count && !leads.has(end)) ++end;
    blockOf.fill(id, begin, end);
    const { next, leaves } = elementAt(after, end - 1);
    return {
      id, begin, end, leaves: leaves || next.some((each) => each >= count),
      successors: next.filter((each) => each < count).map((each) => required(idOf.get(each))),
    };
  });
  const loops = nestedLoops(raw.map((block) => block.successors));
  const around: number[][] = raw.map(() => []);
  loops.forEach((members, loop) => { for (const each of members) elementAt(around, each).push(loop); });
  const blocks = raw.map((block) => ({ ...block, loops: elementAt(around, block.id) }));
  return { fn, blocks, blockOf, follower: postDominators(raw), loops };
}

/** The blocks that a thread may pass from one block on, until another one. */
export function between({ blocks }: Blocks, from: number, until: number): Set<number> {
  const found = new Set<number>();
  const stack = [from];
  while (stack.length > 0) {
    const at = required(stack.pop());
    if (at === until || found.has(at)) continue;
    found.add(at);
    stack.push(...elementAt(blocks, at).successors);
  }
  return found;
}
