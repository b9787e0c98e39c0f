// Where the old content of an array ends because all of it is about to be written anew. A kill is a place before which nobody needs the
// old content. R is what threads execute from there until their next barrier of the block, and it can only be entered at its beginning.
// Why that is sound: (1) nothing in R reads the array, so whoever reads it later has passed a barrier that all threads reach behind R;
// (2) every thread that ever wrote bytes of the array passes R; (3) in R it writes these bytes again, because addresses, and the branches
// that decide on the stores, depend on nothing that changes between two passes: numbers of the thread and of the block, parameters,
// constants, and registers that R computes from these. A store outside of R is written again if R always executes one with the same
// address, or does so under the same condition.
import { elementAt, required } from '../../core/known.ts';
import { between, followers, type Blocks } from '../../kernel/ptx/blocks.ts';
import { Definitions } from '../../kernel/ptx/definitions.ts';
import type { Instruction } from '../../kernel/ptx/module.ts';
import type { Facts } from './facts.ts';
import type { Flow, FlowNode } from './flow.ts';
import type { Uniformity } from './uniformity.ts';
import type { Access } from './values.ts';

/** From this instruction on, the old content of an array is not needed. */
export interface Kill {
  readonly array: number;
  readonly node: number;
  readonly at: number;
}

/** The longest R, in instructions. */
const longest = 2000;

/** A plain store: the name of its address, and the bytes from there on. */
function storeOf({ opcode, operands }: Instruction): { base: string; from: number; to: number } | undefined {
  const found = /^\[\s*([\w$%]+)\s*(?:\+\s*(-?\d+)\s*)?\]$/.exec(operands[0] ?? '');
  const [, vector = 1, bits = 0] = /^st\b(?!.*\b(?:async|bulk)\b)(?:.*\.v(\d)\b)?.*\.[busf](\d+)$/.exec(opcode.join('.')) ?? [];
  const bytes = Number(vector) * Number(bits) / 8;
  if (found?.[1] === undefined || bytes === 0) return undefined;
  const from = Number(found[2] ?? 0);
  return { base: found[1], from, to: from + bytes };
}

/** What follows a place until barriers; undefined if a thread may end there, call something, or come in from elsewhere. */
function regionFrom(start: number, blocks: Blocks, facts: readonly Facts[], { before }: Definitions): Set<number> | undefined {
  const found = new Set<number>();
  const stack = [start];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    if (found.has(at)) continue;
    if (at >= facts.length || found.size > longest) return undefined;
    const { kind } = elementAt(facts, at);
    if (kind === 'barrier') continue;
    const { next, leaves } = followers(blocks.fn, elementAt(blocks.fn.instructions, at));
    if (leaves || kind === 'call' || kind === 'guarded') return undefined;
    found.add(at);
    stack.push(...next);
  }
  for (const at of found) if (at !== start && !elementAt(before, at).every((each) => found.has(each))) return undefined;
  return found;
}

/** R, and what of it is the same in every pass. */
class Region {
  readonly #start: number;
  readonly #members: ReadonlySet<number>;
  readonly #definitions: Definitions;
  readonly #blocks: Blocks;
  /** Branches, and the blocks between their sides and the point where these meet. */
  readonly #branches: { readonly at: number; readonly over: ReadonlySet<number> }[] = [];

  constructor(start: number, members: ReadonlySet<number>, definitions: Definitions, blocks: Blocks) {
    this.#start = start;
    this.#members = members;
    this.#definitions = definitions;
    this.#blocks = blocks;
    for (const at of members) {
      const block = elementAt(blocks.blockOf, at);
      const { end, successors } = elementAt(blocks.blocks, block);
      if (at !== end - 1 || successors.length < 2) continue;
      const sides = successors.map((each) => between(blocks, each, elementAt(blocks.follower, block)));
      this.#branches.push({ at, over: new Set(sides.flatMap((side) => [...side])) });
    }
  }

