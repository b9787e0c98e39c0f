// Rows stream/<program>/auto-algebraic: programs whose linear filters are collapsed (option `algebraic`), as `auto` otherwise. What comes
// out is compared with what the CPU makes of the collapsed program, bit for bit. There are none of programs with nothing to collapse.
import type { BenchmarkProgram } from '../examples/stream/programs.ts';
import { collapseLinear, type StreamGraph } from '../lib/stream/index.ts';
import { compileFused } from '../lib/stream/run/fused.ts';
import type { BenchContext } from './domain.ts';
import type { Row } from './report.ts';
import { StreamWork } from './stream-device-work.ts';
import { kernelNote } from './stream-device.ts';

/** The row of a program; undefined if nothing is collapsed. */
export async function algebraicRow(
  { device, quick }: BenchContext, program: BenchmarkProgram, graph: StreamGraph,
): Promise<Row | undefined> {
  const { graph: made, filters } = await collapseLinear(graph);
  if (filters.length === 0) return undefined;
  const id = `stream/${program.name}/auto-algebraic`;
  using compiled = await compileFused(made, device);
  using work = await StreamWork.open(program, made, compiled, quick);
  const { best, spread, launches, bytesPerSecond } = await work.time(compiled, id);
  const sum = (of: 'before' | 'after'): number => filters.reduce((total, filter) => total + filter[of], 0);
  return {
    id, value: best, unit: 'items/s', spread,
    note: `${filters.reduce((total, { replaces }) => total + replaces.length, 0)} of ${graph.nodes.length} nodes are ${filters.length}, ${
      sum('before')} of their operations ${sum('after')}; ${(bytesPerSecond / 1e9).toPrecision(4)} GB/s; ${
      kernelNote(compiled)}; best of ${launches} launches`,
  };
}
