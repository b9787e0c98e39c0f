// kernel.map: a function on each element.
import { makeTypedArray } from '../../core/arrays.ts';
import { abortSignal, anything, choice, rule, whole } from '../../core/checks.ts';
import { Device, DeviceArray, resultArray } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { maxThreads } from '../../core/limits.ts';
import { optionsOf, type ChecksOf } from '../../core/options.ts';
import { compiledFor, type Compiled } from './compiled.ts';
import { scatter } from './chunks.ts';
import { mapLaunch } from './device.ts';
import {
  broadcastShape, countOf, isSamePlace, mayOverlap, plainStrides, readArray, readInputs, requireDistinct, stepsOf, type Operand, type View,
} from './operands.ts';
import { copied, onDevice, onHost, readPart, siteOf, type Site } from './place.ts';
import { arrange, elementNames, functionsOf, kindsOf, resultTypes, scalarTypes, sourceOf, spread } from './point.ts';
import type { HostArray, KernelBackend, KernelCallOptions, KernelElement, MapOptions } from './types.ts';

export const callChecks = {
  functions: anything,
  device: rule<Device>('a Device', (value) => value instanceof Device),
  backend: choice<KernelBackend>(['cuda', 'simt', 'wasm', 'interpreter']), threads: whole(1, maxThreads), signal: abortSignal,
} satisfies ChecksOf<KernelCallOptions>;

const mapOptions = optionsOf('kernel.map', {
  ...callChecks, out: anything, type: choice<KernelElement>(['float32', 'float64', 'int32']),
} satisfies ChecksOf<MapOptions>);

/** What a call computes. */
interface MapCall {
  readonly compiled: Compiled;
  readonly operands: readonly Operand[];
  readonly shape: readonly number[];
  readonly count: number;
  /** The arrays for results, as the caller gave them; undefined: new ones. */
  readonly given: readonly View[] | undefined;
  readonly types: readonly KernelElement[];
  readonly options: MapOptions;
}

/** The arrays of `out`, checked against the inputs and each other. */
function readOutputs(compiled: Compiled, out: unknown, operands: readonly Operand[], shape: readonly number[]): View[] {
  const count = countOf(shape);
  const views = spread(compiled.point.arrangement, out, 'out').map(({ name, value }) => {
    const view = readArray(value, name, 'a Float32Array, a Float64Array, an Int32Array, a DeviceArray of such, or a view');
    const isWhole = value === view.data;
    if (isWhole && view.data.length !== count) throw refusal(name, `${count} elements`, String(view.data.length));
    if (!isWhole && view.shape.join() !== shape.join()) throw refusal(name, `the shape ${shape.join(' × ')}`, view.shape.join(' × '));
    const own: View = isWhole ? { ...view, shape, strides: plainStrides(shape) } : view;
    requireDistinct(own);
    return own;
  });
  views.forEach((view, i) => {
    const other = views.slice(0, i).find((each) => mayOverlap(view, each));
    if (other !== undefined) throw refusal(view.name, 'memory of its own', `that of ${other.name}`);
    for (const operand of operands) {
      if (typeof operand !== 'number' && mayOverlap(view, operand) && !isSamePlace(operand, view)) {
        throw refusal(view.name, `${operand.name} itself, or memory apart from it`, 'elements of it at other places');
      }
    }
  });
  return views;
}

/** Compiles and runs: see `map` of ../index.ts. Host arrays are read before this returns, if the CPU computes. */
export async function mapArrays(f: unknown, inputs: unknown, given: MapOptions): Promise<unknown> {
  const { out, ...options } = mapOptions.read(given);
  options.signal?.throwIfAborted();
  const operands = readInputs(inputs);
  const compiled = compiledFor(sourceOf(f), kindsOf(operands), functionsOf(options.functions));
  const shape = broadcastShape(operands);
  const outputs = out === undefined ? undefined : readOutputs(compiled, out, operands, shape);
  const types = outputs?.map(({ type }) => type)
    ?? resultTypes(compiled.point, options.type && scalarTypes[options.type]).map((type) => elementNames[type]);
  const views = [...operands.filter((operand) => typeof operand !== 'number'), ...outputs ?? []];
  const chosen = siteOf(options.device, options.backend, views);
  const isAtOnce = !(chosen instanceof Promise);
  const read = isAtOnce ? operands : copied(operands);
  const call: MapCall = { compiled, operands: read, shape, count: countOf(shape), given: outputs, types, options };
  const site = isAtOnce ? chosen : await chosen;
  const arrays = await (site.kind === 'device' ? mapThere(call, site.device) : mapHere(call, site));
  return out ?? arrange(compiled.point.arrangement, arrays);
}

