// How a graph is executed: groups of nodes that run together, in order, one block of steady states at a time. Independent of the target
// language.
import { elementAt, required } from '../../core/known.ts';
import { isDynamic, ratesOf, sdfOf } from '../elaborate/to-sdf.ts';
import { bodiesOf, eachStatement } from '../interpret/walk.ts';
import { severalPrinters } from '../interpret/print-order.ts';
import { typeBytes } from '../interpret/values.ts';
import type { GraphNode, StreamGraph } from '../graph.ts';
import { ScheduleError } from '../schedule/error.ts';
import { scheduled, type Schedule, type SteadyState } from '../schedule/steady.ts';
import { Analysis } from './analysis.ts';
import { mergeEqual, type MergedGraph } from '../savings/merge.ts';
import { savedFirings, type SavedFirings } from '../savings/firings.ts';
import { codesOf, loopsOf, makeGroups } from './groups.ts';
import { countsOf, kindsIn, type Kind } from './layout.ts';
import type { External, Group, Movement, PlanOptions, ProgramPlan, Storage, StreamArray, WholeProgram } from './types.ts';
import { UnsupportedProgram } from './unsupported.ts';

export { firingCodes, firingSize, isOrdered } from './groups.ts';
export type * from './types.ts';

export const streamArrayName = (id: number, kind: Kind): string => `x${id}${kind}`;

function streamArraysOf(externals: readonly External[]): StreamArray[] {
  return externals.flatMap(({ id, type, kind: role }) => {
    const counts = countsOf(type);
    return kindsIn(counts).map((kind) => ({ id, name: streamArrayName(id, kind), kind, stride: counts[kind], role }));
  });
}

/** With interleaved firings, the number of steady states in a block is a multiple of this. */
const mostTogether = 8;

export const defaultPlanOptions: Required<PlanOptions> = { groupSize: 4000, filterSize: 1000, blockBytes: 32768, maxMultiplicity: 256,
  forCores: 1, savings: true, live: 0, views: false, handled: new Map(), open: new Set() };

/**
 * Plans a graph. Throws UnsupportedProgram for what only the interpreter supports (dynamic rates, messages), and ScheduleError if there is
 * no schedule.
 */
export function planProgram(graph: StreamGraph, options: PlanOptions = {}): ProgramPlan {
  for (const path of graph.missing ?? []) throw new UnsupportedProgram(`there is no file '${path}'`);
  for (const node of graph.nodes) refuse(node);
  const chosen = { ...defaultPlanOptions, ...options };
  if (!chosen.savings) return planMerged(graph, { graph, origins: graph.nodes.map(({ id }) => id) }, chosen);
  try {
    return planMerged(graph, mergeEqual(graph), chosen);
  } catch (error) {
    // Report the error for the program as written.
    if (error instanceof ScheduleError) scheduleOf(graph);
    throw error;
  }
}

function scheduleOf(graph: StreamGraph): Pick<ProgramPlan, 'graph' | 'sdf' | 'steady' | 'schedule'> & { readonly found: Schedule } {
  const sdf = sdfOf(graph);
  const found = scheduled(sdf);
  return { graph, sdf, steady: withLonePrework(graph, found.steady), schedule: found.single, found };
}

