// The published package as a consumer meets it: packed, installed with install scripts off (npm 12's rule) into an
// empty project, imported and required, and under the permission model.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { execFileSync, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const solve = `
  const device = await openDevice({ backend: 'cpu' });
  const { solution } = await tridiagonal.solve({
    lower: Float64Array.of(0, -1, -1), diagonal: Float64Array.of(2, 2, 2), upper: Float64Array.of(-1, -1, 0),
    rhs: Float64Array.of(1, 0, 1), n: 3, batch: 1, device });
  await device.close();
  console.log(JSON.stringify([...solution]));`;

interface PackedFile {
  readonly path: string;
  readonly size: number;
}

describe('the packed package', function () {
  this.timeout(600_000);
  const folder = mkdtempSync(join(tmpdir(), 'warploom-package-'));
  const project = join(folder, 'project');
  let files: PackedFile[] = [];

  const node = (...args: string[]): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8', env: { ...process.env, WARPLOOM_ADDON: 'native' } });
  const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

  const rounded = (text: string): number[] =>
    (JSON.parse(lastLine(text)) as number[]).map((x) => Math.round(x * 1e12) / 1e12);

  before('pack and install', () => {
    const [packed] = JSON.parse(execFileSync('npm', [
      'pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: root, encoding: 'utf8' })) as
      { filename: string; files: PackedFile[] }[];
    files = packed!.files;
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
    execFileSync('npm', ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund',
      join(folder, packed!.filename)], { cwd: project, stdio: 'pipe' });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('holds the addon, compiled code and declarations, and nothing of the checkout', () => {
    const paths = files.map(({ path }) => path);
    ok(paths.includes('prebuilds/linux-x64/node.napi.glibc.node'));
    for (const path of ['dist/index.js', 'dist/index.d.ts', 'dist/cli/bin.js', 'LICENSE', 'README.md']) {
      ok(paths.includes(path), path);
    }
    // What texts compiled at run time include.
    for (const path of ['cuda/core/module.cuh', 'cuda/core/device.cuh', 'cuda/core/rtc/type_traits', 'cuda/kernel/map.cuh',
      'cuda/stream/fused.cuh', 'cuda/stream/state.cuh']) ok(paths.includes(path), path);
    const headers = /^cuda\/(core\/(\w+\.cuh|\w+\.h|rtc\/\w+)|(kernel|stencil|stream)\/\w+\.cuh)$/;
    const strangers = paths.filter((path) => !/^(dist|prebuilds)\/|^(package\.json|LICENSE|[A-Z]+\.md)$/.test(path)
      && !headers.test(path));
    deepStrictEqual(strangers, []);
    ok(files.reduce((sum, { size }) => sum + size, 0) < 60 * 2 ** 20);
  });

  it('installs few packages', () => {
    const installed = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
    ok(installed.includes('warploom'));
    // With the readers of image files and the stream compiler's parsers (one with lodash-es), solver and layout; a second PNG, TIFF or
    // deflate library would show here.
    ok(installed.length < 37, installed.join(' '));
  });

  it('imports and solves', () => {
    const done = node('--input-type=module', '-e', `import { openDevice, tridiagonal } from 'warploom'; ${solve}`);
    strictEqual(done.stderr, '');
    deepStrictEqual(rounded(done.stdout), [1, 1, 1]);
  });

  const entries = ['core', 'tridiagonal', 'scan', 'kernel', 'swept', 'imaging', 'scratchpad', 'stream', 'files', 'jobs'];

  it('imports each entry alone', () => {
    for (const entry of entries) {
      const done = node('--input-type=module', '-e', `console.log(Object.keys(await import('warploom/${entry}')).length)`);
      strictEqual(done.stderr, '', entry);
      ok(Number(done.stdout) > 1, entry);
    }
    const solved = node('--input-type=module', '-e',
      `import { openDevice } from 'warploom/core'; import * as tridiagonal from 'warploom/tridiagonal'; ${solve}`);
    deepStrictEqual(rounded(solved.stdout), [1, 1, 1], solved.stderr);
    match(node('--input-type=module', '-e', "await import('warploom/cli')").stderr, /ERR_PACKAGE_PATH_NOT_EXPORTED/);
  });

  it('queues say which optional packages they need', () => {
    const done = node('--input-type=module', '-e', `import { jobs } from 'warploom';
      await jobs.work({ queue: 'redis://me:secret@127.0.0.1:1' }).catch((error) => console.log(error.code, error.message));`);
    strictEqual(done.stdout, 'ERR_WARPLOOM_UNAVAILABLE queues on Redis or Valkey need two optional packages: npm install bullmq ioredis\n');
  });

  it('has types of each entry', () => {
    const lines = entries.map((entry) => `export * as ${entry} from 'warploom/${entry}';`);
    writeFileSync(join(project, 'types.mts'), `import { type tridiagonal } from 'warploom';\n${lines.join('\n')}
