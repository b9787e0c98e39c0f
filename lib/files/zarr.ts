// Fields over time as a Zarr group in a folder, in little-endian chunks of about 1 MiB.
import * as zarr from 'zarrita';
import { listFolder, removeAll } from '../core/files.ts';
import { elementAt, required } from '../core/known.ts';
import { FolderStore, GroupLayout } from './zarr-layout.ts';
import type { Compression, ZarrFormat } from './zarr-options.ts';

type RealArray = Float32Array | Float64Array;
type FieldArray = zarr.Array<'float32' | 'float64', FolderStore>;

/** What a {@link FieldSeries} is created for. */
export interface SeriesShape {
  readonly type: 'float32' | 'float64';
  /** Names of the fields. */
  readonly fields: readonly string[];
  /** Names of the axes, and the places of the points along each; the last one varies fastest. */
  readonly axes: readonly (readonly [name: string, places: Float64Array])[];
  /** Steps of the snapshots, where they are known beforehand; and times. */
  readonly steps?: readonly number[];
  readonly times: readonly number[];
  /** Attributes of the group. */
  readonly attributes: Record<string, unknown>;
  /** Units of fields, axes and `time`, by name. */
  readonly units?: Readonly<Record<string, string>>;
  /** Default 3; readers of Zarr before 2025 know 2 only. */
  readonly zarrFormat?: ZarrFormat;
  /** Default 'none'. */
  readonly compression?: Compression;
}

/** Bytes of a chunk, where snapshots are not larger. */
const chunkBytes = 2 ** 20;

/** Snapshots of one field, kept in memory until their chunk is full. */
class Field {
  readonly #array: FieldArray;
  readonly #rows: number;
  readonly #extents: readonly number[];
  readonly #n: number;
  #chunk = -1;
  #values: RealArray = new Float64Array(0);
  #dirty = false;

  constructor(array: FieldArray) {
    this.#array = array;
    this.#rows = elementAt(array.chunks, 0);
    this.#extents = array.shape.slice(1);
    this.#n = this.#extents.reduce((a, b) => a * b, 1);
  }

