// What can be chosen of Zarr groups.

/** How chunks are compressed: `blosc` is Zstandard on shuffled bytes, which suits numbers. */
export const compressions = ['none', 'blosc', 'zstd'] as const;
export type Compression = (typeof compressions)[number];

/** Formats of Zarr; readers from before 2025 know 2 only. */
export type ZarrFormat = 2 | 3;
