// The depth search and its policy file.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatPolicy, tune, writePolicy, type TuneRow } from '../../lib/tridiagonal/index.ts';
import { eachBackend } from '../support/backends.ts';

describe('tune', () => {
  eachBackend((backend, device) => {
    it('finds the fastest depth of each size and type', async () => {
      const seen: TuneRow[] = [];
      const policy = await tune({
        device: await device(), sizes: [16, 64], depths: [2, 4], unknowns: 256, repeats: 3, onRow: (row) => seen.push(row),
      });
      strictEqual(policy.backend, backend);
      deepStrictEqual(policy.rows, seen);
      deepStrictEqual(policy.rows.map(({ type, n, batch }) => [type, n, batch]),
        [['float32', 16, 16], ['float32', 64, 4], ['float64', 16, 16], ['float64', 64, 4]]);
      for (const { seconds, best } of policy.rows) {
        strictEqual(seconds[best], Math.min(...Object.values(seconds)));
        ok(Object.values(seconds).every((time) => time >= 0));
      }
      match(formatPolicy(policy), /type +n +batch +depth 2 +depth 4 +best\n/);
      const folder = await mkdtemp(join(tmpdir(), 'warploom-tune-'));
      try {
        const path = join(folder, 'policies', 'policy.json');
        await writePolicy(path, policy);
        deepStrictEqual(JSON.parse(await readFile(path, 'utf8')), policy);
        deepStrictEqual(await readdir(join(folder, 'policies')), ['policy.json']);
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  });
});
