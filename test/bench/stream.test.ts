// The benchmark of stream programs: its summaries and tables, and a small real run of each kind.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseReport, timesAsFast, type Row } from '../../bench/report.ts';
import { anchorOf } from '../../bench/stream-programs.ts';
import { streamBars, streamTables } from '../../bench/stream-figures.ts';
import { streamSummary } from '../../bench/stream.ts';
import { hasCompiler } from '../stream/support.ts';
import { benchmarkPrograms } from '../../examples/stream/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const row = (id: string, value: number): Row => ({ id, value, unit: 'items/s', spread: 0 });

describe('bench: stream', () => {
  const rows = benchmarkPrograms.flatMap((program, at) => {
    const { original, best } = anchorOf(program);
    return [row(`stream/${program.name}/baseline`, original), row(`stream/${program.name}/cpp1`, (at % 2 === 0 ? 8 : 2) * original),
      row(`stream/${program.name}/cpp1-fast`, at < 3 ? 1.01 * best : 0.99 * best), row(`stream/${program.name}/cpp-cores`, 0.9)];
  });

  it('sums up what the goals ask', () => {
    const found = new Map(streamSummary(rows).map(({ id, value }) => [id.slice('stream/all/'.length), value]));
    assert.ok(Math.abs(found.get('cpp1-over-baseline')! - 4) < 1e-12);
    assert.ok(Math.abs(found.get('cpp1-over-original')! - 4) < 1e-12);
    assert.ok(Math.abs(found.get('baseline-over-original')! - 1) < 1e-12);
    const beaten = benchmarkPrograms.filter((program, at) => at < 3 || (at % 2 === 0 ? 8 : 2) * anchorOf(program).original > anchorOf(program).best);
    assert.equal(found.get('above-best-original'), beaten.length);
    assert.ok(!found.has('wasm1-over-baseline') && found.has('cpp-cores'));
  });

  it('prints and draws programs over the baseline', () => {
    const text = streamTables({ rows: [...rows, ...streamSummary(rows)] } as Parameters<typeof streamTables>[0]);
    assert.equal(text.split('\n').filter((line) => line.startsWith('| FFT')).length, 2);
    assert.match(text, /\| cpp1-over-baseline \| 4\.00 \|/);
    assert.deepEqual(streamBars(rows.slice(0, 2)), [{ program: 'bitonic', method: 'cpp1', times: 8 }]);
  });

  it('takes more items a second for better', () => {
    assert.equal(timesAsFast({ value: 4, unit: 'items/s' }, 2), 2);
    assert.equal(timesAsFast({ value: 4, unit: 's' }, 2), 0.5);
  });

  it('runs', function () {
    this.timeout(120_000);
    if (!hasCompiler()) this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'warploom-bench-'));
    const run = (...args: string[]) => execFileSync(process.execPath,
      ['--import', 'tsx', 'bench/main.ts', 'stream', '--backend', 'cpu', '--quick', '--out', folder, ...args], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
    const read = (name: string) => parseReport(JSON.parse(readFileSync(join(folder, 'cpu', `${name}.json`), 'utf8')));
    try {
      run('--filter', '^stream/bitonic/');
      const methods = read('stream').rows.map(({ id, value }) => {
        assert.ok(value > 0);
        return id.split('/')[2];
      });
      assert.deepEqual(methods, ['compile', 'baseline', 'cpp1-fast', 'copies', 'cpp1', 'cppN', 'wasm1', 'wasmN', 'cpp-cores', 'wasm-cores', 'machine-cores']);
      run('--partition');
      const gaps = read('stream-partition').rows;
      assert.ok(gaps.some(({ id }) => id === 'stream/partition/bitonic/gap') && gaps.some(({ id }) => id === 'stream/pipeline/132/bitonic'));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
