// Programs in many people's styles, with the input that each was written for.
import assert from 'node:assert/strict';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { apps } from '../programs/apps/index.ts';
import { styles } from '../programs/styles.ts';
import { graphOf } from '../support.ts';

export interface Sample {
  readonly name: string;
  readonly graph: StreamGraph;
  /** The input for which the program was written. */
  readonly items: readonly number[];
}

const upTo24 = Array.from({ length: 24 }, (_, i) => i + 1);

/** Those with an open input. */
export const samples: readonly Sample[] = [
  ...styles.map(({ name, source }) => ({ name, graph: graphOf(source), items: upTo24 })),
  ...apps.map(({ name, source, input = [] }) => ({ name, graph: graphOf(source), items: input })),
].filter(({ graph }) => graph.input !== undefined);

/** Runs a program on its own items, repeated: `check` compares the runs; if WebAssembly fails, `run` must fail with the same error. */
export async function sameOutcome(
  { graph, items }: Sample, scalars: number, name: string, run: (input: readonly number[]) => Promise<unknown>,
  check: (input: readonly number[]) => Promise<unknown>,
): Promise<void> {
  const input = Array.from({ length: scalars }, (_, i) => items[i % items.length]!);
  try {
    compiledWasm(graph).run(input, {});
  } catch (error) {
    await assert.rejects(() => run(input), { code: (error as { code: string }).code, message: (error as Error).message }, name);
    return;
  }
  await check(input).catch((error: Error) => {
    error.message = `${name}: ${error.message}`;
    throw error;
  });
}
