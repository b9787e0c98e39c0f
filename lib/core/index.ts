// What every part of the package uses: devices, arrays on them, errors.
export { defaultDevice, Device, DeviceArray, openDevice } from './device.ts';
export type { OpenDeviceOptions, RunResult } from './device.ts';
export { Batcher } from './batching/batcher.ts';
export type { AsyncFunction, BatchDevice, BatcherLoad } from './batching/batcher.ts';
export type { BatcherOptions, QueuedCallOptions, QueuedRunOptions } from './batching/options.ts';
export { DevicePool, openPool } from './pool.ts';
export type { PoolMember, PoolOptions } from './pool.ts';
export { devices } from './devices.ts';
export { DeviceModule } from './module.ts';
export type { Kernel, KernelArgument, LaunchAllOptions, LaunchOptions, LaunchResult, ListedLaunch } from './module.ts';
export type { ModuleOptions } from './module-options.ts';
export { version } from './version.ts';
export type { MimeBundle } from './display.ts';
export type { BackendName, DeviceDescription, MemoryUse } from './binding.ts';
export type { ArrayOf, ElementType, KindOf, TypedArray } from './arrays.ts';
export type { Parameters } from './pack.ts';
export type { OperationName, Reports } from './operations.gen.ts';
export type { ReportOf } from './report.ts';
export type { Rows } from './rows.ts';
export type { CallInfo, Reals, RealType } from './call.ts';
export type { CallOptions, ProgressCallback } from './progress.ts';
export type { BatchTrace, QueueTrace, RunTrace, TransferTrace } from './diagnostics.ts';
export {
  ArgumentError, CheckpointError, DeviceLostError, DisposedError, FileError, FunctionError, InstabilityError, ModuleError, OutOfMemoryError,
  QueueFullError, UnavailableError, WarploomError,
} from './errors.ts';
export type {
  ArgumentErrorOptions, CheckpointErrorDetails, ErrorCode, FileErrorDetails, FunctionErrorDetails, ModuleErrorDetails,
} from './errors.ts';
