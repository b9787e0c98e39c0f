// Compiles a program for a device, by whatever mode.
import type { Device } from '../../core/device.ts';
import type { StreamGraph } from '../graph.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { isHybridMode, type DeviceMode } from './backends.ts';
import { compileFused } from './fused.ts';
import type { CompiledGpu } from './gpu.ts';
import type { LinkCosts } from './hybrid-costs.ts';
import type { PipelineOptions } from './gpu-pipelined.ts';

/** What `compileForDevice` passes on; all but `fast` and `signal` are for the modes of chapters 3 and 4. */
export interface ModeOptions extends Omit<PipelineOptions, 'mode' | 'width'> {
  readonly mode: DeviceMode;
  readonly layout?: 'block' | 'warp' | undefined;
  readonly cores?: number | undefined;
  readonly costs?: readonly number[] | undefined;
  readonly link?: Partial<LinkCosts> | undefined;
  /** With mode `fused`, false: layouts are not timed. */
  readonly search?: boolean | undefined;
  /** With mode `fused`: takes the program in faster layouts that are found later. */
  readonly better?: ((compiled: CompiledGpu) => void) | undefined;
  /** With mode `fused`: programs that only firings in order can run are compiled by mode `swp`. */
  readonly inOrder?: boolean | undefined;
}

/** Throws as {@link compileFused} does. */
export async function compileMode(
  graph: StreamGraph, device: Device, { mode, layout, search, better, inOrder = false, ...options }: ModeOptions,
): Promise<CompiledGpu> {
  if (mode === 'fused') {
    const { fast, signal } = options;
    const fused = compileFused(graph, device, { fast, signal, search, better });
    return inOrder ? fused.catch((error: unknown) => inOrderAfter(error, graph, device, { fast, signal })) : fused;
  }
  const { PipelinedGpu, widthOf } = await import('./gpu-pipelined.ts');
  const width = layout === undefined ? {} : { width: widthOf(layout) };
  if (isHybridMode(mode)) {
    const { HybridGpu } = await import('./hybrid.ts');
    return HybridGpu.compileFor(graph, device, { ...options, mode, search, ...width });
  }
  return PipelinedGpu.compileFor(graph, device, { ...options, launch: options.launch ?? 'auto', mode, ...width });
}

/** A program that was refused as one kernel, by mode `swp` if that is because firings must follow each other; else throws the refusal. */
async function inOrderAfter(
  refused: unknown, graph: StreamGraph, device: Device, options: Pick<ModeOptions, 'fast' | 'signal'>,
): Promise<CompiledGpu> {
  if (!(refused instanceof UnsupportedProgram)) throw refused;
  const { PipelinedGpu, isInOrder } = await import('./gpu-pipelined.ts');
  if (!isInOrder(graph)) throw refused;
  return PipelinedGpu.compileFor(graph, device, { ...options, mode: 'swp', launch: 'auto' });
}
