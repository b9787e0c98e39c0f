// The stages of a step, and what a program of them is.
import { required } from '../../core/known.ts';
import type { Buffer, Expression, KernelFunction, Local, Program, Statement } from '../../kernel/ir.ts';
import { Outliner } from '../../kernel/front/index.ts';
import { walkBody } from '../../kernel/visit.ts';
import type { Rules } from '../boundary.ts';
import { methodStages, stepStage, type MethodStage, type Share } from '../methods.ts';
import type { Equation } from '../types.ts';
import { traceRate, traceStep, type Input, type Names, type Precision, type Traced } from './trace.ts';

/** What programs are made for; extents of the grid and values of parameters are arguments. */
export interface Target {
  readonly spacing: readonly number[];
  readonly origin: readonly number[];
  readonly rules: Rules;
  readonly precision: Precision;
  /** Whether steps vary in length: the program then has the rate of a cell too. */
  readonly isAdaptive?: boolean;
}

/** Where a stage writes the fields: to other arrays, or over those of the beginning of the step. */
export type Destination = 'other' | 'start';

/** A function and what it calls, callees first. */
export interface Outlined extends Traced {
  readonly callees: readonly KernelFunction[];
}

/** Statements from which a call of the user's becomes a call. */
const leastOutlined = 8;

export interface Stage {
  readonly time: number;
  readonly h: Share;
  readonly g: Share;
  readonly point: Traced;
  /** The same with calls of functions in place of the code of the user's calls. */
  readonly outlined: () => Outlined;
  /** Whether it reads the fields at the beginning of the step, reads the sum, writes it. */
  readonly readsStart: boolean;
  readonly readsSum: boolean;
  readonly writesSum: boolean;
  readonly to: Destination;
  /** Largest offset along each axis. */
  readonly reach: readonly number[];
}

/** What bounds steps of varying length: functions of the cell. */
export interface Limit {
  readonly speed: Traced | undefined;
  readonly diffusivity: Traced | undefined;
}

export interface StencilProgram {
  readonly program: Program;
  readonly names: Names;
  readonly stages: readonly Stage[];
  readonly check: Traced;
  /** What bounds steps of varying length. */
  readonly limit: Limit | undefined;
  /** Whether cells have to be admissible beside being finite. */
  readonly isChecked: boolean;
  /** Names of the numbers that all functions take, in order. */
  readonly scalars: readonly string[];
  readonly buffers: Buffers;
  /** Largest offset of any stage, along each axis. */
  readonly reach: readonly number[];
  /** Inner cells that the conditions of each axis need. */
  readonly leastCells: readonly number[];
  /** To make more functions. */
  readonly parts: CellParts;
}

/** What the functions of a program have in common. */
export interface CellParts {
  readonly names: Names;
  readonly buffers: Buffers;
  readonly extents: readonly Local[];
  /** The first parameters of functions of one cell. */
  readonly indices: readonly Local[];
  /** Extents, then scalars: the last parameters of every function. */
  readonly common: readonly Local[];
  readonly local: (type: Local['type'], name?: string) => Local;
  /** A number that does not come from arrays. */
  readonly plain: (input: Input, indices: readonly Local[]) => Expression;
  /** Sets a local to whether these fields are good. */
  readonly checked: (fields: readonly Expression[], good: Local) => Statement;
}

export interface Buffers {
  readonly y: readonly Buffer[];
  readonly u: readonly Buffer[];
  readonly a: readonly Buffer[];
  readonly o: readonly Buffer[];
  readonly c: readonly Buffer[];
}

/** Nodes from which the function of a cell is compiled once, for cells near the edges too, and not inlined into loops. */
const mostInlined = 2000;

function sizeOf({ body }: KernelFunction): number {
  let size = 0;
  const count = (): void => { size += 1; };
  walkBody(body, { expression: count, statement: count });
  return size;
}

const sizes = new WeakMap<KernelFunction, number>();

/** Nodes of the function of a cell. */
export function stageSize({ point: { f } }: Stage): number {
  const size = sizes.get(f) ?? sizeOf(f);
  sizes.set(f, size);
  return size;
}

/** Whether a stage takes so much code that copies of it cost more than calls. */
export const isLarge = (stage: Stage): boolean => stageSize(stage) > mostInlined;

function reachOf(traced: Traced, dimensions: number): readonly number[] {
  return Array.from({ length: dimensions }, (_, axis) => Math.max(0, ...traced.inputs.map((input) =>
    (input.kind === 'y' || input.kind === 'c' ? Math.abs(required(input.offset[axis])) : 0))));
}

/** The stages of an equation's step. */
export function stagesOf({ definition, method }: Equation, names: Names): readonly Stage[] {
  type Trace = (outliner?: Outliner) => Traced;
  const make = (trace: Trace, { time, h, g }: Omit<MethodStage, 'value'>, at: number, count: number, writesSum: boolean): Stage => {
    const traced = trace();
    const outlined = (): Outlined => {
      const outliner = new Outliner(`call_${at}_`, leastOutlined);
      const called = trace(outliner);
      return { ...called, callees: outliner.functions };
    };
    const reads = (kind: Input['kind']): boolean => traced.inputs.some((input) => input.kind === kind);
    return {
      time, h, g, point: traced, outlined, readsStart: reads('u'), readsSum: reads('a'), writesSum,
      reach: reachOf(traced, names.dimensions), to: at === count - 1 && count > 1 ? 'start' : 'other',
    };
  };
  if (method !== undefined) {
    const stages = methodStages[method];
    return stages.map((stage, at) => make((outliner) =>
      traceRate(`point_${at}`, definition.rate, { stage, isFirst: at === 0 }, names, outliner), stage, at, stages.length,
    stage.sum !== undefined));
  }
  const steps = definition.step as readonly unknown[];
  return steps.map((step, at) => make((outliner) => {
    const argument = steps.length === 1 ? 'step' : `step[${at}]`;
    return traceStep(`point_${at}`, { argument, step, isFirst: at === 0 }, names, outliner);
  }, stepStage, at, steps.length, false));
}
