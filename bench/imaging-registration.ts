// Figures of register: seconds of an iteration by size, type and measure.
//
//   registration/iteration/<n>^<2|3>                           float32, ssd
//   registration/iteration/<n>^<2|3>/<float64|ncc|plain|explicit>
//
// Limit of a row on a GPU: the bytes of its passes at the copy rate: each reads and writes the displacement (two passes in the plane,
// four in space), the one along the rows also the displacement before, the images, and writes the former.
import { openDevice, type Device } from '../lib/core/device.ts';
import { register, registrationPair, type RegisterOptions } from '../lib/imaging/index.ts';
import type { BenchContext } from './domain.ts';
import { h200CacheBytes, h200CopyRate } from './floor.ts';
import type { Row } from './report.ts';
import { summarise } from './statistics.ts';


interface Problem {
  readonly size: number;
  readonly dimensions: 2 | 3;
  readonly kind?: 'float64' | 'ncc' | 'plain' | 'explicit';
}

function idOf({ size, dimensions, kind }: Problem): string {
  return `registration/iteration/${size}^${dimensions}${kind === undefined ? '' : `/${kind}`}`;
}

function optionsOf({ kind }: Problem): RegisterOptions {
  switch (kind) {
    case 'ncc': return { measure: 'ncc' };
    case 'plain': return { accelerate: false };
    case 'explicit': return { variant: 'explicit' };
    default: return {};
  }
}

/** Seconds of an iteration, from calls of two lengths on arrays of the device: begin and end fall out. */
async function iterationSeconds(device: Device, problem: Problem, quick: boolean): Promise<{ value: number; spread: number }> {
  const { size, dimensions, kind } = problem;
  const type = kind === 'float64' ? 'float64' : 'float32';
  const pair = registrationPair(size, { type, dimensions });
  const points = pair.mask.length;
  using fixed = await device.array(pair.reference.data);
  using moving = await device.array(pair.template.data);
  using displacement = await device.array(type, dimensions * points);
  using warped = await device.array(type, points);
  const updates = device.backend === 'cuda' ? 2 ** 29 : 2 ** 22;
  const few = Math.max(2, Math.min(50, Math.round(updates / 8 / points)));
  const many = quick ? 3 : 8 * few;
  const seconds = async (iterations: number) => (await register(
    { ...pair.reference, data: fixed }, { ...pair.template, data: moving },
    { ...optionsOf(problem), levels: 1, tolerance: 0, iterations, out: { displacement, warped }, device })).info.deviceSeconds;
  if (quick) return { value: await seconds(many) / many, spread: 0 };
  await seconds(few);
  const found: number[] = [];
  for (let repeat = 0; repeat < 5; repeat += 1) found.push((await seconds(many) - await seconds(few)) / (many - few));
  const { median, spread } = summarise(found);
  return { value: median, spread };
}

/** Least seconds of an iteration by its bytes, where these go to device memory. */
function limitOf({ size, dimensions, kind }: Problem): number | undefined {
  const points = size ** dimensions;
  const field = dimensions * points * (kind === 'float64' ? 8 : 4);
  if (kind === 'explicit' || 2 * field < h200CacheBytes) return undefined;
  const passes = dimensions === 3 ? 4 : 2;
  return (2 * passes * field + (kind === 'plain' ? 0 : 2 * field) + (2 * field) / dimensions) / h200CopyRate;
}

const onGpu: readonly Problem[] = [
  { size: 128, dimensions: 2 }, { size: 512, dimensions: 2 }, { size: 1024, dimensions: 2 }, { size: 2048, dimensions: 2 },
  { size: 64, dimensions: 3 }, { size: 128, dimensions: 3 }, { size: 256, dimensions: 3 },
  { size: 1024, dimensions: 2, kind: 'float64' }, { size: 128, dimensions: 3, kind: 'float64' }, { size: 128, dimensions: 3, kind: 'ncc' },
  { size: 128, dimensions: 3, kind: 'plain' }, { size: 128, dimensions: 3, kind: 'explicit' },
];
const onCpu: readonly Problem[] = [
  { size: 128, dimensions: 2 }, { size: 256, dimensions: 2 }, { size: 1024, dimensions: 2 }, { size: 64, dimensions: 3 },
  { size: 128, dimensions: 3 },
];
const quickly: readonly Problem[] = [{ size: 24, dimensions: 2 }, { size: 8, dimensions: 3 }];
/** SciPy: dctn with 8 threads and map_coordinates with one, seconds of an iteration (measured). */
const scipy: Readonly<Record<string, number>> = {
  '128^2': 3.716e-3, '256^2': 11.53e-3, '1024^2': 137.9e-3, '64^3': 80.66e-3, '128^3': 680.7e-3,
};

/** Rows of register; on the cpu backend those of one thread too. */
export async function registrationRows(context: BenchContext): Promise<Row[]> {
  const { device, quick } = context;
  const rows: Row[] = [];
  const problems = quick || device.backend === 'simt' ? quickly : device.backend === 'cuda' ? onGpu : onCpu;
  for (const problem of problems) {
    const id = idOf(problem);
    if (!context.wanted(id)) continue;
    const measured = await iterationSeconds(device, problem, quick || device.backend === 'simt');
    const limit = device.backend === 'cuda' ? limitOf(problem) : undefined;
    rows.push({ id, ...measured, unit: 's', ...(limit === undefined ? {} : { limit, fraction: limit / measured.value }) });
  }
  if (device.backend !== 'cpu' || quick) return rows;
  const one = await openDevice({ backend: 'cpu', threads: 1 });
  try {
    for (const problem of onCpu) {
      const id = `${idOf(problem)}/one-thread`;
      if (!context.wanted(id)) continue;
      const peer = scipy[`${problem.size}^${problem.dimensions}`];
      rows.push({
        id, ...await iterationSeconds(one, problem, quick), unit: 's',
        ...(peer === undefined ? {} : { peers: { 'SciPy dctn, 8 threads': peer }, constants: ['SciPy dctn, 8 threads'] }),
      });
    }
  } finally {
    await one.close();
  }
  return rows;
}
