// Every picture that the library and its benchmarks write: titles, axes with units and round ticks, colour bars and times.
import { deepStrictEqual, equal, match, ok } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeCallsFigure } from '../../bench/calls-figure.ts';
import { writeImagingFigures } from '../../bench/imaging-figures.ts';
import { writePlot } from '../../bench/plot.ts';
import type { Report, Row } from '../../bench/report.ts';
import { writeServeFigure } from '../../bench/serve/figure.ts';
import { writeStreamFigures } from '../../bench/stream-figures.ts';
import { writeFigures } from '../../bench/swept-figures.ts';
import { jobs, notebook } from '../../lib/index.ts';
import { formatNpy } from '../../lib/files/npy.ts';
import { historyPlot } from '../../lib/jobs/images/pictures.ts';
import { plotSvg } from '../../lib/pictures/plot.ts';
import { statePlot } from '../../lib/pictures/profiles.ts';

/** The parts of a picture that Vega has drawn. */
function partsOf(svg: string) {
  const texts = (role: string): string[] => [...svg.matchAll(new RegExp(`role-${role}".*?</g>`, 'g'))]
    .map(([group]) => [...group.matchAll(/>([^<>]+)<\/text>/g)].map(([, text]) => text!).join('|'));
  const scales = [...svg.matchAll(/aria-label="([XY])-axis[^"]*? for an? (\w+) scale/g)].map(([, , scale]) => scale!);
  return {
    titles: texts('title-text'), axes: texts('axis-title'), labels: texts('axis-label').map((all) => all.split('|')),
    scales, bars: texts('legend-title'), hasGradient: svg.includes('role-legend-gradient'), hasImage: svg.includes('<image '),
  };
}

/** Whether ticks of a linear axis are multiples of 1, 2, 2.5 or 5 times a power of ten. */
function areRound(labels: readonly string[]): boolean {
  const numbers = labels.map((label) => Number(label.replaceAll(',', '').replace('−', '-')));
  if (numbers.length < 2) return true;
  const step = Math.abs(numbers[1]! - numbers[0]!);
  const leading = step / 10 ** Math.floor(Math.log10(step) + 1e-9);
  return [1, 2, 2.5, 5].some((round) => Math.abs(leading - round) < 1e-6) && numbers.every((n) => Math.abs(n / step - Math.round(n / step)) < 1e-6);
}

/** Checks what every chart has; `raster`: of a map, its colour bar. */
function check(name: string, svg: string, { title, axes, bars }: { title: RegExp; axes: readonly string[]; bars?: readonly string[] }): void {
  const parts = partsOf(svg);
  ok(parts.titles.some((text) => title.test(text)), `${name}: ${parts.titles.join('; ')}`);
  for (const axis of axes) ok(parts.axes.includes(axis), `${name}: ${axis} among ${parts.axes.join('; ')}`);
  equal(parts.labels.length, parts.scales.length, name);
  parts.scales.forEach((scale, i) => ok(scale !== 'linear' || areRound(parts.labels[i]!), `${name}: ${parts.labels[i]!.join()}`));
  if (bars === undefined) return;
  deepStrictEqual([parts.bars, parts.hasGradient, parts.hasImage], [bars, true, true], name);
}

