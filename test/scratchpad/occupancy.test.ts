// Residency against the toolkit's own calculator and against what one H200 reported.
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { ArgumentError } from '../../lib/core/errors.ts';
import { architectures, multiprocessors, occupancy, type Architecture } from '../../lib/kernel/occupancy.ts';

type Row = [threads: number, registers: number, sharedBytes: number, carveout: number | undefined, blocks: number];

/** Blocks per multiprocessor that cuda_occupancy.h of CUDA 13.0 gives. */
const calculator: Record<Architecture, Row[]> = {
  sm_70: [[1, 200, 101376, 43253, 0], [64, 96, 6192, 57016, 10], [160, 128, 68944, 43253, 1], [64, 16, 100, 28508, 32],
    [1, 8, 32768, 70778, 3], [512, 56, 100, 98304, 2], [1, 96, 1023, 28508, 20], [32, 33, 16000, undefined, 6]],
  sm_72: [[160, 96, 1, 98304, 4], [512, 64, 232448, 28508, 0], [32, 48, 6192, 43253, 10], [128, 40, 1023, 28508, 12],
    [96, 255, 1024, 70778, 2], [1, 80, 100, 28508, 24], [128, 168, 85024, undefined, 1], [128, 56, 8224, 98304, 9]],
  sm_75: [[128, 200, 1, 9830, 2], [64, 255, 1023, 0, 4], [128, 24, 85024, 9830, 0], [96, 168, 18048, 19005, 1],
    [32, 8, 1024, 0, 16], [96, 48, 8224, 0, 3], [160, 56, 8224, undefined, 6], [64, 80, 3888, 5242, 8]],
  sm_80: [[1, 40, 16000, 73891, 6], [512, 64, 16000, 73891, 2], [1, 127, 1, 120913, 16], [1, 63, 6192, 73891, 14],
    [64, 1, 97280, 0, 1], [64, 63, 300000, 167936, 0], [96, 24, 32768, 97402, 3], [160, 56, 1, 167936, 7]],
  sm_86: [[160, 80, 1023, 8192, 4], [512, 40, 101376, 59392, 1], [512, 127, 166912, 45056, 0], [32, 96, 100, 0, 7],
    [64, 16, 100, 15360, 14], [96, 47, 6192, 45056, 8], [160, 47, 49152, 102400, 2], [128, 32, 1023, 102400, 12]],
  sm_87: [[64, 32, 16000, 0, 1], [1, 48, 1024, 13434, 8], [512, 47, 1024, 120913, 2], [96, 127, 100, 97402, 5],
    [160, 127, 1, undefined, 3], [256, 64, 100, 48701, 4], [512, 200, 101377, undefined, 0], [128, 64, 18048, 120913, 7]],
  sm_89: [[1, 33, 18048, 45056, 3], [160, 64, 64560, 45056, 1], [64, 24, 16000, 102400, 6], [32, 255, 232449, 15360, 0],
    [1, 64, 1, 73728, 24], [96, 24, 1023, undefined, 16], [1, 168, 1, undefined, 12], [1, 200, 1024, 8192, 4]],
  sm_90: [[1024, 32, 300000, undefined, 0], [160, 200, 101376, 35020, 1], [640, 1, 99000, undefined, 2], [96, 8, 1024, 67706, 21],
    [512, 24, 1, 102727, 4], [64, 47, 3888, 102727, 20], [64, 16, 1, 67706, 32], [128, 40, 32768, 67706, 3]],
  sm_100: [[96, 200, 1, 67706, 2], [128, 127, 1024, 67706, 4], [128, 128, 101376, 102727, 1], [256, 72, 49152, undefined, 3],
    [32, 16, 3888, 67706, 20], [96, 1, 1024, 35020, 21], [1, 33, 3888, 18677, 6], [32, 56, 100, 18677, 28]],
  sm_103: [[64, 33, 101376, undefined, 2], [160, 128, 97280, 102727, 1], [512, 96, 300000, 233472, 0], [512, 33, 8224, 168099, 3],
    [96, 127, 1024, 168099, 5], [512, 1, 49152, 168099, 4], [32, 24, 1024, 18677, 16], [128, 63, 1, 35020, 8]],
  sm_110: [[256, 16, 98304, 135413, 1], [160, 129, 100, 135413, 2], [128, 24, 1024, 67706, 12], [512, 1, 1023, 35020, 3],
    [64, 168, 1023, 0, 4], [128, 40, 300000, 18677, 0], [160, 63, 16000, undefined, 6], [1, 63, 1, 168099, 24]],
  sm_120: [[256, 255, 3888, 0, 1], [32, 24, 166913, 73728, 0], [32, 48, 8224, 45056, 7], [160, 24, 3888, 102400, 9],
    [1, 96, 1024, 73728, 20], [96, 40, 3888, 73728, 16], [96, 63, 49152, 102400, 2], [64, 48, 6192, 59392, 8]],
  sm_121: [[128, 48, 1, 15360, 10], [1, 129, 99000, 102400, 1], [544, 255, 1024, undefined, 0], [256, 128, 32768, undefined, 2],
    [64, 56, 18048, 59392, 3], [96, 32, 100, 8192, 7], [96, 32, 100, 29696, 16], [64, 48, 16000, 73728, 6]],
};

