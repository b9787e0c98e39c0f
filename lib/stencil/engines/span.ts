// What engines do: take steps on arrays that hold [member][field][cell], and which arrays the stages of a step read and write.
import { required } from '../../core/known.ts';
import type { Stage } from '../compile/stages.ts';
import type { RealArray, RunBackend, ShapeInfo, StencilVariant } from '../types.ts';
import type { StepClock, StepLimits } from './adaptive.ts';

/** Steps of one length: step i begins at originTime + (from + i) · unit. With `limits`, at most so many steps of varying length. */
export interface Span {
  readonly steps: number;
  readonly originTime: number;
  readonly from: number;
  readonly unit: number;
  readonly dt: number;
  readonly limits?: StepLimits;
}

/** The time at which step `i` of a span begins. */
export const timeOf = ({ originTime, from, unit }: Span, i: number): number => originTime + (from + i) * unit;

/** What a span has come to. */
export interface Outcome {
  /** Good steps; the next one would be bad if these are not all. */
  readonly completed: number;
  readonly seconds: number;
  /** With `limits`. */
  readonly clock?: StepClock;
}

/** Arrays of a run: the state, two for stages, and the sum of rk4. */
export type Level = 'state' | 'first' | 'second' | 'sum';

/** The arrays of a stage. */
export interface StageLevels {
  readonly y: Level;
  /** The fields after it. */
  readonly out: Level;
}

/** The arrays that the stages use. A single stage writes to `first`, which then becomes the state. */
export function levelsOf(stages: readonly Pick<Stage, 'to'>[]): readonly StageLevels[] {
  let y: Level = 'state';
  return stages.map(({ to }) => {
    const out: Level = to === 'start' ? 'state' : y === 'first' ? 'second' : 'first';
    const made = { y, out };
    y = out;
    return made;
  });
}

/** The arrays that are needed. */
export function levelsUsed(stages: readonly Stage[]): readonly Level[] {
  const used = new Set<Level>(['state', ...levelsOf(stages).map(({ out }) => out)]);
  if (stages.some(({ writesSum }) => writesSum)) used.add('sum');
  return [...used];
}

/** The numbers of a stage, in the order of the program's scalars, without parameters. */
export function stageScalars(stage: Pick<Stage, 'time' | 'h' | 'g'>, t: number, dt: number): readonly [t: number, dt: number, h: number,
  g: number] {
  return [t + stage.time * dt, dt, stage.h(dt), stage.g(dt)];
}

export interface Engine {
  readonly backend: RunBackend;
  readonly variant: Exclude<StencilVariant, 'auto'>;
  readonly reason: string;
  readonly threads: number;
  readonly depth: number;
  /** Shapes that were considered, the one that runs first. */
  readonly shapes: readonly ShapeInfo[];
  /** Takes steps up to the first bad one: the state is then the one before it. */
  advance(span: Span): Promise<Outcome>;
  /** The state after one more step, which is bad; the engine's own state does not change. */
  probe(span: Span): Promise<RealArray>;
  read(): Promise<RealArray>;
  dispose(): void;
}

/** The sizes of a run. */
export interface Grid {
  readonly shape: readonly number[];
  readonly cells: number;
  readonly members: number;
  readonly fields: number;
}

/** Rows and cells in a row. */
export function rowsOf({ shape, cells }: Grid): { readonly rows: number; readonly columns: number } {
  const columns = required(shape.at(-1));
  return { rows: cells / columns, columns };
}

/** Numbers that a run begins with. */
export interface Content {
  readonly grid: Grid;
  /** [member][field][cell] */
  readonly initial: RealArray;
  /** [member][parameter] */
  readonly parameters: Float64Array;
  /** [coefficient][cell] */
  readonly coefficients: RealArray;
  readonly precision: 'f32' | 'f64';
}

export const arrayOf = (precision: 'f32' | 'f64', length: number): RealArray =>
  (precision === 'f32' ? new Float32Array(length) : new Float64Array(length));