import type { SolveOptions } from 'warploom/tridiagonal';
export const same = (options: SolveOptions): tridiagonal.SolveOptions => options;\n`);
    const done = node(join(root, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022',
      '--module', 'nodenext', '--types', 'node', '--typeRoots', join(root, 'node_modules/@types'), 'types.mts');
    strictEqual(done.stdout, '');
  });

  it('is required from CommonJS and solves', () => {
    const done = node('--no-warnings', '-e',
      `(async () => { const { openDevice, tridiagonal } = require('warploom'); ${solve} })()`);
    strictEqual(done.stderr, '');
    deepStrictEqual(rounded(done.stdout), [1, 1, 1]);
  });

  it('offers the command', () => {
    const done = spawnSync(join(project, 'node_modules/.bin/warploom'), ['info'], { cwd: project, encoding: 'utf8' });
    strictEqual(done.status, 0, done.stderr);
    match(done.stdout, /cpu/);
  });

  const report = `import { devices, openDevice } from 'warploom';
    console.log(devices().map((d) => d.backend + ': ' + d.reason).join('\\n'));
    try { await openDevice(); console.log('opened'); } catch (error) { console.log(error.code); }`;

  it('says why with --no-addons', () => {
    const done = node('--no-addons', '--input-type=module', '-e', report);
    strictEqual(done.status, 0, done.stderr);
    match(done.stdout, /cpu: .*addons are disabled/);
    strictEqual(lastLine(done.stdout), 'ERR_WARPLOOM_UNAVAILABLE');
  });

  it('says why under the permission model, and works when addons are allowed', () => {
    const flags = ['--no-warnings', '--experimental-permission', '--allow-fs-read=*', '--input-type=module'];
    const refused = node(...flags, '-e', report);
    strictEqual(refused.status, 0, refused.stderr);
    match(refused.stdout, /addons/);
    strictEqual(lastLine(refused.stdout), 'ERR_WARPLOOM_UNAVAILABLE');
    if (!process.allowedNodeEnvironmentFlags.has('--allow-addons')) return;
    const allowed = node('--allow-addons', ...flags, '-e', report);
    strictEqual(lastLine(allowed.stdout), 'opened', allowed.stderr);
  });

  const streams = `import { stream } from 'warploom';
    const filter = (name) => 'int->int filter ' + name + ' { int s; work pop 1 push 1 { s += pop(); '
      + 'for (int i = 0; i < 800; i++) s = s * 3 + i; push(s); } }';
    const { graph } = await stream.elaborate(filter('F') + filter('G') + 'int->int pipeline P { add F; add G; }');
    const input = new Int32Array(7e5).fill(1);
    const [alone, both] = [await stream.run(graph, { input, threads: 1 }), await stream.run(graph, { input, threads: 2 })];
    console.log(alone.backend, both.output.length, both.output.every((x, i) => x === alone.output[i]));`;

  it('runs long stream programs on worker threads, under the permission model too', () => {
    const plain = node('--input-type=module', '-e', streams);
    strictEqual(lastLine(plain.stdout), 'wasm 700000 true', plain.stderr);
    const flags = ['--no-warnings', '--experimental-permission', '--allow-fs-read=*', '--input-type=module'];
    const allowed = node('--allow-worker', ...flags, '-e', streams);
    strictEqual(lastLine(allowed.stdout), 'wasm 700000 true', allowed.stderr);
    match(node(...flags, '-e', streams).stderr, /ERR_WARPLOOM_UNAVAILABLE[^]*--allow-worker|--allow-worker[^]*ERR_WARPLOOM_UNAVAILABLE/);
  });
});
