// The benchmark of stream programs on a device: its bounds and goals, its tables, what it refuses, and a small real run on the shim.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failures } from '../../bench/domain.ts';
import { readGoals } from '../../bench/goals.ts';
import { formatRow, parseReport, type Report, type Row } from '../../bench/report.ts';
import { h200Bounds, summaryRows } from '../../bench/stream-device.ts';
import { StreamWork } from '../../bench/stream-device-work.ts';
import { streamBars, streamTables } from '../../bench/stream-figures.ts';
import { gapSummary } from '../../bench/stream-gap.ts';
import { programGraph } from '../../bench/stream-programs.ts';
import { moving, threadsRow } from '../../bench/stream-tables.ts';
import { variantTables } from '../../bench/stream-variants.ts';
import { benchmarkPrograms } from '../../examples/stream/programs.ts';
import { elaborate } from '../../lib/stream/compile.ts';
import { compileFused } from '../../lib/stream/run/fused.ts';
import type { CompiledGpu} from '../../lib/stream/run/gpu.ts';
import type { GpuSpan } from '../../lib/stream/run/gpu-types.ts';
import { programFor } from '../../lib/stream/run/gpu-pipelined.ts';
import { pipelinePlan } from '../../lib/stream/targets/cuda-pipeline.ts';
import { eachBackend } from '../support/backends.ts';
import { hasCompiler } from '../stream/support.ts';
import { isThorough } from '../support/thorough.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const report = (rows: Row[]): Report => ({
  schema: 1, domain: 'stream', device: 'h200', deviceName: 'a GPU', driver: '', versions: {}, commit: '', sourceHash: 'a'.repeat(64),
  date: '2026-11-21T00:00:00.000Z', rows,
});

/** Rows of cores and the device together, and their geometric means. */
function checkTogether(rows: readonly Row[], together: readonly string[]): void {
  for (const mode of together) {
    const own = rows.filter(({ id }) => id.endsWith(`/${mode}`));
    const of = own.slice(0, -1), product = of.reduce((all, { value, peers }) => all * value / peers!['baseline']!, 1);
    assert.ok(of.length >= 2 && Math.abs(own.at(-1)!.value / product ** (1 / of.length) - 1) < 1e-9, mode);
    for (const { note, figures } of of) {
      const onCores = /(^|; )all on \d+ cores by WebAssembly; /.test(note!);
      const onDevice = /(^|; )([1-9]\d* of \d+ filters on the device; \d+ states an iteration|one kernel on the device; )/.test(note!);
      assert.ok(onCores !== onDevice, note);
      // Short runs are not enough for `synergistic` to settle: it tries other placements than the best one so far.
      assert.equal(figures?.['planned'] !== undefined, mode === 'synergistic', note);
      if (mode === 'synergistic') continue;
      assert.equal(onCores, mode === 'cpu', note);
      assert.equal(figures?.['device'] !== undefined, onDevice, note);
    }
    for (const { note } of of) {
      assert.equal(/^[\d.]+ of the better of cpu and gpu, by plan [\d.]+; /.test(note!), mode === 'synergistic');
    }
  }
}

