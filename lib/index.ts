// Warploom: GPU numerics for Node. All public names, and nothing else.
export { defaultDevice, Device, devices, openDevice } from './core/device.ts';
export type { OpenDeviceOptions, RunResult } from './core/device.ts';
export { DeviceArray } from './core/device-array.ts';
export { packageVersion as version } from './core/binding.ts';
export type { BackendName, DeviceDescription, MemoryUse } from './core/binding.ts';
export type { ElementType, TypedArray } from './core/arrays.ts';
export type { Parameters } from './core/pack.ts';
export type { CallOptions, ProgressCallback } from './core/progress.ts';
export type { RunTrace, TransferTrace } from './core/diagnostics.ts';
export {
  ArgumentError, CheckpointError, DeviceLostError, DisposedError, FileError, InstabilityError, OutOfMemoryError, QueueFullError,
  UnavailableError, WarploomError,
} from './core/errors.ts';
export type { ArgumentErrorOptions, CheckpointErrorDetails, ErrorCode, FileErrorDetails } from './core/errors.ts';
export * as tridiagonal from './tridiagonal/index.ts';
export { scan } from './scan/index.ts';
export type { ScanAlgorithm, ScanArray, ScanDepth, ScanOperator, ScanOptions, ScanResult } from './scan/index.ts';
export * as swept from './swept/index.ts';
export * as imaging from './imaging/index.ts';
export * as files from './files/index.ts';
export * as scratchpad from './scratchpad/index.ts';
export * as stream from './stream/index.ts';
export * as jobs from './jobs/index.ts';
