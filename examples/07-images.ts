// Images: a noisy volume denoised, objects found, and a picture warped onto another one, each held against the truth.
import { imaging } from 'warploom';

// The head phantom of Shepp and Logan with Gaussian noise. Its weight is found from the standard deviation of the noise.
const head = imaging.sheppLogan(48, { dimensions: 3 });
const noisy = imaging.addNoise(head, { sigma: 0.1, seed: 1 });
const clean = await imaging.denoise(noisy, { sigma: 0.1 });
console.log(`denoise: PSNR ${imaging.psnr(noisy, head).toFixed(2)} → ${imaging.psnr(clean.image, head).toFixed(2)} dB, `
  + `${clean.iterations} iterations on ${clean.info.backend}`);
if (!(imaging.psnr(clean.image, head) > 26)) process.exitCode = 1;

// Discs below noise, found by an active contour without edges.
const { image, mask } = imaging.discs(128);
const found = await imaging.segment(imaging.addNoise(image, { sigma: 0.2, seed: 2 }), { mu: 0.1 });
console.log(`segment: Dice ${imaging.diceEitherWay(found.mask, mask).toFixed(4)}, ${(await found.contours()).length} contours, `
  + `${found.iterations} iterations`);
if (!(imaging.diceEitherWay(found.mask, mask) > 0.96)) process.exitCode = 1;

// A pair whose displacement is known.
const pair = imaging.registrationPair(96);
const { displacement, jacobian, iterations } = await imaging.register(pair.reference, pair.template);
const { mean, p95 } = await imaging.targetRegistrationError(displacement, pair.displacement, pair.mask);
console.log(`register: mean error ${mean.toFixed(3)} pixels, p95 ${p95.toFixed(3)}, least Jacobian ${jacobian.min.toFixed(2)}, `
  + `${iterations} iterations`);
if (!(mean < 0.3 && jacobian.min > 0)) process.exitCode = 1;
