// Figures of segment: seconds of an iteration by size, and of one with its energies.
import { openDevice, type Device } from '../lib/core/device.ts';
import { addNoise, discs, segment, type SegmentOptions } from '../lib/imaging/index.ts';
import type { BenchContext } from './domain.ts';
import { h200CopyRate } from './floor.ts';
import type { Row } from './report.ts';

/** scikit-image 0.26 chan_vese, one core, seconds of an iteration. */
const scikitImage: Readonly<Record<number, number>> = { 64: 473e-6, 256: 3.344e-3, 512: 16.14e-3, 1024: 92.37e-3 };

/** Median and interquartile range over it. */
function middle(values: number[]): { value: number; spread: number } {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!;
  return { value: at(0.5), spread: (at(0.75) - at(0.25)) / at(0.5) };
}

/** Seconds of an iteration, from calls of two lengths on arrays of the device: begin and end fall out. */
async function iterationSeconds(
  device: Device, n: number, energyEvery: number, quick: boolean,
): Promise<{ value: number; spread: number }> {
  const image = addNoise(discs(n).image, { sigma: 0.3, seed: 2 });
  using data = await device.array(image.data);
  using levelSet = await device.array('float32', n * n);
  using mask = await device.array('uint8', n * n);
  const options: SegmentOptions<typeof data> = { mu: 0.1, tolerance: 0, energyEvery, device, out: { levelSet, mask } };
  const updates = device.backend === 'cuda' ? 2 ** 31 : 2 ** 24;
  const many = quick ? 6 : Math.max(8, Math.min(4000, Math.round(updates / n ** 2)));
  const few = quick ? 2 : Math.ceil(many / 4);
  const seconds = async (iterations: number) => (await segment({ ...image, data }, { ...options, iterations })).info.deviceSeconds;
  await seconds(few);
  const found: number[] = [];
  for (let repeat = 0; repeat < (quick ? 1 : 7); repeat += 1) found.push((await seconds(many) - await seconds(few)) / (many - few));
  return middle(found);
}

/** Rows of segment; on the cpu backend those of one thread too. */
export async function segmentRows(context: BenchContext): Promise<Row[]> {
  const { device, quick } = context;
  const rows: Row[] = [];
  const measure = async (id: string, on: Device, n: number, energyEvery: number, more: Partial<Row>) => {
    if (!context.wanted(id)) return;
    rows.push({ id, ...await iterationSeconds(on, n, energyEvery, quick), unit: 's', ...more });
  };
  const large = device.backend === 'cuda' ? [512, 1024, 2048, 4096] : device.backend === 'cpu' ? [512, 1024] : [];
  for (const n of quick ? [64] : [64, 256, ...large]) {
    const limit = (12 * n ** 2) / h200CopyRate;
    const beyondCache = device.backend === 'cuda' && n >= 2048;
    await measure(`chan-vese/iteration/${n}`, device, n, 0, beyondCache ? { limit } : {});
    const last = rows.at(-1);
    if (beyondCache && last?.limit !== undefined) last.fraction = last.limit / last.value;
    await measure(`chan-vese/with-energies/${n}`, device, n, 20, { note: 'an energy every 20 iterations' });
  }
  if (device.backend !== 'cpu') return rows;
  const one = await openDevice({ backend: 'cpu', threads: 1 });
  try {
    for (const n of quick ? [64] : [256, 512, 1024]) {
      const peer = 'scikit-image, 1 core';
      await measure(`chan-vese/iteration/${n}/one-thread`, one, n, 0, { peers: { [peer]: scikitImage[n]! }, constants: [peer] });
    }
  } finally {
    await one.close();
  }
  return rows;
}
