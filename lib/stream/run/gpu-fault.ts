// What went wrong in a launch of a program with state: nothing could make the state before the fault again, so the device itself tells the
// place and the value. Two short launches find them: the first one says for each place in the source in which iteration it failed first,
// the second one with what value the first of them did, in the order in which WebAssembly makes firings.
import { inputArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import type { Site } from '../lower/sites.ts';
import type { Group, ProgramPlan } from '../plan/plan.ts';
import type { Step } from '../schedule/steady.ts';
import { faultError } from './fault.ts';
import { originOf } from './gpu-state.ts';
import type { CompiledGpu } from './gpu.ts';
import type { GpuSpan } from './gpu-types.ts';
import { compiledWasm } from './wasm.ts';

/** The largest number of a word: nothing went wrong. */
const none = 2 ** 31 - 1;
/** Words before those of the places: as cuda/stream/state.cuh has them. */
const head = 5;

/** A place that failed, and the firing, counted in its steady state, that did so first; or the first of those made with it. */
interface Failed {
  readonly site: number;
  readonly turn: number;
  readonly node: number;
  readonly firing: number;
}

/** A node's group in a plan. */
function groupOf({ groups }: ProgramPlan, node: number): Group {
  return required(groups.find(({ steps }) => steps.some(({ actor }) => actor === node)));
}

/** Firings of a node in an iteration of its group. */
function firingsEach({ steady }: ProgramPlan, { iterations }: Group, node: number): number {
  return elementAt(steady.repetitions, node) / iterations;
}

/** By what the order of firings in a steady state of WebAssembly goes: its group, the iteration and the step there. */
function placeOf(plan: ProgramPlan, other: ProgramPlan, { node, firing }: Failed): readonly number[] {
  const own = originOf(plan, other, node), group = groupOf(other, own);
  return [
    other.groups.indexOf(group), Math.floor(firing / firingsEach(other, group, own)), group.steps.findIndex(({ actor }) => actor === own),
    firing,
  ];
}

function before(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at >= 0 && elementAt(a, at) < elementAt(b, at);
}

/** What a launch leaves in words for faults that begin like this. */
async function told(compiled: CompiledGpu, span: GpuSpan, words: Int32Array): Promise<Int32Array> {
  const fault = inputArray(compiled.device, words);
  try {
    await compiled.launch({ ...span, fault });
    return await fault.read() as Int32Array;
  } finally {
    fault.dispose();
  }
}

/** Which of these steps makes a firing, counted from their first; -1: none. */
function stepOf(steps: readonly Step[], node: number, firing: number): number {
  let left = firing;
  return steps.findIndex(({ actor, count }) => actor === node && (left -= count) < 0);
}

/** What went wrong in a launch. */
export interface LaunchError {
  readonly error: Error;
  /** Of the steps that were given: the one that failed. */
  readonly step: number;
}

/**
 * The error of a launch that failed first in steady state `at`, counted from its first. The launch is made again up to there, from the
 * state that it began with. Undefined: only firings failed that the run does not make.
 * @param rest if that is not a whole steady state: what the run makes behind its last whole one, and how many before `at` these steps make
 */
export async function errorIn(
  graph: StreamGraph, compiled: CompiledGpu, given: GpuSpan, at: number,
  rest?: { readonly steps: readonly Step[]; readonly states: number },
): Promise<LaunchError | undefined> {
  const { plan, state } = compiled.program, sites: readonly Site[] = required(state).sites;
  const span = { ...given, states: at + 1 };
  const words = new Int32Array(head + sites.length).fill(none);
  words.set([none, at, -1, 0]);
  const found = await told(compiled, span, words);
  const other = compiledWasm(graph).plan;
  const step = ({ node, firing }: Failed): number =>
    (rest === undefined ? 0 : stepOf(rest.steps, node, rest.states * elementAt(plan.steady.repetitions, node) + firing));
  const [first, ...more] = sites.flatMap(({ node }, site): Failed[] => {
    const turn = elementAt(found, head + site);
    return turn === none ? [] : [{ site, turn, node, firing: turn * firingsEach(plan, groupOf(plan, node), node) }];
  }).filter((each) => step(each) >= 0);
  if (first === undefined) return undefined;
  const place = (each: Failed): readonly number[] => (rest === undefined ? placeOf(plan, other, each) : [step(each), each.firing]);
  const failed = more.reduce((least, each) => (before(place(each), place(least)) ? each : least), first);
  words.set([none, at, failed.site, failed.turn]);
  const value = elementAt(await told(compiled, span, words), 4);
  return { error: faultError(plan.graph, elementAt(sites, failed.site), value), step: step(failed) };
}