function planMerged(whole: StreamGraph, { graph, origins }: MergedGraph, chosen: Required<PlanOptions>): ProgramPlan {
  const { sdf, steady, schedule, found } = scheduleOf(graph);
  const firings = chosen.savings ? savedFirings({ graph, steady, loops: loopsOf(sdf, found) }) : new Map<number, SavedFirings>();
  const analyses = new Map<object, Analysis>();
  for (const node of graph.nodes) {
    if (node.kind !== 'filter') continue;
    for (const code of [node.code, ...codesOf(firings, node)]) if (!analyses.has(code)) analyses.set(code, new Analysis(code));
  }
  const groups = makeGroups({ graph, sdf, steady, schedule, analyses, firings }, found, chosen);
  const rates = sdf.channels.map(({ from, push }) => elementAt(steady.repetitions, from) * push);
  const groupOf: Group[] = [];
  for (const group of groups) for (const { actor } of group.steps) groupOf[actor] = group;
  const storage = storageOf({ graph, sdf, steady }, groupOf);
  const bytes = graph.channels.reduce((sum, { type }, id) =>
    sum + (storage[id] === 'block' ? elementAt(rates, id) * typeBytes(type) : 0), 0);
  const fitting = Math.max(1, Math.min(chosen.maxMultiplicity, Math.floor(chosen.blockBytes / Math.max(bytes, 1))));
  const rounded = groups.some((group) => group.isJammed) ? Math.ceil(fitting / mostTogether) * mostTogether : fitting;
  const multiplicity = Math.min(chosen.maxMultiplicity, rounded);
  const externals = externalsOf(graph);
  let known: WholeProgram | undefined;
  const made: ProgramPlan = {
    graph, sdf, steady, schedule, externals, streamArrays: streamArraysOf(externals), groups, groupOf, storage, rates, multiplicity,
    analyses, firings, printers: severalPrinters(graph), options: chosen, origins,
    whole: () => known ??= whole === graph ? made : { ...scheduleOf(whole), externals: externalsOf(whole) },
  };
  return made;
}

/** Schedules the first firing of filters that have a prework but no channels: channel rates do not show it. */
function withLonePrework(graph: StreamGraph, steady: SteadyState): SteadyState {
  const lone = graph.nodes.filter((node) => node.kind === 'filter' && node.code.prework !== undefined && steady.initFirings[node.id] === 0);
  if (lone.length === 0) return steady;
  const initFirings = [...steady.initFirings];
  for (const { id } of lone) initFirings[id] = 1;
  return { ...steady, initFirings, init: [...lone.map(({ id }) => ({ actor: id, count: 1 })), ...steady.init] };
}

function refuse(node: GraphNode): void {
  if (node.kind !== 'filter') return;
  const { code } = node;
  if (isDynamic(node)) throw new UnsupportedProgram(`${node.name} has rates that are known only when it fires`, code.span);
  for (const body of bodiesOf(code)) {
    eachStatement(body, (s) => {
      if (s.kind === 'message') throw new UnsupportedProgram(`${node.name} sends messages`, s.span);
    });
  }
}

function externalsOf(graph: StreamGraph): External[] {
  const found: Pick<External, 'kind' | 'node' | 'type' | 'path'>[] = [];
  if (graph.input !== undefined) found.push({ kind: 'input', node: graph.input.node, type: graph.input.type, path: '' });
  if (graph.output !== undefined) found.push({ kind: 'output', node: graph.output.node, type: graph.output.type, path: '' });
  for (const node of graph.nodes) {
    if (node.kind !== 'reader' && node.kind !== 'writer') continue;
    const channel = (node.kind === 'reader' ? node.outputs : node.inputs)[0];
    const { type } = channel !== undefined ? elementAt(graph.channels, channel)
      : required(node.kind === 'reader' ? graph.output : graph.input);
    found.push({ kind: node.kind, node: node.id, type, path: node.file.path });
  }
  return found.map((each, i) => {
    const { kind } = each;
    const [id, isIn] = [graph.channels.length + i, kind === 'input' || kind === 'reader'];
    const movement = (isFirst: boolean): Movement => {
      const { push, pop, peek } = ratesOf(elementAt(graph.nodes, each.node), 0, isFirst);
      return kind === 'input' || kind === 'writer' ? { items: pop, beyond: peek - pop } : { items: push, beyond: 0 };
    };
    return { ...each, id, isIn, slot: 2 * id + (isIn ? 0 : 1), first: movement(true), later: movement(false) };
  });
}

function storageOf({ graph, sdf, steady }: Pick<ProgramPlan, 'graph' | 'sdf' | 'steady'>, groupOf: readonly Group[]): Storage[] {
  return sdf.channels.map(({ id, from, to }): Storage => {
    const group = elementAt(groupOf, from);
    if (group !== groupOf[to] || group.isLoop || elementAt(steady.residual, id) > 0) return 'block';
    return typeBytes(elementAt(graph.channels, id).type) <= 256 ? 'registers' : 'iteration';
  });
}
