// Original and rewritten PTX give the same bytes, without races, in several orders of threads: the corpus, the kernels of the paper, and
// random kernels. WARPLOOM_PROOF_KERNELS=500 compiles and runs 500 random kernels (default: 12 of 20 that are compiled already).
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scratchpad } from '../../lib/index.ts';
import { Random } from '../support/random.ts';
import { launchesOf, readKernels, testFolder, type Launch } from './kernels.ts';
import { randomKernel } from './random-kernels.ts';
import type { Run } from './interpreter.ts';
import { differing, fixture } from './launches.ts';

const randomCount = Number(process.env['WARPLOOM_PROOF_KERNELS'] ?? 0);
/** Random kernels that are compiled together. */
const chunk = 25;

const differences = (before: string, after: string, launches: readonly Launch[], orders: readonly Run['order'][], dynamicBytes = 0): string[] =>
  differing(before, after, launches, orders, dynamicBytes, randomCount > 0);

describe('scratchpad: programs', function () {
  this.timeout(600_000);
  this.slow(20_000);

  it('the corpus gives the same bytes', async () => {
    let rewritten = 0;
    for (const { name, launches } of readKernels(join(testFolder, 'corpus'))) {
      if (name === 'templates') continue; // no instances
      const text = fixture(`corpus-${name}`);
      const found = await scratchpad.optimize(text, { barriers: 'any', reorder: true });
      rewritten += found.report.kernels.filter((kernel) => kernel.status === 'rewritten').length;
      deepStrictEqual(differences(text, found.ptx, launches, ['reverse', 3], found.dynamicBytes), [], name);
    }
    ok(rewritten >= 30, `${rewritten} rewritten`);
  });

  it('the kernels of the paper give the same bytes', async () => {
    for (const { name, launches } of readKernels(join(testFolder, '../../examples/kernels'))) {
      if (name.endsWith('_tiles')) continue; // more than a hundred thousand accesses
      const text = fixture(name);
      const found = await scratchpad.optimize(text, { barriers: 'any', reorder: true });
      const small = launches.map((own) => ({ ...own, grid: [1, 1, 1] }));
      deepStrictEqual(differences(text, found.ptx, small, [5]), [], name);
    }
  });

  for (let from = 1; from <= Math.max(randomCount, 1); from += chunk) {
    const until = randomCount === 0 ? 12 : Math.min(from + chunk - 1, randomCount);
    it(`random kernels ${from} to ${until} give the same bytes`, async () => {
      const text = randomCount === 0 ? fixture('random') : compiled(from, until);
      const { report, ptx } = await scratchpad.optimize(text, { barriers: 'any', budget: 3e9, reorder: true });
      const rewritten = report.kernels.filter((kernel) => kernel.status === 'rewritten');
      ok(rewritten.length >= 0.4 * report.kernels.length, `${rewritten.length} of ${report.kernels.length} rewritten`);
      deepStrictEqual(report.kernels.filter(({ reason }) => reason.startsWith('not confirmed')), []);
      for (let seed = from; seed <= until; ++seed) {
        const kernel = report.kernels.find((each) => each.kernel === `random_${seed}`);
        if (kernel?.status !== 'rewritten') continue;
        const [own] = launchesOf(randomKernel(new Random(seed)).text);
        const [a, b] = [only(text, `random_${seed}`), only(ptx, `random_${seed}`)];
        deepStrictEqual(differences(a, b, [{ ...own!, kernel: `random_${seed}`, grid: [1, 1, 1] }], ['forward', seed]), [], `seed ${seed}`);
      }
    });
  }

  it('finds what a kernel without a needed barrier does', async () => {
    const text = fixture('corpus-straight');
    const { ptx } = await scratchpad.optimize(text, { barriers: 'any' });
    const { launches } = readKernels(join(testFolder, 'corpus')).find((file) => file.name === 'straight')!;
    const added = [...ptx.matchAll(/bar\.sync \t0;\n\t/g)];
    ok(added.length > 0);
    for (const { index, 0: whole } of added) {
      const without = ptx.slice(0, index) + ptx.slice(index + whole.length);
      ok((['forward', 'reverse', 3] as const).some((order) => differences(text, without, launches, [order]).length > 0));
    }
    strictEqual(differences(text, text, launches, ['forward']).length, 0);
  });
});

/** The module with one kernel only, so that it is quick to read. */
function only(text: string, kernel: string): string {
  const parts = text.split(/(?=^\s*\/\/ \.globl|^\.visible \.entry)/m);
  return parts.filter((part, at) => at === 0 || part.includes(`${kernel.length}${kernel}EP`)).join('');
}

/** Random kernels, compiled by nvcc. */
function compiled(from: number, until: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'warploom-'));
  try {
    const one = (seed: number): string => randomKernel(new Random(seed)).text.replaceAll(/random_\w+/g, `random_${seed}`);
    const source = Array.from({ length: until - from + 1 }, (_, at) => `namespace n${from + at} {\n${one(from + at)}\n}\n`).join('');
    writeFileSync(join(folder, 'random.cu'), source);
    execFileSync('nvcc', ['-ptx', '-w', '-arch=sm_90', '-o', join(folder, 'random.ptx'), join(folder, 'random.cu')]);
    return readFileSync(join(folder, 'random.ptx'), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
