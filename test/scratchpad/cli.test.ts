// The command `warploom scratchpad`, and `optimize` with CUDA source: PTX files, CUDA files by way of nvcc, and the launcher of a build.
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { main } from '../../lib/cli/main.ts';
import { scratchpad } from '../../lib/index.ts';
import { findNvcc } from '../../lib/core/compile/cuda.ts';
import { withEnvironment } from '../support/environment.ts';
import { fakeNvrtc } from '../support/fake-nvrtc.ts';
import { hasHostCompiler } from '../support/modules.ts';
import { isThorough } from '../support/thorough.ts';
import { fixture } from './launches.ts';

async function run(...argv: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(['scratchpad', ...argv], { out, err, signal: new AbortController().signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

const source = `#include "size.h"
__global__ void __launch_bounds__(96) k(const float* in, float* out) {
  __shared__ float a[SIZE], b[SIZE];
  const int t = threadIdx.x;
  for (int i = t; i < SIZE; i += 96) a[i] = in[i];
  __syncthreads();
  float x = 0;
  for (int i = 0; i < 9; ++i) x += a[(t * 7 + i) % SIZE];
  __syncthreads();
  for (int i = t; i < SIZE; i += 96) b[i] = x * i;
  __syncthreads();
  out[t] = b[SIZE - 1 - t];
}
__global__ void two(float* out) {
  __shared__ float a[32], b[32];
  a[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  const float x = a[31 - threadIdx.x];
  b[threadIdx.x] = x;
  __syncthreads();
  out[threadIdx.x] = b[threadIdx.x ^ 1];
}
`;

describe('warploom scratchpad', function () {
  this.timeout(120_000);
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-scratchpad-'));
    await writeFile(join(folder, 'size.h'), '#define SIZE 1000\n');
    await writeFile(join(folder, 'k.cu'), source);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('takes PTX and writes PTX, report and picture', async () => {
    const [from, to, report, svg] = ['in.ptx', 'out.ptx', 'report.json', 'plan.svg'].map((name) => join(folder, name)) as [string, string, string, string];
    await writeFile(from, fixture('curvature3d'));
    const { code, out, err } = await run(from, '-o', to, '--barriers', 'any', '--report', report, '--svg', svg);
    strictEqual(`${code}${err}`, '0');
    match(out, /6192 to 3888 bytes, 37\.2 % saved/);
    match(await readFile(to, 'utf8'), /\.b8 warploom_pool_\w+\[3888\]/);
    strictEqual((JSON.parse(await readFile(report, 'utf8')) as { kernels: { bytesAfter: number }[] }).kernels[0]!.bytesAfter, 3888);
    ok((await readFile(svg, 'utf8')).startsWith('<svg'));
  });

  it('refuses what does not belong together', async () => {
    const [from, to] = [join(folder, 'in.ptx'), join(folder, 'out.cubin')];
    await writeFile(from, fixture('many'));
    for (const argv of [[from, '--', '-I.'], [from, '--barriers', 'some'], [from, '-o', from], [from, '-o', to, '--check'], [join(folder, 'none.ptx')],
      ['--launch'], [from, from], [from, '--keep']]) {
      const { code, err } = await run(...argv);
      strictEqual(code, 2, argv.join(' '));
      ok(err.length > 0);
    }
  });

  it('checks what is there', async () => {
    const [from, to] = [join(folder, 'in.ptx'), join(folder, 'out.ptx')];
    await writeFile(from, fixture('curvature3d'));
    const any = ['--barriers', 'any'];
    match((await run(from, '--check', ...any)).err, /curvature3d could save 2304 bytes/);
    strictEqual((await run(from, '--check')).code, 0);
    match((await run(from, '-o', to, '--check', ...any)).err, /absent/);
    strictEqual((await run(from, '-o', to, ...any)).code, 0);
    strictEqual((await run(from, '-o', to, '--check', ...any)).code, 0);
    strictEqual((await run(from, '-o', to, '--check', '--kernel', 'curvature3d')).code, 1);
    strictEqual((await run(from, '-o', '-', ...any)).out, await readFile(to, 'utf8'));
    match((await run(from)).out, /with __syncthreads\(\) before line 61: 3888 bytes/);
  });

  it('compiles CUDA files with the options of the caller', async function () {
    if (findNvcc() === undefined) this.skip();
    const to = join(folder, 'k.cubin');
    const { code, out, err } = await run(join(folder, 'k.cu'), '-o', to, '--', '-I', folder, '-arch=sm_90');
    strictEqual(`${code}${err}`, '0');
    match(out, /k \(line 2\): 8000 to 4000 bytes, 50\.0 % saved/);
    strictEqual((await readFile(to)).subarray(1, 4).toString(), 'ELF');
    strictEqual((await run(join(folder, 'k.cu'), '-o', to, '--', '-include', 'nowhere.h')).code, 1);
  });

  it('the function compiles and assembles too', async function () {
    if (findNvcc() === undefined) this.skip();
    const { optimize } = scratchpad;
    const found = await optimize(source, { compilerOptions: ['-I', folder, '-DX=1'], arch: 'sm_90', cubin: true });
    strictEqual(found.report.kernels[0]!.bytesAfter, 4000);
    match(found.ptx, /\.target sm_90/);
    strictEqual(Buffer.from(found.cubin!).subarray(1, 4).toString(), 'ELF');
    await rejects(optimize('__global__ void k() { nonsense; }'), { code: 'ERR_WARPLOOM_INVALID_PROGRAM', name: 'ModuleError' });
    await rejects(optimize(source, { signal: AbortSignal.abort(new Error('stop')) }), /stop/);
  });

  it('NVRTC compiles source, told what the caller says', async function () {
    if (!hasHostCompiler) this.skip(); // for its imitation
    const ptx = fixture('curvature3d').replace(/\/\/[^\n]*/g, '').replace('.version', '@version');
    const text = `__global__ void curvature3d();\n/*PTX${ptx}*/`;
    await withEnvironment({ WARPLOOM_NVRTC: fakeNvrtc(folder), WARPLOOM_MODULE_COMPILER: undefined }, async () => {
      const found = await scratchpad.optimize(text, { compilerOptions: ['-I', folder, '-arch', 'sm_90a', '-DX=1'], barriers: 'any' });
      strictEqual(found.report.kernels[0]!.bytesAfter, 3888);
      const told = found.ptx.slice(found.ptx.lastIndexOf('}')).split('\n// ').slice(1);
      deepStrictEqual(told.slice(0, 5), ['-arch=compute_90a', '-lineinfo', '-I', folder, '-DX=1']);
      const other = await scratchpad.optimize(text, { arch: 'sm_75', barriers: 'none' });
      ok(other.ptx.includes('// -arch=compute_75\n'));
      await rejects(scratchpad.optimize(`${text}\n#error\n`), { code: 'ERR_WARPLOOM_INVALID_PROGRAM', name: 'ModuleError' });
    });
    if (findNvcc() === undefined) return;
    await withEnvironment({ WARPLOOM_NVRTC: fakeNvrtc(folder) }, async () => { // no kernel comes of it, as of templates: nvcc has the word
      const found = await scratchpad.optimize(source, { compilerOptions: ['-I', folder, '-arch=sm_90'] });
      strictEqual(found.report.kernels[0]!.bytesAfter, 4000);
    });
  });

  it('stands in front of nvcc, with options of the pass', async function () {
    if (findNvcc() === undefined) this.skip();
    const argv = ['nvcc', '-c', '-arch=sm_90', '-I', folder, '-Xptxas', '-v', join(folder, 'k.cu'), '-o', join(folder, 'k.o')];
    const { code, err } = await withEnvironment({ WARPLOOM_SCRATCHPAD: '--reorder' }, () => run('--barriers', 'any', '--launch', ...argv));
    strictEqual(code, 0, err);
    match(err, /k: 8000 to 4000 shared bytes/);
    match(err, /two: 256 to 128 shared bytes/); // takes a barrier
    match(err, /4000 bytes smem/);
    ok((await readFile(join(folder, 'k.o'))).length > 1000);
    strictEqual((await run('--launch', 'nvcc', '--version')).code, 0);
    strictEqual((await run('--launch', 'nvcc', '-c', join(folder, 'none.cu'))).code, 1);
    for (const wrong of [['--kernel', 'k'], ['--barriers', 'some'], ['-o', 'x'], ['k.cu']]) strictEqual((await run(...wrong, '--launch', 'nvcc')).code, 2, wrong.join(' '));
    strictEqual((await withEnvironment({ WARPLOOM_SCRATCHPAD: 'any' }, () => run('--launch', 'nvcc'))).code, 2);
  });

  it('works in a project of CMake', async function () {
    if (!isThorough || findNvcc() === undefined) this.skip(); // half a minute
    const [launcher, build] = [join(folder, 'launcher.sh'), join(folder, 'build')];
    const command = fileURLToPath(new URL('../../lib/cli/bin.ts', import.meta.url));
    await writeFile(launcher, `#!/bin/sh\nexec '${process.execPath}' --import '${import.meta.resolve('tsx')}' '${command}' scratchpad --launch "$@"\n`, { mode: 0o755 });
    await writeFile(join(folder, 'CMakeLists.txt'), `cmake_minimum_required(VERSION 3.24)
project(kernels LANGUAGES CUDA)
add_library(kernels STATIC k.cu)
target_include_directories(kernels PRIVATE \${CMAKE_SOURCE_DIR})
`);
    const options = [`-DCMAKE_CUDA_COMPILER=${findNvcc()}`, '-DCMAKE_CUDA_ARCHITECTURES=80;90', '-DCMAKE_CUDA_FLAGS=-Xptxas -v', `-DCMAKE_CUDA_COMPILER_LAUNCHER=${launcher}`];
    execFileSync('cmake', ['-S', folder, '-B', build, ...options], { stdio: 'pipe' });
    const { status, stdout, stderr } = spawnSync('cmake', ['--build', build, '--verbose'], { encoding: 'utf8' });
    strictEqual(status, 0, stderr);
    ok(stdout.includes(launcher));
    const resources = `${stdout}${stderr}`;
    deepStrictEqual([/k: 8000 to 4000 shared bytes/g, / 4000 bytes smem/g, / 256 bytes smem/g].map((each) => resources.match(each)?.length), [2, 2, 2], resources);
    match(await readFile(join(build, 'CMakeFiles/kernels.dir/k.cu.o.d'), 'utf8'), /^CMakeFiles\/kernels\.dir\/k\.cu\.o\s*:[^]*size\.h/);
  });
});
