// The summary at the end of a sweep.
import { deepStrictEqual, equal, match, ok } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { csvParse } from 'd3-dsv';
import { jobs } from '../../lib/index.ts';
import { comparedFigures, summaryPlot } from '../../lib/jobs/summary.ts';

describe('summaries of sweeps', function () {
  this.timeout(60_000);
  let results = '';
  beforeEach(async () => { results = await mkdtemp(join(tmpdir(), 'warploom-summary-')); });
  afterEach(() => rm(results, { recursive: true, force: true }));

  const plate: jobs.JobDescription = {
    kind: 'stencil', name: 'plate', equation: 'heat', shape: [8, 6], dt: 0.1, until: { steps: 4 }, snapshots: 1, parameters: { D: 1 },
    initial: { u: '(x, y) => x * y' }, boundary: 'periodic', units: { u: 'K', D: 'm²/s', t: 's' }, device: { backend: 'cpu' },
    sweep: { precision: ['float32', 'float64'], 'parameters.D': [0.5, 1, 2] },
  };

  it('are a table with the values and figures of every item, and a picture with titles and units', async () => {
    const items = await jobs.run(plate, { results });
    const rows = csvParse(await readFile(join(results, 'plate/summary.csv'), 'utf8'));
    deepStrictEqual(rows.columns.slice(0, 4), ['item', 'precision', 'parameters.D', 'state']);
    equal(rows.length, 6);
    for (const [i, row] of rows.entries()) {
      const item = items[i]!;
      equal(row['item'], item.item);
      equal(`precision=${row['precision']},parameters.D=${row['parameters.D']}`, item.item);
      equal(row['state'], 'finished');
      for (const [name, value] of Object.entries(item.figures)) equal(Number(row[name]), value, name);
      equal(Number(row['wallSeconds']), item.wallSeconds);
      equal(row['accuracy'], '', 'NaN: no exact solution');
    }
    const svg = await readFile(join(results, 'plate/summary.svg'), 'utf8');
    for (const title of ['parameters.D (m²/s)', 'minimum of u (K)', 'maximum of u (K)', 'precision']) ok(svg.includes(`>${title}<`), title);
    ok(!(await readdir(join(results, 'plate'))).some((name) => name.startsWith('.')));
  });

  it('compare what differs, times last, and are left out for a job without a sweep', async () => {
    const result = (figures: Record<string, number>, value: number): jobs.ItemResult =>
      ({ figures, accuracy: { value, meaning: 'error' }, wallSeconds: value, parameters: {} }) as unknown as jobs.ItemResult;
    const some = [result({ n: 5, seconds: 1, energy: 3, other: NaN }, 1e-3), result({ n: 5, seconds: 2, energy: 4, late: 1 }, 1e-8)];
    deepStrictEqual(comparedFigures(some), ['accuracy', 'energy', 'seconds', 'wallSeconds']);
    deepStrictEqual(comparedFigures(some.slice(0, 1)), []);
    const states = some.map((one, i) => ({ values: { weight: 10 ** (3 * i) }, result: one, state: 'finished' })) as unknown as jobs.ItemState[];
    const text = JSON.stringify(summaryPlot('x', states));
    match(text, /"title":"error","scale":\{"type":"log"\}/);
    match(text, /"title":"weight","scale":\{"type":"log"\}/);
    match(text, /"title":"energy","scale":\{"zero":false\}/);
    equal(summaryPlot('x', states.slice(0, 1)), undefined);
    const { sweep: _sweep, ...single } = plate;
    await jobs.run(single as jobs.JobDescription, { results });
    deepStrictEqual(await readdir(join(results, 'plate')), ['all']);
  });
});
