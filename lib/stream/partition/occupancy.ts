// What a device's registers and threads allow: the configurations that are profiled (section 3.4, Table 2.1).
import { requireCount, requireText } from '../../core/checks.ts';
import { requireCounts, requireFields, requireList } from '../require.ts';

/** Limits of a GPU, as its driver states them. */
export interface GpuProperties {
  readonly name: string;
  readonly multiprocessors: number;
  /** 32-bit registers of a multiprocessor. */
  readonly registers: number;
  /** Registers one thread can use at most. */
  readonly registersPerThread: number;
  /** Registers of a warp are given out in units of this. */
  readonly registerUnit: number;
  /** Threads that a multiprocessor, and that a block, holds at most. */
  readonly threads: number;
  readonly threadsPerBlock: number;
  /** Shared memory of a multiprocessor, and what a block can have of it, in bytes. */
  readonly sharedBytes: number;
  readonly sharedBytesPerBlock: number;
  /** Device memory in bytes. */
  readonly memoryBytes: number;
}

/** What a block of a kernel needs. */
export interface BlockNeeds {
  readonly threads: number;
  /** Registers of a thread, as compiled. */
  readonly registers: number;
  readonly sharedBytes: number;
}

const kWarp = 32;
const fields = [
  'multiprocessors', 'registers', 'registersPerThread', 'registerUnit', 'threads', 'threadsPerBlock', 'sharedBytes', 'sharedBytesPerBlock',
  'memoryBytes',
] as const;

/** Throws {@link ArgumentError} unless a device's limits are all there. */
export function checkGpuProperties(device: GpuProperties): void {
  requireFields('device', device, 'the limits of a GPU');
  requireText(device.name, 'device.name');
  for (const field of fields) requireCount(device[field], `device.${field}`, field.startsWith('shared') ? 0 : 1);
}

const upTo = (count: number, unit: number): number => Math.ceil(count / unit) * unit;

/** Blocks of a kernel that one multiprocessor holds at a time; 0: it cannot run, which Algorithm 1 records as ∞. */
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

/** Sizes of blocks that are profiled: the thesis's, and what GPUs hold since. */
export const blockSizes: readonly number[] = [128, 256, 384, 512, 768, 1024];

/**
 * Limits on the registers of a thread that let blocks of these sizes run (16, 20, 32 and 64 on the thesis's GPU), ascending. Of a
 * device with `registers` in a multiprocessor, a block of t threads can use registers / t for each, in whole units of a warp.
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
