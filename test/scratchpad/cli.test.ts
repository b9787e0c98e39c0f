// The command `warploom scratchpad`: tables, files, the picture, --check, bad flags.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { main } from '../../lib/cli/main.ts';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import { planSvg } from '../../lib/scratchpad/plan-svg.ts';

async function run(...argv: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(['scratchpad', ...argv], { out, err, signal: new AbortController().signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

const kernels = new URL('../../examples/kernels/', import.meta.url).pathname;
const curvature = join(kernels, 'curvature2d.cu');
const registration = join(kernels, 'registration.cu');

/** Every element is closed, and every number finite. */
function checkSvg(svg: string): void {
  const open: string[] = [];
  for (const [, close, name, selfClosed] of svg.matchAll(/<(\/?)([a-z]+)(?:\s+[\w-]+="[^"<>]*")*\s*(\/?)>/g)) {
    if (close === '/') strictEqual(open.pop(), name);
    else if (selfClosed !== '/') open.push(name!);
  }
  deepStrictEqual(open, []);
  strictEqual(svg.match(/</g)!.length, [...svg.matchAll(/<(\/?)([a-z]+)(?:\s+[\w-]+="[^"<>]*")*\s*(\/?)>/g)].length);
  ok(!/NaN|Infinity|undefined/.test(svg));
}

describe('warploom scratchpad', () => {
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-scratchpad-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('prints arrays, bytes and blocks per multiprocessor, and writes nothing without being asked', async () => {
    const { code, out, err } = await run(curvature, '--threads', '16x16', '--registers', '30', '--arch', 'sm_86');
    strictEqual(code, 0);
    strictEqual(err, '');
    match(out, /curvature2d \(line \d+\): 5920 to 2448 bytes, 58\.6 % saved/);
    match(out, /^pixels +float\[18\]\[18\] +1296/m);
    match(out, /lower bound 2448 bytes, reached/);
    match(out, /sm_86, 256 threads of 30 registers: \d+ to \d+ blocks per multiprocessor/);
    strictEqual(out.match(/barrier inserted before line/g)?.length, 2);
  });

  it('writes source, report and picture, each whole', async () => {
    const [source, report, svg] = ['out.cu', 'report.json', 'plan.svg'].map((name) => join(folder, name)) as [string, string, string];
    strictEqual((await run(registration, '--reorder', '-o', source, '--report', report, '--svg', svg)).code, 0);
    const text = await readFile(source, 'utf8');
    strictEqual(text, (await optimize(await readFile(registration, 'utf8'), { reorder: true })).source);
    const parsed = JSON.parse(await readFile(report, 'utf8')) as { kernels: { bytesAfter: number; arrays: { name: string }[] }[] };
    strictEqual(parsed.kernels[0]!.bytesAfter, 4112);
    const picture = await readFile(svg, 'utf8');
    checkSvg(picture);
    for (const { name } of parsed.kernels[0]!.arrays) match(picture, new RegExp(`<title>${name}: \\d+ bytes at \\d+, lines`));
    deepStrictEqual((await readdir(folder)).sort(), ['out.cu', 'plan.svg', 'report.json']);
  });

  it('-o - gives the source alone on standard output', async () => {
    const { code, out, err } = await run(curvature, '-o', '-');
    strictEqual(code, 0);
    strictEqual(out, (await optimize(await readFile(curvature, 'utf8'))).source);
    match(err, /2448 bytes/);
  });

  it('--check: 1 while something could be saved or the file is stale, 0 when it is as the pass gives it', async () => {
    const out = join(folder, 'out.cu');
    strictEqual((await run(curvature, '--check')).code, 1);
    const absent = await run(curvature, '-o', out, '--check');
    strictEqual(absent.code, 1);
    match(absent.err, /absent/);
    deepStrictEqual(await readdir(folder), []);
    await run(curvature, '-o', out);
    strictEqual((await run(curvature, '-o', out, '--check')).code, 0);
    await writeFile(out, 'old');
    const stale = await run(curvature, '-o', out, '--check');
    strictEqual(stale.code, 1);
    match(stale.err, /not what the pass gives/);
    strictEqual(await readFile(out, 'utf8'), 'old');
    strictEqual((await run(registration, '--check')).code, 0);
    strictEqual((await run(registration, '--reorder', '--check')).code, 1);
  });

  it('shows what is refused, and takes constants from the command line', async () => {
    const path = join(folder, 'k.cu');
    await writeFile(path, `__global__ void k(const float* in, float* out) {
  __shared__ float a[N], b[N];
  const int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  const float x = a[N - 1 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[t ^ 1];
}
`);
    const refused = await run(path);
    strictEqual(refused.code, 0);
    match(refused.out, /^k: refused at line 2, column \d+ \([\w-]+\): /m);
    const defined = await run(path, '-D', 'N=64');
    match(defined.out, /512 to 256 bytes, 50\.0 % saved/);
  });

  it('refuses bad flags with code 2', async () => {
    for (const argv of [[], [curvature, registration], [curvature, '--nope'], [curvature, '--threads', '0'],
      [curvature, '--threads', 'x'], [curvature, '--threads', '16x0'], [curvature, '--threads', '64x64'],
      [curvature, '--registers', '256'], [curvature, '--planner', 'best'], [curvature, '--arch', 'sm_1'], [curvature, '-D', 'N'], [curvature, '-D', '=3'],
      [curvature, '--kernel', 'absent'], [curvature, '-o', curvature], [curvature, '--svg', join(folder, 'a'), '--report', join(folder, 'a')],
      [join(folder, 'absent.cu')], [curvature, '--macro', '3x']]) {
      const { code, err } = await run(...argv);
      strictEqual(code, 2, `${argv.join(' ')}: ${err}`);
      ok(err.length > 0);
    }
    deepStrictEqual(await readdir(folder), []);
  });

  it('the picture takes kernels without arrays, arrays that nobody needs, and names that XML must not see', async () => {
    checkSvg(planSvg([]));
    const { report } = await optimize(await readFile(curvature, 'utf8'));
    const [kernel] = report.kernels;
    checkSvg(planSvg(report.kernels));
    checkSvg(planSvg([{ ...kernel!, kernel: 'a<b> & "c"', arrays: [], points: [], bytesAfter: 0, lowerBound: 0 }]));
    checkSvg(planSvg([{ ...kernel!, status: 'kept', reason: '<none>', arrays: kernel!.arrays.map((array) => ({ ...array, live: [] })) }]));
  });
});
