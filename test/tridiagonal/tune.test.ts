// The depth search and its policy file.
import { deepStrictEqual, match, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { updatedPolicyTable } from '../../bench/policy-table.ts';
import { formatPolicy, readPolicy, tune, writePolicy, type TunedPolicy, type TuneRow } from '../../lib/tridiagonal/index.ts';
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
        deepStrictEqual(await readPolicy(path), policy);
        deepStrictEqual(await readdir(join(folder, 'policies')), ['policy.json']);
        await writeFile(path, '{"schema": 2}');
        await rejects(readPolicy(path), { argument: 'path' });
        await rejects(readPolicy(join(folder, 'none.json')), { code: 'ERR_WARPLOOM_FILE', path: join(folder, 'none.json') });
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  });

  it('writes its depths into the policy table, in place of those of the same architecture and type', () => {
    const policy = (computeCapability: number, type: 'float32' | 'float64', best: number): TunedPolicy => ({
      schema: 1, backend: 'cuda', device: `GPU ${computeCapability}`, computeCapability, date: '2026-01-02T03:04:05Z',
      rows: [128, 64].map((n) => ({ type, n, batch: 10, best, seconds: { [best]: 1e-6, 32: 2e-6 } })),
    });
    const rowsOf = (table: string) => table.split('\n').filter((line) => line.startsWith('{')).map((line) => line.split('  //')[0]);
    let table = updatedPolicyTable('', policy(90, 'float32', 8));
    match(table, /^\/\/ .*\n\/\/ Generated: do not edit\.\n\{90, 4, 64, 8\}, {2}\/\/ GPU 90, 2026-01-02, 10 systems; 8: 1\.0 us, 32: 2\.0 us\n/);
    deepStrictEqual(rowsOf(table), ['{90, 4, 64, 8},', '{90, 4, 128, 8},'], 'ascending sizes');
    table = updatedPolicyTable(updatedPolicyTable(table, policy(80, 'float32', 4)), policy(90, 'float64', 2));
    table = updatedPolicyTable(table, policy(90, 'float32', 16));
    deepStrictEqual(rowsOf(table).sort(), [
      '{80, 4, 128, 4},', '{80, 4, 64, 4},', '{90, 4, 128, 16},', '{90, 4, 64, 16},', '{90, 8, 128, 2},', '{90, 8, 64, 2},',
    ]);
    strictEqual(updatedPolicyTable(table, policy(90, 'float32', 16)), table, 'the same search changes nothing');
    throws(() => updatedPolicyTable('', { ...policy(0, 'float32', 2), backend: 'simt' }), /cuda only/);
  });
});
