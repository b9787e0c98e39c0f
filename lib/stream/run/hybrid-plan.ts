// Plans a program for CPU cores and a device: costs of filters on either side, and iterations that are long enough for a launch.
import { elementAt } from '../../core/known.ts';
import {
  orderedActors, planHybrid, selectConfiguration, type HybridPlan, type HybridProblem, type MovingCosts, type RuntimeTable,
} from '../partition/index.ts';
import type { HybridProgram } from '../plan/hybrid.ts';
import { withOpenEnds } from '../plan/open-ends.ts';
import { countedCosts } from '../profile/estimate.ts';
import { hybridText, type HybridText } from '../targets/cuda-hybrid.ts';
import { trusted } from '../require.ts';
import type { HybridMode } from './backends.ts';
import { stagedMemory } from './gpu-pipelined.ts';
import { nodeTimes } from './threads.ts';

/** What a plan is made for. */
export interface HybridRequest {
  /** Where filters may be placed: wherever it is best, on the device whatever can be there, or none there. */
  readonly mode: HybridMode;
  readonly cores: number;
  readonly multiprocessors: number;
  readonly moving: MovingCosts;
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
  readonly onDevice?: ((node: number) => boolean) | undefined;
}

/** A plan, and the text of its device's part. */
export interface PlannedHybrid {
  readonly program: HybridProgram;
  readonly problem: HybridProblem;
  readonly plan: HybridPlan;
  readonly text: HybridText;
  /** A limit on registers, if one was chosen. */
  readonly registers: number | undefined;
}

/** Operations that take as long as an item that is read or written in the device's memory. */
const operationsPerItem = 16;
/** How many times faster a multiprocessor is than counts of operations suggest: as much as two or three cores. */
const multiprocessorSpeed = 100;
/** Bytes that rings may take on the host. */
const hostBytes = 2 ** 28;

export const hybridKernel = 'wl_hybrid';

interface DeviceCosts { readonly threads: readonly number[]; readonly gpu: readonly number[]; readonly registers: number | undefined }

/** By actor: threads of an instance, and its microseconds on a multiprocessor. */
function deviceCosts({ onDevice, nodes, graph }: HybridProgram, { mode, threads, table }: HybridRequest): DeviceCosts {
  if (mode === 'cpu') return { threads: graph.actors.map(() => 1), gpu: graph.actors.map(() => Infinity), registers: undefined };
  if (table !== undefined) {
    const chosen = selectConfiguration(trusted(withOpenEnds(onDevice)), table);
    const of = (list: readonly number[], none: number): number[] =>
      graph.actors.map((_, id) => (nodes[id] === undefined ? none : elementAt(list, nodes[id])));
    return { threads: of(chosen.threads, 1), gpu: of(chosen.delays, Infinity), registers: Math.max(...chosen.registers) };
  }
  const counted = countedCosts(onDevice.graph);
  const moved = graph.actors.map(() => 0);
  for (const { from, to, push, pop, bytesPerItem } of graph.channels) {
    moved[from] = elementAt(moved, from) + push * bytesPerItem / 4;
    moved[to] = elementAt(moved, to) + pop * bytesPerItem / 4;
  }
  return {
    threads: graph.actors.map((_, id) => (nodes[id] === undefined ? 1 : threads)), registers: undefined,
    gpu: graph.actors.map((_, id) => (nodes[id] === undefined ? Infinity
      : threads * (elementAt(counted, nodes[id]) + elementAt(moved, id) * operationsPerItem * 1e-3) / multiprocessorSpeed)),
  };
}

/** The problem of placing a program's filters. */
function problemOf(program: HybridProgram, request: HybridRequest, { threads, gpu }: DeviceCosts): HybridProblem {
  const { plan, graph } = program;
  const times = nodeTimes(plan, request.costs, 'wasm');
  const cpu = graph.actors.map((_, id) =>
    (plan.groups[id]?.steps ?? []).reduce((sum, { actor, count }) => sum + count * elementAt(times, actor), 0));
  const { cores, multiprocessors, moving } = request;
  return { graph: trusted(graph), threads, gpu, cpu, moving, cores, multiprocessors };
}

/** Plans a program. Throws ScheduleError where there is no plan, UnsupportedProgram where a filter's code is not for devices. */
export function planFor(program: HybridProgram, request: HybridRequest): PlannedHybrid {
  const { nodes } = program;
  const costs = deviceCosts(program, request);
  const problem = problemOf(program, request, costs);
  const onGpu = program.graph.actors.map((_, id) => nodes[id] !== undefined && request.onDevice?.(nodes[id]) !== false);
  const partition = request.mode === 'gpu' || request.onDevice !== undefined ? { partition: () => ({ onGpu }) } : {};
  const { width, shuffleItems, maxUnroll, mostBytes, launchMicroseconds } = request;
  const make = (minSteadyStates: number): HybridPlan => planHybrid(problem, {
    width, shuffleItems, maxUnroll, maxDeviceBytes: mostBytes, minSteadyStates, ...partition,
  });
  let plan = make(1);
  const wanted = Math.ceil(plan.steadyStates * launchMicroseconds / Math.max(plan.interval, 1e-3));
  const room = Math.min(hostBytes / Math.max(1, plan.hostBytes), mostBytes / Math.max(1, plan.deviceBytes));
  const states = Math.min(wanted, Math.floor(plan.steadyStates * room), 2 ** 24);
  if (states > plan.steadyStates) plan = make(states);
  return { program, problem, plan, registers: costs.registers, text: textOf(program, request, plan, costs.threads) };
}

/** The text has all filters that a device can run, so that it is the same wherever they are placed. */
function textOf({ onDevice, nodes, graph }: HybridProgram, { width, shuffleItems }: HybridRequest, plan: HybridPlan,
  threads: readonly number[]): HybridText {
  const ordered = orderedActors(trusted(graph), undefined, plan.repetitions);
  const isUsed = plan.onGpu.some(Boolean);
  return hybridText(onDevice, {
    nodes: new Set(isUsed ? nodes.flatMap((node) => node ?? []) : []), width, shuffleItems, threads: Math.max(32, ...threads),
    ordered: new Set(nodes.flatMap((node, id) => (node !== undefined && elementAt(ordered, id) ? [node] : []))),
    stagedBytes: stagedMemory, kernel: hybridKernel,
  });
}
