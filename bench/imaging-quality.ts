// How good the answers of imaging are at the speeds of its other rows, on phantoms whose truth is known.
//
//   quality/<phantom and size>/<metric>     dB, 1, pixels or energy per pixel
//
// Peers: public packages on the very same arrays (docs/imaging.md). Larger is better for psnr, ssim and dice, smaller for the others.
import * as imaging from '../lib/imaging/index.ts';
import type { BenchContext } from './domain.ts';
import type { Row } from './report.ts';

type Metrics = Readonly<Record<string, { readonly value: number; readonly unit: string }>>;

/** What others reach: scikit-image 0.26 and a semi-implicit scheme with SciPy's transforms, float64. */
const others: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, number>>>>>> = {
  'shepp-logan-64': {
    psnr: { noisy: 19.979, 'scikit-image default': 29.103, 'scikit-image 500': 29.266 },
    ssim: { noisy: 0.4242, 'scikit-image default': 0.9115, 'scikit-image 500': 0.9435 },
    energy: { 'scikit-image default': 0.0084838, 'scikit-image 500': 0.008467 },
  },
  'shepp-logan-128': {
    psnr: { noisy: 20.004, 'scikit-image default': 32.81 }, ssim: { noisy: 0.2481, 'scikit-image default': 0.9207 },
    energy: { 'scikit-image default': 0.0068965 },
  },
  'discs-256-0.2': { dice: { 'scikit-image default': 0.97983, 'scikit-image 300': 0.99116 } },
  'discs-256': { dice: { 'scikit-image default': 0.98713, 'scikit-image 300': 0.99401, morphological: 0.99381 } },
  'discs-512': { dice: { 'scikit-image default': 0.99362, 'scikit-image 300': 0.99674, morphological: 0.99467 } },
  'registration-128^2': { tre: { start: 2.114, 'SciPy DCT': 0.06305 }, p95: { 'SciPy DCT': 0.277 } },
  'registration-256^2': { tre: { start: 4.23, 'SciPy DCT': 0.11394 }, p95: { 'SciPy DCT': 0.54365 } },
  'registration-64^3': { tre: { start: 1.334, 'SciPy DCT': 0.15236 }, p95: { 'SciPy DCT': 0.44305 } },
  'registration-128^3': { tre: { start: 2.669, 'SciPy DCT': 0.2588 }, p95: { 'SciPy DCT': 0.83467 } },
};

/** One phantom: its name and how its metrics are measured. */
interface Test {
  readonly name: string;
  readonly note: string;
  run(context: BenchContext): Promise<Metrics>;
}

/** Total variation of weight 0.06 on the head phantom with noise of 0.1. */
function sheppLogan(size: number): Test {
  return {
    name: `shepp-logan-${size}`, note: 'weight 0.06, relative gap 5e-6, float32',
    async run({ device }) {
      const clean = imaging.sheppLogan(size, { dimensions: 3 });
      const noisy = imaging.addNoise(clean, { sigma: 0.1, seed: 1 });
      const { image } = await imaging.denoise(noisy, { weight: 0.06, tolerance: 5e-6, iterations: 2000, device });
      return {
        psnr: { value: imaging.psnr(image, clean), unit: 'dB' }, ssim: { value: await imaging.ssim(image, clean), unit: '1' },
        energy: { value: await imaging.rofEnergy(image, noisy, 0.06) / size ** 3, unit: '1' },
      };
    },
  };
}

/** Active contours on the discs. */
function discs(size: number, sigma: number, mu: number): Test {
  return {
    name: sigma === 0.3 ? `discs-${size}` : `discs-${size}-${sigma}`, note: `noise ${sigma}, mu ${mu}, 300 iterations, float32`,
    async run({ device }) {
      const { image, mask: truth } = imaging.discs(size);
      const noisy = imaging.addNoise(image, { sigma, seed: 2 });
      const { mask } = await imaging.segment(noisy, { mu, tolerance: 1e-5, iterations: 300, device });
      return { dice: { value: imaging.diceEitherWay(mask, truth), unit: '1' } };
    },
  };
}

/** Curvature registration of the pair with the exact displacement. */
function registration(size: number, dimensions: 2 | 3, levels: number, iterations: number): Test {
  return {
    name: `registration-${size}^${dimensions}`, note: `alpha 0.1, tau 50, ${levels} levels of ${iterations}, float32`,
    async run({ device }) {
      const { reference, template, displacement: exact, mask } = imaging.registrationPair(size, { dimensions });
      const { displacement } = await imaging.register(reference, template, { alpha: 0.1, tau: 50, levels, iterations, device });
      const { mean, p95 } = await imaging.targetRegistrationError(displacement, exact, mask);
      return { tre: { value: mean, unit: 'pixels' }, p95: { value: p95, unit: 'pixels' } };
    },
  };
}

const quickTests = [sheppLogan(16), discs(32, 0.3, 0.1), registration(32, 2, 2, 10)];
const tests = [
  sheppLogan(64), sheppLogan(128), discs(256, 0.2, 0.25), discs(256, 0.3, 0.1), discs(512, 0.3, 0.1),
  registration(128, 2, 3, 60), registration(256, 2, 4, 60), registration(64, 3, 3, 40), registration(128, 3, 4, 40),
];
/** On the host: those that take seconds. */
const onHost = new Set([
  'shepp-logan-64', 'discs-256-0.2', 'discs-256', 'discs-512', 'registration-128^2', 'registration-256^2', 'registration-64^3',
]);

/** Rows of quality whose ids are wanted and not in `measured`. */
export async function qualityRows(context: BenchContext, measured: ReadonlySet<string>): Promise<Row[]> {
  const all = context.quick ? quickTests : tests.filter(({ name }) => context.device.backend === 'cuda' || onHost.has(name));
  const rows: Row[] = [];
  for (const test of all) {
    if (!context.wanted(`quality/${test.name}/`) && !context.wanted(`quality/${test.name}/tre`)) continue;
    for (const [metric, { value, unit }] of Object.entries(await test.run(context))) {
      const id = `quality/${test.name}/${metric}`;
      if (measured.has(id) || !context.wanted(id)) continue;
      const peers = others[test.name]?.[metric];
      rows.push({ id, value, unit, spread: 0, ...(peers === undefined ? {} : { peers, constants: Object.keys(peers) }), note: test.note });
    }
  }
  return rows;
}
