// Every numbered example runs, says something, and exits with 0.
import { ok, strictEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const examples = readdirSync(`${root}/examples`).filter((name) => /^\d\d-.*\.ts$/.test(name)).sort();

function run(...program: string[]): Promise<{ code: number; out: string; err: string }> {
  // The paths of tsconfig.all.json make 'warploom' this checkout's sources.
  const env = { ...process.env, TSX_TSCONFIG_PATH: `${root}/tsconfig.all.json` };
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', ...program], { cwd: root, env }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
    });
  });
}

describe('examples', function () {
  this.timeout(60_000);

  it('are numbered from 01 without a gap', () => {
    ok(examples.length >= 5);
    examples.forEach((name, i) => strictEqual(Number(name.slice(0, 2)), i + 1, name));
  });

  for (const example of examples) {
    it(`${example} runs`, async () => {
      const { code, out, err } = await run(`examples/${example}`);
      strictEqual(code, 0, `${out}\n${err}`);
      ok(out.trim().length > 20, 'says what it did');
      ok(!/NaN|undefined/.test(out), out);
    });
  }

  it('jobs run, are accurate and draw their pictures', async () => {
    const results = await mkdtemp(join(tmpdir(), 'warploom-examples-'));
    try {
      const { code, out, err } = await run('lib/cli/bin.ts', 'run', 'examples/jobs', '--results', results);
      strictEqual(code, 0, `${out}\n${err}`);
      for (const [job, picture, limit] of [
        ['co2-spline', 'curve.svg', 1e-12], ['seattle-year', 'curve.svg', 1e-12], ['precipitation-smoothing', 'heat-004.svg', 1e-12],
        ['sod', 'profile.svg', 4e-3], ['kuramoto-sivashinsky', 'space-time.svg', 1e-12], ['heat-rod', 'profile.svg', 1e-4],
        ['denoise-astronaut', 'before-after.svg', 0.06], ['denoise-shepp-logan', 'before-after.svg', 0.06], ['denoise-head', 'before-after.svg', 1e-3],
        ['denoise-impulses', 'before-after.svg', 0.08], ['segment-discs', 'contours.svg', 0.01], ['segment-balls', 'before-after.svg', 0.03],
        ['segment-cell', 'contours.svg', 0.03], ['register-pair', 'grid.svg', 0.12], ['register-volumes', 'grid.svg', 0.4],
        ['fm-stereo', 'melody.wav', 0.015], ['lens', 'film.png', 1], ['bubble', 'film.png', 1], ['spots', 'fields.svg', 1],
      ] as const) {
        ok(out.includes(job), out);
        const { accuracy, figures } = JSON.parse(await readFile(join(results, job, 'all/result.json'), 'utf8')) as
          { accuracy: { value: number }; figures: Record<string, number> };
        ok(accuracy.value < limit, `${job}: ${accuracy.value}`);
        ok((await readFile(join(results, job, 'all', picture))).length > 10_000, `${job}: ${picture}`);
        if (job === 'lens') ok(figures['maximumOfU']! > 0.7 && figures['minimumOfU']! < -0.7, 'the wave is focused');
        if (job === 'bubble') {
          ok(figures['minimumOfRho']! > 0.1 && figures['maximumOfRho']! > 2 && figures['maximumOfRho']! < 3, 'the bubble is compressed');
          ok(Math.abs(figures['maximumOfMy']! + figures['minimumOfMy']!) < 1e-9, 'the flow is symmetric');
        }
        if (job === 'segment-cell') ok(Math.abs(figures['pixelsInside']! - 1872) < 60, `the cell has ${figures['pixelsInside']} pixels`);
      }
    } finally {
      await rm(results, { recursive: true, force: true });
    }
  }).timeout(180_000);
});
