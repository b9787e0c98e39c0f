// Inputs and outputs: what they are, whether they fit together, and how they are stepped through.
import { describeValue, elementTypeOf, isObject } from '../../core/arrays.ts';
import { hasFields, isArray, requireList, whole } from '../../core/checks.ts';
import { DeviceArray } from '../../core/device.ts';
import { ArgumentError, refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import type { HostArray, KernelElement } from './types.ts';

/** An array or a part of one. Offsets and strides count elements of `data`. */
export interface View {
  readonly name: string;
  readonly type: KernelElement;
  readonly data: HostArray | DeviceArray;
  readonly offset: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** What a call computes on: a number or an array for each parameter. */
export type Operand = number | View;

const mostDimensions = 8;
const known: ReadonlySet<string> = new Set(['float32', 'float64', 'int32'] satisfies KernelElement[]);
const viewFields: ReadonlySet<string> = new Set(['data', 'shape', 'strides', 'offset']);
const expected = 'a number, a Float32Array, a Float64Array, an Int32Array, a DeviceArray of such, or { data, shape, strides, offset }';

const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);

/** Row-major strides without gaps. */
export function plainStrides(shape: readonly number[]): number[] {
  const strides: number[] = [];
  let next = 1;
  for (const extent of shape.toReversed()) {
    strides.unshift(next);
    next *= extent;
  }
  return strides;
}

export function countOf(shape: readonly number[]): number {
  return shape.reduce((count, extent) => count * extent, 1);
}

function typeOf(data: unknown, name: string, words: string): KernelElement {
  const type = data instanceof DeviceArray ? data.type : elementTypeOf(data);
  if (type !== undefined && known.has(type)) return type as KernelElement;
  throw refusal(name, words, data instanceof DeviceArray ? `a DeviceArray of ${data.type}` : describeValue(data));
}

/** The numbers of a list, of which each is read once. */
function integers(given: unknown, name: string, least: number): number[] {
  requireList(given, name);
  if (given.length > mostDimensions) throw refusal(name, `at most ${mostDimensions} dimensions`, String(given.length));
  return Array.from({ length: given.length }, (_, i) => {
    const value: unknown = given[i];
    whole(least)(value, `${name}[${i}]`);
    return Number(value);
  });
}

/** First and last place of a view's elements; undefined if it has none. */
export function spanOf({ offset, shape, strides }: Pick<View, 'offset' | 'shape' | 'strides'>): readonly [number, number] | undefined {
  if (shape.includes(0)) return undefined;
  let [low, high] = [offset, offset];
  shape.forEach((extent, d) => {
    const reach = (extent - 1) * elementAt(strides, d);
    if (reach < 0) low += reach;
    else high += reach;
  });
  return [low, high];
}

function readView(given: Readonly<Record<string, unknown>>, name: string): View {
  for (const key of Object.keys(given)) {
    if (viewFields.has(key)) continue;
    throw new ArgumentError(`${name}.${key}`, 'a view has data, shape, strides and offset', { expected: 'no such field', received: key });
  }
  const { data, shape: givenShape, strides: givenStrides, offset = 0 } = given;
  const type = typeOf(data, `${name}.data`, 'a Float32Array, a Float64Array, an Int32Array or a DeviceArray of such');
  const array = data as HostArray | DeviceArray;
  const { length } = array;
  whole(0, length)(offset, `${name}.offset`);
  const first = Number(offset);
  if (givenShape === undefined && givenStrides !== undefined) throw refusal(`${name}.shape`, 'a shape beside the strides', 'undefined');
  const shape = givenShape === undefined ? [length - first] : integers(givenShape, `${name}.shape`, 0);
  if (!isWhole(countOf(shape))) throw refusal(`${name}.shape`, 'fewer elements', shape.join(' × '));
  const strides = givenStrides === undefined ? plainStrides(shape) : integers(givenStrides, `${name}.strides`, -(2 ** 52));
  if (strides.length !== shape.length) {
    throw refusal(`${name}.strides`, `${shape.length} of them, as the shape has`, String(strides.length));
  }
  const view = { name, type, data: array, offset: first, shape, strides };
  const span = spanOf(view);
  if (span !== undefined && !(span[0] >= 0 && span[1] < length)) {
    throw refusal(name, `a view within the ${length} elements of data`, `one of elements ${span[0]} to ${span[1]}`);
  }
  return view;
}

/** An array or view under a name, from what the caller gave. */
export function readArray(given: unknown, name: string, words = expected): View {
  const isPlain = ArrayBuffer.isView(given) || given instanceof DeviceArray;
  if (!isPlain && hasFields(given) && 'data' in given) return readView(given, name);
  const type = typeOf(given, name, words);
  const data = given as HostArray | DeviceArray;
  return { name, type, data, offset: 0, shape: [data.length], strides: [1] };
}

/** The inputs of a call. */
export function readInputs(inputs: unknown): Operand[] {
  if (!isArray(inputs) || ArrayBuffer.isView(inputs)) {
    throw refusal('inputs', 'a list with an input for each parameter of the function, such as [xs, 2]', describeValue(inputs));
  }
  return Array.from({ length: inputs.length }, (_, i) => {
    const given: unknown = inputs[i];
    return typeof given === 'number' ? given : readArray(given, `inputs[${i}]`);
  });
}

/** The shape of results: NumPy's rules. */
export function broadcastShape(operands: readonly Operand[]): readonly number[] {
  let shape: readonly number[] = [];
  for (const operand of operands) {
    if (typeof operand === 'number') continue;
    const dimensions = Math.max(shape.length, operand.shape.length);
    const at = (of: readonly number[], d: number): number => of[d - dimensions + of.length] ?? 1;
    shape = Array.from({ length: dimensions }, (_, d) => {
      const [a, b] = [at(shape, d), at(operand.shape, d)];
      if (a !== b && a !== 1 && b !== 1) {
        throw refusal(operand.name, `a shape that goes with ${shape.join(' × ')}`, operand.shape.join(' × '));
      }
      return a === 1 ? b : a;
    });
  }
  if (!isWhole(countOf(shape))) throw refusal('inputs', 'fewer elements in all', shape.join(' × '));
  return shape;
}

/** The strides of a view whose shape is broadcast: 0 where it repeats. */
function broadcastStrides({ shape, strides }: View, to: readonly number[]): number[] {
  return to.map((_, d) => {
    const own = d - to.length + shape.length;
    return own < 0 || shape[own] === 1 ? 0 : elementAt(strides, own);
  });
}

/** How arrays are stepped through together, with as few dimensions as possible. */
export interface Steps {
  readonly extents: readonly number[];
  /** By array, then dimension. */
  readonly strides: readonly (readonly number[])[];
  /** All arrays have their elements one after another. */
  readonly isPlain: boolean;
}

/** Joins dimensions that lie one after another in all arrays. */
export function stepsOf(arrays: readonly View[], shape: readonly number[]): Steps {
  const all = arrays.map((array) => broadcastStrides(array, shape));
  const extents: number[] = [];
  const strides: number[][] = arrays.map(() => []);
  shape.forEach((extent, d) => {
    if (extent === 1) return;
    const last = extents.length - 1;
    const joins = last >= 0 && all.every((own, i) => strides[i]?.[last] === elementAt(own, d) * extent);
    if (joins) extents[last] = elementAt(extents, last) * extent;
    else extents.push(extent);
    all.forEach((own, i) => { elementAt(strides, i)[extents.length - 1] = elementAt(own, d); });
  });
  return { extents, strides, isPlain: extents.length === 0 || (extents.length === 1 && strides.every(([stride]) => stride === 1)) };
}

/** Refuses outputs of which two elements have one place. */
export function requireDistinct(view: View): void {
  const steps = view.shape.map((extent, d) => ({ extent, stride: Math.abs(elementAt(view.strides, d)) }))
    .filter(({ extent }) => extent > 1);
  let reach = 0;
  for (const { extent, stride } of steps.sort((a, b) => a.stride - b.stride)) {
    if (stride <= reach) throw refusal(view.name, 'a place of its own for each element', `strides ${view.strides.join()}`);
    reach += (extent - 1) * stride;
  }
}

const memoryOf = ({ data }: View): object => (data instanceof DeviceArray ? data : data.buffer);

/** Where a view's elements lie in its memory, in bytes. */
function bytesOf(view: View): readonly [number, number] | undefined {
  const span = spanOf(view);
  if (span === undefined) return undefined;
  const size = view.type === 'float64' ? 8 : 4;
  const start = view.data instanceof DeviceArray ? 0 : view.data.byteOffset;
  return [start + span[0] * size, start + (span[1] + 1) * size];
}

/** Whether two views may share a byte. */
export function mayOverlap(a: View, b: View): boolean {
  if (memoryOf(a) !== memoryOf(b)) return false;
  const [own, other] = [bytesOf(a), bytesOf(b)];
  return own !== undefined && other !== undefined && own[0] < other[1] && other[0] < own[1];
}

/** Whether an input, broadcast to the shape, has each element where the output has it. */
export function isSamePlace(input: View, output: View): boolean {
  const start = ({ data, offset, type }: View): number =>
    (data instanceof DeviceArray ? 0 : data.byteOffset) + offset * (type === 'float64' ? 8 : 4);
  return input.type === output.type && start(input) === start(output)
    && broadcastStrides(input, output.shape).every((stride, d) => output.shape[d] === 1 || stride === output.strides[d]);
}

/** The fields or elements of a value that a result is arranged in. */
export function hasParts(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !ArrayBuffer.isView(value) && !(value instanceof DeviceArray);
}
