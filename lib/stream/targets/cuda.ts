// Planned programs as one CUDA kernel: every block makes steady states of its own stretch of the input, in rounds. Groups of
// nodes run one after the other, their iterations shared among the threads; channels between groups lie in shared memory, all others in
// registers.
import { isDeepStrictEqual } from 'node:util';
import { elementAt } from '../../core/known.ts';
import type { Buffer, Program } from '../../kernel/ir.ts';
import { padBuffers } from '../../kernel/passes/pad.ts';
import { printCuda } from '../../kernel/print/cuda.ts';
import { sizeOf } from '../../kernel/passes/unroll.ts';
import { walkBody } from '../../kernel/visit.ts';
import type { StreamGraph } from '../graph.ts';
import type { LoweredProgram } from '../lower/program.ts';
import type { Site } from '../lower/sites.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import { startMatters } from '../plan/start.ts';
import { isTrusted } from '../require.ts';
import { nodesWithState, stateOf, type ProgramState } from '../state/index.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { endsOf, positionResidues } from './cuda-ends.ts';
import { noGaps } from './cuda-gaps.ts';
import { lowerForRounds, RoundLayout, type FusedOptions } from './cuda-layout.ts';
import type { FusedEnd } from './cuda-places.ts';
import { checkLength, mostText } from './cuda-length.ts';
import { positioned, tasksOf, withRest, type Task } from './cuda-tasks.ts';
import { ProgramText } from './cuda-text.ts';
import type { StageWork, StateLayout } from './state-layout.ts';
import { passesOf, passLayout, type PassContext } from './state-passes.ts';

/** A program for `device.module`. */
export interface FusedProgram {
  readonly plan: ProgramPlan;
  readonly source: string;
  readonly kernel: string;
  readonly threads: number;
  readonly sharedBytes: number;
  /** Steady states of a round. */
  readonly states: number;
  /** Rounds after which what a block found on the channels no longer matters. */
  readonly warmRounds: number;
  /** Steady states before those of a launch that it makes again, for what they leave on the channels. */
  readonly warmStates: number;
  /** Steady states at the start of a run to which preworks may matter: another back end makes them. */
  readonly startStates: number;
  /** Whether branches share code because the text would be long otherwise. */
  readonly hasTables?: true;
  /** Whether a steady state may go wrong; otherwise the kernel does not use its array for faults. */
  readonly canFault: boolean;
  readonly input: FusedEnd;
  readonly output: FusedEnd;
  /** What runs of programs with state need beside that; undefined for programs without, and where numbers of firings are all they need. */
  readonly state: FusedState | undefined;
}

/** Programs with state run in passes: all but the last find the state that later ones begin with. */
export interface FusedState {
  /** Kernels in order; the last one is the program's own. */
  readonly kernels: readonly string[];
  /** Words that a launch hands on to the next, and of what each block leaves for later passes. */
  readonly carryWords: number;
  readonly totalWords: number;
  /**
   * Rounds of a block, where their number matters: sums of floats have the same bits only if all blocks but the last of a run make so many.
   */
  readonly stretch: number | null;
  /** Filters whose sums of floats are made in another order than one firing after the other. */
  readonly reordered: readonly string[];
  readonly works: readonly StageWork[];
  /** Places in the program that can fail, by which the device tells them. */
  readonly sites: readonly Site[];
  /** Whether firings count the turns of loops without known end. */
  readonly countsTurns: boolean;
}

export const fusedKernel = 'wl_fused';

