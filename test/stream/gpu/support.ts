// Compiles programs for tests on devices, several in one module, because compilers take most of the time.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Device } from '../../../lib/core/device.ts';
import { arithmeticHeader } from '../../../lib/kernel/print/c-family.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import type { RunResult, ThreadOptions } from '../../../lib/stream/run/prepare.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { fusedKernel, fusedProgram, type FusedProgram } from '../../../lib/stream/targets/cuda.ts';

/** The backends that run stream programs. */
export const deviceBackends = ['simt', 'cuda'] as const;

export interface Sample {
  readonly graph: StreamGraph;
  readonly options?: FusedOptions;
}

/** The program with names that differ from those of other programs in the module. */
export function renamed(program: FusedProgram, number: number): FusedProgram {
  const own = (kernel: string): string => kernel.replace(fusedKernel, `${fusedKernel}_${number}`);
  const kernels = program.state?.kernels ?? [fusedKernel];
  let source = program.source;
  const replace = (from: string, to: string): void => {
    assert.equal(source.split(from).length, 2, from);
    source = source.replace(from, () => to);
  };
  replace('\nnamespace {\n', `\nnamespace p${number} {\n`);
  for (const kernel of kernels) replace(`WARPLOOM_KERNEL(${kernel}, `, `WARPLOOM_KERNEL(${own(kernel)}, `);
  source = source.replace(/Agent<((?:passes::)?Program)\b/g, `Agent<p${number}::$1`);
  const state = program.state && { ...program.state, kernels: kernels.map(own) };
  return { ...program, source, kernel: own(program.kernel), state };
}

/** Compiles programs for a device, in one module; undefined for those that cannot run on devices. */
export async function compileTogether(device: Device, samples: readonly Sample[]): Promise<(CompiledGpu | undefined)[]> {
  const programs = samples.map(({ graph, options }, number) => {
    try {
      return renamed(fusedProgram(graph, options), number);
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_WARPLOOM_UNSUPPORTED') return undefined;
      throw error;
    }
  });
  const some = programs.filter((each) => each !== undefined);
  if (some.length === 0) return programs.map(() => undefined);
  const module = await device.module({
    source: some.map(({ source }) => source).join('\n'), kernels: some.flatMap(({ kernel, state }) => state?.kernels ?? [kernel]),
    headers: { 'arithmetic.h': arithmeticHeader() },
  });
  return programs.map((program, i) => (program === undefined ? undefined : new CompiledGpu(samples[i]!.graph, program, device, module)));
}

/** The first steady state that the device runs. */
export function firstState({ program, warmStates }: CompiledGpu): number {
  return program.startStates + warmStates;
}

/** The number of input items for a number of steady states. */
export function inputItems({ program: { input } }: CompiledGpu, states: number): number {
  return input.before + states * input.items + input.external.later.beyond;
}

/** Numbers with one kind of NaN: its sign and payload differ between processors. */
const withOneNaN = (values: RunResult['output']): RunResult['output'] =>
  (values instanceof Float32Array && values.some(Number.isNaN) ? values.map((x) => (Number.isNaN(x) ? NaN : x)) : values);

/** Checks that a run on the device gives the result of WebAssembly, and whether the device took part. */
export async function agrees(
  compiled: CompiledGpu, graph: StreamGraph, input: ArrayLike<number>, options: ThreadOptions = {}, isOnDevice = true,
): Promise<void> {
  const expected = compiledWasm(graph).run(input, options);
  const found = await compiled.run(input, options);
  assert.equal(found.deviceSeconds !== undefined, isOnDevice, found.note);
  assert.deepEqual(withOneNaN(found.output), withOneNaN(expected.output));
  assert.deepEqual(found.firings, expected.firings);
  assert.equal(found.exhausted, expected.exhausted);
}

/** Bytes in use on a device once what failed or stopped calls left under way has ended; `held`: those that are in use anyway. */
export async function settled(device: Device, held = 0, most = 10_000): Promise<number> {
  await device.trim();
  for (let tries = 0; tries < most && device.memory().inUseBytes > held; ++tries) {
    await delay(2);
    await device.trim();
  }
  return device.memory().inUseBytes;
}

/** Bytes that are in use on a device anyway, whatever has been left under way before. */
export const heldBy = (device: Device): Promise<number> => settled(device, 0, 100);
