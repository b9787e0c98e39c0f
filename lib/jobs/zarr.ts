// Fields over time as a Zarr v3 group in a folder: raw little-endian chunks, one per snapshot.
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as zarr from 'zarrita';
import { writeFileAtomic } from '../core/files.ts';

type RealArray = Float32Array | Float64Array;
type FileType = 'float32' | 'float64' | 'int64';

/** A Zarr store in a folder whose files are whole or absent. */
class FolderStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    try {
      return await readFile(join(this.#folder, key));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async set(key: string, value: Uint8Array): Promise<void> {
    const path = join(this.#folder, key);
    await mkdir(dirname(path), { recursive: true });
    await writeFileAtomic(path, value);
  }
}

/** What a {@link FieldSeries} is made for. */
export interface SeriesShape {
  readonly type: 'float32' | 'float64';
  /** Names of the fields. */
  readonly fields: readonly string[];
  /** Places of the points. */
  readonly x: Float64Array;
  /** Steps and times of the snapshots. */
  readonly steps: readonly number[];
  readonly times: readonly number[];
  /** Attributes of the group. */
  readonly attributes: Record<string, unknown>;
}

/** Snapshots of fields of shape (time, x), with their coordinates `x`, `time` and `step`. */
export class FieldSeries {
  readonly #arrays: Map<string, zarr.Array<'float32' | 'float64', FolderStore>>;

  private constructor(arrays: Map<string, zarr.Array<'float32' | 'float64', FolderStore>>) {
    this.#arrays = arrays;
  }

  /** Makes the group, or opens it again for a run that goes on: its snapshots then stay. */
  static async create(folder: string, shape: SeriesShape, goOn: boolean): Promise<FieldSeries> {
    if (!goOn) await rm(folder, { recursive: true, force: true });
    const store = new FolderStore(folder);
    const root = zarr.root(store);
    const { x, steps, times, fields } = shape;
    await zarr.create(root, { attributes: shape.attributes });
    const make = <T extends FileType>(name: string, dtype: T, extents: readonly [string, number][], chunk: number[]) =>
      zarr.create(root.resolve(name), {
        dtype, shape: extents.map(([, extent]) => extent), chunkShape: chunk, dimensionNames: extents.map(([dimension]) => dimension),
        codecs: [{ name: 'bytes', configuration: { endian: 'little' } }], fillValue: (dtype === 'int64' ? 0 : 'NaN') as never,
      });
    const whole = { stride: [1] };
    await zarr.set(await make('x', 'float64', [['x', x.length]], [x.length]), null, { data: x, shape: [x.length], ...whole });
    const count = times.length;
    await zarr.set(await make('time', 'float64', [['time', count]], [count]), null, { data: Float64Array.from(times), shape: [count], ...whole });
    await zarr.set(await make('step', 'int64', [['time', count]], [count]), null,
      { data: BigInt64Array.from(steps, BigInt), shape: [count], ...whole });
    const arrays = new Map<string, zarr.Array<'float32' | 'float64', FolderStore>>();
    for (const name of fields) arrays.set(name, await make(name, shape.type, [['time', count], ['x', x.length]], [1, x.length]));
    return new FieldSeries(arrays);
  }

  /** Writes a field of snapshot `index`. */
  async write(name: string, index: number, values: RealArray): Promise<void> {
    await zarr.set(this.#arrays.get(name)!, [index, null], { data: values as Float64Array<ArrayBuffer>, shape: [values.length], stride: [1] });
  }

  /** A field of snapshot `index`. */
  async read(name: string, index: number): Promise<RealArray> {
    const { data } = await zarr.get(this.#arrays.get(name)!, [index, null]);
    return data as RealArray;
  }
}
