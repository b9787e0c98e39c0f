// How a Zarr group lies in a folder: its arrays and their metadata, in format 3 or 2.
import { dirname, join } from 'node:path';
import * as zarr from 'zarrita';
import { makeFolder, readBytes, readText, unlessAbsent, writeFileAtomic } from '../core/files.ts';
import type { Compression, ZarrFormat } from './zarr-options.ts';

export type FileType = 'float32' | 'float64' | 'int64';

/** A Zarr store in a folder whose files are whole or absent. */
export class FolderStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    return unlessAbsent(readBytes(join(this.#folder, key)));
  }

  async set(key: string, value: Uint8Array | string): Promise<void> {
    const path = join(this.#folder, key);
    await makeFolder(dirname(path));
    await writeFileAtomic(path, value);
  }
}

/** An array to be made. */
export interface ArrayPlan<T extends FileType = FileType> {
  readonly name: string;
  readonly type: T;
  /** Dimensions by name, the last one varying fastest, and their extents. */
  readonly extents: readonly (readonly [string, number])[];
  readonly chunks: readonly number[];
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** The codec of a compression in format 3, as the specification has it. `shuffle` is a number where this library encodes. */
function codecsOf(compression: Compression, type: FileType, shuffle: number | string): zarr.CodecMetadata[] {
  const typesize = type === 'float32' ? 4 : 8;
  const bytes = { name: 'bytes', configuration: { endian: 'little' } };
  switch (compression) {
    case 'none': return [bytes];
    case 'zstd': return [bytes, { name: 'zstd', configuration: { level: 3, checksum: false } }];
    case 'blosc': return [bytes, { name: 'blosc', configuration: { cname: 'zstd', clevel: 5, shuffle, typesize, blocksize: 0 } }];
  }
}

const compressors = {
  none: null, zstd: { id: 'zstd', level: 3 }, blosc: { id: 'blosc', cname: 'zstd', clevel: 5, shuffle: 1, blocksize: 0 },
} as const;

const text = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** A group in the making: what it holds is known when its last array has been made. */
export class GroupLayout {
  readonly #store: FolderStore;
  readonly #format: ZarrFormat;
  readonly #compression: Compression;
  /** Metadata by file (format 2) or array (format 3). */
  readonly #metadata: Record<string, unknown> = {};

  constructor(store: FolderStore, format: ZarrFormat, compression: Compression) {
    this.#store = store;
    this.#format = format;
    this.#compression = compression;
  }

  /** Makes an array; its chunks are absent, and read as NaN or 0. */
  async array<T extends FileType>(plan: ArrayPlan<T>): Promise<zarr.Array<T, FolderStore>> {
    const made = this.#format === 3 ? await this.#array3(plan) : await this.#array2(plan);
    return made as unknown as zarr.Array<T, FolderStore>;
  }

  async #array3({ name, type, extents, chunks, attributes }: ArrayPlan): Promise<zarr.Array<FileType, FolderStore>> {
    const array = await zarr.create(zarr.root(this.#store).resolve(name), {
      dtype: type, shape: extents.map(([, extent]) => extent), chunkShape: [...chunks],
      dimensionNames: extents.map(([dimension]) => dimension),
      codecs: codecsOf(this.#compression, type, 1), fillValue: (type === 'int64' ? 0 : 'NaN') as never, attributes: { ...attributes },
    });
    const path = `/${name}/zarr.json`;
    const written = JSON.parse(new TextDecoder().decode(await this.#store.get(path))) as object;
    const metadata = { ...written, codecs: codecsOf(this.#compression, type, 'shuffle') };
    await this.#store.set(path, text(metadata));
    this.#metadata[name] = metadata;
    return array;
  }

  async #array2({ name, type, extents, chunks, attributes }: ArrayPlan): Promise<zarr.Array<zarr.DataType, FolderStore>> {
    const about = {
      zarr_format: 2, shape: extents.map(([, extent]) => extent), chunks, dtype: { float32: '<f4', float64: '<f8', int64: '<i8' }[type],
      compressor: compressors[this.#compression], fill_value: type === 'int64' ? 0 : 'NaN', order: 'C', filters: null,
      dimension_separator: '.',
    };
    await this.#write(`${name}/.zarray`, about);
    await this.#write(`${name}/.zattrs`, { _ARRAY_DIMENSIONS: extents.map(([dimension]) => dimension), ...attributes });
    return zarr.open.v2(zarr.root(this.#store).resolve(name), { kind: 'array' });
  }

  async #write(key: string, value: unknown): Promise<void> {
    await this.#store.set(`/${key}`, text(value));
    this.#metadata[key] = value;
  }

  /** Writes the group's own metadata, with those of all its arrays, so that a reader needs one file to know them. */
  async finish(attributes: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.#format === 3) {
      const consolidated = { kind: 'inline', must_understand: false, metadata: this.#metadata };
      await this.#store.set('/zarr.json', text({ zarr_format: 3, node_type: 'group', attributes, consolidated_metadata: consolidated }));
      return;
    }
    await this.#write('.zgroup', { zarr_format: 2 });
    await this.#write('.zattrs', attributes);
    await this.#store.set('/.zmetadata', text({ zarr_consolidated_format: 1, metadata: this.#metadata }));
  }
}

/** The attributes of a group in a folder; undefined if there is none that was written whole. */
export async function groupAttributes(folder: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const group = await unlessAbsent(readText(join(folder, 'zarr.json')));
    if (group !== undefined) return (JSON.parse(group) as { attributes?: Record<string, unknown> }).attributes ?? {};
    if (await unlessAbsent(readText(join(folder, '.zmetadata'))) === undefined) return undefined;
    return JSON.parse(await readText(join(folder, '.zattrs'))) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
