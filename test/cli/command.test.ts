import assert from 'node:assert/strict';
import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PassThrough } from 'node:stream';
import { decode } from 'fast-png';
import { wrongSettings } from '../../lib/cli/doctor-settings.ts';
import { main } from '../../lib/cli/main.ts';
import { formatNpy, parseNpy } from '../../lib/files/npy.ts';
import { jobJsonSchema } from '../../lib/jobs/kinds/index.ts';
import { stencilVariants } from '../../lib/stencil/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a command line in this process. */
async function run(argv: string[], signal = new AbortController().signal) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(argv, { out, err, signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

describe('warploom command', () => {
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-cli-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const npy = (name: string, shape: number[], values: number[]) =>
    writeFile(join(folder, name), formatNpy({ type: 'float64', shape, data: Float64Array.from(values) }));
  const job = async (name: string, content: object) => {
    const path = join(folder, `${name}.json`);
    await writeFile(path, JSON.stringify({ name, ...content }));
    return path;
  };

  it('teaches: every command has help with usage and exits 0', async () => {
    const top = await run(['--help']);
    assert.equal(top.code, 0);
    for (const name of ['info', 'run', 'solve', 'simulate', 'denoise', 'segment', 'register', 'bench']) {
      assert.match(top.out, new RegExp(`^  ${name} `, 'm'));
      const { code, out } = await run([name, '--help']);
      assert.equal(code, 0);
      assert.match(out, new RegExp(`^Usage: warploom ${name}`));
    }
  });

  it('names every variant of equations', async () => {
    const { out } = await run(['simulate', '--help']);
    const line = out.split('\n').find((each) => each.includes('--variant V'))!;
    for (const variant of stencilVariants) assert.match(line, new RegExp(`\\b${variant}\\b`));
  });

  it('refuses bad command lines with code 2 and says what to try', async () => {
    for (const argv of [[], ['nonsense'], ['run'], ['run', '--nope'], ['solve', '--depth', 'x'], ['run', 'a', '--backend', 'tpu'],
      ['solve', '--lower', '1'], ['run', join(folder, 'absent.json')]]) {
      const { code, err, out } = await run(argv);
      assert.equal(code, 2, argv.join(' '));
      assert.ok((err + out).length > 0);
    }
  });

  it('info lists devices of every backend with a reason, as text and as JSON', async () => {
    const text = await run(['info']);
    assert.equal(text.code, 0);
    for (const backend of ['cuda', 'cpu']) assert.match(text.out, new RegExp(`^${backend} `, 'm'));
    for (const compiler of ['nvrtc', 'nvcc', 'c\\+\\+']) assert.match(text.out, new RegExp(`^${compiler} `, 'm'));
    interface Entry { readonly reason: string; readonly available: boolean; readonly path: string; readonly version: string }
    const { devices, compilers } = JSON.parse((await run(['info', '--json'])).out) as { devices: Entry[]; compilers: (Entry & { compiler: string })[] };
    assert.ok([...devices, ...compilers].every((d) => d.reason !== '' && !d.reason.includes('\n')));
    assert.deepEqual(compilers.map(({ compiler }) => compiler), ['nvrtc', 'nvcc', 'c++']);
    for (const { available, path, version } of compilers) assert.ok(!available || (path !== '' && version !== ''));
    // What is missing is said with the command that installs it.
    const kept = process.env['WARPLOOM_NVRTC'];
    process.env['WARPLOOM_NVRTC'] = join(folder, 'none.so');
    try {
      const { out } = await run(['info']);
      assert.match(out.replace(/\s+/g, ' '), /nvrtc \S+ no not found; pip install .*nvidia-cuda-nvrtc installs/);
      assert.ok(out.split('\n').every((line) => line.length <= 100), out);
    } finally {
      if (kept === undefined) delete process.env['WARPLOOM_NVRTC'];
      else process.env['WARPLOOM_NVRTC'] = kept;
    }
  });

  it('info and doctor fail where nothing is usable, and say what is needed', async () => {
    const end = (args: string[], addon: string): SpawnSyncReturns<string> => spawnSync(process.execPath,
      ['--no-addons', '--import', 'tsx', fileURLToPath(new URL('../../lib/cli/bin.ts', import.meta.url)), ...args],
      { encoding: 'utf8', env: { ...process.env, WARPLOOM_ADDON: addon, NO_COLOR: '1' } });
    const info = end(['info'], 'native'), doctor = end(['doctor'], 'native');
    assert.deepEqual([info.status, doctor.status], [1, 1], info.stderr + doctor.stderr);
    assert.match(info.stdout, /driver 580 or newer/);
    assert.match(doctor.stdout, /^failed +loader +neither the addon nor WebAssembly/m);
    assert.match(doctor.stdout, /→ on Linux, install a C\+\+17 compiler/);
    for (const { stdout } of [info, doctor]) assert.ok(stdout.split('\n').every((line) => line.length <= 100), stdout);
    const here = await run(['doctor', '--json']);
    assert.equal(here.code, 0);
    const { findings } = JSON.parse(here.out) as { findings: { check: string; state: string; found: string; remedy: string }[] };
    assert.deepEqual(findings.map(({ check }) => check.replace('nvcc', 'NVRTC')).slice(0, 6), ['loader', 'driver', 'NVRTC', 'compiler', 'cache', 'memory']);
    for (const { state, found, remedy } of findings) assert.ok(found !== '' && (state === 'ok' || remedy !== ''));
  });

  it('run names the job file in which something is wrong', async () => {
    await writeFile(join(folder, 'absent.json'), '{ "kind": "denoise", "name": "absent", "input": "none.png", "sigma": 0.1 }');
    const { code, err } = await run(['run', join(folder, 'absent.json')]);
    assert.equal(code, 2);
    assert.match(err, /absent\.json: input: expected a file that exists/);
  });

  it('simulate says which initial conditions there are', async () => {
    const said = async (...more: string[]) => (await run(['simulate', 'heat', '--n', '9', '--time', '0.01', '--fourier', '0.4', '-o', join(folder, 'none'), ...more])).err;
    assert.match(await said(), /initial: expected a typed array, or one of parabola, ramp, cosine/);
    assert.match(await said('--initial', 'rmp'), /initial: expected .*parabola.*did you mean "ramp"/);
    assert.match(await said('--initial', 'cosine:mod=3'), /initial\.mod: there is no such field; did you mean "mode"/);
  });

  it('doctor says which environment variables are wrong', () => {
    assert.deepEqual(wrongSettings({ WARPLOOM_BACKEND: 'CPU', WARPLOOM_BACKENDS: 'cpu', WARPLOOM_NVRTC: '/no/such/libnvrtc.so', WARPLOOM_ADDON: 'wasm',
      WARPLOOM_TUNE: '', WARPLOOM_JOBS: '1', WARPLOOM_TOKEN: 'x', HOME: '/' }), [
      { found: "WARPLOOM_BACKEND is 'CPU'", remedy: 'give it auto, cuda, cpu or simt, or unset it' },
      { found: 'no variable WARPLOOM_BACKENDS is known', remedy: "did you mean 'WARPLOOM_BACKEND'?" },
      { found: 'WARPLOOM_NVRTC: there is no /no/such/libnvrtc.so', remedy: 'correct WARPLOOM_NVRTC, or unset it' },
    ]);
  });

  it('solve reads and writes npy files', async () => {
    await npy('rhs.npy', [2, 3], [1, 0, 1, 3, 2, 1]);
    const { code, out } = await run(['solve', '--lower', '-1', '--diagonal', '2', '--upper', '-1',
      '--rhs', join(folder, 'rhs.npy'), '-o', join(folder, 'out'), '--backend', 'cpu']);
    assert.equal(code, 0);
    assert.match(out, /backward error/);
    const { shape, data } = parseNpy(await readFile(join(folder, 'out', 'solution.npy')));
    assert.deepEqual(shape, [2, 3]);
    [1, 1, 1, 3.5, 4, 2.5].forEach((x, i) => assert.ok(Math.abs((data as Float64Array)[i]! - x) < 1e-14));
  });

  it('solve exits 1 when a system is singular, and says where to look', async () => {
    await npy('rhs.npy', [2], [1, 1]);
    const { code, err } = await run(['solve', '--lower', '0', '--diagonal', '0', '--upper', '0',
      '--rhs', join(folder, 'rhs.npy'), '-o', folder, '--backend', 'cpu']);
    assert.equal(code, 1);
    assert.match(err, /status\.npy/);
  });

  it('refuses a job file with the field that is wrong, before anything runs', async () => {
    const heat = { kind: 'heat-adi', initial: { file: 'grid.npy' }, dt: 1, steps: 2 };
    const bad: [object, RegExp][] = [
      [{ ...heat, dt: -1 }, /dt/], [{ ...heat, stepz: 1 }, /stepz/], [{ kind: 'cook' }, /kind/],
      [{ ...heat, name: '../up' }, /name/], [heat, /grid\.npy/], [{ ...heat, sweep: { nope: [1] } }, /nope/],
      [{ ...heat, initial: { file: 'package:no-such-package/x.npy' } }, /no-such-package/],
    ];
    for (const [content, what] of bad) {
      const { code, err } = await run(['run', await job('bad', content), '--results', join(folder, 'results')]);
      assert.equal(code, 2, JSON.stringify(content));
      assert.match(err, what);
    }
    assert.ok(!(await readdir(folder)).includes('results'));
  });

  it('run sweeps, writes results, skips finished items and runs changed inputs again', async () => {
    await npy('grid.npy', [4, 5], Array.from({ length: 20 }, (_, i) => i));
    const file = await job('heat', { kind: 'heat-adi', initial: { file: 'grid.npy' }, dt: 0.5, steps: 6, snapshots: 2,
      device: { backend: 'cpu' }, sweep: { diffusivity: [1, 2], precision: ['float32', 'float64'] } });
    const results = join(folder, 'results');
    const events = async () => {
      const { code, out } = await run(['run', file, '--results', results, '--json']);
      assert.equal(code, 0);
      return out.trim().split('\n').map((line) => (JSON.parse(line) as { event: string }).event);
    };
    assert.equal((await events()).filter((e) => e === 'finished').length, 4);
    assert.deepEqual(await events(), ['skipped', 'skipped', 'skipped', 'skipped']);
    await npy('grid.npy', [4, 5], Array.from({ length: 20 }, (_, i) => i * i));
    assert.equal((await events()).filter((e) => e === 'finished').length, 4);
    const item = join(results, 'heat', 'diffusivity=2,precision=float64');
    const names = (await readdir(item)).sort();
    assert.deepEqual(names, ['final.npy', 'heat-000.svg', 'heat-001.svg', 'heat-002.svg', 'result.json', 'result.zarr', 'state.checkpoint']);
    const result = JSON.parse(await readFile(join(item, 'result.json'), 'utf8')) as { accuracy: { value: number }; files: string[] };
    assert.ok(result.accuracy.value < 1e-13);
    assert.ok(result.files.every((name) => names.includes(name)));
    // The pictures of a run have one scale of colours, and the first row of the state at the top.
    const maps = await Promise.all([0, 1, 2].map((i) => readFile(join(item, `heat-00${i}.svg`), 'utf8')));
    const bars = maps.map((svg) => [.../role-legend-label.*?<\/g>/.exec(svg)![0].matchAll(/>([\d.,]+)<\/text>/g)].map(([, label]) => label).join());
    assert.deepEqual(bars, bars.map(() => bars[0]));
    assert.match(bars[0]!, /\d,\d/);
    assert.match(maps[2]!, />heat, t = 3</);
    const png = decode(Buffer.from(/base64,([^"]+)/.exec(maps[0]!)![1]!, 'base64'));
    assert.deepEqual([png.width, png.height], [5, 4]);
    const light = (i: number) => png.data[3 * i]! + png.data[3 * i + 1]! + png.data[3 * i + 2]!;
    assert.deepEqual([light(0) < light(4), light(4) < light(19), light(9) < light(14)], [true, true, true]);
  });

  it('resumes a killed run from its checkpoint with the same final state', async function () {
    this.timeout(60_000);
    const side = 96;
    await npy('grid.npy', [side, side], Array.from({ length: side * side }, (_, i) => (i * 7919) % 1000));
    const content = { kind: 'heat-adi', initial: { file: 'grid.npy' }, dt: 0.3, steps: 4000, snapshots: 200, device: { backend: 'cpu' } };
    const file = await job('killed', content);
    const results = join(folder, 'results');
    const item = join(results, 'killed', 'all');
    const child = spawn(process.execPath, ['--import', 'tsx', join(root, 'lib/cli/bin.ts'), 'run', file, '--results', results, '--json'],
      { stdio: ['ignore', 'pipe', 'inherit'], cwd: root });
    for await (const piece of child.stdout) {
      if (/"done":(1\d\d|[2-9]\d\d)/.test(String(piece))) break;
    }
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('close', resolve));
    assert.ok(!(await readdir(item)).includes('result.json'), 'killed before the end');
    assert.ok((await readdir(item)).includes('state.checkpoint'));
    const resumed = await run(['run', file, '--results', results, '--json']);
    assert.equal(resumed.code, 0);
    const first = resumed.out.split('\n').map((l) => (l === '' ? {} : JSON.parse(l)) as { event?: string; done?: number })
      .find((e) => e.event === 'progress');
    assert.ok(first!.done! > 1, `resumed at step ${first!.done}`);
    const again = await run(['run', file, '--results', join(folder, 'whole')]);
    assert.equal(again.code, 0);
    assert.deepEqual(await readFile(join(item, 'final.npy')), await readFile(join(folder, 'whole', 'killed', 'all', 'final.npy')));
  });

  it('exits 130 when interrupted, keeping what is done', async () => {
    await npy('grid.npy', [3, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const file = await job('stopped', { kind: 'heat-adi', initial: { file: 'grid.npy' }, dt: 1, steps: 100000, snapshots: 1000, device: { backend: 'cpu' } });
    const stop = new AbortController();
    setTimeout(() => stop.abort(new Error('stopped')), 300);
    const { code, err } = await run(['run', file, '--results', join(folder, 'results')], stop.signal);
    assert.equal(code, 130);
    assert.match(err, /again to resume/);
  });

  it('publishes the JSON Schema that its own checks come from', async () => {
    const published = JSON.parse(await readFile(join(root, 'examples/jobs/job.schema.json'), 'utf8')) as object;
    assert.deepEqual(published, JSON.parse(JSON.stringify(jobJsonSchema())));
  });
});