describe('bench: stream on a device', () => {
  it('asks 70 % of what memory allows, or half of what arithmetic does, of every program', async () => {
    const goals = new Map((await readGoals(join(root, 'bench/goals.json')))
      .flatMap(({ device, domain, id, minValue }) => (device === 'h200' && domain === 'stream' ? [[id, minValue]] : [])));
    for (const { name, inputItems, outputItems } of benchmarkPrograms) {
      const { memory, instructions } = h200Bounds(name, 4 * (inputItems + outputItems) / outputItems);
      const goal = goals.get(`stream/${name}/auto`);
      assert.ok(Math.abs(goal! / Math.min(0.7 * memory, 0.5 * instructions) - 1) < 0.02, `${name}: ${goal}`);
      for (const row of ['auto-host', 'auto-pinned', 'compile']) assert.ok(goals.has(`stream/${name}/${row}`), name);
    }
    assert.equal(goals.size, 4 * benchmarkPrograms.length + 4);
    assert.equal(goals.get('stream/geomean/auto'), 3000);
    assert.equal(goals.get('stream/geomean/swp'), 100);
  });

  it('prints and draws rates beside the baseline', () => {
    const peers = { baseline: 1e8 };
    const rows: Row[] = [
      { id: 'stream/dct/compile', value: 2, unit: 's', spread: 0, figures: { cached: 0.04 } },
      { id: 'stream/dct/auto', value: 2.5e11, unit: 'items/s', spread: 0, limit: 5e11, fraction: 0.5, peers },
      { id: 'stream/dct/auto-host', value: 1e10, unit: 'items/s', spread: 0, limit: 1.25e10, fraction: 0.8, peers },
      { id: 'stream/geomean/auto', value: 2500, unit: 'ratio', spread: 0, note: '1 program' },
    ];
    assert.deepEqual(streamTables(report(rows)).split('\n').slice(2), [
      '| DCT | 250.0 | 50.0 % | 2500 | 1.00e+8 | 10.00 | 80.0 % | 2000 ms | 40 ms |', '',
      'Geometric mean over the baseline: 2500 (1 program)']);
    assert.deepEqual(streamBars(rows), [{ program: 'dct', method: 'auto', times: 2500 }, { program: 'dct', method: 'auto-host', times: 100 }]);
  });

  it('prints the series of Figures 3.11 and 3.12', () => {
    const peers = { baseline: 1e8 };
    const row = (id: string, value: number, figures?: Record<string, number>): Row =>
      ({ id: `stream/${id}`, value, unit: 'items/s', spread: 0, peers, ...(figures === undefined ? {} : { figures }) });
    const rows = [row('dct/swp', 9e9, { n1: 5e9, n8: 9e9, persistent: 8e9, bufferBytes: 2.5e7, aboveBound: 0.0123 }),
      row('dct/swpnc', 1e9), row('dct/serial', 4e9), row('des/swp', 3e9, { n1: 3e9 }),
      { ...row('geomean/swp', 52), unit: 'ratio' }];
    assert.deepEqual(streamTables(report(rows)).split('\n').slice(-5), [
      '| times baseline | SWP1 | SWP8 | persistent | swp | swpnc | serial | buffers | above bound |',
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
      '| DCT | 50.0 | 90.0 | 80.0 | 90.0 | 10.0 | 40.0 | 25.0 MB | 1.2 % |', '| DES | 30.0 |  |  | 30.0 |  |  |  |  |',
      '| geometric mean | 38.7 | 90.0 | 80.0 | 52.0 |  |  |  |  |']);
    assert.deepEqual(streamBars(rows.slice(1, 3)).map(({ method, times }) => [method, times]), [['swpnc', 10], ['serial', 40]]);
  });

  it('prints Tables 2.1 and 4.1, and the gaps to the ILP', () => {
    const threads: Row = { id: 'stream/dct/threads/Rows', value: 0.002, unit: 's', spread: 0, note: '9 firings',
      figures: { r64t128: 0.003, r64t256: 0.0025, r255t128: 0.002 } };
    const time = (name: string, value: number): Row => ({ id: `stream/all/layout/${name}`, value, unit: 's', spread: 0 });
    const gap = (id: string, value: number, clusters: number, thesis?: number): Row => ({ id: `stream/${id}`, value, unit: 'ratio', spread: 0,
      peers: { clusters, ...(thesis === undefined ? {} : { thesis }) }, note: 'n' });
    const rows = [threads, time('cpu-serial', 0.014), time('cpu-shuffled', 0.187), time('gpu-serial', 0.1), time('gpu-shuffled', 0.008),
      gap('dct/ilp-gap', 0.0125, 0.5), { ...gap('dct/ilp-gap-16', 0.02, 0.5), figures: { ilpInterval: 0.002, interval: 0.00204 } }, gap('all/ilp-gap-worst', 0.02, 0.6, 0.224)];
    assert.deepEqual(streamTables(report(rows)).split('\n'), [
      'Table 2.1, ms: the filter Rows of DCT, 9 firings', '',
      '| registers | 128 threads | 256 threads |', '| --- | --- | --- |', '| 64 | 3.000 | 2.500 |', '| 255 | **2.000** | ∞ |', '',
      'Table 4.1', '', '| 32 MB, ms | serial | shuffled |', '| --- | --- | --- |', '| CPU | 14.00 | 187.0 |', '| GPU | 100.0 | 8.000 |', '',
      'Table 4.3', '', '| II, ms | ILP | heuristic | longer | Algorithms 3, 4 | thesis |  |', '| --- | --- | --- | --- | --- | --- | --- |',
      '| DCT | 2.000 | 2.040 | 2.00 % | 50.00 % |  | n |', '',
      'Table 4.4', '', '| II, ms | ILP | heuristic | longer | Algorithms 3, 4 | thesis |  |', '| --- | --- | --- | --- | --- | --- | --- |',
      '| DCT |  |  | 1.25 % | 50.00 % |  | n |', '| worst |  |  | 2.00 % | 60.00 % | 22.40 % | n |']);
    assert.deepEqual(streamBars(rows), []);
  });

  it('prints Table 3.3, and Figures 4.6, 4.8 and 4.9', () => {
    const row = (id: string, value: number, figures?: Record<string, number>): Row => ({ id: `stream/${id}`, value, unit: 'items/s', spread: 0,
      peers: { baseline: 1e8 }, note: 'n', ...(figures === undefined ? {} : { figures }) });
    const ilp = (name: string, value: number, figures?: Record<string, number>): Row => ({ ...row(`${name}/swp-ilp`, value, figures), unit: 's' });
    const rows = [ilp('dct', 1.5, { aboveBound: 0.005 }), ilp('des', 20), row('dct/gpu', 3e8),
      row('dct/synergistic', 9e8, { planned: 4e8, planned16: 2e8, plannedByIlp: 5e8, plannedByHeuristic: 2e8 }), row('des/synergistic', 9e8, { planned: 1e8, planned16: 2e8 })];
    const printed = streamTables(report(rows)).split('\n');
    assert.deepEqual(printed.slice(printed.indexOf('Table 3.3')), [
      'Table 3.3', '', '| ILP of the schedule | seconds | above bound |  |', '| --- | --- | --- | --- |', '| DCT | 1.50 | 0.50 % | n |', '| DES | 20.0 |  | n |', '',
      'Figures 4.6, 4.8 and 4.9', '', '| times baseline, by plans | ILP | heuristic | chosen | chosen, 16 multiprocessors | mostly GPU |', '| --- | --- | --- | --- | --- | --- |',
      '| DCT | 5.00 | 2.00 | 4.00 | 2.00 | 3.00 |', '| DES |  |  | 1.00 | 2.00 |  |', '| geometric mean | 5.00 | 2.00 | 2.00 | 2.00 | 3.00 |']);
  });

  it('leaves configurations out of Table 2.1 in which a filter cannot run', () => {
    const table = { registers: [64, 255], threads: [128, 256], firings: 1024, microseconds: [[[5, 7], [6, Infinity]], [[4, Infinity], [Infinity, Infinity]]] };
    const device = { multiprocessors: 3 } as Parameters<typeof threadsRow>[2]['device'];
    const row = threadsRow('stream/dct/threads/A', 0, { table, device })!;
    assert.deepEqual([row.value, row.figures], [4e-6, { r64t128: 5e-6, r64t256: 6e-6, r255t128: 4e-6 }]);
    assert.equal(row.note, '1024 firings on each of 3 multiprocessors');
    const none = { ...table, microseconds: table.microseconds.map((by) => by.map((times) => times.map(() => Infinity))) };
    assert.equal(threadsRow('stream/dct/threads/A', 0, { table: none, device }), undefined);
  });

  it('has the serial accesses of Table 4.1 go straight to device memory, in any number of threads', async () => {
    const planned = pipelinePlan((await elaborate(moving)).graph);
    for (const threads of [128, 256, 512, 1024]) {
      const accesses = (mode: 'swp' | 'swpnc') => {
        const { instances, source } = programFor(planned, { mode, threads });
        return { access: instances.codes.flatMap(({ ends }) => ends.flat().map((end) => end.access)), isStaged: /\b(load|store)</.test(source) };
      };
      assert.deepEqual(accesses('swpnc'), { access: ['wrapped', 'direct'], isStaged: false }, `${threads}`);
      assert.deepEqual(accesses('swp'), { access: ['column', 'column'], isStaged: false }, `${threads}`);
    }
    // Few items would be staged, which the text shows.
    const few = pipelinePlan((await elaborate(moving.replaceAll('1024', '4'))).graph);
    assert.match(programFor(few, { mode: 'swpnc', threads: 128 }).source, /\bload<.*[^]*\bstore</);
  });

  it('sums gaps up of programs whose costs are all measured', () => {
    const of = (name: string, value: number, isMeasured: boolean): Row => ({
      id: `stream/${name}/ilp-gap`, value, unit: 'ratio', spread: 0, peers: { clusters: 2 * value },
      note: `9 actors${isMeasured ? '' : '; costs on the device counted'}` });
    const [mean, worst] = gapSummary([of('dct', 0.02, true), of('des', 0.04, true), of('tde', 0.5, false)]);
    assert.deepEqual([mean!.id, mean!.peers, worst!.id, worst!.value], ['stream/all/ilp-gap-mean', { clusters: 0.06, thesis: 0.0905 }, 'stream/all/ilp-gap-worst', 0.04]);
    assert.ok(Math.abs(mean!.value - 0.03) < 1e-12);
    assert.equal(mean!.note, '2 programs, without tde');
    assert.deepEqual(gapSummary([of('tde', 0.5, false)]), []);
    const swp = (name: string, value: number): Row => ({ id: `stream/${name}/swp`, value, unit: 'items/s', spread: 0, peers: { baseline: 2 } });
    const sums = summaryRows([swp('dct', 4), swp('des', 16), of('dct', 0.02, true)]);
    assert.deepEqual(sums.map(({ id, value }) => [id, value]),
      [['stream/all/ilp-gap-mean', 0.02], ['stream/all/ilp-gap-worst', 0.02], ['stream/geomean/swp', 4]]);
  });

  it('goes on after a row that fails, and names it at the end', async () => {
    const said: string[] = [];
    const failures = new Failures({ say: (text) => { said.push(text); } });
    const unsupported = Object.assign(new Error('not for devices'), { code: 'ERR_WARPLOOM_UNSUPPORTED' });
    assert.equal(await failures.of('stream/a/gpu', () => Promise.resolve(3)), 3);
    assert.equal(await failures.of('stream/b/gpu', () => Promise.reject(unsupported)), undefined);
    assert.doesNotThrow(() => { failures.end(); });
    assert.equal(await failures.of('stream/c/cpu', () => Promise.reject(new Error('index 9\nat line 3'))), undefined);
    assert.equal(await failures.of('stream/c/gpu', () => { throw new TypeError('no'); }), undefined);
    assert.deepEqual(said, ['stream/b/gpu: not for devices', 'stream/c/cpu: index 9\nat line 3', 'stream/c/gpu: no']);
    assert.throws(() => { failures.end(); }, (error: AggregateError) => error.errors.length === 2
      && error.message === 'failed: stream/c/cpu (index 9); stream/c/gpu (no)');
  });

  it('prints figures with their units', () => {
    const row: Row = { id: 'stream/dct/swp', value: 2e9, unit: 'items/s', spread: 0,
      figures: { n1: 1e9, persistent: 3e9, bufferBytes: 4e6, aboveBound: 0.01, device: 0.002 } };
    assert.match(formatRow(row), / n1 1000000000 items\/s {2}persistent 3000000000 items\/s {2}bufferBytes 4000000 bytes {2}aboveBound 0\.01 ratio {2}device 2\.000 ms /);
  });

  it('sorts variants by their rates', () => {
    const rows = [1, 3, 2].map((value): Row => ({ id: `stream/dct/variant/t${value}`, value: value * 1e9, unit: 'items/s', spread: 0.01 }));
    assert.deepEqual(variantTables(report(rows)).split('\n').slice(2),
      ['| t3 | 3.000 |  | 1.0 % |  |', '| t2 | 2.000 |  | 1.0 % |  |', '| t1 | 1.000 |  | 1.0 % |  |']);
  });

  eachBackend((_, opened) => {
    it('throws for items that are not those of the CPU, and for those that were not written', async function () {
      this.timeout(60_000);
      const program = benchmarkPrograms.find(({ name }) => name === 'bitonic')!;
      const graph = await programGraph(program.name);
      using compiled = await compileFused(graph, await opened());
      using work = await StreamWork.open(program, graph, compiled, true);
      assert.ok((await work.time(compiled, 'right')).best > 0);
      const changed = (change: (span: GpuSpan) => Partial<GpuSpan>): CompiledGpu => Object.assign(Object.create(compiled) as CompiledGpu, {
        program: compiled.program, launch: (span: GpuSpan) => compiled.launch({ ...span, ...change(span) }),
      });
      const last = 5 * compiled.program.states;
      await assert.rejects(work.time(changed(({ states }) => ({ states: states - 1 })), 'short'),
        (error: Error) => new RegExp(`^short: item (${[0, 1, 2, 3, 4, 5, 6, 7].map((i) => 8 * last + i).join('|')}) is 0, on the CPU \\d+$`).test(error.message));
      await assert.rejects(work.time(changed(({ firstInput }) => ({ firstInput: firstInput + 8, states: last })), 'late'), /^Error: late: item \d+ is \d+, on the CPU \d+$/);
    });
  }, { backends: ['simt', 'cuda'] });

  it('runs', function () {
    this.timeout(300_000);
    if (!hasCompiler()) this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'warploom-bench-'));
    const modes = ['swp', 'swpnc', 'serial'], together = ['cpu', 'gpu', 'synergistic'];
    const run = (...args: string[]) => {
      const { stdout, stderr, status } = spawnSync(process.execPath, ['--import', 'tsx', 'bench/main.ts', 'stream', '--backend', 'simt', '--quick',
        '--out', folder, ...args], { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
      assert.equal(status, 0, stderr);
      return { stdout };
    };
    const read = (name: string) => parseReport(JSON.parse(readFileSync(join(folder, 'simt', `${name}.json`), 'utf8'))).rows;
    try {
      const programs = isThorough ? ['bitonic', 'filterbank'] : ['bitonic'];
      const { stdout } = run('--filter', `^stream/(${programs.join('|')}|all|mpeg2-subset(?!/(swp|serial)))/`);
      const rows = read('stream');
      const ways = ['auto', 'auto-host', 'auto-pinned', 'auto-host/many-16', 'auto-host/many-256', 'auto-fast'];
      // Which filter takes most of the time is measured.
      assert.deepEqual(rows.map(({ id }) => id.replace(/(?<=\/threads)\/.*/, '')), [
        ...programs.flatMap((name) => ['compile', 'threads', ...ways, ...modes, 'swp-ilp'].map((row) => `stream/${name}/${row}`)),
        ...['compile', ...ways].map((row) => `stream/mpeg2-subset/${row}`),
        ...[...programs, 'mpeg2-subset'].flatMap((name) => ['ilp-gap', 'ilp-gap-16', ...together].map((row) => `stream/${name}/${row}`)),
        ...['cpu-serial', 'cpu-shuffled', 'gpu-serial', 'gpu-shuffled'].map((name) => `stream/all/layout/${name}`),
        'stream/all/shuffle/8192', ...['mean', 'worst'].map((name) => `stream/all/ilp-gap-${name}`),
        ...['auto', 'auto-fast', ...modes, ...together].map((mode) => `stream/geomean/${mode}`)]);
      checkTogether(rows, together);
      for (const mode of ['auto', 'auto-fast', ...modes]) {
        const own = rows.filter(({ id }) => id.endsWith(`/${mode}`));
        const ratios = own.slice(0, -1).map(({ value, peers }) => value / peers!['baseline']!);
        assert.equal(ratios.length, programs.length + (modes.includes(mode) ? 0 : 1));
        assert.ok(Math.abs(own.at(-1)!.value / ratios.reduce((a, b) => a * b) ** (1 / ratios.length) - 1) < 1e-9, mode);
      }
      for (const { id, value, figures, limit, fraction } of rows) {
        // The heuristic's intervals are never shorter than the ILP's, and may be the same.
        assert.ok(id.includes('/ilp-gap') ? value >= 0 : value > 0, id);
        if (id.includes('/threads/')) assert.deepEqual([Object.keys(figures!), Math.min(...Object.values(figures!))], [['r255t128', 'r255t256'], value], id);
        if (id.endsWith('/compile')) assert.ok(figures!['cached']! > 0, id);
        if (id.endsWith('/swp') && !id.includes('geomean')) assert.deepEqual(Object.keys(figures!), ['n1', 'persistent', 'bufferBytes', 'aboveBound'], id);
        if (id.includes('/many-')) assert.ok(figures!['one']! > 0, id);
        if (/\/auto-(host|pinned)$/.test(id)) assert.ok(Math.abs(fraction! - value / limit!) < 1e-12 && figures!['device']! > 0, id);
      }
      assert.match(rows[2]!.note!, /GB\/s; \d+ threads, \d+ registers, \d+ bytes shared, \d+ blocks resident, \d+ states a round/);
      assert.match(stdout, new RegExp(`\\| MPEG2Subset \\|.*\n\nGeometric mean over the baseline: .*${programs.length + 1} programs`));
      assert.match(stdout, /Table 2\.1, ms: the filter \w+ of Bitonic, 1024 firings on each of \d+ multiprocessors\n\n\| registers \| 128 threads \| 256 threads \|\n/);
      assert.match(stdout, /Table 4\.1\n\n\| 32 MB, ms \| serial \| shuffled \|\n/);
      for (const name of ['Figures 3.11, 3.12 and 4.7, Table 3.2', 'Table 3.3', 'Figures 4.6, 4.8 and 4.9', 'Table 4.3', 'Table 4.4']) {
        assert.ok(stdout.includes(`\n${name}\n\n|`), name);
      }
      assert.match(stdout, /Section 4\.7\n\n.*\n.*\n\| 8192 \|( [\d.e+-]+ \(\d+ %\) \|){4} [\d.e+-]+ \|\n/);
      run('--variants', '--filter', '^stream/bitonic/');
      assert.deepEqual(read('stream-variants').map(({ id }) => id).sort(), [
        'default', 't32-s6-b32-g4000-w2', 't512-s225-b1-g4000-w2-ahead'].map((name) => `stream/bitonic/variant/${name}`));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
