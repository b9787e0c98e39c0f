// The namespace `imaging` of the package: denoising, segmentation and registration of images and volumes.
export type { GridSize, Image, Pixels } from './image.ts';
