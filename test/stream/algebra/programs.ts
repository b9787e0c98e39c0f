// Example programs with inputs.
import { readFile } from 'node:fs/promises';
import { elaborate, type StreamGraph } from '../../../lib/stream/index.ts';

/** An example program, and so many items of float input in [−1, 1]. */
export async function examplePrograms(name: string, items: number): Promise<{ graph: StreamGraph; input: Float32Array }> {
  const source = await readFile(new URL(`../../../examples/stream/${name}.str`, import.meta.url), 'utf8');
  const { graph } = await elaborate(source);
  return { graph, input: Float32Array.from({ length: items }, (_, i) => Math.sin(i * i * 0.003)) };
}
