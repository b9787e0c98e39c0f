// kernel.reduce: a function's values, combined into one.
import { anything, choice } from '../../core/checks.ts';
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { elementAt } from '../../core/known.ts';
import { optionsOf, type ChecksOf } from '../../core/options.ts';
import { axesOf, reduceAxes } from './axis.ts';
import { compiledFor, type Compiled, type ReductionPlan } from './compiled.ts';
import { mapLaunch, reduceOnDevice } from './device.ts';
import { callChecks } from './map.ts';
import { broadcastShape, countOf, plainStrides, readInputs, stepsOf, type Operand, type View } from './operands.ts';
import { placeOf, reducedItems, reduceValues } from './order.ts';
import { copied, onDevice, onHost, siteOf } from './place.ts';
import { arrange, functionsOf, kindsOf, sourceOf } from './point.ts';
import { reductions, type KernelCallOptions, type ReduceOptions, type Reduction } from './types.ts';

const reduceOptions = optionsOf('kernel.reduce', { ...callChecks, axis: anything } satisfies ChecksOf<ReduceOptions>);
const reductionCheck = choice(reductions);

const plans: Readonly<Record<Reduction, ReductionPlan & { readonly isPlace?: true }>> = {
  sum: { combination: 'sum', preparation: 'none' }, mean: { combination: 'sum', preparation: 'none' },
  min: { combination: 'min', preparation: 'none' },
  max: { combination: 'max', preparation: 'none' }, norm1: { combination: 'sum', preparation: 'abs' },
  norm2: { combination: 'sum', preparation: 'square' }, normInf: { combination: 'max', preparation: 'abs' },
  argmin: { combination: 'min', preparation: 'none', isPlace: true }, argmax: { combination: 'max', preparation: 'none', isPlace: true },
};
const ofNothing: Readonly<Record<Reduction, number>> = {
  sum: 0, mean: NaN, min: Infinity, max: -Infinity, norm1: 0, norm2: 0, normInf: 0, argmin: -1, argmax: -1,
};

/** What a call computes. */
interface ReduceCall {
  readonly compiled: Compiled;
  readonly plan: ReductionPlan & { readonly isPlace?: true };
  readonly shape: readonly number[];
  readonly count: number;
  /** Values of the function. */
  readonly results: number;
  readonly options: KernelCallOptions;
}

/** Compiles and runs: see `reduce` of ../index.ts. */
export async function reduceArrays(f: unknown, inputs: unknown, how: Reduction, given: ReduceOptions): Promise<unknown> {
  reductionCheck(how, 'reduction');
  const { axis, ...options } = reduceOptions.read(given);
  options.signal?.throwIfAborted();
  const operands = readInputs(inputs);
  const compiled = compiledFor(sourceOf(f), kindsOf(operands), functionsOf(options.functions));
  const shape = broadcastShape(operands);
  const results = compiled.point.f.results.length;
  const call: ReduceCall = { compiled, plan: plans[how], shape, count: countOf(shape), results, options };
  const chosen = siteOf(options.device, options.backend, operands.filter((operand) => typeof operand !== 'number'));
  const isAtOnce = !(chosen instanceof Promise);
  const read = isAtOnce ? operands : copied(operands);
  const site = isAtOnce ? chosen : await chosen;
  if (axis !== undefined) {
    const axes = axesOf(axis, shape.length, call.plan.isPlace === true);
    return reduceAxes({ f, compiled, how, plan: call.plan, shape, axes, ofNothing: ofNothing[how], options }, read, site);
  }
  const values = call.count === 0 ? Array<number>(results).fill(ofNothing[how])
    : await (site.kind === 'device' ? reduceThere(call, read, site.device) : reduceHere(call, read, site.backend));
  const finish = how === 'norm2' ? Math.sqrt : (value: number) => (how === 'mean' ? value / call.count : value);
  return arrange(compiled.point.arrangement, values.map(finish));
}

/** Where a result's extreme value is first: in the first block whose own extreme it is. */
async function placesOf(
  values: readonly number[], partial: Float64Array, count: number,
  listed: (first: number, length: number) => Promise<readonly Float64Array[]> | readonly Float64Array[],
): Promise<number[]> {
  const blocks = partial.length / values.length;
  return Promise.all(values.map(async (value, r) => {
    const first = placeOf(partial.subarray(r * blocks, (r + 1) * blocks), value) * reducedItems;
    const made = listed(first, Math.min(reducedItems, count - first));
    const list = made instanceof Promise ? await made : made;
    return first + placeOf(elementAt(list, r), value);
  }));
}

async function reduceHere(call: ReduceCall, given: readonly Operand[], backend: 'wasm' | 'interpreter'): Promise<number[]> {
  const { compiled, plan, shape, count, results, options: { signal, threads } } = call;
  const isHere = given.every((operand) => typeof operand === 'number' || ArrayBuffer.isView(operand.data));
  const operands = isHere ? given : await onHost(given, signal);
  const found = compiled.hostReduce(plan, backend).reduce(operands, shape, results, { count, threads, signal });
  const isDone = !(found instanceof Promise);
  // For the place of an extreme value, the arrays are read again.
  const kept = plan.isPlace === true && !isDone ? copied(operands) : operands;
  const partial = isDone ? found : await found;
  const blocks = partial.length / results;
  const values = Array.from({ length: results }, (_, r) =>
    reduceValues(partial.subarray(r * blocks, (r + 1) * blocks), plan.combination));
  if (plan.isPlace !== true) return values;
  const lister = compiled.hostMap(Array<'f64'>(results).fill('f64'), backend);
  return placesOf(values, partial, count, (first, length) => lister.values(kept, shape, first, length));
}

async function reduceThere(call: ReduceCall, given: readonly Operand[], device: Device): Promise<number[]> {
  const { compiled, plan, shape, count, results, options: { signal } } = call;
  const types = Array<'f64'>(results).fill('f64');
  const made: DeviceArray[] = [];
  try {
    const steps = stepsOf(given.filter((operand) => typeof operand !== 'number'), shape);
    const request = { results: types, rank: steps.isPlain ? 0 : steps.extents.length, reduction: plan };
    const ready = compiled.readyOn(device, request);
    // For the place of an extreme value, the arrays are read a second time.
    const operands = onDevice(given, device, made, ready === undefined || plan.isPlace === true);
    const kernels = ready ?? await compiled.onDevice(device, request, signal);
    const { values, partial } = await reduceOnDevice(device, kernels, { operands, shape, count, results }, plan.combination, signal);
    made.push(partial);
    if (plan.isPlace !== true) return [...values];
    const parts = await partial.read() as Float64Array;
    return await placesOf(values, parts, count, async (first, length) => {
      const arrays = types.map(() => resultArray(device, 'float64', length));
      made.push(...arrays);
      // Only elements from `first` on are stored: their arrays begin there.
      const strides = plainStrides(shape);
      const outputs = arrays.map((data): View => ({ name: '', type: 'float64', data, offset: -first, shape, strides }));
      const launch = mapLaunch(kernels, operands, outputs, shape, [first, length]);
      await kernels.module.launchAll([launch], signal === undefined ? {} : { signal });
      return Promise.all(arrays.map((array) => array.read() as Promise<Float64Array>));
    });
  } finally {
    for (const array of new Set(made)) array.dispose();
  }
}
