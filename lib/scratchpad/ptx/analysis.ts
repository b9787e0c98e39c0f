// From a kernel to the planning problem: where the content of each array is needed, and which arrays no barrier can keep apart.
import { elementAt, required } from '../../core/known.ts';
import type { Laid } from '../../kernel/memory/layout.ts';
import type { PointRange } from '../../kernel/memory/types.ts';
import { cutBlocks, type Blocks } from '../../kernel/ptx/blocks.ts';
import { calleesOf, factsOf, hasPlainBarriers, type Callees, type Facts } from './facts.ts';
import { buildFlow, type Flow, type FlowNode } from './flow.ts';
import { findKills, type Kill } from './kills.ts';
import type { PtxFunction, PtxModule } from '../../kernel/ptx/module.ts';
import { analyseUniformity } from './uniformity.ts';
import { analyseValues, type Pinned, type Values } from './values.ts';
import { waitingBlocks } from './waits.ts';

/** An analysed kernel. */
export interface Analysis extends Laid {
  readonly fn: PtxFunction;
  readonly facts: readonly Facts[];
  readonly blocks: Blocks;
  readonly values: Values;
  readonly flow: Flow;
  readonly pinned: readonly Pinned[];
  /** Nodes that count as program points, in order of the text. */
  readonly points: readonly FlowNode[];
  readonly kills: readonly Kill[];
}

/** Nodes reachable from some nodes in one or more steps. */
function reach(next: readonly (readonly number[])[], from: Iterable<number>, passes: (node: number) => boolean): Uint8Array {
  const seen = new Uint8Array(next.length);
  const stack = [...from];
  while (stack.length > 0) {
    for (const each of elementAt(next, required(stack.pop()))) {
      if (seen[each] === 1) continue;
      seen[each] = 1;
      if (passes(each)) stack.push(each);
    }
  }
  return seen;
}

const edgesOf = ({ nodes }: Flow): { after: number[][]; before: number[][] } => {
  const before: number[][] = nodes.map(() => []);
  for (const { id, successors } of nodes) for (const next of successors) elementAt(before, next).push(id);
  return { after: nodes.map((node) => node.successors), before };
};

/** Maximal runs of true. */
function rangesOf(live: readonly boolean[]): PointRange[] {
  const ranges: { begin: number; end: number }[] = [];
  live.forEach((isLive, at) => {
    const last = ranges.at(-1);
    if (!isLive) return;
    if (last?.end === at) last.end = at + 1;
    else ranges.push({ begin: at, end: at + 1 });
  });
  return ranges;
}

/**
 * An array is needed at a point if a write may reach the point and a read may be reached from it without passing a kill, if it is accessed
 * there, or if a copy into it is under way.
 */
function liveRanges(flow: Flow, count: number, points: readonly FlowNode[], kills: readonly Kill[]): PointRange[][] {
  const { after, before } = edgesOf(flow);
  return Array.from({ length: count }, (_, array) => {
    const of = (mode: string): number[] => flow.nodes.flatMap((node) =>
      node.accesses.some((access) => access.array === array && access.mode.includes(mode)) ? [node.id] : []);
    const [reads, writes] = [of('r'), of('w')];
    const written = reach(after, writes, () => true);
    const ends = new Set(kills.filter((kill) => kill.array === array).map(({ node }) => node));
    const needed = reach(before, reads, (node) => !ends.has(node));
    const own = new Set([...reads, ...writes]);
    return rangesOf(points.map(({ id }) => own.has(id) || flow.inFlight?.[id]?.has(array) === true
      || (written[id] === 1 && needed[id] === 1)));
  });
}

/** Pairs of arrays with a way from an access of one to an access of the other on which there is no barrier and none can be put. */
export function inseparable({ nodes, closed }: Flow, count: number, allowNew: boolean): [number, number][] {
  const after = nodes.map((node) => node.successors);
  const passes = (id: number): boolean => {
    const { kind } = elementAt(nodes, id);
    return kind !== 'barrier' && (kind !== 'slot' || !allowNew || closed.has(id));
  };
  const met = Array.from({ length: count }, (_, array) => {
    const own = nodes.flatMap((node) => node.accesses.some((access) => access.array === array) ? [node.id] : []);
    const seen = reach(after, own, passes);
    for (const each of own) seen[each] = 1;
    const others = new Set<number>();
    nodes.forEach((node) => { if (seen[node.id] === 1) for (const each of node.accesses) others.add(each.array); });
    return others;
  });
  const pairs: [number, number][] = [];
  for (let a = 0; a < count; ++a) {
    for (let b = a + 1; b < count; ++b) if (elementAt(met, a).has(b) || elementAt(met, b).has(a)) pairs.push([a, b]);
  }
  return pairs;
}

