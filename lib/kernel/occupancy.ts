// How many blocks of a kernel a multiprocessor holds, by the rules of the CUDA occupancy calculator. Limits by architecture are from the
// CUDA C++ Programming Guide, technical specifications per compute capability; allocation units and carve-outs from the toolkit's
// cuda_occupancy.h, with which test/scratchpad/occupancy.test.ts compares the results.
import { describeValue, isObject } from '../core/arrays.ts';
import { whole } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../core/options.ts';

/** Limits of one multiprocessor. Sizes are in bytes unless stated otherwise. */
export interface Multiprocessor {
  /** Resident threads; 32 of them form a warp. */
  readonly threads: number;
  /** Resident blocks. */
  readonly blocks: number;
  /** 32-bit registers; allocated to warps in units of 256, in four equal partitions. */
  readonly registers: number;
  /** Shared memory of the multiprocessor at the largest carve-out. */
  readonly shared: number;
  /** The maximum shared memory per block. */
  readonly sharedPerBlock: number;
  /** Shared memory that the system reserves per block. */
  readonly sharedReserve: number;
  /** Allocation unit of a block's shared memory. */
  readonly sharedUnit: number;
  /** Configurable sizes of shared memory, ascending; the rest is L1 cache. */
  readonly carveouts: readonly number[];
}

const kib = (...sizes: number[]): number[] => sizes.map((size) => size * 1024);
const registers = 65536;
const volta = { registers, sharedReserve: 0, sharedUnit: 256 };
const ampere = { registers, sharedReserve: 1024, sharedUnit: 128 };
const small = { shared: 102_400, sharedPerBlock: 101_376, carveouts: kib(0, 8, 16, 32, 64, 100) };
const middle = { shared: 167_936, sharedPerBlock: 166_912, carveouts: kib(0, 8, 16, 32, 64, 100, 132, 164) };
const large = { shared: 233_472, sharedPerBlock: 232_448, carveouts: kib(0, 8, 16, 32, 64, 100, 132, 164, 196, 228) };

/** Limits by architecture. */
export const multiprocessors = {
  sm_70: { ...volta, threads: 2048, blocks: 32, shared: 98_304, sharedPerBlock: 98_304, carveouts: kib(0, 8, 16, 32, 64, 96) },
  sm_72: { ...volta, threads: 2048, blocks: 32, shared: 98_304, sharedPerBlock: 98_304, carveouts: kib(0, 8, 16, 32, 64, 96) },
  sm_75: { ...volta, threads: 1024, blocks: 16, shared: 65_536, sharedPerBlock: 65_536, carveouts: kib(32, 64) },
  sm_80: { ...ampere, ...middle, threads: 2048, blocks: 32 },
  sm_86: { ...ampere, ...small, threads: 1536, blocks: 16 },
  sm_87: { ...ampere, ...middle, threads: 1536, blocks: 16 },
  sm_89: { ...ampere, ...small, threads: 1536, blocks: 24 },
  sm_90: { ...ampere, ...large, threads: 2048, blocks: 32 },
  sm_100: { ...ampere, ...large, threads: 2048, blocks: 32 },
  sm_103: { ...ampere, ...large, threads: 2048, blocks: 32 },
  sm_110: { ...ampere, ...large, threads: 1536, blocks: 24 },
  sm_120: { ...ampere, ...small, threads: 1536, blocks: 24 },
  sm_121: { ...ampere, ...small, threads: 1536, blocks: 24 },
} as const satisfies Readonly<Record<string, Multiprocessor>>;

/** Architectures of {@link occupancy}. */
export type Architecture = keyof typeof multiprocessors;
/** Names of {@link Architecture}. */
export const architectures = Object.keys(multiprocessors) as readonly Architecture[];

/** The resources that a kernel needs. */
export interface KernelResources {
  /** Threads per block, 1 to 1024. */
  readonly threads: number;
  /** Registers per thread as reported by ptxas. Default 32. */
  readonly registers?: number;
  /** Shared memory per block in bytes, static and dynamic together. Default 0. */
  readonly sharedBytes?: number;
  /** Requested carve-out of shared memory in bytes; the architecture's next larger size is used. Default: the largest. */
  readonly carveout?: number;
}

