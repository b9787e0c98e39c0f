// A program for CPU cores and a device together (chapter 4): its groups and its open ends as actors of one graph, and what cores do of a
// hybrid plan, as launches.
import { elementAt, required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import { typeBytes } from '../interpret/values.ts';
import type { HybridPlan } from '../partition/index.ts';
import type { SdfChannel, SdfGraph } from '../sdf.ts';
import { prints } from '../interpret/print-order.ts';
import { actorsOf, type ProgramActors } from './actors.ts';
import { endsOf, groupGraph, type LaunchPlan, type Ring } from './launches.ts';
import { openEnds } from './open-ends.ts';
import { planProgram, type External, type Group, type PlanOptions, type ProgramPlan } from './plan.ts';
import { UnsupportedProgram } from './unsupported.ts';

/** A program whose filters are placed one by one. */
export interface HybridProgram {
  /** As cores run it. */
  readonly plan: ProgramPlan;
  /** As the device runs it: the same groups, less unrolled. */
  readonly onDevice: ProgramPlan;
  /** The groups of the plan, then the open input and output. It begins where the initialisation ends. */
  readonly graph: SdfGraph;
  /** By channel of `graph`: the number of the channel or stream. */
  readonly channels: readonly number[];
  /** The groups of `onDevice` as actors. */
  readonly device: ProgramActors;
  /** By group: its actor in `device`, if that can run it. */
  readonly nodes: readonly (number | undefined)[];
  /** By group: whether its firings must follow each other: state, loops. */
  readonly inOrder: readonly boolean[];
}

/** Every filter is a group of its own. */
const apart: PlanOptions = { groupSize: 0, forCores: 1, savings: false };

const nodesOf = ({ steps }: Group): string => [...new Set(steps.map(({ actor }) => actor))].sort((a, b) => a - b).join();

/** The actor of a group that a device can run: a filter, splitter or joiner, or a loop; nothing that prints, reads or writes files. */
function actorOf(plan: ProgramPlan, { groups }: ProgramActors, group: Group): number | undefined {
  const { steps, isLoop } = group;
  const isHosts = steps.some(({ actor }) => {
    const node = elementAt(plan.graph.nodes, actor);
    return node.kind === 'reader' || node.kind === 'writer' || prints(node);
  });
  const isSingle = steps.length === 1 && elementAt(steps, 0).count === 1;
  if (isHosts || !(isSingle || isLoop)) return undefined;
  const found = groups.findIndex((each) => each.id === group.id);
  return found >= 0 && nodesOf(elementAt(groups, found)) === nodesOf(group) ? found : undefined;
}

/**
 * Plans a graph. Throws UnsupportedProgram for programs with several filters that print, with files, or with other ends than one open input
 * and one open output; ScheduleError where there is no schedule.
 */
export function hybridProgram(whole: StreamGraph): HybridProgram {
  const plan = planProgram(whole, { ...apart, filterSize: 6000, blockBytes: 65_536 });
  const { externals, groups, groupOf } = plan;
  if (externals.length !== 2 || externals.some(({ kind }) => kind !== 'input' && kind !== 'output')) {
    throw new UnsupportedProgram('the program has files, or other ends than one input and one output');
  }
  if (plan.printers.length > 0) throw new UnsupportedProgram('several filters of the program print');
  const { input, output } = openEnds(plan);
  if (input.later.items === 0 || output.later.items === 0) {
    throw new UnsupportedProgram('steady states take nothing from the input, or give nothing to the output');
  }
  const { sdf, channels } = groupGraph(plan);
  const end = ({ node, later, type }: External, at: number): SdfChannel => {
    const { id: group, iterations } = elementAt(groupOf, node);
    const items = later.items * elementAt(plan.steady.repetitions, node) / iterations;
    const isInput = at === 0;
    return {
      id: sdf.channels.length + at, from: isInput ? groups.length : group, to: isInput ? group : groups.length + 1, push: items, pop: items,
      peek: items + (isInput ? later.beyond : 0), tokens: isInput ? later.beyond : 0, bytesPerItem: typeBytes(type),
    };
  };
  const onDevice = planProgram(whole, { ...apart, filterSize: 400 }), device = actorsOf(onDevice);
  return {
    plan, onDevice, device, channels: [...channels, input.id, output.id],
    nodes: groups.map((group) => actorOf(plan, device, group)), inOrder: sdf.actors.map(({ stateful }) => stateful),
    graph: {
      actors: [...sdf.actors, ...['input', 'output'].map((name, i) => ({ id: groups.length + i, name, stateful: true, moves: true }))],
      channels: [...sdf.channels, ...[input, output].map(end)],
    },
  };
}

/** By channel of the program: its ring in the memory of the cores. */
function hostRings({ plan, channels }: HybridProgram, made: HybridPlan): (Ring | undefined)[] {
  const slots = new Map(made.buffers.flatMap((buffer) => (buffer.onGpu ? [] : [[elementAt(channels, buffer.channel), buffer.slots]])));
  return plan.sdf.channels.map(({ id, from, to }): Ring | undefined => {
    if (plan.storage[id] !== 'block') return undefined;
    const [items, residual] = [elementAt(plan.rates, id) * made.steadyStates, elementAt(plan.steady.residual, id)];
    // What stays in a loop moves within one iteration; between filters of the device, there is room for the start and the rest of a run.
    const isInside = plan.groupOf[from] === plan.groupOf[to];
    const least = isInside && items > 0 ? 1 + Math.ceil(residual / items) : 1;
    return { items, residual, slots: slots.get(id) ?? least };
  });
}

/** The last stage of a filter or transfer; the open ends are arrays, which nobody runs. */
function lastStageOf({ stages, operations }: HybridPlan, groups: number): number {
  return Math.max(0, ...stages.slice(0, groups), ...operations.map(({ stage }) => stage));
}

/**
 * What cores do in launches. The last order is empty: it is that of the thread that conducts device and transfers, which meets the cores at
 * their barriers.
 */
export function hybridLaunches(program: HybridProgram, made: HybridPlan): LaunchPlan {
  const { plan } = program;
  const rings = hostRings(program, made);
  const all = made.cores.map((slices) => slices.flatMap(({ id, from, count }) => {
    const firings = required(made.firings[id]);
    return id < plan.groups.length ? [{ actor: id, from: from * firings, count: count * firings }] : [];
  }));
  const used = all.filter((slices) => slices.length > 0);
  // Somebody makes the start and the rest of a run.
  const cores = used.length > 0 ? used : [[]];
  return {
    multiplier: made.steadyStates, lastStage: lastStageOf(made, plan.groups.length), chunk: made.steadyStates, rings,
    stages: plan.groups.map(({ id }) => elementAt(made.stages, id)),
    tasks: cores.map((slices, core) => ({ core, isFixed: true, slices })), orders: [...cores.map((_, core) => [core]), []],
    ends: plan.groups.map((group) => endsOf(plan, group, rings)),
    capacities: rings.map((ring) => (ring === undefined ? 0 : ring.slots * ring.items + ring.residual)),
  };
}
