// Compiles a program for a device, by whatever mode.
import type { Device } from '../../core/device.ts';
import type { StreamGraph } from '../graph.ts';
import type { DeviceMode } from './backends.ts';
import { CompiledGpu } from './gpu.ts';
import type { PipelineOptions } from './gpu-pipelined.ts';

/** What `compileForDevice` passes on; all but `fast` and `signal` are for the modes of chapter 3. */
export interface ModeOptions extends Omit<PipelineOptions, 'mode' | 'width'> {
  readonly mode: DeviceMode;
  readonly layout?: 'block' | 'warp' | undefined;
}

/** Throws as {@link CompiledGpu.compile} does. */
export async function compileMode(graph: StreamGraph, device: Device, { mode, layout, ...options }: ModeOptions): Promise<CompiledGpu> {
  const { fast, signal } = options;
  if (mode === 'fused') {
    return CompiledGpu.compile(graph, device, {
      ...(fast === undefined ? {} : { fast }), ...(signal === undefined ? {} : { signal }),
    });
  }
  const { PipelinedGpu, widthOf } = await import('./gpu-pipelined.ts');
  return PipelinedGpu.compileFor(graph, device, { ...options, mode, ...(layout === undefined ? {} : { width: widthOf(layout) }) });
}