const isOnDevice = (operand: Operand): boolean => typeof operand !== 'number' && operand.data instanceof DeviceArray;

function newView(data: HostArray | DeviceArray, type: KernelElement, shape: readonly number[]): View {
  return { name: 'out', type, data, offset: 0, shape, strides: plainStrides(shape) };
}

async function mapHere(call: MapCall, { backend, device }: Extract<Site, { kind: 'host' }>): Promise<(HostArray | DeviceArray)[]> {
  const { compiled, shape, count, given, types, options } = call;
  const { signal, threads } = options;
  // Without device arrays, everything is read at the call.
  const needsReading = device !== undefined && [...call.operands, ...given ?? []].some(isOnDevice);
  const operands = needsReading ? await onHost(call.operands, signal) : call.operands;
  // Nothing is awaited before the inputs are read, unless arrays have to come from a device.
  const outputs = given === undefined ? types.map((type) => newView(makeTypedArray(type, count) as HostArray, type, shape))
    : !given.some(isOnDevice) ? given
      : await Promise.all(given.map((view) => (view.data instanceof DeviceArray ? readPart(view, view.data, signal) : view)));
  if (count > 0) {
    await compiled.hostMap(types.map((type) => scalarTypes[type]), backend).map(operands, outputs, shape, { count, threads, signal });
  }
  if (given === undefined) {
    if (device === undefined || !call.operands.some(isOnDevice)) return outputs.map(({ data }) => data);
    return Promise.all(outputs.map(({ data }) => device.array(data as HostArray)));
  }
  await Promise.all(given.map(async ({ data, offset }, i) => {
    const made = elementAt(outputs, i);
    if (data instanceof DeviceArray) await data.write(made.data as HostArray, offset - made.offset, signal === undefined ? {} : { signal });
  }));
  return given.map(({ data }) => data);
}

/** Launches the kernel: at once if it has been compiled. `done` settles when it has ended. */
async function launchThere(
  { compiled, operands, shape, count, types, options: { signal } }: MapCall, device: Device, outputs: readonly View[], made: DeviceArray[],
): Promise<{ readonly done: Promise<unknown> }> {
  const steps = stepsOf([...operands.filter((operand) => typeof operand !== 'number'), ...outputs], shape);
  const request = { results: types.map((type) => scalarTypes[type]), rank: steps.isPlain ? 0 : steps.extents.length };
  const ready = compiled.readyOn(device, request);
  const there = onDevice(operands, device, made, ready === undefined);
  const kernels = ready ?? await compiled.onDevice(device, request, signal);
  const done = kernels.module.launchAll([mapLaunch(kernels, there, outputs, shape, [0, count])], signal === undefined ? {} : { signal });
  done.catch(() => undefined); // for the caller, who may look at it later
  return { done };
}

/** A result in JavaScript's memory: in the given view, or a new array. */
async function resultFrom(
  array: DeviceArray, own: View | undefined, shape: readonly number[], signal: AbortSignal | undefined,
): Promise<HostArray | DeviceArray> {
  const read = signal === undefined ? {} : { signal };
  if (own === undefined) return await array.read(undefined, 0, read) as HostArray;
  const { data, offset, strides } = own;
  if (data instanceof DeviceArray) return data;
  if (strides.join() === plainStrides(shape).join()) await array.read(data.subarray(offset, offset + countOf(shape)), 0, read);
  else scatter({ data, offset, strides }, shape, 0, countOf(shape), await array.read(undefined, 0, read) as HostArray);
  return data;
}

async function mapThere(call: MapCall, device: Device): Promise<(HostArray | DeviceArray)[]> {
  const { shape, count, given, types, options: { signal } } = call;
  const made: DeviceArray[] = [], fresh: DeviceArray[] = [];
  try {
    const outputs = types.map((type, i): View => {
      const own = given?.[i];
      if (own?.data instanceof DeviceArray) return own;
      const array = resultArray(device, type, count);
      fresh.push(array);
      return newView(array, type, shape);
    });
    const launch = count === 0 ? undefined : await launchThere(call, device, outputs, made);
    if (given === undefined && call.operands.some(isOnDevice)) {
      await launch?.done;
      return fresh.splice(0);
    }
    // The device keeps the order: results can be asked for before the launch has ended.
    const read = outputs.map(({ data }, i) => resultFrom(data as DeviceArray, given?.[i], shape, signal));
    const [arrays] = await Promise.all([Promise.all(read), launch?.done]);
    return arrays;
  } finally {
    for (const array of new Set([...made, ...fresh])) array.dispose();
  }
}
