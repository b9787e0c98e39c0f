// Programs under the schedules of chapter 3 in tests: several in one module, and channels that hold garbage.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { arithmeticHeader } from '../../../lib/kernel/print/c-family.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { PipelinedGpu, textFor, type PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import type { DeviceSchedule } from '../../../lib/stream/run/gpu-lists.ts';
import { pipelineKernel, type PipelineProgram } from '../../../lib/stream/targets/cuda-pipeline.ts';

/** A program whose names differ from those of others. */
function renamed(text: PipelineProgram, number: number): PipelineProgram {
  const kernel = `${pipelineKernel}_${number}`;
  const parts = ['\nnamespace {\n', `WARPLOOM_KERNEL(${pipelineKernel}, `, 'PipelineAgent<Program>'];
  for (const part of parts) assert.equal(text.source.split(part).length, 2, part);
  const source = text.source.replace(parts[0]!, () => `\nnamespace p${number} {\n`)
    .replace(parts[1]!, () => `WARPLOOM_KERNEL(${kernel}, `).replace(parts[2]!, () => `PipelineAgent<p${number}::Program>`);
  return { ...text, source, kernel };
}

export interface PipelinedSample {
  readonly graph: StreamGraph;
  readonly options: PipelineOptions;
}

/** Compiles programs for a device, in one module; undefined for those that are not for devices. */
export async function pipelinedTogether(device: Device, samples: readonly PipelinedSample[]): Promise<(PipelinedGpu | undefined)[]> {
  const texts = samples.map(({ graph, options }, number) => {
    try {
      const made = textFor(graph, options);
      return { ...made, text: renamed(made.text, number) };
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ERR_WARPLOOM_UNSUPPORTED') return undefined;
      throw error;
    }
  });
  const some = texts.filter((each) => each !== undefined);
  const module = await device.module({
    source: some.map(({ text }) => text.source).join('\n'), kernels: some.map(({ text }) => text.kernel),
    headers: { 'arithmetic.h': arithmeticHeader() },
  });
  return Promise.all(texts.map(async (made, i) => {
    const { graph, options } = samples[i]!;
    return made === undefined ? undefined : poisoned(await PipelinedGpu.with(graph, made.text, device, module, made.choice, options));
  }));
}

/** Another schedule for a program that was compiled. */
export async function rescheduled(device: Device, graph: StreamGraph, options: PipelineOptions): Promise<PipelinedGpu> {
  return poisoned(await PipelinedGpu.compileFor(graph, device, options));
}

/** Fills all channels with numbers that no program makes. */
export async function poisoned(compiled: PipelinedGpu): Promise<PipelinedGpu> {
  await compiled.arena.write(new Int32Array(compiled.arena.length).fill(0x7fc0dead | 0));
  return compiled;
}

/** A program whose text or schedule is changed before it runs. */
export async function changed(device: Device, graph: StreamGraph, options: PipelineOptions, how: {
  readonly text?: (source: string) => string; readonly schedule?: (schedule: DeviceSchedule) => DeviceSchedule;
}): Promise<PipelinedGpu> {
  const { text, choice } = textFor(graph, options);
  const source = how.text?.(text.source) ?? text.source;
  assert.ok(how.text === undefined || source !== text.source, 'nothing was changed');
  const module = await device.module({
    source, kernels: [text.kernel], headers: { 'arithmetic.h': arithmeticHeader() },
  });
  return poisoned(await PipelinedGpu.with(graph, text, device, module, choice, options, how.schedule));
}
