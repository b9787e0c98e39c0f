// The configurations that the registers and threads of a device allow, which are profiled (section 3.4, Table 2.1).
import { requireCount, requireText } from '../../core/checks.ts';
import { requireCounts, requireFields, requireList } from '../require.ts';

/** Limits of a GPU, as reported by its driver. */
export interface GpuProperties {
  readonly name: string;
  readonly multiprocessors: number;
  /** 32-bit registers of a multiprocessor. */
  readonly registers: number;
  /** Maximum number of registers per thread. */
  readonly registersPerThread: number;
  /** The unit in which registers are allocated to warps. */
  readonly registerUnit: number;
  /** Maximum number of threads per multiprocessor and per block. */
  readonly threads: number;
  readonly threadsPerBlock: number;
  /** Shared memory of a multiprocessor and the maximum for one block, in bytes. */
  readonly sharedBytes: number;
  readonly sharedBytesPerBlock: number;
  /** Device memory in bytes. */
  readonly memoryBytes: number;
}

/** The resources that a block of a kernel needs. */
export interface BlockNeeds {
  readonly threads: number;
  /** Registers per thread, as compiled. */
  readonly registers: number;
  readonly sharedBytes: number;
}

const kWarp = 32;
const fields = [
  'multiprocessors', 'registers', 'registersPerThread', 'registerUnit', 'threads', 'threadsPerBlock', 'sharedBytes', 'sharedBytesPerBlock',
  'memoryBytes',
] as const;

/** Throws {@link ArgumentError} unless all limits of a device are given. */
export function checkGpuProperties(device: GpuProperties): void {
  requireFields('device', device, 'the limits of a GPU');
  requireText(device.name, 'device.name');
  for (const field of fields) requireCount(device[field], `device.${field}`, field.startsWith('shared') ? 0 : 1);
}

const upTo = (count: number, unit: number): number => Math.ceil(count / unit) * unit;

/** The number of blocks that one multiprocessor can run at a time; 0 if none fits, which Algorithm 1 records as ∞. */
export function residentBlocks(device: GpuProperties, needs: BlockNeeds): number {
  checkGpuProperties(device);
  requireFields('needs', needs, 'threads, registers and sharedBytes of a block');
  const { threads, registers, sharedBytes } = needs;
  requireCount(threads, 'needs.threads', 1);
  requireCount(registers, 'needs.registers', 0);
  requireCount(sharedBytes, 'needs.sharedBytes', 0);
  if (threads > device.threadsPerBlock || registers > device.registersPerThread || sharedBytes > device.sharedBytesPerBlock) return 0;
  const warps = Math.ceil(threads / kWarp);
  const byRegisters = registers === 0 ? Infinity : Math.floor(device.registers / (upTo(registers * kWarp, device.registerUnit) * warps));
  const byShared = sharedBytes === 0 ? Infinity : Math.floor(device.sharedBytes / sharedBytes);
  return Math.min(Math.floor(device.threads / (warps * kWarp)), byRegisters, byShared);
}

/** Block sizes that are profiled: those of the thesis, and those that newer GPUs allow. */
export const blockSizes: readonly number[] = [128, 256, 384, 512, 768, 1024];

/**
 * Limits on the registers per thread with which blocks of these sizes can run (16, 20, 32 and 64 on the thesis's GPU), ascending. A block
 * of t threads can use `registers` / t for each thread, rounded down to whole units of a warp.
 */
export function registerLimits(device: GpuProperties, sizes: readonly number[] = blockSizes): number[] {
  checkGpuProperties(device);
  requireList('sizes', sizes, 'numbers of threads');
  requireCounts('sizes', sizes, sizes.length, 1);
  const unit = Math.max(1, device.registerUnit / kWarp);
  const limits = sizes.filter((threads) => threads <= device.threadsPerBlock).map((threads) =>
    Math.min(device.registersPerThread, Math.floor(device.registers / upTo(threads, kWarp) / unit) * unit));
  return [...new Set(limits)].filter((limit) => limit > 0).sort((a, b) => a - b);
}