/** What limits the number of resident blocks. */
export type Limiter = 'threads' | 'blocks' | 'registers' | 'shared';

/** Residency of a kernel on one multiprocessor. */
export interface Occupancy {
  readonly architecture: Architecture;
  /** Number of resident blocks; 0 if the kernel cannot be launched. */
  readonly blocks: number;
  /** Number of resident warps. */
  readonly warps: number;
  /** Resident warps divided by the maximum, 0 to 1. */
  readonly occupancy: number;
  /** The resource that allows the fewest blocks; in case of a tie, the first of shared, registers, threads, blocks. */
  readonly limiter: Limiter;
  /** Blocks that each resource alone would allow; Infinity if the kernel does not use it. */
  readonly limits: Readonly<Record<Limiter, number>>;
  /** Shared memory allocated per block, including the system's reserve, rounded up to the unit. */
  readonly allocatedShared: number;
}

const partitions = 4;
const registerUnit = 256;
const maxRegisters = 255;

const ceilTo = (value: number, unit: number): number => Math.ceil(value / unit) * unit;

/** Registers are allocated to warps, and each of the multiprocessor's four partitions has a quarter of them. */
function byRegisters(limits: Multiprocessor, warps: number, perThread: number): number {
  if (perThread === 0) return Infinity;
  const perWarp = ceilTo(perThread * 32, registerUnit);
  // The launch check rounds the number of warps up to a multiple of four.
  if (perThread > maxRegisters || perWarp * ceilTo(warps, partitions) > limits.registers) return 0;
  return Math.floor(Math.floor(limits.registers / partitions / perWarp) * partitions / warps);
}

function byShared(limits: Multiprocessor, allocated: number, carveout: number | undefined): number {
  if (allocated === 0) return Infinity;
  if (allocated > limits.sharedPerBlock + limits.sharedReserve) return 0;
  const wanted = carveout === undefined ? limits.shared : Math.max(carveout, allocated);
  return Math.floor((limits.carveouts.find((size) => size >= wanted) ?? limits.shared) / allocated);
}

const resources = optionsOf('scratchpad.occupancy', {
  threads: needed(whole(1, 1024)), registers: normally(whole(0, 1024), 32), sharedBytes: normally(whole(0, 2 ** 40), 0),
  carveout: whole(0, 2 ** 40),
} satisfies ChecksOf<KernelResources>);

/**
 * How many blocks of a kernel are resident on a multiprocessor, as computed by cudaOccupancyMaxActiveBlocksPerMultiprocessor.
 * @param architecture default sm_90 (H100, H200)
 * @throws ArgumentError naming the field
 */
export function occupancy(kernel: KernelResources, architecture: Architecture = 'sm_90'): Occupancy {
  if (!architectures.includes(architecture)) {
    throw refusal('architecture', `one of ${architectures.join(', ')}`, describeValue(architecture));
  }
  if (!isObject(kernel)) throw refusal('kernel', 'an object { threads }', describeValue(kernel));
  const { threads, registers: perThread, sharedBytes, carveout } = resources.read(kernel);
  const multiprocessor: Multiprocessor = multiprocessors[architecture];
  const warps = Math.ceil(threads / 32);
  const allocatedShared = ceilTo(sharedBytes + multiprocessor.sharedReserve, multiprocessor.sharedUnit);
  const limits = {
    shared: byShared(multiprocessor, allocatedShared, carveout),
    registers: byRegisters(multiprocessor, warps, perThread),
    threads: Math.floor(multiprocessor.threads / 32 / warps),
    blocks: multiprocessor.blocks,
  };
  const blocks = Math.min(...Object.values(limits));
  const limiter = required((Object.keys(limits) as Limiter[]).find((name) => limits[name] === blocks));
  return {
    architecture, blocks, warps: blocks * warps, occupancy: blocks * warps * 32 / multiprocessor.threads, limiter, limits, allocatedShared,
  };
}
