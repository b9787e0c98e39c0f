// result.zarr in both formats and with every compression, read back by zarrita and, where it is installed, by zarr-python.
import { deepStrictEqual, equal, ok } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as zarr from 'zarrita';
import { FieldSeries } from '../../lib/files/zarr.ts';
import { groupAttributes } from '../../lib/files/zarr-layout.ts';
import { compressions } from '../../lib/files/zarr-options.ts';
import { jobs } from '../../lib/index.ts';

const json = async (...path: string[]): Promise<Record<string, unknown>> => JSON.parse(await readFile(join(...path), 'utf8')) as Record<string, unknown>;

/** Whether Python reads Zarr of this format. */
function python(folder: string): { values: number[]; units: string; order: string[] } | undefined {
  const script = `
import json, sys
try:
    import zarr
except ImportError:
    sys.exit(77)
group = zarr.open_consolidated(sys.argv[1])
u = group['u']
print(json.dumps({'values': u[:].ravel().tolist(), 'units': u.attrs['units'], 'order': u.attrs['_ARRAY_DIMENSIONS']}))`;
  const { status, stdout, stderr } = spawnSync('python3', ['-c', script, folder], { encoding: 'utf8' });
  if (status === 77 || status === null) return undefined;
  equal(status, 0, stderr);
  return JSON.parse(stdout) as { values: number[]; units: string; order: string[] };
}

describe('Zarr of simulations', function () {
  this.timeout(60_000);
  let folder = '';
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-zarr-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const readBack = async (place: string): Promise<Record<string, number[]>> => {
    const store = { get: async (key: string) => readFile(join(place, key)).catch(() => undefined) };
    const values: Record<string, number[]> = {};
    for (const name of ['u', 'x', 'time', 'step']) {
      const array = await zarr.open(zarr.root(store).resolve(name), { kind: 'array' });
      values[name] = Array.from((await zarr.get(array)).data as Float64Array, Number);
    }
    return values;
  };

  for (const zarrFormat of [2, 3] as const) {
    for (const compression of compressions) {
      it(`format ${zarrFormat}, ${compression}: both readers, units, consolidated metadata, and going on`, async () => {
        for (const [type, rows, n] of [['float64', 1, 1], ['float32', 7, 33], ['float64', 5, 60_000]] as const) {
          const place = join(folder, `${type}-${n}.zarr`);
          const times = Array.from({ length: rows }, (_, k) => k / 4);
          const x = Float64Array.from({ length: n }, (_, i) => i / 8);
          const value = (k: number, i: number): number => (type === 'float32' ? Math.fround(Math.sin(k + i / 9)) : Math.sin(k + i / 9));
          const shape = {
            type, fields: ['u'], axes: [['x', x]] as [string, Float64Array][], steps: times.map((_, k) => 10 * k), times, zarrFormat, compression,
            attributes: { hash: 'h' }, units: { u: 'K', time: 's' },
          };
          const series = await FieldSeries.create(place, shape, false);
          const row = (k: number) => {
            const values = Array.from({ length: n }, (_, i) => value(k, i));
            return type === 'float32' ? Float32Array.from(values) : Float64Array.from(values);
          };
          for (let k = 0; k < Math.ceil(rows / 2); k += 1) await series.write('u', k, row(k));
          await series.flush();
          const more = await FieldSeries.create(place, shape, true);
          for (let k = Math.ceil(rows / 2); k < rows; k += 1) await more.write('u', k, row(k));
          await more.flush();
          deepStrictEqual(Array.from(await more.read('u', 0)), Array.from(row(0)));
          const expected = times.flatMap((_, k) => Array.from(row(k)));
          const values = await readBack(place);
          deepStrictEqual([values['u'], values['x'], values['time'], values['step']], [expected, [...x], times, times.map((_, k) => 10 * k)]);
          const attributes = await groupAttributes(place);
          deepStrictEqual(attributes, { Conventions: 'CF-1.11', hash: 'h' });
          if (zarrFormat === 2) {
            const { metadata } = await json(place, '.zmetadata') as { metadata: Record<string, { units?: string }> };
            for (const name of ['u', 'x', 'time', 'step']) deepStrictEqual(metadata[`${name}/.zarray`], await json(place, name, '.zarray'));
            equal(metadata['u/.zattrs']!.units, 'K');
            const read = n === 33 ? python(place) : undefined;
            if (read !== undefined) deepStrictEqual(read, { values: expected, units: 'K', order: ['time', 'x'] });
          } else {
            const group = await json(place, 'zarr.json') as { consolidated_metadata: { metadata: Record<string, { attributes: object }> } };
            const { metadata } = group.consolidated_metadata;
            for (const name of ['u', 'x', 'time', 'step']) deepStrictEqual(metadata[name], await json(place, name, 'zarr.json'));
            deepStrictEqual(metadata['u']!.attributes, { long_name: 'u', units: 'K', coordinates: 'step' });
            deepStrictEqual(metadata['time']!.attributes, { axis: 'T', long_name: 'time', units: 's' });
          }
        }
      });
    }
  }

  it('jobs ask for it, and a run that was stopped goes on in it', async () => {
    const job = {
      kind: 'simulate', name: 'rod', equation: 'heat', n: 65, fourier: 0.4, initial: 'ramp', until: { steps: 400 }, snapshots: 4,
      zarrFormat: 2, compression: 'blosc',
    } as const;
    const stop = new AbortController();
    await jobs.run(job, { results: folder, backend: 'cpu', frames: 2, signal: stop.signal, onProgress: (event) => {
      if (event.event === 'frame' && event.frame.step === 200) stop.abort(new Error('pause'));
    } }).catch(() => undefined);
    const steps: number[] = [];
    await jobs.run(job, { results: folder, backend: 'cpu', frames: 2, onProgress: (event) => {
      if (event.event === 'frame') steps.push(event.frame.step);
    } });
    ok(!steps.includes(0), steps.join());
    const { zarrFormat: _format, compression: _compression, ...plain } = job;
    await jobs.run({ ...plain, name: 'plain' }, { results: folder, backend: 'cpu' });
    deepStrictEqual(await readBack(join(folder, 'rod/all/result.zarr')), await readBack(join(folder, 'plain/all/result.zarr')));
  });
});
