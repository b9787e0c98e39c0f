// Plans a program for CPU cores and a device: costs of filters on either side, and iterations that are long enough for a launch.
import { elementAt } from '../../core/known.ts';
import {
  orderedActors, planHybrid, selectConfiguration, type HybridPlan, type HybridProblem, type RuntimeTable,
} from '../partition/index.ts';
import type { HybridProgram } from '../plan/hybrid.ts';
import { withOpenEnds } from '../plan/open-ends.ts';
import { countedCosts } from '../profile/estimate.ts';
import { hybridText, type HybridText } from '../targets/cuda-hybrid.ts';
import { trusted } from '../require.ts';
import type { HybridMode } from './backends.ts';
import { steadyState } from '../schedule/index.ts';
import { ScheduleError } from '../schedule/error.ts';
import { coresState, movedWords, plannedState, wordMicroseconds, type LinkCosts, type PlacedIn } from './hybrid-costs.ts';
import { deviceMicroseconds, orderedTime } from './gpu-costs.ts';
import { stagedMemory } from './gpu-pipelined.ts';
import { nodeTimes } from './threads.ts';

/** What a plan is made for. */
export interface HybridRequest {
  /** Where filters may be placed: wherever it is best, on the device whatever can be there, or none there. */
  readonly mode: HybridMode;
  readonly cores: number;
  readonly multiprocessors: number;
  readonly moving: LinkCosts;
  /** Threads whose items stand side by side. */
  readonly width: 32 | 128;
  /** Threads of an instance. */
  readonly threads: number;
  /** Microseconds of a firing on a core, by node; default: counted. */
  readonly costs?: readonly number[] | undefined;
  /** Times of instances on a multiprocessor (Algorithm 1), which tell threads too; default: counted. */
  readonly table?: RuntimeTable | undefined;
  /** Bytes that rings may take on the device. */
  readonly mostBytes: number;
  /** Microseconds that a launch should take at least. */
  readonly launchMicroseconds: number;
  /** Items of one instance of a shuffle. */
  readonly shuffleItems: number;
  /** Most that iterations are raised by so that no instance dominates. */
  readonly maxUnroll: number;
  /** For tests: which nodes are on the device, of those that can be. */
  readonly onDevice?: ((node: number, group: number) => boolean) | undefined;
}

/** Plans of one placement. */
export interface Rungs {
  /** The plan for long runs. */
  readonly plan: HybridPlan;
  /** Shorter iterations for shorter runs, ascending, as numbers of steady states that {@link Rungs.planAt} takes. */
  readonly shorter: readonly number[];
  /** A plan with about so many steady states in an iteration, for the same text. */
  readonly planAt: (steadyStates: number) => HybridPlan;
}

/** Plans of a program, and the text of their device's part. */
export interface PlannedHybrid extends Rungs {
  readonly mode: HybridMode;
  readonly program: HybridProgram;
  readonly problem: HybridProblem;
  /** Those of the request, of firings on a core. */
  readonly costs: readonly number[] | undefined;
  /** Where runs may take place: the mode's plan, and with `synergistic` what else may be faster. Microseconds of a steady state. */
  readonly estimates: ReadonlyMap<PlacedIn, number>;
  /** Plans of these; none for `cores`, which are those of WebAssembly on threads. */
  readonly placements: ReadonlyMap<PlacedIn, Rungs>;
  readonly text: HybridText;
  /** A limit on registers, if one was chosen. */
  readonly registers: number | undefined;
}

/** Operations that take as long as an item that is read or written in the device's memory. */
const operationsPerItem = 16;
/** How many times faster a multiprocessor is than counts of operations suggest: as much as two or three cores. */
const multiprocessorSpeed = 100;
/**
 * Bytes of rings on the host and on the device up to which iterations are made longer, so that launches cost little: what is near a core
 * or a multiprocessor.
 */
const hostBytes = 2 ** 26, deviceBytes = 2 ** 28;
/** By which factor iterations for shorter runs are shorter. */
const ladder = 4;
/** On cores alone: firings of a steady state that are instances of their own at least; and most instances of an iteration. */
const coreInstances = 32, mostInstances = 500_000;

export const hybridKernel = 'wl_hybrid';

interface DeviceCosts { readonly threads: readonly number[]; readonly gpu: readonly number[]; readonly registers: number | undefined }

