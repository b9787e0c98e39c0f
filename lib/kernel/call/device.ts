// Functions on devices: their modules, and launches of them.
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import type { DeviceModule, KernelArgument, ListedLaunch } from '../../core/module.ts';
import { arithmeticHeader } from '../print/c-family.ts';
import { deviceText, kernelNames, mapThreads, type DeviceRequest, type DeviceText } from './device-text.ts';
import { elementAt } from '../../core/known.ts';
import { stepsOf, type Operand, type Steps, type View } from './operands.ts';
import { reducedItems, reduceValues, type Combination } from './order.ts';

/** A function's kernels, compiled for a device. */
export interface DeviceKernels {
  readonly text: DeviceText;
  readonly module: DeviceModule;
}

/** Compiles kernels. */
export async function compileForDevice(device: Device, request: DeviceRequest): Promise<DeviceKernels> {
  const text = deviceText(request);
  const module = await device.module({ source: text.source, kernels: text.kernels, headers: { 'arithmetic.h': arithmeticHeader() } });
  return { text, module };
}

/** Blocks that reduce, for each multiprocessor: more would not be faster. Maps have a block for each tile, which is. */
const reducingEach = 32;
const mostBlocks = 2 ** 30;

/** The arguments of a launch: see ArrayParameters of cuda/kernel/map.cuh. `results`: of the kind of arrays that a reduction has none of. */
function argumentsFor(
  operands: readonly Operand[], outputs: readonly View[], steps: Steps, group: number, range: readonly [first: number, count: number],
): KernelArgument[] {
  const arrays = [...operands.filter((operand) => typeof operand !== 'number'), ...outputs];
  const scalars = operands.filter((operand) => typeof operand === 'number');
  const rank = steps.isPlain ? 0 : steps.extents.length;
  const bytes = ({ type }: View): number => (type === 'float64' ? 8 : 4);
  const isAligned = range[0] % group === 0 && arrays.every((array, i) => {
    const isAt = (place: number): boolean => (place * bytes(array)) % Math.min(16, group * bytes(array)) === 0;
    if (rank === 0) return isAt(array.offset + range[0]);
    const strides = elementAt(steps.strides, i);
    return strides[rank - 1] !== 1 || (isAt(array.offset) && strides.slice(0, -1).every(isAt));
  }) && (rank === 0 || elementAt(steps.extents, rank - 1) % group === 0);
  const i64 = (value: number): KernelArgument => ({ i64: value });
  return [
    ...arrays.map(({ data }) => data as DeviceArray), ...arrays.map(({ offset }) => i64(offset)),
    ...(scalars.length === 0 ? [0] : scalars).map((f64): KernelArgument => ({ f64 })),
    ...(rank === 0 ? [i64(1), ...arrays.map(() => i64(0))] : [...steps.extents.map(i64), ...steps.strides.flatMap((own) => own.map(i64))]),
    i64(range[0]), i64(range[1]), i64(isAligned ? 1 : 0),
  ];
}

/** The launch that stores the function's values for elements `range` of the shape. */
export function mapLaunch(
  { text }: DeviceKernels, operands: readonly Operand[], outputs: readonly View[], shape: readonly number[],
  range: readonly [first: number, count: number],
): ListedLaunch {
  const arrays = [...operands.filter((operand) => typeof operand !== 'number'), ...outputs];
  const blocks = Math.max(1, Math.min(mostBlocks, Math.ceil(range[1] / (mapThreads * text.atOnce))));
  const args = argumentsFor(operands, outputs, stepsOf(arrays, shape), text.group, range);
  return { kernel: kernelNames.map, blocks, threads: mapThreads, arguments: args };
}

/** What a reduction on a device finds. */
export interface DeviceReduction {
  /** By result of the function. */
  readonly values: readonly number[];
  /** Partial results of the blocks of 4096 elements, one result after the other; disposed of by the caller. */
  readonly partial: DeviceArray;
}

/** What is reduced. */
export interface DeviceReduce {
  readonly operands: readonly Operand[];
  readonly shape: readonly number[];
  /** Elements; not 0. */
  readonly count: number;
  /** Values of the function. */
  readonly results: number;
}

/** The launches of a reduction: within blocks of 4096 elements, and, where these are more than 4096, within blocks of 4096 of them. */
export function reduceLaunches(
  device: Device, { text }: DeviceKernels, { operands, shape, count, results }: DeviceReduce, partial: DeviceArray, more: DeviceArray,
): ListedLaunch[] {
  const blocks = Math.ceil(count / reducedItems), again = Math.ceil(blocks / reducedItems);
  const arrays = operands.filter((operand) => typeof operand !== 'number');
  const steps = stepsOf(arrays, shape);
  // The results' arrays are never touched: any address will do.
  const rest = Array.from({ length: results }, (): View =>
    ({ name: '', type: 'float64', data: partial, offset: 0, shape, strides: shape.map(() => 0) }));
  const all: Steps = { ...steps, strides: [...steps.strides, ...rest.map(() => steps.extents.map(() => 0))] };
  const sharedBytes = mapThreads * 8;
  const launches: ListedLaunch[] = [{
    kernel: kernelNames.reduce, blocks: Math.min(Math.max(1, device.description.multiprocessors) * reducingEach, blocks), threads: mapThreads, sharedBytes,
    arguments: [...argumentsFor(operands, rest, all, text.group, [0, count]), partial, { i64: 0 }],
  }];
  for (let r = 0; blocks > reducedItems && r < results; ++r) {
    const first = r * blocks;
    launches.push({
      kernel: kernelNames.again, blocks: again, threads: mapThreads, sharedBytes,
      arguments: [partial, { i64: first }, { f64: 0 }, { i64: 1 }, { i64: 0 }, { i64: 0 }, { i64: blocks },
        { i64: first % 2 === 0 ? 1 : 0 }, more, { i64: r * again }],
    });
  }
  return launches;
}

/** Reduces the function's values. */
export async function reduceOnDevice(
  device: Device, kernels: DeviceKernels, work: DeviceReduce, combination: Combination, signal: AbortSignal | undefined,
): Promise<DeviceReduction> {
  const { count, results } = work;
  const blocks = Math.ceil(count / reducedItems), again = Math.ceil(blocks / reducedItems);
  const partial = resultArray(device, 'float64', blocks * results), more = resultArray(device, 'float64', again * results);
  try {
    const launches = reduceLaunches(device, kernels, work, partial, more);
    const options = signal === undefined ? {} : { signal };
    const launched = kernels.module.launchAll(launches, options);
    const isLong = blocks > reducedItems;
    const [from, length] = isLong ? [more, again] : [partial, blocks];
    // The device keeps the order, so nothing waits between the two.
    const [found] = await Promise.all([from.read(undefined, 0, options) as Promise<Float64Array>, launched]);
    const values = Array.from({ length: results }, (_, r) => reduceValues(found.subarray(r * length, (r + 1) * length), combination));
    return { values, partial };
  } catch (error) {
    partial.dispose();
    throw error;
  } finally {
    more.dispose();
  }
}

