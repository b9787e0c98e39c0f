// Checks emitted source independently: which bytes each array occupies, whether a barrier-free path leads from one array to another that
// shares bytes with it, and whether an array is accessed while the content of such another is needed. It shares the code that reads the
// source (grammar, accesses, flow graph) with the pass, but none of the code that decides on the layout.
import { elementAt, required } from '../core/known.ts';
import { analyse } from './analyse.ts';
import type { SharedArray } from './arrays.ts';
import { WarploomError } from '../core/errors.ts';
import type { BlockShape } from './coverage.ts';
import type { FlowLoop, FlowNode } from './flow.ts';
import { Library } from './model.ts';
import { Program } from './program.ts';
import { Refusal } from './refusal.ts';
import { parse, position } from './syntax.ts';

/** Expected properties of one emitted kernel. */
export interface Expected {
  /** Position among the kernels of the source. */
  readonly ordinal: number;
  readonly name: string;
  /** Bytes of its pool. */
  readonly bytes: number;
  /** Number of original barriers, and number of added ones. */
  readonly barriers: number;
  /** Number of accesses of each array, in order of declaration. */
  readonly accesses: readonly number[];
  /** Whether an array need not be kept around a loop, identified by its line in the original source. */
  rewritten(array: SharedArray, loop: FlowLoop): boolean;
}

/** Settings for reading the source. */
export interface CheckOptions {
  readonly macros: readonly string[];
  readonly defines: ReadonlyMap<string, number | string>;
  readonly trusted: ReadonlySet<string>;
  readonly shape: BlockShape | undefined;
}

function overlap(a: SharedArray, b: SharedArray): boolean {
  return required(a.offset) < required(b.offset) + b.bytes && required(b.offset) < required(a.offset) + a.bytes;
}

type Edge = (from: FlowNode, to: FlowNode) => boolean;

/** All nodes reachable from some nodes along edges that `follow` allows. */
function closure(from: readonly FlowNode[], next: (node: FlowNode) => readonly FlowNode[], follow: Edge): Set<FlowNode> {
  const found = new Set<FlowNode>();
  const queue = [...from];
  for (const at of queue) {
    for (const each of next(at)) {
      if (found.has(each) || !follow(at, each)) continue;
      found.add(each);
      queue.push(each);
    }
  }
  return found;
}

/** The statements of a kernel, by the arrays they access. */
class Statements {
  readonly #nodes: readonly FlowNode[];
  readonly #before: FlowNode[][];
  readonly #reads: FlowNode[][];
  readonly #writes: FlowNode[][];

  constructor(nodes: readonly FlowNode[], arrays: number) {
    this.#nodes = nodes;
    this.#before = nodes.map(() => []);
    this.#reads = Array.from({ length: arrays }, () => []);
    this.#writes = Array.from({ length: arrays }, () => []);
    for (const node of nodes) {
      for (const id of node.successors) elementAt(this.#before, id).push(node);
      for (const { array, mode } of node.accesses) {
        if (mode.includes('r')) elementAt(this.#reads, array).push(node);
        if (mode.includes('w')) elementAt(this.#writes, array).push(node);
      }
    }
  }

  touching(array: number): ReadonlySet<FlowNode> {
    return new Set([...elementAt(this.#reads, array), ...elementAt(this.#writes, array)]);
  }

  /** Statements that are reachable from an access of an array without passing a barrier. */
  unseparated(array: number): ReadonlySet<FlowNode> {
    return closure([...this.touching(array)], (node) => this.#after(node), (_at, next) => next.kind !== 'barrier');
  }

  /** Statements at which the content of an array is needed: reachable from a write, with a read reachable from them. */
  needing(array: number, isLost: Edge): ReadonlySet<FlowNode> {
    const written = new Set<FlowNode>();
    for (const write of elementAt(this.#writes, array)) {
      for (const node of closure([write], (at) => this.#after(at), (at, next) => at === write || !isLost(at, next))) written.add(node);
    }
    const read = closure(elementAt(this.#reads, array), (at) => elementAt(this.#before, at.id), (at, before) => !isLost(before, at));
    return new Set([...written].filter((node) => read.has(node)));
  }

  #after(node: FlowNode): FlowNode[] {
    return node.successors.map((id) => elementAt(this.#nodes, id));
  }
}

function meet(some: ReadonlySet<FlowNode>, others: ReadonlySet<FlowNode>): boolean {
  for (const node of others) if (some.has(node)) return true;
  return false;
}

function fail(kernel: string, what: string): WarploomError {
  return new WarploomError('ERR_WARPLOOM_INTERNAL', `the rewritten kernel ${kernel} did not pass its check (${what}); `
    + 'nothing was returned. Please report this with the source');
}

function checkKernel(library: Library, expected: Expected, options: CheckOptions): void {
  const fn = library.program.kernels[expected.ordinal];
  if (fn?.name !== expected.name) throw fail(expected.name, 'it is not found');
  const { arrays, flow, liveness, fullWrites } = analyse(library, fn, {
    trusted: options.trusted, shape: options.shape, rewritten: (array, loop) => expected.rewritten(array, loop), emitted: true,
  });
  const { nodes } = flow;
  const barriers = new Set(nodes.filter((node) => node.kind === 'barrier').map((node) => node.node)).size;
  if (barriers !== expected.barriers) throw fail(expected.name, `${barriers} barriers, ${expected.barriers} expected`);
  for (const array of arrays) {
    const isInside = required(array.offset) >= 0 && required(array.offset) + array.bytes <= expected.bytes;
    if (!isInside) throw fail(expected.name, `${array.name} is outside of the pool`);
    if (required(array.offset) % array.alignment !== 0) throw fail(expected.name, `${array.name} is not aligned`);
    const accesses = nodes.reduce((sum, node) => sum + node.accesses.filter((access) => access.array === array.index).length, 0);
    if (accesses !== expected.accesses[array.index]) throw fail(expected.name, `${array.name} is touched ${accesses} times`);
  }
  if (arrays.length !== expected.accesses.length) throw fail(expected.name, 'an array is missing');
  const statements = new Statements(nodes, arrays.length);
  const touching = arrays.map(({ index }) => statements.touching(index));
  for (const a of arrays) {
    const sharing = arrays.filter((b) => a !== b && overlap(a, b));
    if (sharing.length === 0) continue;
    const loops = elementAt(liveness.scoped, a.index);
    const full = elementAt(fullWrites, a.index);
    const isLost: Edge = (from, to) => full.has(from.id)
      || loops.some((loop) => to.id === loop.head && loop.nodes.includes(from.id));
    const near = statements.unseparated(a.index);
    const needing = statements.needing(a.index, isLost);
    for (const b of sharing) {
      const fault = meet(elementAt(touching, a.index), elementAt(touching, b.index)) ? 'touched by one statement'
        : meet(near, elementAt(touching, b.index)) ? 'touched with no barrier between'
          : meet(needing, elementAt(touching, b.index)) ? 'needed after the other was touched' : undefined;
      if (fault !== undefined) throw fail(expected.name, `${a.name} and ${b.name}: ${fault}`);
    }
  }
}

/** Throws an internal error unless every kernel of the source is laid out safely. */
export async function checkEmitted(source: string, kernels: readonly Expected[], options: CheckOptions): Promise<void> {
  const syntax = await parse(source, options.macros);
  const library = new Library(new Program(syntax, options.defines));
  for (const expected of kernels) {
    try {
      checkKernel(library, expected, options);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw fail(expected.name, `line ${position(syntax, error.node.start).line}: ${error.message}`);
    }
  }
}
