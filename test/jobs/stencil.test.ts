// Jobs of kind `stencil` and `warploom simulate FILE`: what they write, what a kill leaves, and what they say of mistakes.
import { deepStrictEqual, equal, match, ok, rejects } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { decodeApng } from 'fast-png';
import * as zarr from 'zarrita';
import { main } from '../../lib/cli/main.ts';
import { formatNpy } from '../../lib/files/npy.ts';
import { filmPng } from '../../lib/pictures/apng.ts';
import { loadingError } from '../../lib/jobs/stencil/equation-file.ts';
import { libraryEquation, libraryNames } from '../../lib/jobs/stencil/library.ts';
import { planeOf } from '../../lib/pictures/plane.ts';
import { jobs, kernel, stencil } from '../../lib/index.ts';

async function run(argv: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(argv, { out, err, signal: new AbortController().signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

/** A plain store on a folder for zarrita's reader. */
const storeOf = (folder: string) => ({
  get: async (key: string) => readFile(join(folder, key)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }),
});

async function readField(folder: string, name: string) {
  const array = await zarr.open.v3(zarr.root(storeOf(folder)).resolve(name), { kind: 'array' });
  const { data, shape } = await zarr.get(array);
  return { data: data as Float64Array, shape };
}

const rings = `export default {
  dimensions: 2, fields: ['u', 'v'], parameters: ['c'],
  rate: ({ u, v }, { c }, { laplacian }) => ({ u: v(), v: c * c * laplacian(u) }),
  method: 'rk4',
};
export const options = {
  shape: [9, 7], spacing: 0.1, dt: 0.01, until: { steps: 6 }, parameters: { c: 1 }, snapshots: 3,
  initial: { u: (x, y) => Math.exp(-40 * ((x - 0.5) ** 2 + (y - 0.3) ** 2)), v: 0 }, boundary: 'mirror', units: { x: 'm', u: 'mm' },
};
`;
const heatText = '({ u }, { D }, { laplacian }) => ({ u: D * laplacian(u) })';

describe('stencil jobs', function () {
  this.timeout(60_000);
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-equation-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const write = async (name: string, content: string) => {
    await writeFile(join(folder, name), content);
    return join(folder, name);
  };
  const job = (name: string, content: object) =>
    write(`${name}.json`, JSON.stringify({ name, kind: 'stencil', device: { backend: 'cpu' }, ...content }));

  it('a file with an equation runs from the command line, with maps and a film', async () => {
    const out = join(folder, 'rings');
    const { code, err, out: said } = await run(['simulate', await write('rings.mjs', rings), '-o', out, '--film', 'u', '--backend', 'cpu']);
    equal(code, 0, err);
    match(said, /rings\.mjs, 9 × 7 cells, 6 steps, float64, wasm/);
    const { data, shape } = await readField(join(out, 'all', 'result.zarr'), 'u');
    deepStrictEqual(shape, [4, 9, 7]);
    const equation = stencil.equations.wave.equation(2);
    await using known = await stencil.simulate(equation, {
      shape: [9, 7], spacing: 0.1, dt: 0.01, parameters: { c: 1 }, boundary: 'mirror', backend: 'javascript',
      initial: { u: (x, y) => Math.exp(-40 * ((x - 0.5) ** 2 + (y - 0.3) ** 2)), v: 0 },
    });
    for await (const { step, state } of known.snapshots({ steps: [0, 2, 4, 6] })) {
      deepStrictEqual(Array.from(data.subarray(step / 2 * 63, (step / 2 + 1) * 63)), Array.from(state.u), `step ${step}`);
    }
    const svg = await readFile(join(out, 'all', 'fields.svg'), 'utf8');
    for (const label of ['x (m)', '>y<', 'u (mm)', 't = 0.06', 'data:image/png']) ok(svg.includes(label), label);
    const film = decodeApng(await readFile(join(out, 'all', 'film.png')));
    equal(film.numberOfFrames, 4);
    ok(film.width >= 200 && film.height > (film.width * 7) / 9, `${film.width} × ${film.height}`);
    // The bar grows with the time.
    const bars = film.frames.map((frame) => Array.from({ length: film.width }, (_, x) => frame.data[x]!).filter((level) => level === 0).length);
    deepStrictEqual(bars, [0, 1, 2, 3].map((k) => Math.round(film.width * (k / 3))));
    // Below it stands the time as a number: "t = 0" has fewer pixels than "t = 0.04".
    const text = film.frames.map((frame) => Array.from(frame.data.subarray(2 * film.width, 12 * film.width)).filter((level) => level === 2).length);
    ok(text[0]! > 20 && text[0]! < text[2]!, text.join());
    ok((await readFile(join(out, 'all', 'film.svg'), 'utf8')).includes('u (mm)'));
  });

  it('flags go before the defaults of the file, and sweeps make folders', async () => {
    const file = await write('rings.mjs', rings);
    const out = join(folder, 'speeds');
    const { code, err } = await run(['simulate', file, '-o', out, '--sweep', 'c=0.5,1', '--shape', '5,4', '--spacing', '0.1,0.2', '--steps', '3',
      '--initial', 'u=(x, y) => x * y', '--boundary', '{"x":"periodic","y":{"low":"mirror","high":"odd-mirror"}}', '--backend', 'cpu']);
    equal(code, 0, err);
    deepStrictEqual((await readdir(out)).sort(), ['parameters.c=0.5', 'parameters.c=1', 'summary.csv', 'summary.svg']);
    for (const c of [0.5, 1]) {
      const { data } = await readField(join(out, `parameters.c=${c}`, 'result.zarr'), 'u');
      await using known = await stencil.simulate(stencil.equations.wave.equation(2), {
        shape: [5, 4], spacing: [0.1, 0.2], dt: 0.01, parameters: { c }, initial: { u: (x, y) => x * y, v: 0 }, backend: 'interpreter',
        boundary: { x: 'periodic', y: { low: 'mirror', high: 'odd-mirror' } },
      });
      await known.advance(3);
      deepStrictEqual(Array.from(data.subarray(60)), Array.from((await known.state()).u), `c = ${c}`);
    }
    // Finished runs are not run again; a changed file is another run.
    match((await run(['simulate', file, '-o', out, '--sweep', 'c=0.5,1', '--shape', '5,4', '--spacing', '0.1,0.2', '--steps', '3', '--backend', 'cpu',
      '--initial', 'u=(x, y) => x * y', '--boundary', '{"x":"periodic","y":{"low":"mirror","high":"odd-mirror"}}'])).err, /already finished/);
  });

  it('jobs hold equations as text, names or files, in one to three dimensions', async () => {
    await writeFile(join(folder, 'c2.npy'), formatNpy({ type: 'float64', shape: [12], data: Float64Array.from({ length: 12 }, (_, i) => 1 + i) }));
    const exact = `export default { dimensions: 1, fields: ['u'], rate: ({ u }, _, { laplacian }) => ({ u: laplacian(u) }) };
export const options = { shape: [40], spacing: Math.PI / 40, dt: 1e-3, until: { time: 0.0105 }, boundary: 'mirror',
  initial: { u: (x) => Math.cos(x) }, exact: { u: ({ x, t }) => Math.exp(-t) * Math.cos(x) } };`;
    await write('exact.mjs', exact);
    const cases: [string, object, string[], RegExp][] = [
      ['text', { equation: { dimensions: 3, fields: ['u'], parameters: ['D'], rate: heatText, method: 'euler' }, shape: [4, 5, 6], dt: 0.1,
        until: { steps: 2 }, parameters: { D: 1 }, initial: { u: '(x, y, z) => Math.sin(x) * y + z' }, film: true, units: { z: 'km' } },
      ['result.zarr', 'fields.svg', 'film.png', 'film.svg'], /no exact/],
      ['medium', { equation: 'wave-in-medium', shape: [12], dt: 0.01, until: { time: 0.05 }, initial: { u: '(x) => x', v: 0 },
        coefficients: { c2: { file: 'c2.npy' } }, precision: 'float32' }, ['result.zarr', 'space-time.svg', 'profile.svg'], /no exact/],
      ['exact', { equation: { file: 'exact.mjs' } }, ['result.zarr', 'space-time.svg', 'profile.svg'], /mean absolute error of u/],
    ];
    for (const [name, content, files, meaning] of cases) {
      const { code, err } = await run(['run', await job(name, content), '--results', join(folder, 'results')]);
      equal(code, 0, err);
      const result = JSON.parse(await readFile(join(folder, 'results', name, 'all', 'result.json'), 'utf8')) as
        { files: string[]; figures: Record<string, number>; accuracy: { value: number; meaning: string } };
      deepStrictEqual(result.files, files);
      match(result.accuracy.meaning, meaning);
      if (name === 'exact') ok(result.accuracy.value < 1e-4 && result.figures['time'] === 0.0105 && result.figures['steps'] === 11);
    }
    const { shape } = await readField(join(folder, 'results', 'text', 'all', 'result.zarr'), 'u');
    deepStrictEqual(shape, [3, 4, 5, 6]);
    ok((await readFile(join(folder, 'results', 'text', 'all', 'fields.svg'), 'utf8')).includes('z (km)'));
    const { data } = await readField(join(folder, 'results', 'medium', 'all', 'result.zarr'), 'u');
    ok(data instanceof Float32Array);
  });

  it('every equation of the library has a name, in its dimensions', () => {
    const dimensions = Object.fromEntries(libraryNames.map((name) => [name, ([1, 2, 3] as const).filter((each) => {
      try {
        return libraryEquation(name, each).dimensions === each;
      } catch (error) {
        match((error as Error).message, /^shape: expected .*extents?, the dimensions in which the library has/);
        return false;
      }
    }).join('')]));
    deepStrictEqual(dimensions, {
      advection: '12', burgers: '1', euler: '123', 'euler-weno5': '123', 'fitzhugh-nagumo': '123', 'gray-scott': '123', heat: '123', 'kuramoto-sivashinsky': '1',
      maxwell: '23', 'shallow-water': '12', wave: '123', 'wave-in-medium': '123',
    });
    const own = Object.keys(stencil.equations).map((name) => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`).replace('fitz-hugh', 'fitzhugh'));
    deepStrictEqual(libraryNames.filter((name) => !['wave-in-medium', 'euler-weno5'].includes(name)), own);
  });

  it('texts of a definition, of initial values and of boundary conditions call its functions', async () => {
    const functions = { bump: '(x) => Math.exp(-x * x)', twice: '(x) => 2 * x', isSmall: '(x) => x < 3' };
    const common = { shape: [9], spacing: 0.5, dt: 0.1 };
    const given = { kind: 'stencil', name: 'texts', device: { backend: 'cpu' }, ...common, until: { steps: 4 }, snapshots: 1,
      initial: { u: '(x) => twice(bump(x))' },
      boundary: { low: { kind: 'function', value: '({ u }) => twice(u(0)) - u(1)' }, high: 'mirror' },
      equation: { dimensions: 1, fields: ['u'], functions, admissible: '({ u }) => isSmall(u)',
        rate: '({ u }, _, { laplacian }) => ({ u: twice(laplacian(u)) })', method: 'euler' } };
    await jobs.run(given as never, { folder, results: folder });
    const twice = (x: number) => 2 * x;
    const equation = stencil.define({ dimensions: 1, fields: ['u'], functions: { twice }, method: 'euler',
      rate: ({ u }, _, { laplacian }) => ({ u: twice(laplacian(u)) }) });
    const initial = await kernel.map((x: number) => 2 * Math.exp(-x * x), [Float64Array.from({ length: 9 }, (_, i) => (i + 0.5) * 0.5)]);
    await using known = await stencil.simulate(equation, { ...common, backend: 'javascript', initial: { u: initial as Float64Array },
      boundary: { low: { kind: 'function', value: ({ u }) => 2 * u(0) - u(1) }, high: 'mirror' } });
    await known.advance(4);
    const { data } = await readField(join(folder, 'texts', 'all', 'result.zarr'), 'u');
    deepStrictEqual(Array.from(data.subarray(9)), Array.from((await known.state()).u));
    await rejects(jobs.run({ ...given, name: 'large', initial: { u: '(x) => 4 * twice(bump(x))' } } as never, { folder, results: folder }),
      /^InstabilityError: step 1 \(time 0\.1\) gives u = 7\.5\d+ in cell \(0\), which is not admissible/);
  });

  it('steps by a CFL number end at the times of the snapshots', async () => {
    const decay = `export default { dimensions: 1, fields: ['u'], parameters: ['a'], step: ({ u }, { a }, { dx, dt }) =>
      ({ u: u() - (dt / dx) * a * (u() - u(-1)) }), speed: ({ u }, { a }) => a * (1 + u()) };
export const options = { shape: [50], spacing: 0.02, dt: { cfl: 0.8 }, until: { time: 0.3 }, snapshots: 4, parameters: { a: 1 },
  initial: { u: (x) => (x < 0.5 ? 1 : 0.25) } };`;
    const out = join(folder, 'moves');
    const { code, err } = await run(['simulate', await write('moves.mjs', decay), '-o', out, '--backend', 'cpu']);
    equal(code, 0, err);
    deepStrictEqual(Array.from((await readField(join(out, 'all', 'result.zarr'), 'time')).data), [0, 1, 2, 3, 4].map((k) => (k * 0.3) / 4));
    deepStrictEqual((await readField(join(out, 'all', 'result.zarr'), 'u')).shape, [5, 50]);
    const finer = await run(['simulate', join(folder, 'moves.mjs'), '-o', join(folder, 'finer'), '--cfl', '0.4', '--backend', 'cpu']);
    equal(finer.code, 0, finer.err);
    const stepsOf = (text: string): number => Number(/(\d+) steps/.exec(text)?.[1]);
    ok(stepsOf(finer.out) > 50, finer.out);
    match((await run(['simulate', join(folder, 'moves.mjs'), '-o', out, '--steps', '3'])).err, /until: expected \{ time \}/);
  });

  it('mistakes are refused before anything runs, with the file and the line', async () => {
    const good = { shape: [8], dt: 0.1, until: { steps: 1 }, parameters: { D: 1 }, initial: { u: 1 } };
    const own = { dimensions: 1, fields: ['u'], parameters: ['D'], rate: heatText };
    const bad: [object, number, RegExp][] = [
      [{ ...good, equation: 'heat', shape: undefined }, 2, /shape/], [{ ...good, equation: 'heat', dt: undefined }, 2, /dt: expected the time step/],
      [{ ...good, equation: 'heat', until: undefined }, 2, /until/], [{ ...good, equation: 'heat', parameters: {} }, 2, /parameters\.D/],
      [{ ...good, equation: 'heat', initial: { w: 1 } }, 2, /initial\.w/], [{ ...good, equation: 'heat', film: true }, 2, /film/],
      [{ ...good, equation: 'burgers', shape: [8, 8] }, 2, /shape: expected 1 extent,/],
      [{ ...good, equation: 'shallow-watr' }, 2, /no equation 'shallow-watr'; did you mean 'shallow-water'\? The library has advection,/],
      [{ ...good, equation: 'euler', parameters: { gama: 1.4 } }, 2, /parameters\.gama: expected one of gamma \(did you mean 'gamma'\?\)/],
      [{ ...good, equation: own, initial: { u: '(x, y) => x' } }, 2, /initial\.u.*function of x/],
      [{ ...good, equation: own, initial: { u: 'process.exit(1)' } }, 1, /this is not one function/],
      [{ ...good, equation: { ...own, rate: '() => process.exit(1)' } }, 1, /process is not known here/],
      [{ ...good, equation: own, boundary: 'open' }, 2, /boundary/], [{ ...good, equation: own, initial: { u: { file: 'none.npy' } } }, 2, /none\.npy/],
      [{ ...good, equation: own, 'sweep': { 'parameters.E': [1] } }, 2, /parameters\.E/],
      [{ ...good, equation: own, 'sweep': { 'device.backend': ['cpu'] } }, 2, /device\.backend/],
    ];
    for (const [content, expected, what] of bad) {
      const { code, err } = await run(['run', await job('bad', content), '--results', join(folder, 'bad')]);
      match(err, what);
      equal(code, expected, err);
    }
    const files: [string, string, number, RegExp][] = [
      ['scale.mjs', rings.replace('c * c', 'c * scale'), 1, /scale\.mjs:3: rate, line 1, column \d+: scale is not known here/],
      ['syntax.mjs', 'export default {\n  dimensions: 1, fields: [\'u\'\n};\n', 2, /syntax\.mjs/],
      ['throws.mjs', '\nthrow new Error("no such thing");\n', 2, /throws\.mjs:2:7: no such thing/],
      ['nothing.mjs', 'export const a = 1;\n', 2, /default export is undefined/],
      ['fields.mjs', rings.replace('[\'u\', \'v\']', '[\'u u\']'), 2, /fields\.mjs, fields\[0\]/],
      ['options.mjs', rings.replace('dt: 0.01', 'dt: "short"'), 2, /options\.mjs, options\.dt.*'short'/],
      ['other.mjs', rings.replace('dt: 0.01', 'timestep: 1'), 2, /options\.timestep/],
      ['package.mjs', 'import { stencil } from "no-such-package";\n', 2, /package\.mjs.*no-such-package/],
    ];
    for (const [name, content, expected, what] of files) {
      const { code, err } = await run(['simulate', await write(name, content), '-o', join(folder, 'out')]);
      match(err, what);
      equal(code, expected, err);
    }
    const rest: [string[], RegExp][] = [
      [[], /name one file/], [['vorticity'], /there is no equation 'vorticity'.*gray-scott/], [['none.mjs'], /none\.mjs/],
      [['heat', '--shape', '8', '--fourier', '1'], /--fourier is for heat/], [['heat', '--n', '8', '--set', 'D=1', '--steps', '1'], /--set is for/],
      [['heat', '--shape', '8', '--set', 'D'], /NAME=VALUE/], [['heat', '--shape', '8', '--set', 'D=x'], /--set D/], [['heat', '--shape', '8,x'], /--shape/],
      [['heat', '--shape', '8', '--time', '1', '--steps', '1'], /not both/], [['heat', '--shape', '8', '--boundary', '{'], /JSON/],
      [['x.json', '--dt', '1'], /--dt stands in the job file/], [['heat', '--shape', '8', '--backend', 'tpu'], /--backend/],
    ];
    for (const [argv, what] of rest) {
      const { code, err } = await run(['simulate', ...argv, ...(argv[0]?.endsWith('.json') === true ? [] : ['-o', join(folder, 'out')])]);
      match(err, what);
      equal(code, 2, err);
    }
  });

  it('TypeScript files run where Node.js can load them, and are refused with what to do elsewhere', async () => {
    const typed = rings.replace('export default {', 'const it = {').replace('};\nexport', '} as const;\nexport default it as object;\nexport');
    const file = await write('rings.ts', typed);
    const here = await run(['simulate', file, '-o', join(folder, 'typed'), '--backend', 'cpu']); // tests run with a loader
    equal(here.code, 0, here.err);
    for (const code of ['ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX']) {
      const error = loadingError(Object.assign(new TypeError('Unknown file extension ".ts"'), { code }), file, typed);
      equal(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
      match(error.message, /rings\.ts: Node\.js .* Use Node\.js 22\.18 or later.*tsx.*\.mjs/);
    }
    match(loadingError(new SyntaxError('Unexpected token'), 'a.mjs', 'export default {\n  a: [1\n};\n').message, /a\.mjs:3:1: Unexpected token/);
  });

  it('an interrupted run continues from its checkpoint to the same bits', async () => {
    const long = { equation: 'heat', shape: [20, 20], dt: 0.1, until: { steps: 600 }, snapshots: 600, parameters: { D: 1 },
      initial: { u: '(x, y) => Math.sin(x) * y' } };
    const file = await job('long', long);
    const all = join(folder, 'results', 'long', 'all');
    const stop = new AbortController();
    const onProgress = (event: { event: string; done?: number }) => { if ((event.done ?? 0) >= 300) stop.abort(new Error('enough')); };
    await rejects(jobs.run(file, { results: join(folder, 'results'), signal: stop.signal, onProgress }), /enough/);
    const again = await run(['run', file, '--results', join(folder, 'results'), '--json']);
    equal(again.code, 0, again.err);
    const progress = again.out.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)) as { event?: string; done?: number })
      .filter(({ event }) => event === 'progress');
    ok((progress[0]?.done ?? 0) > 300, `it went on at step ${progress[0]?.done}`);
    equal((await run(['run', file, '--results', join(folder, 'whole')])).code, 0);
    const [continued, whole] = await Promise.all([all, join(folder, 'whole', 'long', 'all')].map((each) => readField(join(each, 'result.zarr'), 'u')));
    deepStrictEqual(Buffer.from(continued!.data.buffer), Buffer.from(whole!.data.buffer));
    // Another run of the same name begins at its own time 0.
    equal((await run(['run', await job('long', { ...long, until: { steps: 3 }, snapshots: 3, initial: { u: 7 } }), '--results', join(folder, 'results')])).code, 0);
    deepStrictEqual(new Set((await readField(join(all, 'result.zarr'), 'u')).data), new Set([7]));
  });

  it('films are read by the decoder, and planes have x to the right and y upwards', () => {
    const frames = [0, 1, 2].map((k) => Uint8Array.from({ length: 6 }, (_, i) => (i + k) % 3));
    const film = decodeApng(filmPng({ width: 3, height: 2, palette: [[1, 2, 3], [40, 50, 60], [255, 0, 9]], frames, milliseconds: 40 }));
    deepStrictEqual([film.width, film.height, film.numberOfFrames], [3, 2, 3]);
    deepStrictEqual(film.palette, [[1, 2, 3], [40, 50, 60], [255, 0, 9]]);
    film.frames.forEach(({ data }, k) => { deepStrictEqual(Array.from(data), Array.from(frames[k]!), `frame ${k}`); });
    const values = Float64Array.from({ length: 2 * 3 * 5 }, (_, i) => i); // element (i, j, k) is 15 i + 5 j + k
    deepStrictEqual(Array.from(planeOf(values.subarray(0, 6), [2, 3], [0, 1], 99).values), [2, 5, 1, 4, 0, 3]);
    deepStrictEqual(Array.from(planeOf(values, [2, 3, 5], [0, 2], 99).values), [9, 24, 8, 23, 7, 22, 6, 21, 5, 20]);
    deepStrictEqual(planeOf(values, [2, 3, 5], [1, 2], 2), { width: 1, height: 2, values: Float64Array.of(23, 21) });
  });
});