/** Kernels that ran on an H200, with what cudaOccupancyMaxActiveBlocksPerMultiprocessor said: carve-outs in percent of 228 KiB. */
const measured: [threads: number, registers: number, sharedBytes: number, percent: number | undefined, blocks: number, occupancy: number][] = [
  [256, 40, 18048, undefined, 6, 0.75], [256, 40, 16000, undefined, 6, 0.75], [256, 40, 14160, undefined, 6, 0.75],
  [512, 40, 78160, undefined, 2, 0.5], [512, 40, 68944, undefined, 3, 0.75], [512, 40, 64560, undefined, 3, 0.75],
  [512, 37, 85024, undefined, 2, 0.5], [512, 37, 68384, undefined, 3, 0.75], [384, 34, 8224, undefined, 4, 0.75],
  [256, 40, 18048, 8, 1, 0.125], [256, 40, 18048, 15, 3, 0.375], [256, 40, 18048, 29, 5, 0.625], [256, 40, 16000, 29, 6, 0.75],
  [256, 34, 5920, 8, 4, 0.5], [256, 34, 4832, 8, 5, 0.625], [256, 34, 5920, 15, 6, 0.75],
];

describe('occupancy model', () => {
  it('gives what the toolkit\'s calculator gives on every architecture', () => {
    deepStrictEqual(Object.keys(calculator).sort(), [...architectures].sort());
    for (const [architecture, rows] of Object.entries(calculator)) {
      for (const [threads, registers, sharedBytes, carveout, blocks] of rows) {
        const found = occupancy({ threads, registers, sharedBytes, carveout }, architecture as Architecture);
        strictEqual(found.blocks, blocks, `${architecture}: ${threads} threads, ${registers} registers, ${sharedBytes} B, ${carveout}`);
      }
    }
  });

  it('gives what an H200 reported', () => {
    for (const [threads, registers, sharedBytes, percent, blocks, fraction] of measured) {
      const carveout = percent === undefined ? undefined : Math.floor(multiprocessors.sm_90.shared * percent / 100);
      const found = occupancy({ threads, registers, sharedBytes, carveout });
      strictEqual(found.blocks, blocks, `${threads} threads, ${registers} registers, ${sharedBytes} B, ${percent} %`);
      strictEqual(found.occupancy, fraction);
      strictEqual(found.warps, blocks * threads / 32);
    }
  });

  it('names the limiter', () => {
    strictEqual(occupancy({ threads: 1024, registers: 16 }).limiter, 'threads');
    strictEqual(occupancy({ threads: 32, registers: 16 }).limiter, 'blocks');
    strictEqual(occupancy({ threads: 256, registers: 40 }).limiter, 'registers');
    strictEqual(occupancy({ threads: 256, registers: 40, sharedBytes: 60_000 }).limiter, 'shared');
    const big = occupancy({ threads: 256, sharedBytes: 232_449 });
    ok(big.blocks === 0 && big.limiter === 'shared' && big.occupancy === 0);
    strictEqual(occupancy({ threads: 128 }, 'sm_70').limits.shared, Infinity);
    strictEqual(occupancy({ threads: 64, sharedBytes: 100 }).allocatedShared, 1152);
  });

  it('refuses what it does not know', () => {
    const blames = (argument: string, call: () => unknown) => throws(call, (error: unknown) => error instanceof ArgumentError && error.argument === argument);
    for (const threads of [0, 1025, 1.5, NaN, '32', undefined]) blames('threads', () => occupancy({ threads } as never));
    for (const registers of [-1, 1.5, '32', null]) blames('registers', () => occupancy({ threads: 32, registers } as never));
    for (const sharedBytes of [-1, 0.5, Infinity]) blames('sharedBytes', () => occupancy({ threads: 32, sharedBytes }));
    for (const carveout of [-1, 0.5, 'max']) blames('carveout', () => occupancy({ threads: 32, carveout } as never));
    for (const name of ['sm_60', 'SM_90', '', 90]) blames('architecture', () => occupancy({ threads: 32 }, name as never));
    blames('kernel', () => occupancy(undefined as never));
  });
});