/** What `_ZZ…E4tile` and `_Z6kernelPf` are called in the source. */
export function plainName(mangled: string): string {
  const local = /E(\d+)([A-Za-z_]\w*?)(?:_\d+|__\d+_)?$/.exec(mangled);
  for (let length = local?.[1] ?? ''; local !== null && length !== ''; length = length.slice(1)) {
    const at = mangled.indexOf(`${local[1]}${local[2]}`, local.index) + required(local[1]).length;
    const name = mangled.slice(at, at + Number(length));
    if (name.length === Number(length) && mangled.startsWith('_Z')) return name;
  }
  let at = /^_ZN?(?=\d)/.exec(mangled)?.[0].length ?? -1;
  if (at < 0) return mangled;
  let name = mangled;
  for (;;) {
    const length = /^\d+/.exec(mangled.slice(at))?.[0];
    if (length === undefined) return name;
    at += length.length + Number(length);
    name = mangled.slice(at - Number(length), at);
    if (!mangled.startsWith('_ZN')) return name;
  }
}

/** A kernel with at most one array that may move: there is nothing to plan. */
function withoutChoice(fn: PtxFunction, facts: readonly Facts[], blocks: Blocks, values: Values): Analysis {
  const flow: Flow = { nodes: [], closed: new Set(), inFlight: undefined };
  const arrays = values.movable.map(({ name, bytes, alignment }, index) =>
    ({ index, name: plainName(name), bytes, alignment }));
  return {
    fn, facts, blocks, values, flow, arrays, points: [], kills: [], pinned: values.pinned, closed: flow.closed,
    liveness: { ranges: arrays.map(() => []) }, conflicts: [],
  };
}

/** Analyses a kernel of a module. `withKills`: whether writing all of an array anew ends its live range. */
export function analyse(module: PtxModule, fn: PtxFunction, callees: Callees = calleesOf(module), withKills = true): Analysis {
  const facts = fn.instructions.map((each) => factsOf(each, callees));
  const found = analyseValues(module, fn, facts);
  const blocks = cutBlocks(fn);
  if (found.movable.length < 2) return withoutChoice(fn, facts, blocks, found);
  const uniformity = analyseUniformity(blocks, facts, (at) => found.accesses[at] !== undefined);
  const broken = hasPlainBarriers(fn) ? uniformity.broken : fn.instructions.find((each) => /^bar/.test(elementAt(each.opcode, 0)));
  const values: Values = broken === undefined ? found : {
    movable: [], accesses: facts.map(() => undefined),
    pinned: [...found.pinned, ...found.movable.map((variable) => ({ variable, reason: 'barrier' as const, line: broken.line }))],
  };
  const flow = buildFlow(blocks, facts, values.accesses, uniformity, waitingBlocks(blocks, facts));
  const points = flow.nodes.filter((node) => node.kind === 'barrier' || node.accesses.length > 0);
  const names = values.movable.map((each) => plainName(each.name));
  const arrays = values.movable.map(({ bytes, alignment, name: mangled }, index) => {
    const name = elementAt(names, index);
    return { index, name: names.indexOf(name) === names.lastIndexOf(name) ? name : mangled, bytes, alignment };
  });
  const after = flow.nodes.map((node) => node.successors);
  const kills = withKills
    ? findKills(flow, blocks, facts, values.accesses, uniformity, arrays.length, (from) => reach(after, from, () => true)) : [];
  return {
    fn, facts, blocks, values, flow, arrays, points, kills, pinned: values.pinned, closed: flow.closed,
    liveness: { ranges: liveRanges(flow, arrays.length, points, kills) },
    conflicts: inseparable(flow, arrays.length, true),
  };
}