describe('parts of pictures', function () {
  this.timeout(60_000);
  let folder = '';
  before(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-parts-')); });
  after(() => rm(folder, { recursive: true, force: true }));

  it('writers are those below: a new one belongs here, too', async () => {
    const own = /\bplotSvg\(|svgDocument\(|<svg |\b(grid|film|panels|slice)Png\(|\bmapFrames\(/;
    const found: string[] = [];
    for (const top of ['lib', 'bench']) {
      const place = fileURLToPath(new URL(`../../${top}/`, import.meta.url));
      for (const name of await readdir(place, { recursive: true })) {
        if (name.endsWith('.ts') && own.test(await readFile(join(place, name), 'utf8'))) found.push(`${top}/${name}`);
      }
    }
    deepStrictEqual(found.sort(), [
      'bench/calls-figure.ts', 'bench/imaging-figures.ts', 'bench/plot.ts', 'bench/serve/figure.ts', 'bench/stream-figures.ts', 'bench/swept-figures.ts',
      'lib/cli/scratchpad-svg.ts', // test/scratchpad/cli.test.ts
      'lib/jobs/heat-adi/draw.ts',
      ...['images/labelled.ts', 'images/pictures.ts', 'images/sides.ts', 'kinds/denoise.ts', 'kinds/register.ts', 'kinds/segment.ts']
        .map((name) => `lib/jobs/${name}`), // imaging-pictures.test.ts
      'lib/jobs/kinds/spline.ts', 'lib/jobs/simulate/draw.ts', 'lib/jobs/stencil/pictures.ts', 'lib/jobs/summary.ts',
      'lib/notebook/show.ts',
      ...['apng', 'grid', 'map-frames', 'map', 'plot', 'shown'].map((name) => `lib/pictures/${name}.ts`), // what the others draw with; images in notebooks
      'lib/stream/pictures/gantt-svg.ts', 'lib/stream/pictures/graph-svg.ts', 'lib/stream/pictures/svg.ts', // test/cli/stream.test.ts
    ].sort());
  });

  it('of jobs: maps, films, diagrams, profiles, curves and summaries', async () => {
    const units = { x: 'm', y: 'm', z: 'm', t: 's', u: 'K' };
    await writeFile(join(folder, 'plate.npy'), formatNpy({ type: 'float64', shape: [3, 4], data: Float64Array.from({ length: 12 }, (_, i) => i) }));
    await writeFile(join(folder, 'flow.csv'), `day,flow\n${Array.from({ length: 9 }, (_, i) => `${i},${i * i}`).join('\n')}\n`);
    const given = { units, device: { backend: 'cpu' as const }, snapshots: 2, dt: 0.1, until: { steps: 4 } };
    const rod = { kind: 'stencil', equation: 'heat', parameters: { D: 1 }, boundary: 'periodic', ...given } as const;
    const made: Record<string, jobs.JobDescription> = {
      plate: { ...rod, name: 'plate', shape: [8, 6], initial: { u: '(x, y) => x * y' }, film: true },
      block: { ...rod, name: 'block', shape: [4, 5, 6], initial: { u: '(x, y, z) => x * y + z' }, film: true },
      line: { ...rod, name: 'line', shape: [9], initial: { u: '(x) => x' }, sweep: { 'parameters.D': [1, 2] } },
      rod: { kind: 'simulate', name: 'rod', equation: 'heat', n: 9, dx: 1, initial: 'ramp', ...given },
      adi: { kind: 'heat-adi', name: 'adi', initial: { file: 'plate.npy' }, dt: 0.5, steps: 4, snapshots: 2, units, device: { backend: 'cpu' } },
      curve: { kind: 'spline', name: 'curve', file: 'flow.csv', x: 'day', y: ['flow'], units: { day: 'd', flow: 'm³/s' }, device: { backend: 'cpu' } },
    };
    for (const job of Object.values(made)) await jobs.run(job, { folder, results: folder });
    const svg = (...path: string[]): Promise<string> => readFile(join(folder, ...path), 'utf8');
    const [place, timed] = [['x (m)', 'y (m)'], /, t = 0\.4 s$/];
    check('map', await svg('plate/all/fields.svg'), { title: timed, axes: place, bars: ['u (K)'] });
    check('film', await svg('plate/all/film.svg'), { title: /t in s/, axes: place, bars: ['u (K)'] });
    check('slices', await svg('block/all/fields.svg'), { title: timed, axes: [...place, 'z (m)'], bars: ['u (K)'] });
    for (const at of ['y = 2.5', 'x = 2.5', 'z = 3.5']) ok((await svg('block/all/fields.svg')).includes(`>u at ${at}<`), at);
    check('film of a block', await svg('block/all/film.svg'), { title: /^u at z = 3\.5, t in s$/, axes: place, bars: ['u (K)'] });
    for (const where of ['line/parameters.D=1', 'rod/all']) {
      check('diagram', await svg(where, 'space-time.svg'), { title: /^line$|^rod$/, axes: ['x (m)', 't (s)'], bars: ['u (K)'] });
      check('profile', await svg(where, 'profile.svg'), { title: /^line$|^rod$/, axes: ['x (m)', 'u (K)'] });
      match(await svg(where, 'profile.svg'), />computed, t = 0\.4 s</);
    }
    check('summary', await svg('line/summary.svg'), { title: /^line$/, axes: ['parameters.D', 'minimum of u (K)'] });
    check('heat', await svg('adi/all/heat-001.svg'), { title: /^adi, t = 1 s$/, axes: place, bars: ['u (K)'] });
    check('curve', await svg('curve/all/curve.svg'), { title: /^curve$/, axes: ['day (d)', 'flow (m³/s)'] });
    check('history', (await plotSvg(historyPlot('Energy', { energy: [3, 2, 1] })))!, { title: /^Energy$/, axes: ['iteration', 'energy'] });
  });

  it('of notebooks: charts, profiles and maps of snapshots', async () => {
    const chart = notebook.plot([1, 2, 4], { title: 'Flow', x: 'time (s)', y: 'flow (l/s)' });
    check('plot', await chart.svg(), { title: /^Flow$/, axes: ['time (s)', 'flow (l/s)'] });
    const state = { title: 't = 0.5', spacing: [1, 1], fields: { u: Float64Array.of(0, 1, 2, 3) } };
    check('profile', (await plotSvg(statePlot({ ...state, shape: [4] })))!, { title: /^t = 0\.5$/, axes: ['x'] });
    check('map', (await plotSvg(statePlot({ ...state, shape: [2, 2] })))!, { title: /^t = 0\.5$/, axes: ['x', 'y'], bars: ['u'] });
  });

  it('of benchmarks: what is measured, on what, in which unit; bars stay inside', async () => {
    const row = (id: string, value: number, more: Partial<Row> = {}): Row => ({ id, value, unit: 's', spread: 0, ...more });
    const path = join(folder, 'figure.svg');
    const figures: readonly [typeof writePlot, string, readonly Row[], RegExp, readonly string[]][] = [
      [writePlot, 'tridiagonal', [row('batch/4x8/float32/hot/auto', 2e-6, { limit: 1e-6, peers: { other: 4e-6 } })], /share of the copy floor/,
        ['systems × unknowns', '% of the floor']],
      [writePlot, 'stencil', [row('stencil/heat/2/8x8/streaming', 1e-6, { limit: 1.17e-5 })], /share of the copy floor/, ['equation and cells', '% of the floor']],
      [writeCallsFigure, 'calls', [row('call/solve/4x8/float32/device', 2e-6, { peers: { JAX: 9e-6 } })], /^Calls on one H0/, ['times as long as Warploom']],
      [writeServeFigure, 'serve', [row('serve/solve/64/batched', 900, { figures: { p99: 0.002 } })], /^The server on one H0/,
        ['requests per second', '99th percentile of the latency, ms']],
      [writeFigures, 'swept', [16, 32].map((n) => row(`heat/float64/${n}/classic`, n * 1e-6)), /^swept on H0$/, ['points', 'µs per time step', 'speed-up over classic']],
      [writeImagingFigures, 'imaging', [row('tv/iteration/64', 7e-6, { peers: { cuCIM: 7e-4 } })], /^imaging on H0/, ['time (µs)']],
      [writeStreamFigures, 'stream', [row('stream/dct/auto', 5e9, { peers: { baseline: 2e6 } })], /items a second/, ['times the baseline']],
    ];
    for (const [write, domain, rows, title, axes] of figures) {
      equal(await write(path, { domain, deviceName: 'H0', rows } as unknown as Report), true);
      const svg = await readFile(path, 'utf8');
      check(domain, svg, { title, axes });
      const [, height] = /viewBox="0 0 [\d.]+ ([\d.]+)"/.exec(svg)!.map(Number);
      ok(height! < 1200, `${domain}: ${height} pixels high`);
    }
  });
});
