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
import { arrange, elementNames, kindsOf, resultTypes, scalarTypes, sourceOf, spread } from './point.ts';
import type { HostArray, KernelBackend, KernelCallOptions, KernelElement, MapOptions } from './types.ts';

export const callChecks = {
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
    for (const other of views.slice(0, i)) if (mayOverlap(view, other)) throw refusal(view.name, `memory of its own`, `that of ${other.name}`);
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
  const compiled = compiledFor(sourceOf(f), kindsOf(operands));
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

const isOnDevice = ({ operands }: MapCall): boolean => operands.some((operand) => typeof operand !== 'number' && operand.data instanceof DeviceArray);

function newView(data: HostArray | DeviceArray, type: KernelElement, shape: readonly number[]): View {
  return { name: 'out', type, data, offset: 0, shape, strides: plainStrides(shape) };
}

async function mapHere(call: MapCall, { backend, device }: Extract<Site, { kind: 'host' }>): Promise<(HostArray | DeviceArray)[]> {
  const { compiled, shape, count, given, types, options } = call;
  const { signal, threads } = options;
  // Without device arrays, everything is read at the call.
  const needsReading = device !== undefined && [...call.operands, ...given ?? []].some((each) => typeof each !== 'number' && each.data instanceof DeviceArray);
  const operands = needsReading ? await onHost(call.operands, signal) : call.operands;
  const outputs = given === undefined ? types.map((type) => newView(makeTypedArray(type, count) as HostArray, type, shape))
    : await Promise.all(given.map((view) => (view.data instanceof DeviceArray ? readPart(view, view.data, signal) : view)));
  if (count > 0) {
    await compiled.hostMap(types.map((type) => scalarTypes[type]), backend).map(operands, outputs, shape, { count, threads, signal });
  }
  if (given === undefined) {
    if (device === undefined || !isOnDevice(call)) return outputs.map(({ data }) => data);
    return Promise.all(outputs.map(({ data }) => device.array(data as HostArray)));
  }
  await Promise.all(given.map(async ({ data, offset }, i) => {
    const made = elementAt(outputs, i);
    if (data instanceof DeviceArray) await data.write(made.data as HostArray, offset - made.offset, signal === undefined ? {} : { signal });
  }));
  return given.map(({ data }) => data);
}

async function mapThere(call: MapCall, device: Device): Promise<(HostArray | DeviceArray)[]> {
  const { compiled, shape, count, given, types, options: { signal } } = call;
  const results = types.map((type) => scalarTypes[type]);
  const staysThere = given === undefined && isOnDevice(call);
  const made: DeviceArray[] = [], fresh: DeviceArray[] = [];
  try {
    const outputs = types.map((type, i): View => {
      const own = given?.[i];
      if (own?.data instanceof DeviceArray) return own;
      const array = resultArray(device, type, count);
      fresh.push(array);
      return newView(array, type, shape);
    });
    if (count > 0) {
      const steps = stepsOf([...call.operands.filter((operand) => typeof operand !== 'number'), ...outputs], shape);
      const request = { results, rank: steps.isPlain ? 0 : steps.extents.length };
      const ready = compiled.readyOn(device, request);
      const operands = onDevice(call.operands, device, made, ready === undefined);
      const kernels = ready ?? await compiled.onDevice(device, request, signal);
      await kernels.module.launchAll([mapLaunch(device, kernels, operands, outputs, shape, [0, count])], signal === undefined ? {} : { signal });
    }
    if (staysThere) return fresh.splice(0);
    const read = signal === undefined ? {} : { signal };
    return await Promise.all(outputs.map(async (output, i) => {
      const own = given?.[i];
      const array = output.data as DeviceArray;
      if (own === undefined) return await array.read(undefined, 0, read) as HostArray;
      if (own.data instanceof DeviceArray) return own.data;
      const isPlain = own.strides.join() === plainStrides(shape).join();
      const { data, offset } = own;
      if (isPlain) await array.read(data.subarray(offset, offset + count), 0, read);
      else scatter({ data, offset, strides: own.strides }, shape, 0, count, await array.read(undefined, 0, read) as HostArray);
      return data;
    }));
  } finally {
    for (const array of new Set([...made, ...fresh])) array.dispose();
  }
}
