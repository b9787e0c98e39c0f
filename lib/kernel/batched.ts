// How calls of map share launches (core/batching): their elements one after the other.
import { typedArrayKind, type TypedArray } from '../core/arrays.ts';
import { joined, partOf } from '../core/batching/parts.ts';
import { batchable, loneBytes, type Outcome, type Take, type TakenCall } from '../core/batching/rule.ts';
import type { Device } from '../core/device.ts';
import { elementAt } from '../core/known.ts';
import { takenInputs } from './call/taken.ts';
import type { HostArray, KernelInput, MapOptions } from './call/types.ts';

type Map = (f: string, inputs: readonly KernelInput[], options: MapOptions) => Promise<unknown>;

interface ElementsCall extends TakenCall<Device> {
  readonly inputs: readonly (HostArray | number)[];
}

const kinds: ReadonlySet<unknown> = new Set(['Float32Array', 'Float64Array', 'Int32Array']);

/** The inputs if they are numbers and plain arrays of one length, of which there is one at least. */
function plainInputs(inputs: unknown): readonly (HostArray | number)[] | undefined {
  if (!Array.isArray(inputs)) return undefined;
  const list = inputs as readonly unknown[];
  const arrays = list.filter((input): input is HostArray => typeof input !== 'number');
  const isPlain = arrays.length > 0 && arrays.every((array) => kinds.has(typedArrayKind(array)) && array.length === arrays[0]?.length);
  return isPlain && (arrays[0]?.length ?? 0) > 0 ? list as readonly (HostArray | number)[] : undefined;
}

const text = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

/** Part `index` of every array of a result: one, or some in an array or object. */
function partsOfResult(result: unknown, index: number, count: number): unknown {
  if (ArrayBuffer.isView(result)) return partOf(result as TypedArray, index, count);
  if (Array.isArray(result)) return result.map((each) => partsOfResult(each, index, count));
  return Object.fromEntries(Object.entries(result as object).map(([name, each]) => [name, partsOfResult(each, index, count)]));
}

/** Makes calls of `map` batchable. They are checked when they run: what checks them is loaded by the first call. */
export function batchMap(map: object): void {
  const run = map as Map;
  const take: Take<Device> = ([f, inputs, given], _target, owned) => {
    const { signal, device: _, ...options } = (given ?? {}) as MapOptions;
    const plain = plainInputs(inputs);
    const joins = plain !== undefined && (typeof f === 'string' || typeof f === 'function')
      && Object.entries(options).every(([name, value]) => name === 'type' || value === undefined);
    const copies = (owned ? inputs : takenInputs(inputs)) as readonly (HostArray | number)[];
    const bytes = (plain ?? []).reduce<number>((sum, input) => sum + (typeof input === 'number' ? 0 : input.byteLength), 0);
    const run1 = (all: readonly KernelInput[], device: Device, stop: AbortSignal | undefined): Promise<unknown> =>
      run(f as string, all, { ...options, device, ...(stop === undefined ? {} : { signal: stop }) });
    const call: ElementsCall = {
      name: 'kernel.map', inputs: copies, bytes, items: 1, signal,
      alone: (device, stop) => run1(copies, device, stop),
      keyOn: () => {
        if (!joins || bytes >= loneBytes) return undefined;
        const each = plain.map((input) => (typeof input === 'number' ? text(input) : `${typedArrayKind(input)} ${input.length}`));
        return ['map', options.type, ...each, String(f)].join('\n');
      },
      together: async (device, calls, stop): Promise<readonly Outcome[]> => {
        const all = copies.map((input, at) => (typeof input === 'number' ? input
          : joined((calls as readonly ElementsCall[]).map((other) => elementAt(other.inputs, at) as HostArray))));
        const result = await run1(all, device, stop);
        return calls.map((_call, index) => ({ value: partsOfResult(result, index, calls.length) }));
      },
    };
    return call;
  };
  batchable<Device>(map, 'kernel.map', take);
}
