// Fields over time as a Zarr v3 group in a folder: raw little-endian chunks of about 1 MiB.
import { dirname, join } from 'node:path';
import * as zarr from 'zarrita';
import { makeFolder, readBytes, removeAll, unlessAbsent, writeFileAtomic } from '../core/files.ts';
import { elementAt, required } from '../core/known.ts';

type RealArray = Float32Array | Float64Array;
type FileType = 'float32' | 'float64' | 'int64';
type FieldArray = zarr.Array<'float32' | 'float64', FolderStore>;

/** A Zarr store in a folder whose files are whole or absent. */
class FolderStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    return unlessAbsent(readBytes(join(this.#folder, key)));
  }

  async set(key: string, value: Uint8Array): Promise<void> {
    const path = join(this.#folder, key);
    await makeFolder(dirname(path));
    await writeFileAtomic(path, value);
  }
}

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
}

/** Bytes of a chunk, where snapshots are not larger. */
const chunkBytes = 2 ** 20;

async function makeArray<T extends FileType>(
  root: zarr.Location<FolderStore>, name: string, dtype: T, extents: readonly [string, number][], chunkShape: number[],
): Promise<zarr.Array<T, FolderStore>> {
  return zarr.create(root.resolve(name), {
    dtype, shape: extents.map(([, extent]) => extent), chunkShape, dimensionNames: extents.map(([dimension]) => dimension),
    codecs: [{ name: 'bytes', configuration: { endian: 'little' } }], fillValue: (dtype === 'int64' ? 0 : 'NaN') as never,
  });
}

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

/** Snapshots of fields of shape (time, axes…), with the coordinates of the axes, `time` and `step`. */
export class FieldSeries {
  readonly #fields: ReadonlyMap<string, Field>;

  private constructor(fields: ReadonlyMap<string, Field>) {
    this.#fields = fields;
  }

  /** Makes the group, or opens it again for a run that goes on: what it holds then stays. */
  static async create(folder: string, shape: SeriesShape, goOn: boolean): Promise<FieldSeries> {
    if (!goOn) await removeAll(folder);
    const root = zarr.root(new FolderStore(folder));
    const { steps, times, type } = shape;
    await zarr.create(root, { attributes: shape.attributes });
    const count = times.length;
    const axes: [string, 'float64' | 'int64', string, Float64Array | BigInt64Array][] = [
      ...shape.axes.map(([name, places]): [string, 'float64', string, Float64Array] => [name, 'float64', name, places]),
      ['time', 'float64', 'time', Float64Array.from(times)],
    ];
    if (steps !== undefined) axes.push(['step', 'int64', 'time', BigInt64Array.from(steps, BigInt)]);
    for (const [name, dtype, dimension, values] of axes) {
      const array = await makeArray(root, name, dtype, [[dimension, values.length]], [values.length]);
      await zarr.set(array, null, { data: values as never, shape: [values.length], stride: [1] });
    }
    const extents = shape.axes.map(([name, places]) => [name, places.length] as [string, number]);
    const points = extents.reduce((product, [, extent]) => product * extent, 1);
    const rows = Math.min(count, Math.max(1, Math.floor(chunkBytes / (points * (type === 'float32' ? 4 : 8)))));
    const fields = new Map<string, Field>();
    for (const name of shape.fields) {
      const array = await makeArray(root, name, type, [['time', count], ...extents],
        [rows, ...extents.map(([, extent]) => extent)]);
      fields.set(name, new Field(array));
    }
    return new FieldSeries(fields);
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
