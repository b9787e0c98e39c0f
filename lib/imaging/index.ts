// The namespace `imaging` of the package: denoising, segmentation and registration of images and volumes.
export type { GridSize, Image, Pixels, Spacing } from '../files/image.ts';
export { readImage } from '../files/read-image.ts';
export { writeImage } from '../files/write-image.ts';
export type {
  AxisOrder, ImageFormat, ImageMeta, RawLayout, ReadOptions, ReadResult, SampleType,
} from '../files/images/common.ts';
export { discs, registrationPair, sheppLogan } from './phantoms.ts';
export type { DiscPhantom, PhantomOptions, RegistrationPair, RegistrationPairOptions } from './phantoms.ts';
export { addNoise } from './noise.ts';
export type { NoiseOptions } from './noise.ts';
export {
  dice, diceEitherWay, hausdorff, meanSquaredError, ncc, psnr, rofEnergy, ssim, targetRegistrationError,
} from './metrics.ts';
export type { Compared, HostImage, Mask, MaskShape, RegistrationError, SsimOptions } from './metrics.ts';
export { cosineTransform } from './cosine.ts';
export type { CosineOptions, CosineResult } from './cosine.ts';
export { warp } from './warp.ts';
export type { WarpOptions, WarpResult } from './warp.ts';
export { composeDisplacements, invertDisplacement } from './displacement.ts';
export type { ComposeOptions, ComposeResult, InvertOptions, InvertResult } from './displacement.ts';
export { jacobian } from './jacobian.ts';
export type { JacobianOptions, JacobianRange, JacobianResult } from './jacobian.ts';
export { align } from './align.ts';
export type { AlignOptions, AlignResult } from './align.ts';
export { alignModels } from './align-solve.ts';
export type { AlignModel } from './align-solve.ts';
export { register } from './register.ts';
export { registrationMeasures, registrationVariants } from './register-options.ts';
export type {
  RegisterOptions, RegisterResult, RegistrationLevel, RegistrationMeasure, RegistrationVariant,
} from './register-options.ts';
export type { LandmarkError, Landmarks } from './landmarks.ts';
export { curvature, curvatureVariants } from './curvature.ts';
export type { CurvatureOptions, CurvatureResult, CurvatureVariant } from './curvature.ts';
export type { SampleImage, Samples } from '../files/samples.ts';
export { denoise, denoiseMethods, denoiseVariants, noiseKinds } from './denoise.ts';
export type { DenoiseCheck, DenoiseMethod, DenoiseOptions, DenoiseResult, DenoiseVariant, NoiseKind } from './denoise.ts';
export type { IterationStatus } from './status.ts';
export { segment } from './segment.ts';
export { segmentSteps, segmentVariants } from './segment-options.ts';
export type {
  InitialContour, SegmentOptions, SegmentProgress, SegmentResult, SegmentStep, SegmentVariant,
} from './segment-options.ts';
export { contourPolygons, contourRings, ringArea } from './contour.ts';
export type { ContourOptions, Polygon, Ring } from './contour.ts';