  async row(index: number): Promise<RealArray> {
    const chunk = Math.floor(index / this.#rows);
    if (chunk !== this.#chunk) {
      await this.flush();
      const { data } = await zarr.get(this.#array, [this.#span(chunk), ...this.#extents.map(() => null)]);
      this.#values = data;
      this.#chunk = chunk;
    }
    const at = (index - chunk * this.#rows) * this.#n;
    return this.#values.subarray(at, at + this.#n);
  }

  async write(index: number, values: RealArray): Promise<void> {
    (await this.row(index)).set(values);
    this.#dirty = true;
  }

  async flush(): Promise<void> {
    if (!this.#dirty) return;
    const span = this.#span(this.#chunk);
    const data = this.#values as Float64Array<ArrayBuffer>;
    const shape = [data.length / this.#n, ...this.#extents];
    const stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1));
    await zarr.set(this.#array, [span, ...this.#extents.map(() => null)], { data, shape, stride });
    this.#dirty = false;
  }

  #span(chunk: number): zarr.Slice {
    return zarr.slice(chunk * this.#rows, Math.min((chunk + 1) * this.#rows, elementAt(this.#array.shape, 0)));
  }
}

/** A series that is read, and where its points are. */
export interface OpenedSeries {
  readonly series: FieldSeries;
  readonly fields: readonly string[];
  /** Axes of the fields, the last one varying fastest. */
  readonly axes: readonly (readonly [name: string, places: Float64Array])[];
  /** Times of the snapshots, and their steps where they are known. */
  readonly times: Float64Array;
  readonly steps: readonly number[] | undefined;
}

/** Names of an array's dimensions, in either format. */
function dimensionsOf(array: zarr.Array<zarr.DataType, FolderStore>): readonly string[] {
  return (array.dimensionNames ?? array.attrs['_ARRAY_DIMENSIONS'] ?? []) as readonly string[];
}

/** Snapshots of fields of shape (time, axes…), with the coordinates of the axes, `time` and `step`. */
export class FieldSeries {
  readonly #fields: ReadonlyMap<string, Field>;

  private constructor(fields: ReadonlyMap<string, Field>) {
    this.#fields = fields;
  }

  /** Makes the group, or opens it again for a run that goes on: what it holds then stays. */
  static async create(folder: string, shape: SeriesShape, goOn: boolean): Promise<FieldSeries> {
    if (!goOn) await removeAll(folder);
    const { steps, times, type, units = {}, zarrFormat = 3, compression = 'none' } = shape;
    const group = new GroupLayout(new FolderStore(folder), zarrFormat, compression);
    const count = times.length;
    const unit = (name: string): object => (units[name] === undefined ? {} : { units: units[name] });
    const axes: [string, 'float64' | 'int64', string, Float64Array | BigInt64Array, object][] = [
      ...shape.axes.map(([name, places]): [string, 'float64', string, Float64Array, object] =>
        [name, 'float64', name, places, { axis: name.toUpperCase(), long_name: `position along ${name}` }]),
      ['time', 'float64', 'time', Float64Array.from(times), { axis: 'T', long_name: 'time' }],
    ];
    if (steps !== undefined) axes.push(['step', 'int64', 'time', BigInt64Array.from(steps, BigInt), { long_name: 'number of steps' }]);
    for (const [name, dtype, dimension, values, about] of axes) {
      const array = await group.array({
        name, type: dtype, extents: [[dimension, values.length]], chunks: [values.length], attributes: { ...about, ...unit(name) },
      });
      await zarr.set(array, null, { data: values as never, shape: [values.length], stride: [1] });
    }
    const extents = shape.axes.map(([name, places]) => [name, places.length] as const);
    const points = extents.reduce((product, [, extent]) => product * extent, 1);
    const rows = Math.min(count, Math.max(1, Math.floor(chunkBytes / (points * (type === 'float32' ? 4 : 8)))));
    const fields = new Map<string, Field>();
    for (const name of shape.fields) {
      const array = await group.array({
        name, type, extents: [['time', count], ...extents], chunks: [rows, ...extents.map(([, extent]) => extent)],
        attributes: { long_name: name, ...unit(name), ...(steps === undefined ? {} : { coordinates: 'step' }) },
      });
      fields.set(name, new Field(array));
    }
    await group.finish({ Conventions: 'CF-1.11', ...shape.attributes });
    return new FieldSeries(fields);
  }

  /** Opens a group that {@link create} has made, for reading. */
  static async open(folder: string): Promise<OpenedSeries> {
    const root = zarr.root(new FolderStore(folder));
    const names = (await listFolder(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const arrays = await Promise.all(names.map(async (name) => [name, await zarr.open(root.resolve(name), { kind: 'array' })] as const));
    const numbers = async (name: string): Promise<Float64Array | undefined> => {
      const array = arrays.find(([own]) => own === name)?.[1];
      return array === undefined ? undefined : Float64Array.from((await zarr.get(array)).data as Float64Array, Number);
    };
    const fields = arrays.filter(([, array]) => array.shape.length > 1 && dimensionsOf(array)[0] === 'time');
    const axes = dimensionsOf(elementAt(fields, 0)[1]).slice(1);
    const steps = await numbers('step');
    return {
      series: new FieldSeries(new Map(fields.map(([name, array]) => [name, new Field(array as FieldArray)]))),
      fields: fields.map(([name]) => name), times: required(await numbers('time')), steps: steps === undefined ? undefined : [...steps],
      axes: await Promise.all(axes.map(async (name) => [name, required(await numbers(name))] as const)),
    };
  }

  /** Accepts a field of snapshot `index`; it is on disk after {@link flush}. */
  async write(name: string, index: number, values: RealArray): Promise<void> {
    await required(this.#fields.get(name)).write(index, values);
  }

  /** A field of snapshot `index`. */
  async read(name: string, index: number): Promise<RealArray> {
    return (await required(this.#fields.get(name)).row(index)).slice();
  }

  /** Writes everything accepted so far to disk. */
  async flush(): Promise<void> {
    for (const field of this.#fields.values()) await field.flush();
  }
}
