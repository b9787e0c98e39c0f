// One row of the benchmark of equations: the time of a step of a run that goes on.
import { stencil } from '../lib/index.ts';
import type { BenchContext } from './domain.ts';
import { summarise } from './statistics.ts';

/** An equation on a grid, and on a small one for quick runs. */
export interface Problem {
  readonly name: string;
  readonly equation: stencil.Equation;
  readonly shape: readonly number[];
  readonly small: readonly number[];
  readonly parameters: Readonly<Record<string, number>>;
  /** Values or functions of the cells' centres, by field; otherwise constants. `n`: cells along the first axis. */
  readonly initial?: (n: number) => Readonly<Record<string, unknown>>;
  /** Arithmetic instructions of a cell's step, divisions and roots expanded, everything made once: bounds the time where it is larger. */
  readonly instructions?: number;
}

/** Double-precision instructions per second of an H200: 132 multiprocessors of 64 lanes at 1.98 GHz. */
const instructionRate = 132 * 64 * 1.98e9;

export interface RowOptions {
  readonly id: string;
  /** Of `simulate`. */
  readonly options: object;
  /** Bytes a second that are read and written by a copy. */
  readonly rate: number;
  /** Seconds of a measurement, and how many are made. */
  readonly seconds: number;
  readonly repeats: number;
  /** Steps before the first measurement, and those of which each has a multiple, from the steps of a pass. */
  readonly steps: (depth: number) => { readonly warm: number; readonly unit: number };
  readonly note: (info: stencil.RunInfo, cellsPerSecond: number) => string;
  readonly peers?: Readonly<Record<string, number>>;
}

/** Measures a problem. The limit is one read and one write of the state, or arithmetic. */
export async function measureRow(
  { emit, quick }: BenchContext, { equation, parameters, shape: full, small, initial: initialOf, instructions = 0 }: Problem,
  { id, options, rate, seconds, repeats, steps: stepsOf, note, peers = {} }: RowOptions,
): Promise<void> {
  const shape = quick ? small : full;
  const cells = shape.reduce((a, b) => a * b);
  const initial = initialOf?.(shape[0] ?? 1) ?? Object.fromEntries(equation.fields.map((field, i) => [field, i === 1 ? 0.25 : 0.5]));
  await using run = await stencil.simulate(equation, { shape, dt: 0.1, initial, parameters, ...options } as never);
  const { warm, unit } = stepsOf(run.info.depth);
  await run.advance(warm);
  const step = run.info.seconds / run.info.steps;
  const steps = unit * (quick ? 2 : Math.max(1, Math.ceil(seconds / step / unit)));
  const found: number[] = [];
  for (let i = 0; i < (quick ? 2 : repeats); ++i) {
    const before = run.info.seconds;
    await run.advance(steps);
    found.push((run.info.seconds - before) / steps);
  }
  const { median, spread } = summarise(found);
  const limit = Math.max((16 * equation.fields.length * cells) / rate, (instructions * cells) / instructionRate);
  emit({
    id, value: median, unit: 's', limit, fraction: limit / median, spread, ...(Object.keys(peers).length === 0 ? {} : { peers }),
    note: note(run.info, cells / median),
  });
}
