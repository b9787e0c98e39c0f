// The namespace `files` of the package: arrays, images and sound in files.
export { readImage } from './read-image.ts';
export { writeImage } from './write-image.ts';
export type { GridSize, Image, Pixels } from './image.ts';
export type {
  AxisOrder, ImageFormat, ImageMeta, RawLayout, ReadOptions, ReadResult, SampleType,
} from './images/common.ts';
export { formatNpy, parseNpy } from './npy.ts';
export type { NpyArray, NpyType } from './npy.ts';
export { formatWav, parseWav } from './wav.ts';
export type { Sound } from './wav.ts';