/** By actor: threads of an instance, and its microseconds on a multiprocessor. */
function deviceCosts({ onDevice, device, nodes, inOrder, graph }: HybridProgram, { mode, threads, table }: HybridRequest): DeviceCosts {
  if (mode === 'cpu') return { threads: graph.actors.map(() => 1), gpu: graph.actors.map(() => Infinity), registers: undefined };
  if (table !== undefined) {
    const chosen = selectConfiguration(trusted(withOpenEnds(onDevice)), table);
    const of = (list: readonly number[], none: number): number[] =>
      graph.actors.map((_, id) => (nodes[id] === undefined || inOrder[id] === true ? none : elementAt(list, nodes[id])));
    return { threads: of(chosen.threads, 1), gpu: of(chosen.delays, Infinity), registers: Math.max(...chosen.registers) };
  }
  const counted = countedCosts(onDevice.graph), moved = movedWords(graph);
  const costOf = (actor: number): number =>
    elementAt(device.groups, actor).steps.reduce((sum, { actor: node, count }) => sum + count * elementAt(counted, node), 0);
  return {
    threads: graph.actors.map((_, id) => (nodes[id] === undefined || inOrder[id] === true ? 1 : threads)), registers: undefined,
    gpu: graph.actors.map((_, id) => {
      const actor = nodes[id];
      if (actor === undefined) return Infinity;
      if (inOrder[id] === true) return deviceMicroseconds(orderedTime(costOf(actor), elementAt(moved, id)));
      return threads * (costOf(actor) + elementAt(moved, id) * operationsPerItem * 1e-3) / multiprocessorSpeed;
    }),
  };
}

/** The problem of placing a program's filters. */
function problemOf(program: HybridProgram, request: HybridRequest, { threads, gpu }: DeviceCosts): HybridProblem {
  const { plan, graph } = program;
  const times = nodeTimes(plan, request.costs, 'wasm'), moved = movedWords(graph);
  // Times that are given have been measured with the items that filters move.
  const perWord = request.costs === undefined ? wordMicroseconds : 0;
  const cpu = graph.actors.map((_, id) => (plan.groups[id]?.steps ?? []).reduce((sum, { actor, count }) =>
    sum + count * elementAt(times, actor), id < plan.groups.length ? perWord * elementAt(moved, id) : 0));
  const { cores, multiprocessors, moving } = request;
  return { graph: trusted(graph), threads, gpu, cpu, moving, cores, multiprocessors, placesState: true };
}

/** How instances and shuffles are cut. */
type Sizes = Pick<HybridRequest, 'threads' | 'shuffleItems'>;

/** Microseconds that each steady state adds to an iteration of a plan: those that calls of transfers take besides come once. */
function stateMicroseconds({ interval, load, operations, steadyStates }: HybridPlan, { latency = 0 }: LinkCosts): number {
  const calls = operations.filter(({ kind }) => kind === 'toGpu' || kind === 'toCpu').length;
  return Math.max(interval - calls * latency, ...load.cores, ...load.multiprocessors, 1e-3) / steadyStates;
}

/** Plans by number of steady states, and the longest iteration that is worth it. */
function planned(program: HybridProgram, request: HybridRequest): {
  readonly problem: HybridProblem;
  readonly costs: DeviceCosts;
  readonly planAt: (steadyStates: number, onGpu?: readonly boolean[]) => HybridPlan;
  readonly shortest: HybridPlan;
  readonly longest: number;
} {
  const { nodes, inOrder } = program;
  const costs = deviceCosts(program, request);
  const problem = problemOf(program, request, costs);
  // With mode `gpu`, what must be in order stays on cores, where it is faster.
  const isThere = request.onDevice ?? ((_: number, id: number) => inOrder[id] !== true);
  const onGpu = program.graph.actors.map((_, id) =>
    nodes[id] !== undefined && elementAt(costs.gpu, id) < Infinity && isThere(nodes[id], id));
  const isForced = request.mode === 'gpu' || request.onDevice !== undefined;
  const { mode, width, shuffleItems, maxUnroll, mostBytes, launchMicroseconds } = request;
  const each = steadyState(problem.graph).repetitions.reduce((sum, count) => sum + count, 0);
  const planAt = (minSteadyStates: number, given: readonly boolean[] | undefined = isForced ? onGpu : undefined): HybridPlan => {
    const partition = given === undefined ? {} : { partition: () => ({ onGpu: given }) };
    const common = { width, shuffleItems, maxUnroll, maxDeviceBytes: mostBytes, minSteadyStates, ...partition };
    if (mode !== 'cpu') return planHybrid(problem, common);
    const wanted = minSteadyStates * Math.max(1 / coreInstances, 2 * each / mostInstances);
    const firings = 2 ** Math.floor(Math.log2(Math.max(1, Math.min(wanted, 2 ** 16))));
    return planHybrid({ ...problem, threads: problem.threads.map(() => firings) }, { ...common, cpuFirings: firings });
  };
  const shortest = planAt(1);
  const wanted = Math.ceil(launchMicroseconds / stateMicroseconds(shortest, request.moving));
  const room = Math.min(hostBytes / Math.max(1, shortest.hostBytes), Math.min(deviceBytes, mostBytes) / Math.max(1, shortest.deviceBytes));
  const instances = shortest.repetitions.reduce((sum, count, id) => sum + count / elementAt(shortest.firings, id), 0);
  const countable = mode === 'cpu' ? Infinity : mostInstances / instances;
  const most = Math.floor(shortest.steadyStates * Math.min(room, countable));
  return { problem, costs, planAt, shortest, longest: Math.min(wanted, most, 2 ** 24) };
}

/** What `make` makes; undefined where that exceeds a limit. */
function unlessLimited<Made>(make: () => Made): Made | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof ScheduleError && error.reason === 'limit') return undefined;
    throw error;
  }
}

