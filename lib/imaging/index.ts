// The namespace `imaging` of the package: denoising, segmentation and registration of images and volumes.
export type { GridSize, Image, Pixels } from './image.ts';
export { readImage } from './read.ts';
export { writeImage } from './write.ts';
export type {
  AxisOrder, ImageFormat, ImageMeta, RawLayout, ReadOptions, ReadResult, SampleType,
} from './formats/common.ts';
export { discs, registrationPair, sheppLogan } from './phantoms.ts';
export type { DiscPhantom, PhantomOptions, RegistrationPair, RegistrationPairOptions } from './phantoms.ts';
export { addNoise, normalNumbers } from './noise.ts';
export type { NoiseOptions } from './noise.ts';
export {
  dice, diceEitherWay, hausdorff, meanSquaredError, ncc, psnr, rofEnergy, ssim, targetRegistrationError,
} from './metrics.ts';
export type { Mask, MaskShape, RegistrationError, SsimOptions } from './metrics.ts';
export { cosineTransform } from './cosine.ts';
export type { CosineOptions, CosineResult } from './cosine.ts';
export { resample } from './resample.ts';
export type { ResampleOptions } from './resample.ts';
export { warp } from './warp.ts';
export type { WarpOptions } from './warp.ts';
export { jacobian } from './jacobian.ts';
export type { JacobianOptions } from './jacobian.ts';
export { registration } from './registration.ts';
export type { RegistrationOptions } from './registration.ts';
export { curvature, curvatureVariants } from './curvature.ts';
export type { CurvatureOptions, CurvatureResult, CurvatureVariant } from './curvature.ts';
export { denoise, denoiseMethods, denoiseVariants, noiseKinds } from './denoise.ts';
export type { DenoiseCheck, DenoiseMethod, DenoiseOptions, DenoiseResult, DenoiseVariant, NoiseKind } from './denoise.ts';
export { segment } from './segment.ts';
export type { SegmentOptions } from './segment.ts';
