// The namespace `imaging` of the package: denoising, segmentation and registration of images and volumes.
export type { GridSize, Image, Pixels } from './image.ts';
export { cosine } from './cosine.ts';
export type { CosineOptions } from './cosine.ts';
export { resample } from './resample.ts';
export type { ResampleOptions } from './resample.ts';
export { warp } from './warp.ts';
export type { WarpOptions } from './warp.ts';
export { jacobian } from './jacobian.ts';
export type { JacobianOptions } from './jacobian.ts';
export { registration } from './registration.ts';
export type { RegistrationOptions } from './registration.ts';
export { curvature } from './curvature.ts';
export type { CurvatureOptions } from './curvature.ts';
export { denoise } from './denoise.ts';
export type { DenoiseOptions } from './denoise.ts';
export { segment } from './segment.ts';
export type { SegmentOptions } from './segment.ts';