/** Instances and shuffles as asked for, or smaller where the shortest iteration of those takes too many bytes. */
function fitting(program: HybridProgram, request: HybridRequest): ReturnType<typeof planned> {
  const { width, threads, shuffleItems, table } = request;
  const least = Math.min(shuffleItems, 2 * width);
  const sizes: readonly Sizes[] = [
    { threads, shuffleItems }, { threads, shuffleItems: least }, ...(table === undefined ? [{ threads: width, shuffleItems: least }] : []),
  ];
  for (const size of sizes.slice(0, -1)) {
    const made = unlessLimited(() => planned(program, { ...request, ...size }));
    if (made !== undefined) return made;
  }
  return planned(program, { ...request, ...sizes.at(-1) });
}

/** The plans of a mode, or of a placement. */
function rungsFor(program: HybridProgram, request: HybridRequest): Rungs & Pick<ReturnType<typeof planned>, 'problem' | 'costs'> {
  const { problem, costs, planAt, shortest, longest } = fitting(program, request);
  // WebAssembly runs these, in pieces of its own.
  if (request.mode === 'cpu' && request.onDevice === undefined) {
    return { problem, costs, plan: shortest, shorter: [], planAt: () => shortest };
  }
  let plan = shortest;
  for (let states = longest; plan === shortest && states > shortest.steadyStates; states = Math.floor(states / 2)) {
    plan = unlessLimited(() => planAt(states)) ?? shortest;
  }
  const shorter: number[] = [];
  for (let states = shortest.steadyStates; 2 * states <= plan.steadyStates; states *= ladder) shorter.push(states);
  return { problem, costs, plan, shorter, planAt: (states) => planAt(states, plan.onGpu) };
}

/** Plans a program. Throws ScheduleError where there is no plan, UnsupportedProgram where a filter's code is not for devices. */
export function planFor(program: HybridProgram, request: HybridRequest): PlannedHybrid {
  const { problem, costs, ...rungs } = rungsFor(program, request);
  const placements = placementsOf(program, request, rungs);
  const estimates = new Map<PlacedIn, number>();
  for (const [name, { plan }] of placements) estimates.set(name, plannedState(program, plan, request.moving));
  const { mode, onDevice } = request;
  if (onDevice === undefined && (mode !== 'gpu' || placements.size === 0)) estimates.set('cores', coresState(program, request));
  const isUsed = [...placements.values()].some(({ plan }) => plan.onGpu.some(Boolean));
  return {
    mode, program, problem, costs: request.costs, ...rungs, estimates, placements, registers: costs.registers,
    text: textOf(program, [rungs.plan, ...[...placements.values()].map(({ plan }) => plan)], costs.threads, isUsed),
  };
}

/** Placements with a plan. Those that put everything on cores are left to WebAssembly on threads, which wait for each other less. */
function placementsOf(program: HybridProgram, request: HybridRequest, rungs: Rungs): ReadonlyMap<PlacedIn, Rungs> {
  const isAll = ({ onGpu }: HybridPlan): boolean => onGpu.every((on, id) =>
    on || program.nodes[id] === undefined || program.inOrder[id] === true);
  const { plan } = rungs;
  if (request.onDevice !== undefined) return new Map([['both', rungs]]);
  const made = new Map<PlacedIn, Rungs>();
  if (plan.onGpu.some(Boolean)) made.set(isAll(plan) ? 'device' : 'both', rungs);
  const hasNone = program.nodes.every((node, id) => node === undefined || program.inOrder[id]);
  if (request.mode !== 'synergistic' || made.has('device') || hasNone) return made;
  const { problem: _, costs: __, ...device } = rungsFor(program, { ...request, mode: 'gpu' });
  return made.set('device', device);
}

/** Nodes whose channels are in the order of the stream. */
export function orderedNodes({ graph, nodes }: HybridProgram, { repetitions }: HybridPlan): ReadonlySet<number> {
  const ordered = orderedActors(trusted(graph), undefined, repetitions);
  return new Set(nodes.flatMap((node, id) => (node !== undefined && elementAt(ordered, id) ? [node] : [])));
}

/**
 * The text has all filters that a device can run in any order, so that it is the same wherever they are placed, and of the others those
 * that one of the plans places there.
 */
function textOf(
  program: HybridProgram, plans: readonly [HybridPlan, ...HybridPlan[]], threads: readonly number[], isUsed: boolean,
): HybridText {
  const { onDevice, device, nodes, inOrder } = program, [plan] = plans;
  const isIn = (id: number): boolean => inOrder[id] !== true || plans.some(({ onGpu }) => onGpu[id]);
  return hybridText(onDevice, device, {
    nodes: new Set(isUsed ? nodes.flatMap((node, id) => (node !== undefined && isIn(id) ? [node] : [])) : []),
    width: plan.width, shuffleItems: plan.shuffleItems,
    threads: Math.max(32, ...threads), ordered: orderedNodes(program, plan), stagedBytes: stagedMemory, kernel: hybridKernel,
  });
}
