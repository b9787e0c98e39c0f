// Runs on a device, seen from `stream.run`, and what begins them before it returns: on-device.ts, once it is loaded.
import type { Device } from '../../core/device.ts';
import type { StreamGraph } from '../graph.ts';
import type { DeviceBackend, DeviceMode } from './backends.ts';
import type { GpuRunOptions, GpuWork } from './gpu-types.ts';
import type { RunResult } from './prepare.ts';

/** The options of a run on a device. */
export interface DeviceRequest extends GpuRunOptions {
  readonly input?: ArrayLike<number> | undefined;
  readonly device?: Device | undefined;
  readonly fast?: boolean | undefined;
  readonly mode?: DeviceMode | undefined;
}

/** The result of a run on a device, or the reason why the device cannot run the program. */
export type DeviceRun =
  | { readonly made: RunResult & GpuWork; readonly backend: DeviceBackend }
  | { readonly reason: string };

/** A run that has begun. */
export interface Begun {
  readonly backend: DeviceBackend;
  readonly done: Promise<DeviceRun>;
  /** A copy of the input. */
  readonly input: ArrayLike<number>;
  /** Gives back what the run had. */
  readonly drop: () => void;
}

/** What begins a run on an input that is the caller's; undefined where none has been on a device yet. */
export const atOnce: {
  begin?: (graph: StreamGraph, backend: string, input: unknown, request: DeviceRequest) => Begun | undefined;
} = {};
