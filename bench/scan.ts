// Parallel prefix sums: register-packed against shared memory, both against the copy floor and CUB's scan.
//
//   prefix/<batch>x<n>/<precision>/<cold|hot>/<regpack-depth|shared>
import { isUnsupported, type BenchContext } from './domain.ts';
import type { DeviceArray } from '../lib/core/device.ts';
import { copyFloor, streamFloor } from './floor.ts';
import { nativeBenchmarks, type ParameterSet } from './native.ts';
import { bytesOf, precisions, type Precision } from './systems.ts';
import { time } from './timing.ts';

interface Rows {
  readonly batch: number;
  readonly n: number;
}

const shapes: readonly Rows[] = [
  { batch: 65536, n: 512 }, { batch: 32768, n: 1024 }, { batch: 16384, n: 2048 }, { batch: 64, n: 2 ** 20 },
];
const quickShapes: readonly Rows[] = [{ batch: 16, n: 128 }];

const methods: readonly (readonly [string, ParameterSet])[] = [
  ['auto', { algorithm: 'auto' }],
  ...[2, 4, 8, 16, 32].map((depth) => [`regpack-${depth}`, { algorithm: 'regpack', depth }] as const),
  ['shared', { algorithm: 'shared' }],
];

async function benchmarkShape(context: BenchContext, { batch, n }: Rows, precision: Precision): Promise<void> {
  const temperature = 2 * batch * n * bytesOf(precision) >= 2 ** 28 ? 'cold' : 'hot';
  const prefix = `prefix/${batch}x${n}/${precision}/${temperature}`;
  const wanted = methods.filter(([name]) => context.wanted(`${prefix}/${name}`));
  if (wanted.length === 0) return;
  const host = (precision === 'float32' ? new Float32Array(batch * n) : new Float64Array(batch * n)).fill(1);
  const values: DeviceArray = await context.device.array(host);
  const result: DeviceArray = await context.device.array(host);
  try {
    const copy = context.device.backend === 'cuda'
      ? await streamFloor(context.device, precision, [{ from: [values], to: result }])
      : await copyFloor(context.device, 2 * batch * n * bytesOf(precision));
    const peers: Record<string, number> = { copy: copy.seconds };
    const cub = nativeBenchmarks().peers().find(({ name }) => name === 'bench.cub_scan');
    if (context.device.backend === 'cuda' && cub?.available === true) {
      const views = { values: { data: values }, result: { data: result } };
      peers['cub'] = (await time(context.device, values, 'bench.cub_scan', [{ type: precision, n, batch, ...views }])).seconds;
    } else {
      context.say(`${prefix}: no row of CUB: ${cub?.reason ?? 'the build has no peers'}`);
    }
    for (const [name, method] of wanted) {
      const id = `${prefix}/${name}`;
      try {
        const timing = await time(context.device, values, 'scan.prefix', [
          { type: precision, n, batch, operator: 'sum', values: { data: values, offset: 0 },
            result: { data: result, offset: 0 }, ...method }]);
        const last = (await result.read() as Float64Array | Float32Array).at(-1);
        if (last !== n) throw new Error(`${id}: the last sum is ${last}, not ${n}`);
        context.emit({
          id, value: timing.seconds, unit: 's', limit: copy.seconds, fraction: copy.seconds / timing.seconds,
          peers, spread: timing.spread,
        });
      } catch (error) {
        if (!isUnsupported(error)) throw error;
        context.say(`${id}: ${error.message}`);
      }
    }
  } finally {
    values[Symbol.dispose]();
    result[Symbol.dispose]();
  }
}

/** All rows of the domain on the context's device. */
export async function benchmarkScan(context: BenchContext): Promise<void> {
  for (const shape of context.quick || context.device.backend === 'simt' ? quickShapes : shapes) {
    for (const precision of precisions) await benchmarkShape(context, shape, precision);
  }
}
