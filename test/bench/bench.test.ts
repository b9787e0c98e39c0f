// The benchmark program itself: its arithmetic, its report format, its goals, its refusals, and a small real run.
import { deepStrictEqual, match, ok, strictEqual, throws } from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { callCases, crowds } from '../../bench/calls/cases.ts';
import { compare, readGoals } from '../../bench/goals.ts';
import { checkBuild } from '../../bench/native.ts';
import { occupancyByRegisters, occupancyBySharedMemory, packedKernels } from '../../bench/paper.ts';
import { barsOf } from '../../bench/plot.ts';
import { deviceFolder, provenance, sourceHash } from '../../bench/provenance.ts';
import { formatRow, formatValue, mergeReports, parseReport, type Report, type Row } from '../../bench/report.ts';
import { summarise } from '../../bench/statistics.ts';
import { figureTables, pointsOf } from '../../bench/swept-figures.ts';
import { issueRate, problems } from '../../bench/swept-problems.ts';
import { readPublicKernels } from '../../bench/public-tridiagonal.ts';
import { markdownTable } from '../../bench/table.ts';
import { everydayShapes } from '../../bench/tridiagonal-shapes.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const row = (id: string, change: Partial<Row> = {}): Row =>
  ({ id, value: 2e-3, unit: 's', limit: 1e-3, fraction: 0.5, peers: { copy: 1e-3, lapack: 8e-3 }, spread: 0.01, ...change });
const report = (rows: Row[], change: Partial<Report> = {}): Report => ({
  schema: 1, domain: 'tridiagonal', device: 'cpu', deviceName: 'a machine', driver: '', versions: { node: '20' },
  commit: 'unknown', sourceHash: 'a'.repeat(64), date: '2026-11-21T00:00:00.000Z', rows, ...change,
});

