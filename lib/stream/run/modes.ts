// Compiles a program for a device, by whatever mode.
import type { Device } from '../../core/device.ts';
import type { StreamGraph } from '../graph.ts';
import { isHybridMode, type DeviceMode } from './backends.ts';
import { CompiledGpu } from './gpu.ts';
import type { LinkCosts } from './hybrid-costs.ts';
import type { PipelineOptions } from './gpu-pipelined.ts';

/** What `compileForDevice` passes on; all but `fast` and `signal` are for the modes of chapters 3 and 4. */
export interface ModeOptions extends Omit<PipelineOptions, 'mode' | 'width'> {
  readonly mode: DeviceMode;
  readonly layout?: 'block' | 'warp' | undefined;
  readonly cores?: number | undefined;
  readonly costs?: readonly number[] | undefined;
  readonly link?: Partial<LinkCosts> | undefined;
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
  const width = layout === undefined ? {} : { width: widthOf(layout) };
  if (isHybridMode(mode)) {
    const { HybridGpu } = await import('./hybrid.ts');
    return HybridGpu.compileFor(graph, device, { ...options, mode, ...width });
  }
  return PipelinedGpu.compileFor(graph, device, { ...options, mode, ...width });
}
