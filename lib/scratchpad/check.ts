// Checks text that the pass wrote, by its own means: which bytes each array has, whether a way without barrier leads from one array
// to another that shares bytes, and whether one is touched while the content of the other is needed. It shares with the pass what
// reads the text (grammar, accesses, flow graph) and nothing of what decided on the layout.
import { analyse } from './analyse.ts';
import type { SharedArray } from './arrays.ts';
import { WarploomError } from '../core/errors.ts';
import type { BlockShape } from './coverage.ts';
import type { FlowLoop, FlowNode } from './flow.ts';
import { Library } from './model.ts';
import { Program } from './program.ts';
import { Refusal } from './refusal.ts';
import { parse, position } from './syntax.ts';

/** What the text must hold of one kernel. */
export interface Expected {
  /** Place among the kernels of the text. */
  readonly ordinal: number;
  readonly name: string;
  /** Bytes of its pool. */
  readonly bytes: number;
  /** Barriers it had, and those that were added. */
  readonly barriers: number;
  /** Accesses of each array, in the order of their declarations. */
  readonly accesses: readonly number[];
  /** Loops, by the line of the source as given, around which an array need not be kept. */
  rewritten(array: SharedArray, loop: FlowLoop): boolean;
}

/** Settings that the text is read with. */
export interface CheckOptions {
  readonly macros: readonly string[];
  readonly defines: ReadonlyMap<string, number | string>;
  readonly trusted: ReadonlySet<string>;
  readonly shape: BlockShape | undefined;
}

function overlap(a: SharedArray, b: SharedArray): boolean {
  return a.offset! < b.offset! + b.bytes && b.offset! < a.offset! + a.bytes;
}

/** All nodes that a node leads to; `through` says which may be passed. */
function closure(nodes: readonly FlowNode[], from: FlowNode, through: (node: FlowNode, next: FlowNode) => boolean): Set<FlowNode> {
  const found = new Set<FlowNode>();
  const queue = [from];
  for (const at of queue) {
    for (const id of at.successors) {
      const next = nodes[id]!;
      if (found.has(next) || !through(at, next)) continue;
      found.add(next);
      queue.push(next);
    }
  }
  return found;
}

/** What is wrong with two arrays that share bytes; undefined where nothing is. */
function faultOf(nodes: readonly FlowNode[], a: SharedArray, b: SharedArray,
  isLost: (from: FlowNode, to: FlowNode) => boolean): string | undefined {
  const of = (array: SharedArray, mode: string): FlowNode[] => nodes.filter((node) =>
    node.accesses.some((access) => access.array === array.index && access.mode.includes(mode)));
  const touching = new Set([...of(b, 'r'), ...of(b, 'w')]);
  for (const node of new Set([...of(a, 'r'), ...of(a, 'w')])) {
    if (touching.has(node)) return 'touched by one statement';
    for (const other of closure(nodes, node, (_at, next) => next.kind !== 'barrier')) {
      if (touching.has(other)) return 'touched with no barrier between';
    }
  }
  const reads = new Set(of(a, 'r'));
  for (const write of of(a, 'w')) {
    for (const node of closure(nodes, write, (at, next) => at === write || !isLost(at, next))) {
      if (!touching.has(node)) continue;
      for (const read of closure(nodes, node, (at, next) => !isLost(at, next))) {
        if (reads.has(read)) return 'needed after the other was touched';
      }
    }
  }
  return undefined;
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
    const isInside = array.offset! >= 0 && array.offset! + array.bytes <= expected.bytes;
    if (!isInside) throw fail(expected.name, `${array.name} is outside of the pool`);
    if (array.offset! % array.alignment !== 0) throw fail(expected.name, `${array.name} is not aligned`);
    const accesses = nodes.reduce((sum, node) => sum + node.accesses.filter((access) => access.array === array.index).length, 0);
    if (accesses !== expected.accesses[array.index]) throw fail(expected.name, `${array.name} is touched ${accesses} times`);
  }
  if (arrays.length !== expected.accesses.length) throw fail(expected.name, 'an array is missing');
  for (const a of arrays) {
    const loops = liveness.scoped[a.index]!;
    const full = fullWrites[a.index]!;
    const isLost = (from: FlowNode, to: FlowNode): boolean => full.has(from.id)
      || loops.some((loop) => to.id === loop.head && loop.nodes.includes(from.id));
    for (const b of arrays) {
      if (a === b || !overlap(a, b)) continue;
      const fault = faultOf(nodes, a, b, isLost);
      if (fault !== undefined) throw fail(expected.name, `${a.name} and ${b.name}: ${fault}`);
    }
  }
}

/** Throws an internal error unless every kernel of the text is laid out safely. */
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
