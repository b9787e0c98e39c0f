// kernel.reduce along axes: passes of kernel.map, each of which combines up to eight elements, in a fixed order.
import { makeTypedArray } from '../../core/arrays.ts';
import { resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { compiledFor, type Compiled, type ReductionPlan } from './compiled.ts';
import { mapArrays } from './map.ts';
import { countOf, plainStrides, type Operand, type View } from './operands.ts';
import type { Site } from './place.ts';
import { arrange, sourceOf } from './point.ts';
import type { HostArray, KernelCallOptions, KernelElement, MapOptions, Reduction } from './types.ts';

/** A reduction along axes. */
export interface AxisCall {
  readonly f: unknown;
  readonly compiled: Compiled;
  readonly how: Reduction;
  readonly plan: ReductionPlan & { readonly isPlace?: true };
  /** Of the inputs, broadcast. */
  readonly shape: readonly number[];
  readonly axes: readonly number[];
  readonly ofNothing: number;
  readonly options: KernelCallOptions;
  /** Of the result, if it is not the function's; and whether the result lies on the device, if not where the inputs do. */
  readonly arrangement?: Compiled['point']['arrangement'];
  readonly isOnDevice?: boolean;
}

type Store = HostArray | DeviceArray;
/** An array of a pass, row-major. */
interface Stage { readonly data: Store; readonly shape: readonly number[] }

/** Where a view's elements lie. */
type Place = Pick<View, 'data' | 'offset' | 'strides'>;

/** Makes the function of a pass for `count` elements, and its inputs. `from`: the j-th of them; `places`: their indices along the axis. */
type Make = (count: number, from: (j: number, view: Place) => object, places: () => object) => { text: string; inputs: unknown[] };

/** Elements that a pass combines, and arrays that a kernel of it reads, at most. */
const mostAtOnce = 8, mostArrays = 24;

/** The axes of a call, counted from the front. */
export function axesOf(given: unknown, rank: number, isPlace: boolean): readonly number[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  const axes = list.map((axis, i) => {
    const name = Array.isArray(given) ? `axis[${i}]` : 'axis';
    if (!Number.isInteger(axis) || Number(axis) < -rank || Number(axis) >= rank) {
      throw refusal(name, rank === 0 ? 'none, for inputs without dimensions' : `a whole number from ${-rank} to ${rank - 1}`, String(axis));
    }
    return Number(axis) < 0 ? Number(axis) + rank : Number(axis);
  });
  const twice = axes.find((axis, i) => axes.indexOf(axis) < i);
  if (twice !== undefined) throw refusal('axis', 'axes that differ', `${twice} twice`);
  if (axes.length === 0 || (isPlace && axes.length > 1)) {
    throw refusal('axis', isPlace ? 'one axis' : 'an axis or several', `${axes.length}`);
  }
  return axes;
}

/** Expressions, combined in pairs: neighbours first. */
function paired(items: readonly string[], join: (a: string, b: string) => string): string {
  if (items.length === 1) return elementAt(items, 0);
  const next: string[] = [];
  for (let i = 0; i < items.length; i += 2) {
    const second = items[i + 1];
    next.push(second === undefined ? elementAt(items, i) : join(elementAt(items, i), second));
  }
  return paired(next, join);
}

/** Neighbours, two by two. */
function pairsOf<T>(all: readonly T[]): [T, T][] {
  return all.filter((_, i) => i % 2 === 0).map((first, i) => [first, elementAt(all, 2 * i + 1)]);
}

function prepared(value: string, how: ReductionPlan['preparation']): string {
  return how === 'abs' ? `Math.abs(${value})` : how === 'square' ? `(${value} * ${value})` : value;
}

/** What follows the last combination. */
type Finish = 'none' | 'root' | 'share';

function finished(value: string, finish: Finish): string {
  return finish === 'root' ? `Math.sqrt(${value})` : finish === 'share' ? `${value} / count` : value;
}

/** The function of a pass: `values` are expressions of what is combined, `head` declares what they need. */
function passText(
  parameters: readonly string[], head: string, values: readonly (readonly string[])[], { combination, isPlace }: AxisCall['plan'],
  finish: Finish,
): string {
  const all = finish === 'share' ? [...parameters, 'count'] : parameters;
  if (isPlace !== true) {
    const join = (a: string, b: string): string => (combination === 'sum' ? `(${a} + ${b})` : `Math.${combination}(${a}, ${b})`);
    return `(${all.join(', ')}) => { ${head} return [${values.map((own) => finished(paired(own, join), finish)).join(', ')}]; }`;
  }
  // Values and places alternate. NaN comes first, and -0 before 0 for the least value.
  const sign = combination === 'min' ? '<' : '>';
  const first = combination === 'min' ? '1 / a < 1 / b' : '1 / a > 1 / b';
  const rules = `const before = (a, b) => a !== a ? b === b : b !== b ? false : a ${sign} b || (a === 0 && b === 0 && ${first});
const better = (p, q) => before(q[0], p[0]) || (!before(p[0], q[0]) && q[1] < p[1]) ? q : p;`;
  const best = values.map((own) => paired(pairsOf(own).map(([value, place]) => `[${value}, ${place}]`), (a, b) => `better(${a}, ${b})`));
  return `(${all.join(', ')}) => { ${rules} ${head} return [${best.join(', ')}]; }`;
}

/** A part of an array along an axis, in the shape of the call. */
function part({ data, offset, strides }: Place, shape: readonly number[], axis: number, from: number, count: number): object {
  const extents = shape.map((extent, d) => (d === axis ? count : extent));
  return { data, offset: offset + from * elementAt(strides, axis), shape: extents, strides };
}

class Passes {
  readonly #call: AxisCall;
  readonly #device: Device | undefined;
  readonly #options: MapOptions;
  readonly #made: DeviceArray[] = [];

  constructor(call: AxisCall, site: Site) {
    const { signal, threads, functions } = call.options;
    this.#call = call;
    this.#device = site.kind === 'device' ? site.device : undefined;
    this.#options = {
      ...(signal && { signal }), ...(threads !== undefined && { threads }), ...(functions && { functions }),
      ...(site.kind === 'device' ? { device: site.device } : { backend: site.backend }),
    };
  }

  store(type: KernelElement, length: number): Store {
    if (this.#device === undefined) return makeTypedArray(type, length) as HostArray;
    const array = resultArray(this.#device, type, length);
    this.#made.push(array);
    return array;
  }

  /** Stores a function's values. */
  async map(f: unknown, operands: readonly Operand[], out: unknown): Promise<void> {
    const inputs = operands.map((operand) => {
      if (typeof operand === 'number') return operand;
      const { data, shape, strides, offset } = operand;
      return { data, shape, strides, offset };
    });
    await mapArrays(f, inputs, { ...this.#options, out: out as never });
  }

  /** Frees the arrays of passes, except those of the result. */
  dispose(except: readonly Store[] = []): void {
    for (const array of this.#made) if (!except.includes(array)) array.dispose();
  }

  /**
   * One pass along an axis of `extent` elements, of which each m-th is combined: element i of the m results is that of i, i + m, i + 2 m …
   * `text` makes the function for so many of them.
   */
  async pass(
    shape: readonly number[], axis: number, atOnce: number, types: readonly KernelElement[], functions: Readonly<Record<string, unknown>>,
    made: Make,
  ): Promise<Stage[]> {
    const extent = elementAt(shape, axis);
    const left = Math.max(1, Math.ceil(extent / atOnce));
    const reduced = shape.map((each, d) => (d === axis ? left : each));
    const outputs = types.map((type) => this.store(type, countOf(reduced)));
    const most = Math.ceil(extent / left);
    const full = extent - (most - 1) * left;
    const work = [[0, full, most], [full, left, most - 1]] as const;
    const strides = plainStrides(reduced);
    await Promise.all(work.filter(([from, to]) => to > from).map(([from, to, count]) => {
      const places = Float64Array.from({ length: to - from }, (_, i) => from + i);
      const { text, inputs } = made(count, (j, view) => part(view, shape, axis, from + j * left, to - from),
        () => ({ data: places, shape: shape.map((_, d) => (d === axis ? to - from : 1)) }));
      const flat = outputs.map((data) => part({ data, offset: 0, strides }, reduced, axis, from, to - from));
      const out = this.#call.plan.isPlace === true ? pairsOf(flat) : flat;
      const known = { ...this.#options.functions, ...functions } as never;
      return mapArrays(text, inputs, { ...this.#options, functions: known, out: out as never });
    }));
    return outputs.map((data) => ({ data, shape: reduced }));
  }

  /** The function's values, combined for the first time. */
  first(operands: readonly View[], numbers: readonly Operand[], axis: number, finish: Finish): Promise<Stage[]> {
    const { f, compiled: { point }, plan, shape } = this.#call;
    const { results } = point.f;
    const atOnce = Math.max(1, Math.min(mostAtOnce, 2 ** Math.floor(Math.log2(mostArrays / Math.max(1, operands.length)))));
    const isLast = elementAt(shape, axis) <= atOnce;
    const isPlace = plan.isPlace === true;
    const types = results.flatMap((): KernelElement[] => (isPlace ? ['float64', 'float64'] : ['float64']));
    const scalars = numbers.map((_, i) => `s${i}`);
    return this.pass(shape, axis, atOnce, types, { wl_point: f }, (count, from, places) => {
      const left = Math.max(1, Math.ceil(elementAt(shape, axis) / atOnce));
      const names = Array.from({ length: count }, (_, j) => operands.map((__, i) => `a${j}_${i}`));
      const values = results.map((): string[] => []);
      const head = names.map((own, j) => {
        let [array, scalar] = [0, 0];
        const args = point.kinds.map((kind) => (kind === 'number' ? elementAt(scalars, scalar++) : elementAt(own, array++)));
        results.forEach((type, r) => {
          const value = accessOf(point.arrangement, r, `v${j}`);
          const number = type === 'bool' ? `(${value} ? 1 : 0)` : value;
          elementAt(values, r).push(prepared(number, plan.preparation), ...(isPlace ? [`(at + ${j * left})`] : []));
        });
        return `const v${j} = wl_point(${args.join(', ')});`;
      });
      const parameters = [...names.flat(), ...scalars, ...(isPlace ? ['at'] : [])];
      const inputs = [...names.flatMap((_, j) => operands.map((view) => from(j, view))), ...numbers, ...(isPlace ? [places()] : [])];
      const last = isLast ? finish : 'none';
      if (last === 'share') inputs.push(this.#count);
      return { text: passText(parameters, head.join(' '), values, plan, last), inputs };
    });
  }

  get #count(): number {
    return this.#call.axes.reduce((product, axis) => product * elementAt(this.#call.shape, axis), 1);
  }

  /** One more pass, of one result's array (for places: of its values and places). */
  next(stages: readonly Stage[], axis: number, finish: Finish): Promise<Stage[]> {
    const { plan } = this.#call;
    const { shape } = elementAt(stages, 0);
    const atOnce = stages.length > 1 ? mostAtOnce / 2 : mostAtOnce;
    const isLast = elementAt(shape, axis) <= atOnce;
    return this.pass(shape, axis, atOnce, stages.map(() => 'float64'), {}, (count, from) => {
      const names = Array.from({ length: count }, (_, j) => stages.map((__, i) => `a${j}_${i}`));
      const strides = plainStrides(shape);
      const inputs: unknown[] = names.flatMap((_, j) => stages.map(({ data }) => from(j, { data, offset: 0, strides })));
      const last = isLast ? finish : 'none';
      if (last === 'share') inputs.push(this.#count);
      return { text: passText(names.flat(), '', [names.flat()], plan, last), inputs };
    });
  }
}

/** An expression for result `index` of a value that is arranged in some way. */
function accessOf(arrangement: Compiled['point']['arrangement'], index: number, value: string): string {
  let next = 0;
  const find = (of: Compiled['point']['arrangement'], path: string): string | undefined => {
    if (of.kind === 'value') return next++ === index ? path : undefined;
    const parts = of.kind === 'list' ? of.items.map((item, i) => [item, `${path}[${i}]`] as const)
      : of.fields.map(([name, field]) => [field, `${path}.${name}`] as const);
    for (const [each, own] of parts) {
      const found = find(each, own);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(arrangement, value) ?? value;
}

/** In single precision, the values as doubles: they are combined as such. */
async function widened(call: AxisCall, operands: readonly Operand[], site: Site): Promise<unknown> {
  const { f, compiled: { point }, shape, options } = call;
  const inner = new Passes(call, site);
  try {
    const types = point.f.results;
    const stores = types.map(() => inner.store('float64', countOf(shape)));
    await inner.map(f, operands, arrange(point.arrangement, stores.map((data) => ({ data, shape }))));
    const names = types.map((_, i) => `x${i}`);
    const text = `(${names.join(', ')}) => [${names.join(', ')}]`;
    const views = stores.map((data): View => ({ name: '', type: 'float64', data, offset: 0, shape, strides: plainStrides(shape) }));
    const wide = compiledFor(sourceOf(text), types.map(() => 'float64'));
    const { functions: _functions, ...others } = options;
    const isOnDevice = hasDeviceArrays(operands);
    return await reduceAxes({ ...call, f: text, compiled: wide, options: others, arrangement: point.arrangement, isOnDevice }, views, site);
  } finally {
    inner.dispose();
  }
}

const hasDeviceArrays = (operands: readonly Operand[]): boolean =>
  operands.some((operand) => typeof operand !== 'number' && !ArrayBuffer.isView(operand.data));

/** Reduces along axes: arrays in the function's arrangement. Host arrays are read before this returns. */
export async function reduceAxes(call: AxisCall, operands: readonly Operand[], site: Site): Promise<unknown> {
  const { compiled: { point }, how, plan, shape, axes, arrangement = point.arrangement, isOnDevice = hasDeviceArrays(operands) } = call;
  if (point.precision === 'f32' && countOf(shape) > 0) return widened(call, operands, site);
  const passes = new Passes(call, site);
  const isPlace = plan.isPlace === true;
  const rest = shape.filter((_, axis) => !axes.includes(axis));
  const type: KernelElement = isPlace ? 'int32' : 'float64';
  const numbers = operands.filter((operand) => typeof operand === 'number');
  const views = operands.filter((operand) => typeof operand !== 'number').map((view): View => ({
    ...view, shape, strides: shape.map((_, d) => {
      const own = d - shape.length + view.shape.length;
      return own < 0 || view.shape[own] === 1 ? 0 : elementAt(view.strides, own);
    }),
  }));
  let kept: Store[] = [];
  try {
    const stores = countOf(shape) === 0 ? point.f.results.map(() => emptyOf(type, countOf(rest), call.ofNothing))
      : await run(passes, call, views, numbers, how === 'norm2' ? 'root' : how === 'mean' ? 'share' : 'none');
    if (!isOnDevice) {
      const arrays = await Promise.all(stores.map((store) => (ArrayBuffer.isView(store) ? store : store.read())));
      return arrange(arrangement, arrays.map((array) => (isPlace ? Int32Array.from(array as Float64Array) : array)));
    }
    const device = site.device as Device;
    const wanted = await Promise.all(stores.map(async (store): Promise<DeviceArray> => {
      if (ArrayBuffer.isView(store)) return device.array(isPlace ? Int32Array.from(store) : store);
      if (!isPlace) return store;
      return await mapArrays('(i) => i', [store], { device, type: 'int32' }) as DeviceArray;
    }));
    kept = wanted;
    return arrange(arrangement, wanted);
  } finally {
    passes.dispose(kept);
  }
}

function emptyOf(type: KernelElement, length: number, value: number): HostArray {
  const array = makeTypedArray(type, length) as HostArray;
  array.fill(value);
  return array;
}

/** All passes: the arrays of the results (for places: of the places). */
async function run(
  passes: Passes, { axes, plan }: AxisCall, views: readonly View[], numbers: readonly Operand[], finish: Finish,
): Promise<Store[]> {
  const isPlace = plan.isPlace === true;
  const [axis] = axes as [number];
  const isOnly = (at: number): Finish => (axes.slice(at + 1).length === 0 ? finish : 'none');
  const stages = await passes.first(views, numbers, axis, isOnly(0));
  const each = isPlace ? 2 : 1;
  const results = Array.from({ length: stages.length / each }, (_, r) => stages.slice(r * each, (r + 1) * each));
  return Promise.all(results.map(async (own) => {
    let now = own;
    for (const [at, along] of axes.entries()) {
      let isFirst = at > 0; // at least one pass along every axis but the first, which has had one
      while (isFirst || elementAt(elementAt(now, 0).shape, along) > 1) {
        now = await passes.next(now, along, isOnly(at));
        isFirst = false;
      }
    }
    return elementAt(now, isPlace ? 1 : 0).data;
  }));
}