  /** Whether a thread that passes R executes a store in every pass at the same addresses, or in none. */
  isSame(store: number): boolean {
    const definitions = this.#definitions;
    const open = [store];
    const seen = new Set(open);
    const need = (at: number): void => {
      if (!seen.has(at)) open.push(at);
      seen.add(at);
    };
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      const each = definitions.instruction(at);
      const names = at === store ? [required(storeOf(each)).base] : each.opcode[0] === 'bra' ? [] : definitions.sources(at);
      if (names === undefined) return false;
      for (const { at: branch, over } of this.#branches) if (over.has(elementAt(this.#blocks.blockOf, at))) need(branch);
      for (const name of each.guard === undefined ? names : [...names, each.guard]) {
        if (definitions.value(name, at) !== undefined) continue;
        const { defs, isOpen } = definitions.reaching(name, elementAt(definitions.before, at), this.#members);
        if (defs.some((def) => !definitions.isSameScope(def, each.index))) return false;
        if (isOpen && this.#atStart(name) === undefined) return false;
        defs.forEach(need);
      }
    }
    return true;
  }

  #atStart(name: string): number | undefined {
    const outside = elementAt(this.#definitions.before, this.#start).filter((each) => !this.#members.has(each));
    return this.#definitions.value(name, this.#start, outside);
  }

  /** Whether no way through R passes an instruction by. */
  #isAlways(wanted: number): boolean {
    const seen = new Set<number>();
    const stack = [this.#start];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (at === wanted || seen.has(at)) continue;
      if (!this.#members.has(at)) return false;
      seen.add(at);
      stack.push(...followers(this.#blocks.fn, this.#definitions.instruction(at)).next);
    }
    return true;
  }

  /** The branch on which the block of a store hangs, if it hangs on one alone, and what decides it; empty if that may change. */
  #condition(store: number): { at: number; text: string } {
    const own = elementAt(this.#blocks.blocks, elementAt(this.#blocks.blockOf, store));
    const [from, other] = this.#blocks.blocks.filter(({ successors }) => successors.includes(own.id));
    if (own.id === 0 || from?.successors.length !== 2 || other !== undefined) return { at: -1, text: '' };
    const { guard, isNegated } = this.#definitions.instruction(from.end - 1);
    const value = guard === undefined ? undefined : this.#definitions.value(guard, from.end - 1);
    return { at: from.end - 1, text: value === undefined ? '' : ` if ${value} ${isNegated} ${from.end === own.begin}` };
  }

  /** Whether all bytes that stores write have been written again when a thread has passed R. */
  writesAgain(stores: readonly number[]): boolean {
    const plain = stores.filter((at) => this.#members.has(at) && this.#definitions.instruction(at).guard === undefined);
    const bytes = (at: number): string[] => {
      const { base, from, to } = required(storeOf(this.#definitions.instruction(at)));
      const value = this.#definitions.value(base, at);
      return value === undefined ? [] : Array.from({ length: to - from }, (_, i) => `${value} ${from + i}`);
    };
    const written = new Set(plain.flatMap((at) => {
      const { at: branch, text } = this.#condition(at);
      return this.#isAlways(at) ? bytes(at) : text !== '' && this.#isAlways(branch) ? bytes(at).map((each) => each + text) : [];
    }));
    const isAgain = (own: readonly string[], text: string): boolean =>
      own.length > 0 && own.every((each) => written.has(each) || (text !== '' && written.has(each + text)));
    return stores.every((at) => this.#members.has(at) ? this.isSame(at) : isAgain(bytes(at), this.#condition(at).text));
  }
}

/** Nodes at which R can begin for a node that only writes an array: itself, or what comes before a branch on which threads part. */
function placesFor(node: FlowNode, { nodes }: Flow, parted: (node: FlowNode) => boolean): { node: number; at: number }[] {
  const from = parted(node) ? nodes.filter((each) => each.successors.includes(node.id) && !parted(each)) : [node];
  return from.map(({ id, kind, at }) => ({ node: id, at: kind === 'barrier' ? at + 1 : at }));
}

/** Finds kills. `reach`: nodes reachable from some in one or more steps. */
export function findKills(flow: Flow, blocks: Blocks, facts: readonly Facts[], accesses: readonly (Access | undefined)[],
  uniformity: Uniformity, count: number, reach: (from: readonly number[]) => Uint8Array): Kill[] {
  const inParted = new Set(uniformity.parted.flatMap((region) => [...region]));
  const isParted = ({ at }: FlowNode): boolean => inParted.has(elementAt(blocks.blockOf, at));
  const kills: Kill[] = [];
  let definitions: Definitions | undefined;
  for (let array = 0; array < count; ++array) {
    const own = accesses.flatMap((access, at) => access?.variables.includes(array) === true ? [at] : []);
    const modes = (node: FlowNode): string => node.accesses.filter((each) => each.array === array).map((each) => each.mode).join('');
    const nodes = flow.nodes.filter((node) => modes(node) !== '');
    const stores = own.filter((at) => accesses[at]?.mode !== 'r');
    const again = reach(nodes.filter((node) => modes(node).includes('r')).map((node) => node.id));
    const anew = nodes.filter((node) => modes(node) === 'w' && again[node.id] === 1);
    if (anew.length === 0) continue;
    const isPlain = (at: number): boolean => accesses[at]?.mode === 'w' && accesses[at].variables.length === 1
      && storeOf(elementAt(blocks.fn.instructions, at)) !== undefined;
    if (!stores.every(isPlain)) continue;
    definitions ??= new Definitions(blocks.fn, facts.map((each) => each.defs));
    const written = reach(nodes.filter((node) => modes(node) !== 'r').map((node) => node.id));
    const leaving = flow.nodes.filter((node) => node.leaves && (written[node.id] === 1 || modes(node).includes('w')));
    const lost = reach(leaving.map((node) => node.id));
    for (const place of anew.flatMap((node) => placesFor(node, flow, isParted))) {
      const isKnown = kills.some((kill) => kill.array === array && kill.node === place.node);
      const isClosed = uniformity.closed.has(elementAt(blocks.blockOf, elementAt(flow.nodes, place.node).at));
      if (isKnown || isClosed || lost[place.node] === 1) continue;
      const members = regionFrom(place.at, blocks, facts, definitions);
      if (members === undefined || own.some((at) => members.has(at) && accesses[at]?.mode !== 'w')) continue;
      if (new Region(place.at, members, definitions, blocks).writesAgain(stores)) kills.push({ array, ...place });
    }
  }
  return kills;
}
