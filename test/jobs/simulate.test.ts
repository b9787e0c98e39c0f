// The job kind `simulate` and the command: what it writes, read back by other readers, and what a kill leaves.
import { deepStrictEqual, equal, match, ok, strictEqual } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { decode } from 'fast-png';
import * as zarr from 'zarrita';
import { main } from '../../lib/cli/main.ts';
import { formatNpy } from '../../lib/files/npy.ts';
import { euler } from '../../lib/swept/index.ts';
import { deviceOf } from '../support/backends.ts';
import { sameBits } from '../support/simulating.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function run(argv: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(argv, { out, err, signal: new AbortController().signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

interface ArrayMetadata {
  zarr_format: number; node_type: string; shape: number[]; data_type: string; fill_value: unknown; dimension_names: string[];
  chunk_grid: { name: string; configuration: { chunk_shape: number[] } };
  chunk_key_encoding: { name: string; configuration: { separator: string } };
  codecs: { name: string; configuration: { endian: string } }[];
}

/** A Zarr v3 array of raw little-endian chunks, read by nothing but the specification. */
async function readZarr(folder: string): Promise<{ shape: number[]; values: number[]; names: string[] }> {
  const about = JSON.parse(await readFile(join(folder, 'zarr.json'), 'utf8')) as ArrayMetadata;
  deepStrictEqual([about.zarr_format, about.node_type, about.chunk_grid.name, about.chunk_key_encoding.name], [3, 'array', 'regular', 'default']);
  deepStrictEqual(about.codecs, [{ name: 'bytes', configuration: { endian: 'little' } }]);
  const { shape } = about;
  const chunk = about.chunk_grid.configuration.chunk_shape;
  const [bytes, read] = { float32: [4, 'readFloatLE'], float64: [8, 'readDoubleLE'], int64: [8, 'readBigInt64LE'] }[about.data_type] as [number, 'readFloatLE'];
  const values = new Array<number>(shape.reduce((a, b) => a * b, 1)).fill(NaN);
  strictEqual(chunk.at(-1), shape.at(-1), 'rows are whole');
  for (let first = 0, k = 0; first < shape[0]!; first += chunk[0]!, k += 1) {
    const data = await readFile(join(folder, 'c', ...[String(k), ...shape.slice(1).map(() => '0')]));
    const row = shape.length === 2 ? shape[1]! : 1;
    equal(data.length, chunk[0]! * row * bytes);
    const count = Math.min(chunk[0]!, shape[0]! - first) * row;
    for (let i = 0; i < count; i += 1) values[first * row + i] = Number(data[read](i * bytes));
  }
  return { shape, values, names: about.dimension_names };
}

/** A plain store on a folder for zarrita's reader. */
const storeOf = (folder: string) => ({
  get: async (key: string) => readFile(join(folder, key)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }),
});

interface Result { summary: string; figures: Record<string, number>; accuracy: { value: number; meaning: string }; files: string[]; parameters: Record<string, unknown> }

