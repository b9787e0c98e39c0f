// The public side of algebraic savings. The first call loads the modules that it needs.
import { briefly } from '../../core/display.ts';
import type { StreamGraph } from '../graph.ts';
import { requireProgramGraph } from '../require.ts';
import type { LinearProgram } from './types.ts';

export type { LinearFilter, LinearProgram } from './types.ts';

/**
 * What the option `algebraic` runs: the program of {@link collapseLinear}, in which devices may also make recurrences of floats as scans.
 *
 * @internal
 */
export async function algebraicGraph(graph: StreamGraph): Promise<LinearProgram> {
  requireProgramGraph(graph);
  return (await import('./collapse.ts')).algebraicProgram(graph);
}

/**
 * Replaces linear filters (each item is a sum of constant multiples of items of the window, and of a constant) by fewer ones that do the
 * same with fewer multiplications and additions: neighbours in pipelines by their product, split-joins of linear branches by one filter,
 * single filters where most of their work cancels. Filters with state, prework, prints, messages or items that are no single int, float or
 * double, and those in feedback loops, stay as they are; so do programs with messages, with random numbers, with several filters that
 * print, or with dynamic rates.
 *
 * The new graph runs on every back end, with the same bits on all. Its output differs from the given one's by the rounding of sums in
 * another order: a new filter's item is off its exact value by at most (n + 2) · u · Σ |cᵢ| |xᵢ|, where n is the number of its terms and u
 * half a unit in the last place (2⁻²⁴ for float); factors are multiplied in doubles and rounded once. Ints wrap, so they are exact. An
 * infinity or NaN in the input may reach other items than before, as products with 0 are left out. Steady states are the same, but a new
 * filter makes at once what the old ones made in several firings, so that output may end up to one of its firings earlier when the input
 * ends.
 *
 * @throws ArgumentError for what is no graph of a program
 */
export async function collapseLinear(graph: StreamGraph): Promise<LinearProgram> {
  requireProgramGraph(graph);
  return briefly('LinearProgram', (await import('./collapse.ts')).linearProgram(graph));
}
