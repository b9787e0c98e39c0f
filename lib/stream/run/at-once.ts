// Runs that begin before `stream.run` returns: on-device.ts begins them, once it is loaded.
import type { StreamGraph } from '../graph.ts';
import type { Begun, DeviceRequest } from './on-device.ts';

/** What begins a run on an input that is the caller's; undefined where none has been on a device yet. */
export const atOnce: {
  begin?: (graph: StreamGraph, backend: string, input: unknown, request: DeviceRequest) => Begun | undefined;
} = {};
