// The build ladder on poorer machines: without CMake (node-gyp, CPU only) and without any compiler.
import { match, ok, strictEqual } from 'node:assert/strict';
import { execFileSync, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const binary = 'prebuilds/linux-x64/node.napi.glibc.node';

describe('the build ladder', function () {
  this.timeout(900_000);
  let folder = '';

  /** A copy of the checkout's files that shares its packages. */
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'warploom-build-'));
    const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
      .filter((file) => existsSync(join(root, file)));
    for (const file of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(join(root, file), join(folder, file));
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const build = (args: string[], env: NodeJS.ProcessEnv): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, ['scripts/build-native.mjs', ...args], {
      cwd: folder, encoding: 'utf8', env: { ...process.env, ...env }, maxBuffer: 1 << 27,
    });
  const info = (): string => execFileSync(process.execPath, ['--import', 'tsx', '-e',
    `import { devices } from './lib/index.ts';
     console.log(devices().map((d) => d.backend + ': ' + d.available + ' ' + d.reason).join('\\n'));`],
  { cwd: folder, encoding: 'utf8', env: { ...process.env, WARPLOOM_ADDON: 'native' } });

  it('builds the CPU backend by node-gyp where there is no CMake', () => {
    const done = build([], { WARPLOOM_CMAKE: '0', WARPLOOM_ISAS: '', CXXFLAGS: '-O0' }); // the baseline alone: half of the time
    strictEqual(done.status, 0, done.stderr);
    ok(existsSync(join(folder, binary)));
    const devices = info();
    match(devices, /cpu: true/);
    match(devices, /cuda: false .*not compiled/);
  });

  const withoutCompiler = { PATH: '/nonexistent', CXX: undefined };

  it('says what to install where there is no compiler, and does not fail npm ci', () => {
    const done = build(['--prepare'], withoutCompiler);
    strictEqual(done.status, 0, done.stderr);
    match(done.stderr, /no C\+\+ compiler was found/);
    match(done.stderr, /Install a C\+\+17 compiler/);
    ok(!existsSync(join(folder, binary)));
    match(info(), /cpu: false .*npm run build:native/);
  });

  it('computes as WebAssembly without a compiler, by the module that the repository keeps', function () {
    const unpack = spawnSync(process.execPath, ['-e', `import('./scripts/kept-wasm.mjs').then(({ unpackWasm }) => console.log(unpackWasm()))`],
      { cwd: folder, encoding: 'utf8' });
    strictEqual(unpack.status, 0, unpack.stderr);
    if (unpack.stdout === 'undefined\n') return this.skip(); // the sources have other operations by now
    match(unpack.stdout, /^(these|older) sources/);
    const out = join(folder, 'out'); // as npm start, one job of it
    const done = spawnSync(process.execPath, ['--import', 'tsx', 'lib/cli/bin.ts', 'run', 'examples/jobs/co2-spline.json', '--results', out],
      { cwd: folder, encoding: 'utf8', env: { ...process.env, PATH: '/nonexistent', WARPLOOM_ADDON: undefined } });
    strictEqual(done.status, 0, done.stderr);
    match(done.stdout, /natural spline, 248 knots/);
    const doctor = spawnSync(process.execPath, ['--import', 'tsx', 'lib/cli/bin.ts', 'doctor'], { cwd: folder, encoding: 'utf8',
      env: { ...process.env, WARPLOOM_ADDON: undefined } });
    match(doctor.stdout, /WebAssembly[^]*install a C\+\+17[^]*npm run\s+build:native/);
    ok(doctor.stdout.split('\n').every((line) => line.length <= 100), doctor.stdout);
  });

  it('fails where the addon is required', () => {
    for (const args of [[], ['--prepare']]) {
      const done = build(args, { ...withoutCompiler, WARPLOOM_REQUIRE: args.length > 0 ? 'native' : undefined });
      strictEqual(done.status, 1, done.stderr);
    }
  });
});
