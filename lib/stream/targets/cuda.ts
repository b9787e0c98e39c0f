// Planned programs without state as one CUDA kernel: every block makes steady states of its own stretch of the input, in rounds. Groups of
// nodes run one after the other, their iterations shared among the threads; channels between groups lie in shared memory, all others in
// registers.
import { elementAt } from '../../core/known.ts';
import type { Buffer, Program } from '../../kernel/ir.ts';
import { padBuffers } from '../../kernel/passes/pad.ts';
import { printCuda } from '../../kernel/print/cuda.ts';
import { walkBody } from '../../kernel/visit.ts';
import type { StreamGraph } from '../graph.ts';
import { planProgram, type PlanOptions, type ProgramPlan } from '../plan/plan.ts';
import { startMatters } from '../plan/start.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { noGaps, RoundLayout, type FusedEnd, type FusedOptions } from './cuda-layout.ts';
import { tasksOf } from './cuda-tasks.ts';
import { ProgramText } from './cuda-text.ts';

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
  readonly input: FusedEnd;
  readonly output: FusedEnd;
}

export const fusedKernel = 'wl_fused';

/** What plans for a GPU take: groups stay small enough for the registers of a thread. */
export const defaultCudaPlan: PlanOptions = { groupSize: 4000, filterSize: 1500, forCores: 2 };

/** Steady states until a node's items are right, whatever stood on the channels at the start, by node. */
function untilRight({ sdf, graph, steady }: ProgramPlan): number {
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

/**
 * Prints a graph as one kernel. Throws UnsupportedProgram for programs with state or other ends than an open input and output, and for
 * those whose channels do not fit, ScheduleError where there is no schedule.
 */
export function fusedProgram(graph: StreamGraph, options: FusedOptions = {}): FusedProgram {
  const plan = planProgram(graph, { ...defaultCudaPlan, ...options });
  const begins = startMatters(plan);
  if (begins === undefined) {
    throw new UnsupportedProgram('the program has state, loops, files, or other ends than one input and one output');
  }
  const layout = new RoundLayout(plan, options);
  const { threads } = layout.options;
  const { program: lowered, system: { ix } } = layout.lowered;
  const tasks = tasksOf({
    program: lowered, plan: layout.plan, levels: layout.levels, ix, states: layout.states, threads, wide: layout.wide,
    isAlike: (a, b) => layout.tiles.get(a)?.gaps.shift === layout.tiles.get(b)?.gaps.shift,
  });
  const all = tasks.levels.flat();
  const gaps = new Map<Buffer, number>();
  const addGap = (buffer: Buffer, of: Buffer): void => {
    const shift = layout.tiles.get(of)?.gaps.shift ?? noGaps;
    if (shift !== noGaps) gaps.set(buffer, shift);
  };
  for (const buffer of layout.tiles.keys()) addGap(buffer, buffer);
  for (const { members: [first] } of all) for (const [by, buffer] of first?.buffers ?? []) addGap(by, buffer);
  const buffers = [...lowered.buffers, ...tasks.placeholders];
  const program = padBuffers({ ...lowered, buffers, functions: all.map(({ f }) => f) }, gaps);
  refuseHost(program);
  const text = [
    '#ifdef WARPLOOM_SIMT', '#define WL_STRUCT_LANES', '#endif', '#include "cuda/core/module.cuh"', '#include "arithmetic.h"',
    '#include "cuda/stream/fused.cuh"', '', 'namespace {', printCuda({ ...program, imports: [] }),
    ...new ProgramText(layout, program, tasks).lines(), '}  // namespace', '',
    `WARPLOOM_KERNEL(${fusedKernel}, warploom::WARPLOOM_TARGET::stream::FusedAgent<Program>)`, '',
  ].join('\n');
  const warmRounds = Math.ceil(untilRight(layout.plan) / layout.states);
  return {
    plan: layout.plan, source: text, kernel: fusedKernel, threads, sharedBytes: layout.sharedBytes, states: layout.states,
    warmRounds, warmStates: warmRounds * layout.states, startStates: Math.max(0, begins), input: layout.input, output: layout.output,
  };
}
