// How long calls of imaging keep the event loop from its turns: stall/<call>/<side>, the most processor time of the main thread between two
// turns while the call runs, the copying of its inputs included. (Not the time on the clock, in which other programs count too.) Plain
// arrays, float32, the calls as users write them.
import { readFileSync } from 'node:fs';
import * as imaging from '../lib/imaging/index.ts';
import { nextTurn } from '../lib/core/slices.ts';
import type { BenchContext } from './domain.ts';
import type { Row } from './report.ts';
import { summarise } from './statistics.ts';

/** Milliseconds that the main thread has run so far. */
function mainThreadTime(): number {
  return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[0]) / 1e6;
}

/** Most seconds of the main thread between two turns of the event loop while a call runs. */
export async function longestStall(call: () => Promise<unknown>): Promise<number> {
  let [running, longest, last] = [true, 0, mainThreadTime()];
  const turns = (async () => {
    while (running) {
      await nextTurn();
      const now = mainThreadTime();
      longest = Math.max(longest, now - last);
      last = now;
    }
  })();
  await nextTurn();
  try {
    await call();
  } finally {
    running = false;
    await turns;
  }
  return longest / 1e3;
}

/** Rows of every call of one size. */
export async function stallsRows(context: BenchContext): Promise<Row[]> {
  const { device, quick } = context;
  const side = quick ? 32 : 1024;
  const { image: clean, mask } = imaging.discs(side);
  const noisy = imaging.addNoise(clean, { sigma: 0.3, seed: 2 });
  const shift = { ...noisy, channels: 2, data: Float32Array.from({ length: 2 * side * side }, (_, i) => Math.sin(i / 100)) };
  const other = { ...shift, data: shift.data.map((value) => value * 0.9) };
  const short = { iterations: 10, device };
  const found = await imaging.segment(noisy, short);
  const noise = { levelSet: noisy.data.map((value) => value - 0.5) };
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    'curvature': () => imaging.curvature(noisy, { device }), 'denoise': () => imaging.denoise(noisy, { weight: 0.1, ...short }),
    'segment': () => imaging.segment(noisy, short), 'segment.contours': () => found.contours(),
    'segment-of-noise.contours': async () => (await imaging.segment(noisy, { initial: noise.levelSet, iterations: 0, device })).contours(),
    'register': () => imaging.register(clean, noisy, { levels: 1, ...short }),
    'cosineTransform': () => imaging.cosineTransform(noisy, { device }),
    'warp': () => imaging.warp(noisy, shift, { device }), 'jacobian': () => imaging.jacobian(shift, { device }),
    'ssim': () => imaging.ssim(noisy, clean), 'ncc': () => imaging.ncc(noisy, clean),
    'rofEnergy': () => imaging.rofEnergy(noisy, clean, 0.1),
    'hausdorff': () => imaging.hausdorff(mask, found.mask, clean),
    'targetRegistrationError': () => imaging.targetRegistrationError(shift, other),
    'psnr': async () => imaging.psnr(noisy, clean), 'diceEitherWay': async () => imaging.diceEitherWay(mask, found.mask),
  };
  const rows: Row[] = [];
  for (const [name, call] of Object.entries(calls)) {
    const id = `stall/${name}/${side}`;
    if (!context.wanted(id)) continue;
    await call();
    const gaps: number[] = [];
    for (let i = 0; i < (quick ? 1 : 5); i += 1) gaps.push(await longestStall(call));
    const { median, spread } = summarise(gaps);
    rows.push({ id, value: median, unit: 's', spread, note: 'main thread between two turns of the event loop, plain arrays' });
  }
  return rows;
}