describe('simulate jobs', function () {
  this.timeout(60_000);
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-simulate-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const job = async (name: string, content: object) => {
    const path = join(folder, `${name}.json`);
    await writeFile(path, JSON.stringify({ name, kind: 'simulate', device: { backend: 'cpu' }, ...content }));
    return path;
  };
  const resultOf = async (name: string) => JSON.parse(await readFile(join(folder, 'results', name, 'all', 'result.json'), 'utf8')) as Result;
  const tube = { equation: 'euler', n: 66, dt: 0.003, initial: 'sod', boundary: 'dirichlet', until: { time: 0.2 }, snapshots: 4 };

  it('write Zarr that two readers read back to the bits of the library', async () => {
    const { code, err } = await run(['run', await job('tube', tube), '--results', join(folder, 'results')]);
    equal(code, 0, err);
    const place = join(folder, 'results', 'tube', 'all', 'result.zarr');
    const group = JSON.parse(await readFile(join(place, 'zarr.json'), 'utf8')) as { node_type: string; attributes: { equation: string } };
    deepStrictEqual([group.node_type, group.attributes.equation], ['group', 'euler']);
    const density = await readZarr(join(place, 'density'));
    deepStrictEqual([density.shape, density.names], [[5, 66], ['time', 'x']]);
    await using gas = await euler({ n: 66, dt: 0.003, initial: 'sod', boundary: 'dirichlet', device: await deviceOf('cpu') });
    // 66 whole steps of 0.003 and a shortened one.
    const steps = [0, 17, 34, 50, 67];
    for (const [k, step] of steps.entries()) {
      if (step < 67) await gas.advance(step - gas.stepsDone);
      else await gas.advanceTo(0.2);
      strictEqual(gas.stepsDone, step);
      sameBits(Float64Array.from(density.values.slice(66 * k, 66 * (k + 1))), (await gas.read()).density as Float64Array, `snapshot ${k}`);
    }
    deepStrictEqual((await readZarr(join(place, 'step'))).values, steps);
    deepStrictEqual((await readZarr(join(place, 'time'))).values, [0, 17 * 0.003, 34 * 0.003, 50 * 0.003, 0.2]);
    deepStrictEqual((await readZarr(join(place, 'x'))).values, [...gas.x]);
    const opened = await zarr.open.v3(zarr.root(storeOf(place)).resolve('pressure'), { kind: 'array' });
    const chunk = await zarr.get(opened, [4, null]);
    sameBits(chunk.data as Float64Array, (await gas.read()).pressure as Float64Array, 'zarrita');
  });

  it('draw profiles with the exact solution and a picture of space and time, and say how accurate they are', async () => {
    const rod = { equation: 'heat', n: 41, fourier: 0.4, initial: 'ramp', until: { time: 0.05 }, snapshots: 10, units: { x: 'cm', t: 's', u: 'K' } };
    const mode = { ...rod, units: undefined, initial: { kind: 'cosine', mode: 3 }, until: { steps: 100 } };
    const flame = {
      equation: 'kuramoto-sivashinsky', n: 64, dx: 0.5, dt: 0.005, initial: { kind: 'noise', seed: 7 }, until: { steps: 500 }, snapshots: 20, precision: 'float32',
    };
    const expected: [string, object, number, RegExp, boolean][] = [
      ['tube', tube, 0.02, /L1 error of density/, true], ['rod', rod, 1e-2, /L1 error of u/, true], ['mode', mode, 2e-3, /L1 error of u/, true],
      ['flame', flame, 1e-6, /drift/, false], ['ends', { ...rod, units: undefined, boundary: 'dirichlet' }, NaN, /no exact/, false],
    ];
    for (const [name, content, limit, meaning, exact] of expected) {
      const { code, err, out } = await run(['run', await job(name, content), '--results', join(folder, 'results')]);
      equal(code, 0, err);
      match(out, new RegExp(name));
      const { accuracy, files, figures } = await resultOf(name);
      match(accuracy.meaning, meaning);
      ok(accuracy.value < limit || (Number.isNaN(limit) && accuracy.value === null), `${name}: ${accuracy.value}`);
      deepStrictEqual(files, ['result.zarr', 'space-time.svg', 'profile.svg']);
      ok(Object.values(figures).every(Number.isFinite), JSON.stringify(figures));
      const all = join(folder, 'results', name, 'all');
      const svg = await readFile(join(all, 'profile.svg'), 'utf8');
      ok(svg.startsWith('<svg') && svg.includes('computed, t = ') && svg.includes('>exact<') === exact, name);
      const map = await readFile(join(all, 'space-time.svg'), 'utf8');
      for (const [png, field] of [...map.matchAll(/data:image\/png;base64,([^"]+)/g)].map(([, data], i) => [data!, i] as const)) {
        const { width, height, data, channels } = decode(Buffer.from(png, 'base64'));
        strictEqual(width, (content as { n: number }).n);
        ok(height === 200, `${height}`);
        // The lowest row is the state at time 0: its brightest pixel is where that is greatest.
        if (field !== 0 || channels !== 3) continue;
        const light = (x: number) => [0, 1, 2].reduce((sum, c) => sum + data[((height - 1) * width + x) * 3 + c]!, 0);
        const { values } = await readZarr(join(all, 'result.zarr', name === 'tube' ? 'density' : 'u'));
        const first = Array.from(values.slice(0, width), Number);
        const brightest = Array.from({ length: width }, (_, x) => x).reduce((best, x) => (light(x) > light(best) ? x : best), 0);
        ok(Math.max(...first) - first[brightest]! <= (Math.max(...Array.from(values, Number)) - Math.min(...Array.from(values, Number))) / 200, name);
      }
      for (const label of name === 'rod' ? ['x (cm)', 't (s)', 'u (K)'] : ['>x<', '>t<']) ok(map.includes(label), `${name}: ${label}`);
    }
  });

  it('take states from files, ends apart and sweeps, and refuse what is wrong before anything runs', async () => {
    await writeFile(join(folder, 'start.npy'), formatNpy({ type: 'float64', shape: [21], data: Float64Array.from({ length: 21 }, (_, i) => i) }));
    const warm = {
      equation: 'heat', n: 21, dt: 1e-4, until: { steps: 5 }, initial: { file: 'start.npy' }, snapshots: 1,
      boundary: { left: { kind: 'dirichlet', value: 7 }, right: 'reflective' }, sweep: { diffusivity: [0.5, 1] },
    };
    equal((await run(['run', await job('warm', warm), '--results', join(folder, 'results')])).code, 0);
    const { values } = await readZarr(join(folder, 'results', 'warm', 'diffusivity=0.5', 'result.zarr', 'u'));
    deepStrictEqual(values.slice(0, 3), [7, 1, 2]);
    const bad: [object, RegExp][] = [
      [{ ...tube, n: 2 }, /n\b/], [{ ...tube, limiter: 'superbee' }, /limiter/], [{ ...tube, fourier: 1 }, /fourier/], [{ ...tube, until: 3 }, /until/],
      [{ ...tube, equation: 'burgers' }, /equation/], [{ ...tube, dt: 0.1 }, /dt/], [{ ...tube, initial: { file: 'none.npy' } }, /none\.npy/],
      [{ ...tube, boundary: 'open' }, /boundary/], [{ ...tube, n: 4 }, /n\b/],
    ];
    for (const [content, what] of bad) {
      const { code, err } = await run(['run', await job('bad', content), '--results', join(folder, 'bad')]);
      equal(code, 2, JSON.stringify(content));
      match(err, what);
    }
  });

  it('resume after a kill with the same result, to the bit', async () => {
    // Many snapshots take their time on any machine, so that the kill comes before the end.
    const long = { ...tube, n: 130, dt: 1e-4, initial: { kind: 'wave', waves: 2 }, boundary: 'periodic', snapshots: 3000, until: { steps: 3000 } };
    const file = await job('long', long);
    const all = join(folder, 'results', 'long', 'all');
    const child = spawn(process.execPath, ['--import', 'tsx', join(root, 'lib/cli/bin.ts'), 'run', file, '--results', join(folder, 'results'), '--json'],
      { stdio: ['ignore', 'pipe', 'inherit'], cwd: root });
    const exit = new Promise((resolve) => child.once('close', resolve));
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      const names = await readdir(all).catch((): string[] => []);
      if (names.includes('state.checkpoint') || child.exitCode !== null) break;
    }
    child.kill('SIGKILL');
    await exit;
    ok(!(await readdir(all)).includes('result.json'), 'killed before the end');
    const resumed = await run(['run', file, '--results', join(folder, 'results'), '--json']);
    equal(resumed.code, 0, resumed.err);
    const first = resumed.out.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)) as { event?: string; done?: number }).find((e) => e.event === 'progress');
    // A device quicker than the kill leaves pictures only.
    ok(first === undefined || first.done! > 10, `resumed at step ${first?.done}`);
    equal((await run(['run', file, '--results', join(folder, 'whole')])).code, 0);
    for (const field of ['density', 'velocity', 'step', 'time']) {
      const [a, b] = [join(all, 'result.zarr', field), join(folder, 'whole', 'long', 'all', 'result.zarr', field)];
      deepStrictEqual((await readZarr(a)).values, (await readZarr(b)).values, field);
    }
    deepStrictEqual(await readFile(join(all, 'space-time.svg')), await readFile(join(folder, 'whole', 'long', 'all', 'space-time.svg')));
    // Another run of the same name does not go on from this one's checkpoint; --again starts again.
    equal((await run(['run', await job('long', { ...long, n: 66, snapshots: 9 }), '--results', join(folder, 'results')])).code, 0);
    deepStrictEqual((await readZarr(join(all, 'result.zarr', 'density'))).shape, [10, 66]);
    const again = await run(['run', await job('long', { ...long, n: 66, snapshots: 9 }), '--results', join(folder, 'results'), '--again', '--json']);
    ok((JSON.parse(again.out.trim().split('\n').at(-1)!) as { result: Result }).result.figures['pointUpdatesPerSecond']! > 0);
  });

  it('run from flags', async () => {
    const out = join(folder, 'out');
    const flags = (line: string) => run(['simulate', ...line.split(' '), '-o', out, '--backend', 'cpu']);
    const done = await flags('euler --n 66 --cfl 0.4 --initial sod --boundary dirichlet --time 0.1 --snapshots 9');
    equal(done.code, 0, done.err);
    match(done.out, /66 points.*on cpu.*L1 error of density/);
    match(done.out, /result\.zarr, space-time\.svg, profile\.svg/);
    deepStrictEqual((await readZarr(join(out, 'result.zarr', 'density'))).shape, [10, 66]);
    const ring = await flags('ks --n 64 --dx 0.5 --dt 0.005 --initial mode:waves=2,amplitude=0.5 --steps 20');
    equal(ring.code, 0, ring.err);
    const rod = await flags('heat --n 33 --fourier 0.4 --initial ramp --left dirichlet:20 --right reflective --steps 9');
    equal(rod.code, 0, rod.err);
    strictEqual((await readZarr(join(out, 'result.zarr', 'u'))).values.at(-33), 20);
    for (const [argv, what] of [
      [[], /equation/], [['burgers'], /shape/], [['vorticity'], /equation/],
      [['heat', '--n', '9', '--dt', '0.1'], /--time or --steps/], [['heat', '--n', 'x', '--steps', '1'], /--n/],
      [['heat', '--n', '9', '--dt', '1', '--steps', '1', '--initial', 'ramp'], /unstable/], [['ks', '--n', '9', '--cfl', '1', '--steps', '1'], /cfl/],
      [['heat', '--n', '9', '--dt', '1', '--steps', '1', '--left', 'periodic'], /must be given together/], [['heat', '--n', '9', '--steps', '1', '--backend', 'tpu'], /--backend/],
    ] as [string[], RegExp][]) {
      const { code, err } = await run(['simulate', ...argv, '-o', out]);
      equal(code, 2, argv.join(' '));
      match(err, what);
    }
  });
});