/** Whether a text uses the word for faults: groups that may go wrong say so there. */
const usesFaults = (text: string): boolean => /\b(round\.fail|turns_at)\(/.test(text);

/** What plans for a GPU take: groups stay small enough for the registers of a thread. */
export const defaultCudaPlan: PlanOptions = { groupSize: 4000, filterSize: 1500, forCores: 2 };

/** Steady states until a node's items are right, whatever stood on the channels and in records at the start, by node. */
function untilRight({ sdf, graph, steady }: ProgramPlan, state: ProgramState): number {
  const until = graph.nodes.map(() => 0);
  for (const actor of steady.order) {
    for (const id of elementAt(graph.nodes, actor).inputs) {
      if (id === undefined) continue;
      const { from, push } = elementAt(sdf.channels, id);
      const rate = push * elementAt(steady.repetitions, from);
      const residual = elementAt(steady.residual, id);
      if (rate === 0 && residual > 0) throw new UnsupportedProgram('items that never move stand on a channel');
      const own = residual === 0 ? 0 : Math.ceil(residual / rate);
      until[actor] = Math.max(elementAt(until, actor), elementAt(until, from) + own);
    }
    for (const stage of state.get(actor)?.stages ?? []) {
      if ('kind' in stage) until[actor] = elementAt(until, actor) + Math.ceil(stage.longestLag / elementAt(steady.repetitions, actor));
    }
  }
  return Math.max(0, ...until);
}

/** Throws for what only a host does: printing. */
export function refuseHost({ functions, imports }: Program): void {
  const hosts = new Set(imports.map(({ name }) => name));
  for (const { body } of functions) {
    walkBody(body, { statement: (s) => {
      if (s.kind === 'call' && hosts.has(s.callee)) throw new UnsupportedProgram('the program prints');
    } });
  }
}

/** A plan of a graph, with what its state is before any firing. */
interface Planned {
  readonly plan: ProgramPlan;
  readonly state: ProgramState;
  /** Its functions; lowered on the first call. */
  readonly lowered: () => LoweredProgram;
}

/** By graph: the last plans, and the options they are for. Searches print many layouts of one plan. */
const lastPlans = new WeakMap<StreamGraph, readonly { readonly options: PlanOptions; readonly planned: Planned }[]>();
const mostPlans = 6;

function planFor(graph: StreamGraph, given: FusedOptions): Planned {
  const {
    threads: _, sharedBytes: __, minBlocks: ___, width: ____, readsAhead: _____, isCompact: ______, mostText: _______, hasTables: ________,
    ...rest
  } = given;
  const options = { ...defaultCudaPlan, ...rest };
  const last = lastPlans.get(graph) ?? [];
  const same = last.find((each) => isDeepStrictEqual(each.options, options));
  if (same !== undefined) return same.planned;
  const planned = planAnew(graph, options);
  if (isTrusted(graph)) lastPlans.set(graph, [{ options, planned }, ...last].slice(0, mostPlans)); // others may change
  return planned;
}

function planAnew(graph: StreamGraph, options: PlanOptions): Planned {
  let lowered: LoweredProgram | undefined;
  const withState = (plan: ProgramPlan, state: ProgramState): Planned => ({ plan, state, lowered: () => lowered ??= lowerForRounds(plan) });
  // What has state is found without groups by dependence, which take long to choose, and which state cuts.
  const { live = 0 } = options;
  const plan = planProgram(graph, live > 0 ? { ...options, live: 0 } : options);
  if (nodesWithState(plan).length === 0) return withState(live > 0 ? planProgram(graph, options) : plan, new Map());
  const state = stateOf(plan);
  const handled = new Map([...state].map(([node, { stages }]) => [node, stages.length > 0 ? 'alone' : 'free'] as const));
  return withState(planProgram(graph, { ...options, handled }), state);
}

/** The plan by which {@link fusedProgram} prints a graph. Throws as that does where there is none. */
export function fusedPlan(graph: StreamGraph, options: FusedOptions): ProgramPlan {
  return planFor(graph, options).plan;
}

/** Steady states before all that is known of the state holds. */
function untilSettled({ steady }: ProgramPlan, state: ProgramState): number {
  return Math.max(0, ...[...state].map(([node, { settled }]) =>
    Math.ceil((settled - elementAt(steady.initFirings, node)) / elementAt(steady.repetitions, node))));
}

/**
 * Prints a graph as one kernel. Throws UnsupportedProgram for programs with state that only firings in order can find, or other ends than
 * an open input and output, for those whose channels do not fit, and where the text is too long (`mostText`) even with all loops kept;
 * ScheduleError where there is no schedule.
 */
export function fusedProgram(graph: StreamGraph, options: FusedOptions = {}): FusedProgram {
  const { mostText: most = mostText } = options;
  const made = sharedIfLong(graph, options, printed(graph, options));
  if (made.source.length <= most) return made;
  // Without unrolled loops and slices, filters with windows and tables have a third of the text.
  const compact = printed(graph, { ...options, width: 1, isCompact: true });
  checkLength(compact.source.length < made.source.length ? compact.source : made.source, most);
  return compact;
}

/** A text of so many characters takes seconds to compile. */
const longText = 200_000;

/** The program with branches that share code, unless the caller says whether they do, where its text is long and gets much shorter. */
function sharedIfLong(graph: StreamGraph, options: FusedOptions, made: FusedProgram): FusedProgram {
  if (options.hasTables !== undefined || made.source.length <= longText) return made;
  const shared = printed(graph, { ...options, hasTables: true });
  return shared.source.length < made.source.length / 2 ? { ...shared, hasTables: true } : made;
}

/** The graph in one layout, however long that is. */
function printed(graph: StreamGraph, options: FusedOptions): FusedProgram {
  const { plan, state, lowered: lower } = planFor(graph, options);
  const begins = startMatters(plan);
  if (begins === undefined) throw new UnsupportedProgram(whyNot(plan));
  if ((options.live ?? 0) > 0) checkNodes(lower().program);
  const layout = new RoundLayout(plan, lower(), options, state);
  const { threads } = layout.options;
  const { program: lowered, system: { ix } } = layout.lowered;
  const own = new Set(layout.state?.functions.buffers);
  const tasks = tasksOf({
    program: lowered, plan: layout.plan, levels: layout.levels, ix, states: layout.states, threads, wide: layout.wide,
    isPrivate: (buffer) => own.has(buffer) && buffer.role !== 'constant',
    isAlike: (a, b) => layout.tiles.get(a)?.gaps.shift === layout.tiles.get(b)?.gaps.shift, isCompact: options.isCompact === true,
    hasTables: options.hasTables === true,
  });
  const all = tasks.levels.flat(), every = all.flatMap(withRest);
  const stageTasks = new Map<string, Task>(layout.state?.works.flatMap(({ group, record, scans }) =>
    [...(record === undefined ? [] : [record]), ...scans].map(({ next: { f } }) =>
      [f.name, positioned(lowered, group, f, { parts: 1, width: 1, isCounted: false }, ix)] as const)));
  const context: PassContext | undefined = layout.state && {
    plan: layout.plan, lowered: layout.lowered, state: layout.state, levels: layout.levels, input: layout.input, stageTasks,
    inputBuffers: layout.input.kinds.map((kind) => layout.streamBuffer(layout.input.external.id, kind)),
    isShared: (buffer) => layout.tiles.has(buffer),
  };
  const passes = context === undefined ? [] : passesOf(context);
  const buffers = [...lowered.buffers, ...tasks.placeholders];
  const functions = [...every, ...stageTasks.values(), ...passes.flatMap((pass) => pass.tasks.flat())].map(({ f }) => f);
  const program = padBuffers({ ...lowered, buffers, functions }, gapsOf(layout, all), positionResidues(every, endsOf(layout)));
  refuseHost(program);
  const warm = Math.ceil(untilRight(layout.plan, state) / layout.states);
  // Passes that begin no rounds early have longer rounds of their own.
  const apart = context === undefined || passes.length === 0 || warm > 0 ? undefined : passLayout(layout, context, passes);
  const { kernels, entries } = kernelsOf(layout.state, apart !== undefined);
  const reordered = reorderedIn(layout.plan, layout.state?.works ?? []);
  const texts = apart === undefined ? [new ProgramText(layout, program, tasks, stageTasks, passes)] : [
    new ProgramText(apart, program, tasks, stageTasks, passes, 'passes', layout.states),
    new ProgramText(layout, program, tasks, stageTasks, passes, 'last'),
  ];
  const text = [
    '#ifdef WARPLOOM_SIMT', '#define WL_STRUCT_LANES', '#endif', '#include "cuda/core/module.cuh"', '#include "arithmetic.h"',
    `#include "cuda/stream/${layout.state === undefined ? 'fused' : 'state'}.cuh"`, '', 'namespace {',
    printCuda({ ...program, imports: [] }, new Set(all.flatMap(({ member }) => member ?? []))), ...texts.flatMap((each) => each.lines()),
    '}  // namespace', '', ...entries, '',
  ].join('\n');
  return {
    plan: layout.plan, source: text, kernel: fusedKernel, threads, sharedBytes: layout.sharedBytes, states: layout.states,
    // Each pass makes as many rounds before its own as channels need.
    warmRounds: warm * kernels.length, warmStates: warm * kernels.length * layout.states,
    startStates: Math.max(0, begins, untilSettled(plan, state)), canFault: usesFaults(text),
    input: layout.input, output: layout.output,
    state: layout.state && {
      kernels, carryWords: layout.state.carryWords, totalWords: layout.state.totalWords, works: layout.state.works,
      reordered, stretch: reordered.length === 0 ? null : leastStretch * Math.max(1, warm * kernels.length),
      sites: sitesOf(layout.lowered), countsTurns: text.includes('double turns = round.turns;'),
    },
  };
}

/** By buffer, stand-ins included: the distance of its gaps, where windows have some. */
function gapsOf({ tiles }: RoundLayout, tasks: readonly Task[]): ReadonlyMap<Buffer, number> {
  const gaps = new Map<Buffer, number>();
  const add = (buffer: Buffer, of: Buffer): void => {
    const shift = tiles.get(of)?.gaps.shift ?? noGaps;
    if (shift !== noGaps) gaps.set(buffer, shift);
  };
  for (const buffer of tiles.keys()) add(buffer, buffer);
  for (const { members: [first] } of tasks) for (const [by, buffer] of first?.buffers ?? []) add(by, buffer);
  return gaps;
}

/** Nodes of groups by dependence: of the twelve programs, one has more than 31,000, and 340,000, whose text is too long as well. */
const mostByDependence = 60_000;

/** Throws before functions are cut and printed, which takes seconds, if they are too long for any gain. */
function checkNodes({ functions }: Program): void {
  let nodes = 0;
  for (const { body } of functions) nodes += sizeOf(body);
  if (nodes <= mostByDependence) return;
  throw new UnsupportedProgram(`its groups by dependence have ${nodes} nodes, and at most ${mostByDependence} are printed`);
}

/** Rounds of a block's stretch for each that it makes only to begin, where sums of floats depend on their number. */
const leastStretch = 8;

function reorderedIn({ graph }: ProgramPlan, works: readonly StageWork[]): string[] {
  const found = works.filter(({ scans }) => scans.some(({ scan: { kind } }) => kind === 'real'));
  return [...new Set(found.map(({ node }) => elementAt(graph.nodes, node).name))];
}

/** The places of a program that can fail, as they can be stored. */
function sitesOf({ sites }: LoweredProgram): Site[] {
  return sites.map(({ kind, node, span, limit }) => ({ kind, node, limit, ...(span === undefined ? {} : { span: { ...span } }) }));
}

/** Why a run cannot begin in the middle of the input, though the state is known there. */
function whyNot({ graph, groups, externals }: ProgramPlan): string {
  const loop = groups.find(({ isLoop }) => isLoop);
  const file = externals.find(({ kind }) => kind === 'reader' || kind === 'writer');
  if (loop !== undefined) return `${elementAt(graph.nodes, elementAt(loop.steps, 0).actor).name} is in a feedback loop`;
  if (file !== undefined) return `the program uses the file '${file.path}'`;
  if (graph.input === undefined || graph.output === undefined) return 'the program has other ends than one input and one output';
  return 'items stand on a channel before the program begins';
}

/** Kernels of a program, the last one its own, and their text. */
function kernelsOf(state: StateLayout | undefined, isApart: boolean): { kernels: string[]; entries: string[] } {
  const agent = (of: string): string => `warploom::WARPLOOM_TARGET::stream::${of}`;
  if (state === undefined) return { kernels: [fusedKernel], entries: [`WARPLOOM_KERNEL(${fusedKernel}, ${agent('FusedAgent<Program>')})`] };
  const kernels = Array.from({ length: state.passes + 1 }, (_, pass) =>
    (pass === state.passes ? fusedKernel : `${fusedKernel}_pass${pass + 1}`));
  const program = (pass: number): string => (isApart && pass <= state.passes ? 'passes::Program' : 'Program');
  const entries = kernels.map((kernel, i) => `WARPLOOM_KERNEL(${kernel}, ${agent(`StateAgent<${program(i + 1)}, ${i + 1}>`)})`);
  return { kernels, entries };
}
