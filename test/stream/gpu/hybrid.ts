// Programs on cores and a device together in tests: several in one module, rings that hold garbage, plans that are checked.
import assert from 'node:assert/strict';
import type { Device, DeviceArray } from '../../../lib/core/device.ts';
import { arithmeticHeader } from '../../../lib/kernel/print/c-family.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import { countRun } from '../../../lib/stream/plan/counts.ts';
import { validateHybrid } from '../../../lib/stream/partition/index.ts';
import { HybridGpu, planHybridFor, type HybridCompileOptions } from '../../../lib/stream/run/hybrid.ts';
import type { HybridParts } from '../../../lib/stream/run/hybrid-parts.ts';
import { hybridKernel, type PlannedHybrid } from '../../../lib/stream/run/hybrid-plan.ts';
import type { ThreadOptions } from '../../../lib/stream/run/prepare.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';

/** What moving items costs, so that tests measure nothing. */
const link = { latency: 1, toGpu: 1e4, toCpu: 1e4, shuffle: 1e3, deshuffle: 1e3 };
/** Short iterations. */
export const small: HybridCompileOptions = {
  mode: 'synergistic', link, cores: 2, threads: 32, shuffleItems: 32, maxUnroll: 1, launchMicroseconds: 0, processors: 3,
};

/** Which of the nodes that a device can run are there. */
export const partitions: Readonly<Record<string, (seed: number) => (node: number) => boolean>> = {
  'all on the device': () => () => true, 'all on cores': () => () => false,
  'alternating': (seed) => (node) => (node + seed) % 2 === 0,
  'cut at random': (seed) => (node) => ((Math.imul(node + 3 * seed + 1, 0x9e3779b1) >>> 13) & 3) < 2,
};

/** A text whose names differ from those of others. */
function renamed(planned: PlannedHybrid, number: number): PlannedHybrid {
  const { text } = planned;
  const kernel = `${hybridKernel}_${number}`;
  const moveKernel = `${kernel}_move`;
  const parts = ['\nnamespace {\n', `WARPLOOM_KERNEL(${hybridKernel}, `, 'PipelineAgent<Program>', `(${text.moveKernel}, `];
  for (const part of parts) assert.equal(text.source.split(part).length, 2, part);
  const source = text.source.replace(parts[0]!, () => `\nnamespace p${number} {\n`)
    .replace(parts[1]!, () => `WARPLOOM_KERNEL(${kernel}, `).replace(parts[2]!, () => `PipelineAgent<p${number}::Program>`)
    .replace(parts[3]!, () => `(${moveKernel}, `);
  return { ...planned, text: { ...text, source, kernel, moveKernel } };
}

/** A program whose rings hold numbers that no program makes when a run begins. */
export function poisoned(made: HybridGpu): HybridGpu {
  const arenas = made as unknown as { newArena(parts: HybridParts): DeviceArray };
  const make = arenas.newArena.bind(made);
  arenas.newArena = (parts) => {
    const arena = make(parts);
    arena.write(new Int32Array(arena.length).fill(0x7fc0dead | 0)).catch(() => undefined);
    return arena;
  };
  return made;
}

export interface HybridSample {
  readonly graph: StreamGraph;
  readonly options: HybridCompileOptions;
}

/** Bytes from which on transfers have arrays of their own: all, those that would, or none. */
const transfersOf = (number: number): number | undefined => [0, undefined, Infinity][number % 3];

/** Compiles programs in one module; undefined for those that cannot run so. Plans are checked. */
export async function hybridTogether(device: Device, samples: readonly HybridSample[]): Promise<(HybridGpu | undefined)[]> {
  const planned = await Promise.all(samples.map(async ({ graph, options }, number) => {
    try {
      const made = await planHybridFor(graph, device, options);
      assert.deepEqual(validateHybrid(made.problem, made.plan, { launches: made.plan.depth + 3 }), []);
      return renamed(made, number);
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_WARPLOOM_UNSUPPORTED') return undefined;
      throw error;
    }
  }));
  // Partitions of one program have one text.
  const texts = planned.filter((each) => each !== undefined).map(({ text }) => text);
  const module = await device.module({
    source: texts.map(({ source }) => source).join('\n'), kernels: texts.flatMap(({ kernel, moveKernel }) => [kernel, moveKernel]),
    headers: { 'arithmetic.h': arithmeticHeader() },
  });
  return Promise.all(planned.map(async (made, i) => (made === undefined ? undefined
    : poisoned(await HybridGpu.with(samples[i]!.graph, device, module, made, (parts) => ({ ...parts, leastBytes: transfersOf(i) }))))));
}

/** Compiles one program. `change`: what is wrong with its parts. */
export async function hybridOf(
  device: Device, graph: StreamGraph, options: HybridCompileOptions, change?: (parts: HybridParts) => HybridParts,
  text?: (source: string) => string,
): Promise<HybridGpu> {
  const planned = await planHybridFor(graph, device, options);
  assert.deepEqual(validateHybrid(planned.problem, planned.plan, { launches: planned.plan.depth + 3 }), []);
  const source = text?.(planned.text.source) ?? planned.text.source;
  assert.ok(text === undefined || source !== planned.text.source, 'nothing was changed');
  const module = await device.module({ source, kernels: [planned.text.kernel, planned.text.moveKernel], headers: { 'arithmetic.h': arithmeticHeader() } });
  return poisoned(await HybridGpu.with(graph, device, module, planned, (parts) => {
    const own = { ...parts, leastBytes: transfersOf(graph.nodes.length) };
    return change?.(own) ?? own;
  }));
}

/** Items of input for so many iterations of the plan, after the start of the run. */
export function inputFor({ parts: { input, plan } }: HybridGpu, iterations: number): number {
  return input.before + iterations * plan.steadyStates * input.items + input.external.later.beyond;
}

/** A run gives what WebAssembly gives, and the plan made it if there is a whole iteration. Says whether it did. */
export async function together(
  made: HybridGpu, graph: StreamGraph, input: ArrayLike<number>, options: ThreadOptions = {},
): Promise<boolean> {
  const { plan } = made.parts.program;
  const steadyStates = made.planned.shorter[0] ?? made.parts.plan.steadyStates;
  const { items, iterations } = options;
  const counts = countRun(plan, { input: Math.floor(input.length / scalarCount(made.parts.input.external.type)), items, iterations });
  const expected = compiledWasm(graph).run(input, options);
  const found = await made.run(input, options);
  const byPlan = found.deviceSeconds !== undefined || found.note === 'the plan places all filters on its cores';
  assert.equal(byPlan, counts.steadyStates >= steadyStates, found.note);
  assert.deepEqual(found.output, expected.output);
  assert.deepEqual(found.firings, expected.firings);
  assert.equal(found.exhausted, expected.exhausted);
  return byPlan;
}
