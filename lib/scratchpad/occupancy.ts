// How many blocks of a kernel a multiprocessor holds, by the rules of the CUDA occupancy calculator.
// Limits by architecture: CUDA C++ Programming Guide, technical specifications per compute capability; allocation units and
// carve-outs: the toolkit's cuda_occupancy.h, against which test/scratchpad/occupancy.test.ts compares.
import { describeValue, isObject } from '../core/arrays.ts';
import { whole } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../core/options.ts';

/** Limits of one multiprocessor. Bytes where nothing else is said. */
export interface Multiprocessor {
  /** Resident threads; warps are these by 32. */
  readonly threads: number;
  /** Resident blocks. */
  readonly blocks: number;
  /** 32-bit registers; given out by 256 to a warp, in four equal parts. */
  readonly registers: number;
  /** Shared memory of the multiprocessor at the largest carve-out. */
  readonly shared: number;
  /** Shared memory one block may ask for at most. */
  readonly sharedPerBlock: number;
  /** Shared memory that the system keeps per block. */
  readonly sharedReserve: number;
  /** Unit in which a block gets its shared memory. */
  readonly sharedUnit: number;
  /** Sizes of shared memory that the multiprocessor can be set to, ascending; the rest is L1 cache. */
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

/** What a kernel asks for. */
export interface KernelResources {
  /** Threads of a block, 1 to 1024. */
  readonly threads: number;
  /** Registers of a thread as ptxas reports them. Default 32. */
  readonly registers?: number;
  /** Shared memory of a block in bytes, static and dynamic together. Default 0. */
  readonly sharedBytes?: number;
  /** Shared memory asked for as carve-out, bytes; the next size the architecture has is taken. Default: the largest. */
  readonly carveout?: number;
}

/** What limits the number of resident blocks. */
export type Limiter = 'threads' | 'blocks' | 'registers' | 'shared';

/** Residency of a kernel on one multiprocessor. */
export interface Occupancy {
  readonly architecture: Architecture;
  /** Blocks resident at a time; 0: the kernel cannot be launched. */
  readonly blocks: number;
  /** Warps resident at a time. */
  readonly warps: number;
  /** Resident warps by the most there can be, 0 to 1. */
  readonly occupancy: number;
  /** What allows the fewest blocks; of several, the first of shared, registers, threads, blocks. */
  readonly limiter: Limiter;
  /** Blocks that each resource alone would allow; Infinity where the kernel needs none of it. */
  readonly limits: Readonly<Record<Limiter, number>>;
  /** Shared memory that a block takes up: with the system's reserve, rounded up to the unit. */
  readonly allocatedShared: number;
}

const partitions = 4;
const registerUnit = 256;
const maxRegisters = 255;

const ceilTo = (value: number, unit: number): number => Math.ceil(value / unit) * unit;

/** Registers are given to warps, and each quarter of the multiprocessor has a quarter of them. */
function byRegisters(limits: Multiprocessor, warps: number, perThread: number): number {
  if (perThread === 0) return Infinity;
  const perWarp = ceilTo(perThread * 32, registerUnit);
  // The launch check takes warps by the four quarters.
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
 * Blocks of a kernel that a multiprocessor holds at a time, as cudaOccupancyMaxActiveBlocksPerMultiprocessor counts them.
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