describe('bench: figures', () => {
  it('takes the median and the interquartile range', () => {
    deepStrictEqual(summarise([4, 1, 2, 3, 100]), { median: 3, spread: 2 / 3 });
    deepStrictEqual(summarise([5]), { median: 5, spread: 0 });
    throws(() => summarise([]), RangeError);
  });

  it('prints rows as they always were', () => {
    strictEqual(formatRow(row('cpu/20000x512/float64/auto')),
      'cpu/20000x512/float64/auto                                2.000 ms    50.0 %  copy 1.000 ms (0.50x)  '
      + 'lapack 8.000 ms (4.00x)  ±1.0 %');
    strictEqual(formatValue(2.5e-8, 's'), '25.00 ns');
    strictEqual(formatValue(3.14159, 'eps'), '3.142 eps');
  });

  it('names report folders', () => {
    strictEqual(deviceFolder('cuda', 'NVIDIA H200'), 'h200');
    strictEqual(deviceFolder('cuda', 'NVIDIA GeForce RTX 4090'), 'nvidia-geforce-rtx-4090');
    strictEqual(deviceFolder('cpu', 'whatever'), 'cpu');
  });

  it('takes the sources of the addon from the note of a bundle, and hashes those of stream, which travel in it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'warploom-bundle-'));
    try {
      const sources = ['lib/stream', 'lib/kernel', 'cuda/stream', 'examples/stream'];
      for (const part of sources) mkdirSync(join(folder, part), { recursive: true });
      writeFileSync(join(folder, 'lib/stream/a.ts'), 'export {};\n');
      const built = { commit: 'c'.repeat(40), sourceHash: 'd'.repeat(64), nvcc: '13.0' };
      writeFileSync(join(folder, 'build-info.json'), JSON.stringify(built));
      deepStrictEqual(provenance(folder, 'imaging'), built);
      deepStrictEqual(provenance(folder, 'stream'), { ...built, sourceHash: sourceHash(folder, sources) });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('prints a report as a table', () => {
    const rows = [row('batch/4x4/float32/hot/auto'), row('batch/4x4/float32/hot/cr', { fraction: 0.25 }),
      row('batch/8x8/float32/hot/cr', { peers: {} }), row('accuracy/a/float32/auto', { limit: undefined, fraction: undefined })];
    deepStrictEqual(markdownTable(report(rows)).split('\n'), [
      '| batch | floor µs | auto | cr | lapack |', '| --- | --- | --- | --- | --- |',
      '| 4x4/float32/hot | 1000 | 50.0 % | 25.0 % | 12.5 % |', '| 8x8/float32/hot | 1000 |  | 50.0 % |  |']);
  });

  it('draws one bar per method and peer', () => {
    deepStrictEqual(barsOf([row('batch/4x4/float32/hot/auto')]).map(({ method, percent }) => [method, percent]),
      [['auto', 50], ['lapack', 12.5]]);
    deepStrictEqual(barsOf([row('accuracy/a/float32/auto', { limit: undefined })]), []);
  });

  it('reads packed kernels from a compiler report', () => {
    const entry = 'void warploom::cuda::agent_kernel<warploom::cuda::tridiagonal::WarpRegpackAgent<float, 8, true> >(x)';
    const kernels = [entry, entry.replace('true', 'false')].map((name, index) =>
      ({ entry: name, architecture: 'sm_90', registers: 40 + index, spilledBytes: 0 }));
    deepStrictEqual(packedKernels(kernels), [{
      architecture: 'sm_90', type: 'float32', depth: 8, registers: 41, spilledBytes: 0 }]);
    strictEqual(occupancyByRegisters(32), 1);
    strictEqual(occupancyByRegisters(64), 0.5);
    strictEqual(occupancyByRegisters(255), 0.125);
    strictEqual(occupancyBySharedMemory('sm_90', 64), 1);
    strictEqual(occupancyBySharedMemory('sm_90', 228 * 4), 0.125);
  });
});

describe('bench: reports', () => {
  it('refuses double rows, unknown fields and odd ids', () => {
    const good = report([row('cpu/a/float64/auto')]);
    deepStrictEqual(parseReport(structuredClone(good)), good);
    throws(() => parseReport(report([row('a/b'), row('a/b')])), /twice/);
    throws(() => parseReport({ ...good, extra: 1 }));
    throws(() => parseReport(report([row('no slash')])));
  });

  it('keeps rows of a filtered run only from the same sources and device', () => {
    const before = report([row('a/b', { value: 1 }), row('a/c')]);
    const next = report([row('a/b')]);
    deepStrictEqual(mergeReports(before, next).rows.map(({ id, value }) => [id, value]), [['a/c', 2e-3], ['a/b', 2e-3]]);
    strictEqual(mergeReports({ ...before, sourceHash: 'b'.repeat(64) }, next), next);
    strictEqual(mergeReports({ ...before, deviceName: 'another' }, next), next);
  });
});

describe('bench: goals', () => {
  const goal = { domain: 'tridiagonal', device: 'cpu', id: 'a/b' };
  const state = (change: object, rows = [row('a/b')]) => compare(report(rows), [{ ...goal, ...change }])[0]!.state;

  it('judges fractions, values and peers', () => {
    strictEqual(state({ minFraction: 0.5 }), 'reached');
    strictEqual(state({ minFraction: 0.51 }), 'missed');
    strictEqual(state({ maxValue: 1e-3 }), 'missed');
    strictEqual(state({ minSpeedup: { lapack: 4 } }), 'reached');
    strictEqual(state({ minSpeedup: { lapack: 4.1 } }), 'missed');
    strictEqual(state({ minSpeedup: { lapack: 1, other: 1 } }), 'missing');
    strictEqual(state({ minFraction: 0.1 }, []), 'missing');
    const withFigures = [row('a/b', { figures: { overhead: 3 } })];
    strictEqual(state({ maxFigures: { overhead: 3 } }, withFigures), 'reached');
    strictEqual(state({ maxFigures: { overhead: 2.9 } }, withFigures), 'missed');
    strictEqual(state({ maxFigures: { stall: 1 } }, withFigures), 'missing');
    strictEqual(state({ minFraction: 0.1 }, [row('a/b', { fraction: undefined })]), 'missed');
  });

  it('the committed goals parse and name each row once', async () => {
    const goals = await readGoals(join(root, 'bench/goals.json'));
    const keys = goals.map(({ device, id }) => `${device} ${id}`);
    strictEqual(new Set(keys).size, keys.length);
    ok(keys.includes('h200 batch/65536x512/float32/cold/auto'));
    ok(keys.includes('cpu cpu/20000x512/float64/auto'));
    ok(keys.includes('h200 heat/float64/1048576/auto'));
    ok(keys.includes('cpu euler/float64/4194304/cpu-tiled'));
  });
});

describe('bench: calls', () => {
  it('has a row for every goal', async () => {
    const goals = (await readGoals(join(root, 'bench/goals.json'))).filter(({ domain }) => domain === 'calls');
    ok(goals.length >= 40);
    for (const [device, backend] of [['h200', 'cuda'], ['cpu', 'cpu']] as const) {
      const rows = new Set(callCases(backend, false).flatMap(({ operation, shape, type, memories }) =>
        [...memories, 'queued'].map((kind) => `calls/${operation}/${shape}/${type}/${kind}`)));
      for (const { batch, n, count } of crowds(backend, false)) rows.add(`calls/tridiagonal.solve/${count}x${batch}x${n}/float64/concurrent`);
      for (const goal of goals) ok(goal.device !== device || rows.has(goal.id), goal.id);
    }
  });
});

describe('bench: everyday shapes', () => {
  it('each has a goal in both precisions, and no goal is for a shape that is not measured', async () => {
    const goals = (await readGoals(join(root, 'bench/goals.json'))).map(({ id }) => id).filter((id) => id.startsWith('shape/'));
    const rows = everydayShapes.flatMap(({ name }) => ['float32', 'float64'].map((precision) => `shape/${name}/${precision}/auto`));
    deepStrictEqual([...goals].sort(), [...rows].sort());
  });

  it('public kernels stand in the table as constants of another run', () => {
    const { rows, methods, source } = readPublicKernels();
    ok(rows.length > 200 && rows.every(([method, , , , , microseconds, share]) => method in methods && microseconds > 0 && share > 0 && share < 1.1));
    const table = markdownTable(report([row('batch/a/auto'), row('batch/a/public-zhang-cr', { elsewhere: source })]));
    match(table, /\| batch \| floor µs \| auto \| public-zhang-cr\* \|/);
    ok(table.endsWith(`\\* ${source}.`));
  });
});

describe('bench: swept', () => {
  const timed = (id: string, value: number, peers = {}) => row(id, { value, peers });
  const rows = [
    timed('ks/float64/2048/classic', 8e-6), timed('ks/float64/2048/tiled', 2e-6, { classic: 8e-6 }), timed('ks/float64/4096/classic', 9e-6),
    timed('ks/float64/2048/cpu-classic', 4e-5), timed('heat/float32/1000/classic', 4e-6),
  ];

  it('has the points of the figures', () => {
    deepStrictEqual(pointsOf(report(rows, { domain: 'swept' }))[1],
      { equation: 'ks', precision: 'float64', n: 2048, variant: 'tiled', microseconds: 2, speedup: 4 });
  });

  it('prints the figures as tables, the last one where a CPU was measured too', () => {
    const text = figureTables(report(rows, { domain: 'swept' }));
    deepStrictEqual([...text.matchAll(/^Fig\. (\d+).*: (\w+)/gm)].map(([, figure, what]) => `${figure} ${what}`),
      ['7 microseconds', '7 speed', '8 microseconds', '8 speed', '10 microseconds', '10 speed']);
    match(text, /\| n \| classic \| tiled \|\n\| --- \| --- \| --- \|\n\| 2\^11 \| 8 \| 2 \|\n\| 2\^12 \| 9 \| {2}\|/);
    match(text, /\| 2\^11 \| 1\.00 \| 4\.00 \| 1\.00 \|/);
    match(text, /\| 1000 \| 4 \|/);
    ok(!figureTables(report(rows.slice(0, 3), { domain: 'swept' })).includes('Fig. 10'));
    match(figureTables(report([timed('ks/float64/2048/cpu-classic', 4e-5)], { domain: 'swept' })), /^Fig\. 8.*\n\n\| n \| cpu-classic/);
  });

  it('starts from states that fit together at the ends', () => {
    const [heat, ks, euler] = problems;
    const bar = heat!.initial(512, 'float64');
    deepStrictEqual([bar[0], bar[511]], [100, 0]);
    const wave = ks!.initial(1536, 'float64');
    deepStrictEqual(wave.slice(0, 512), wave.slice(1024));
    ok(Math.abs(wave[511]! - wave[1]!) < 1e-12); // the cosine is even about point 0
    throws(() => ks!.initial(1000, 'float64'), RangeError);
    const gas = euler!.initial(1024, 'float32');
    strictEqual(gas.length, 3072);
    deepStrictEqual(gas.slice(0, 128), gas.slice(896, 1024));
    ok(gas.slice(0, 1024).every((density) => density > 0.79 && density < 1.21));
  });

  it('knows the arithmetic rate of compute capability 9.0 only', () => {
    strictEqual(issueRate(90, 132, 'float64'), 132 * 64 * 1.98e9);
    strictEqual(issueRate(90, 132, 'float32'), 132 * 128 * 1.98e9);
    strictEqual(issueRate(80, 108, 'float64'), undefined);
  });
});

describe('bench: builds', () => {
  const benchmark = () => Promise.resolve({ seconds: [], report: [0] as const });
  const hooks = { benchmark, peers: () => [], sanitizer: '' };

  it('refuses sanitizer builds and builds without hooks', () => {
    strictEqual(checkBuild(hooks), hooks);
    throws(() => checkBuild({ ...hooks, sanitizer: 'thread' }), /thread sanitizer/);
    throws(() => checkBuild({}), /no benchmark hooks/);
  });
});

describe('bench: a small run', function () {
  this.timeout(120_000);
  const run = (...args: string[]) => execFileSync(process.execPath, ['--import', 'tsx', 'bench/main.ts', ...args],
    { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  let folder = '';
  before(() => { folder = mkdtempSync(join(tmpdir(), 'warploom-bench-')); });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('measures, writes a report and a picture', () => {
    run('tridiagonal', '--backend', 'cpu', '--quick', '--out', folder, '--filter', '^cpu/|/0[136]-.*float64/(auto|pivoting)$');
    const written = parseReport(JSON.parse(readFileSync(join(folder, 'cpu/tridiagonal.json'), 'utf8')));
    deepStrictEqual(written.rows.map(({ id }) => id), [
      'cpu/200x512/float32/auto', 'cpu/200x512/float64/auto',
      ...['01-random', '03-lesp', '06-diagonal-64'].flatMap((family) =>
        ['auto', 'pivoting'].map((algorithm) => `accuracy/${family}/float64/${algorithm}`)),
    ]);
    const [, timed] = written.rows;
    ok(timed!.value > 0 && timed!.limit! > 0 && timed!.spread >= 0);
    ok(Math.abs(timed!.fraction! - timed!.limit! / timed!.value) < 1e-12);
    ok(timed!.peers!['copy']! > 0);
    const pivoting = written.rows.find(({ id }) => id === 'accuracy/01-random/float64/pivoting')!;
    ok(pivoting.value <= 30, String(pivoting.value));
    match(readFileSync(join(folder, 'cpu/tridiagonal.svg'), 'utf8'), /^<svg/);
  });

  it('measures the everyday shapes', () => {
    const names = ['8x65', '8x40-check', '8x40-periodic', '4x20-sides-3', '6x20-constant', '40x30-interleaved', '5x16-ragged', '6x20-planned'];
    run('tridiagonal', '--backend', 'simt', '--quick', '--out', folder, '--filter', `^shape/(${names.join('|')})/float64/`);
    const { rows } = parseReport(JSON.parse(readFileSync(join(folder, 'simt/tridiagonal.json'), 'utf8')));
    const ids = rows.map(({ id }) => id);
    for (const name of names) ok(ids.includes(`shape/${name}/float64/auto`), name);
    ok(ids.includes('shape/8x65/float64/depth-9') && ids.includes('shape/40x30-interleaved/float64/thomas'));
  });

  it('times the calls of every domain', () => {
    const calls = run('calls', '--backend', 'cpu', '--quick', '--out', folder);
    match(calls, /calls\/tridiagonal\.solve\/4x32\/float64\/plain/);
    for (const what of ['queued', 'concurrent', 'synchronous', 'stall']) match(calls, new RegExp(what));
  });

  it('sends requests to a server from another process, and draws the figure', () => {
    run('serve', '--backend', 'cpu', '--quick', '--out', folder);
    const { rows } = parseReport(JSON.parse(readFileSync(join(folder, 'cpu/serve.json'), 'utf8')));
    deepStrictEqual(rows.map(({ id }) => id),
      [...['batched', 'http'].map((kind) => `serve/health/2/${kind}`), ...['batched', 'unbatched', 'http', 'in-process'].map((kind) => `serve/solve-8/2/${kind}`)]);
    for (const { id, value, unit, figures } of rows) {
      ok(value > 0 && unit === '1/s', id);
      if (!id.endsWith('/in-process')) ok(['p50', 'p99', 'delay99', 'server', 'client'].every((name) => figures![name]! > 0), id);
    }
    const [, , batched, unbatched] = rows as [Row, Row, Row, Row];
    deepStrictEqual([batched.peers!['unbatched'], unbatched.figures!['calls']], [unbatched.value, 1]);
    match(readFileSync(join(folder, 'cpu/serve.svg'), 'utf8'), /^<svg/);
  });

  it('times functions on arrays', () => {
    const text = run('kernel', '--backend', 'cpu', '--quick', '--out', folder);
    match(text, /call\/host\/map-1 /);
    match(text, /call\/host\/dot-4096 /);
  });

  it('times the variants of swept against the classic one and draws the figures', () => {
    const text = run('swept', '--backend', 'cpu', '--quick', '--out', folder, '--filter', '^(heat|euler|sod|sod-default)/float64/512/');
    const { rows } = parseReport(JSON.parse(readFileSync(join(folder, 'cpu/swept.json'), 'utf8')));
    deepStrictEqual(rows.map(({ id }) => id),
      ['heat', 'euler', 'sod', 'sod-default'].flatMap((equation) =>
        ['cpu-classic', 'cpu-tiled', 'auto', 'auto-whole'].map((variant) => `${equation}/float64/512/${variant}`)));
    for (const { id, value, limit, peers, note } of rows) {
      ok(value > 0, id);
      if (id.endsWith('/cpu-classic')) ok(limit! > 0, id);
      else if (!id.endsWith('-whole')) ok(peers!['cpu-classic']! > 0, id);
      match(note!, /G updates\/s; .* per thread/);
    }
    match(text, /Fig\. 7, heat, float64: microseconds per time step\n\n\| n \| cpu-classic \| cpu-tiled \| auto \| auto-whole \|/);
    match(readFileSync(join(folder, 'cpu/swept.svg'), 'utf8'), /^<svg/);
  });

  it('times what importing an entry takes beside an empty process', function () {
    if (!existsSync(join(root, 'dist/index.js'))) this.skip(); // a bundle for a GPU machine has no compiled library
    run('imports', '--quick', '--out', folder, '--filter', '^imports/scan/');
    const { rows } = parseReport(JSON.parse(readFileSync(join(folder, 'cpu/imports.json'), 'utf8')));
    deepStrictEqual(rows.map(({ id, unit }) => [id, unit]), [['imports/scan/time', 's'], ['imports/scan/processor', 's']]);
  });

  it('check prints what falls short and exits 1 when a goal is missed', () => {
    const check = (rows: Row[]) => {
      const path = join(folder, 'report.json');
      writeFileSync(path, JSON.stringify(report(rows)));
      return spawnSync(process.execPath, ['--import', 'tsx', 'bench/main.ts', 'check', path], { cwd: root, encoding: 'utf8' });
    };
    const missing = check([row('cpu/a/float64/auto')]);
    match(missing.stdout, /missing {2}cpu\/20000x512\/float64\/auto: not measured/);
    strictEqual(missing.status, 0);
    const missed = check([row('cpu/20000x512/float64/auto')]);
    match(missed.stdout, /missed {3}cpu\/20000x512\/float64\/auto: 50\.0 % of the limit, goal 60\.0 %; 4\.00 times as fast/);
    strictEqual(missed.status, 1);
  });

  it('explains itself', () => {
    match(run('--help'), /Domains: tridiagonal, scan, kernel, stencil, swept, imaging/);
    strictEqual(spawnSync(process.execPath, ['--import', 'tsx', 'bench/main.ts', 'nothing'], { cwd: root }).status, 1);
  });
});
