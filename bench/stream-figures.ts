// The report of `stream` as a table and a picture: throughput of each program over the baseline's.
import { writeFile } from 'node:fs/promises';
import { benchmarkPrograms } from '../examples/stream/programs.ts';
import { plotSvg } from '../lib/pictures/plot.ts';
import type { Report, Row } from './report.ts';
import { geomean } from './statistics.ts';

interface Bar {
  readonly program: string;
  readonly method: string;
  /** Throughput over the baseline's. */
  readonly times: number;
}

const columns = ['baseline', 'cpp1', 'cpp1-fast', 'cppN', 'wasm1', 'wasmN'];
const modeColumns = ['swp', 'swpnc', 'serial', 'cpu', 'gpu', 'synergistic'];
const deviceColumns = ['auto', 'auto-host', ...modeColumns];

/** Rows of the twelve programs, by program and method. */
function byProgram(rows: readonly Row[]): Map<string, Map<string, Row>> {
  const found = new Map<string, Map<string, Row>>();
  for (const row of rows) {
    const [, program = '', ...names] = row.id.split('/');
    const method = names.join('/');
    if (program === 'all' || program === 'style' || program === 'geomean') continue;
    if (!found.has(program)) found.set(program, new Map());
    found.get(program)!.set(method, row);
  }
  return found;
}

export function streamBars(rows: readonly Row[]): Bar[] {
  return [...byProgram(rows)].flatMap(([program, methods]) => {
    return [...columns, ...deviceColumns].flatMap((method) => {
      const row = methods.get(method);
      const baseline = methods.get('baseline')?.value ?? row?.peers?.['baseline'];
      return row === undefined || baseline === undefined || method === 'baseline' ? [] : [{ program, method, times: row.value / baseline }];
    });
  });
}

const title = (name: string): string => benchmarkPrograms.find((each) => each.name === name)?.title ?? name;

const table = (list: readonly (readonly string[])[]): string => list.map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** The report of a device: its rates, shares of what it allows, and times over the baseline. */
function deviceTable(rows: readonly Row[]): string {
  const alone = [...byProgram(rows)].filter(([, methods]) => ['auto', 'auto-host', 'compile'].some((method) => methods.has(method)));
  const lines = alone.map(([program, methods]) => {
    const [auto, host, compile] = ['auto', 'auto-host', 'compile'].map((method) => methods.get(method));
    const giga = (row: Row | undefined): string => (row === undefined ? '' : (row.value / 1e9).toPrecision(4));
    const share = (row: Row | undefined): string => (row?.fraction === undefined ? '' : `${(100 * row.fraction).toFixed(1)} %`);
    const baseline = auto?.peers?.['baseline'];
    const seconds = (value: number | undefined): string => (value === undefined ? '' : `${(1e3 * value).toFixed(0)} ms`);
    const times = baseline === undefined ? '' : String(Number((auto!.value / baseline).toPrecision(4)));
    return [title(program), giga(auto), share(auto), times, baseline?.toExponential(2) ?? '', giga(host), share(host),
      seconds(compile?.value), seconds(compile?.figures?.['cached'])];
  });
  const mean = rows.filter(({ id }) => id === 'stream/geomean/auto').flatMap(({ value, note = '' }) =>
    ['', `Geometric mean over the baseline: ${Number(value.toPrecision(4))} (${note})`]);
  const modes = rows.some(({ id }) => modeColumns.some((mode) => id.endsWith(`/${mode}`))) ? ['', modeTable(rows)] : [];
  const tables = [
    ...solutionTable(rows), ...planTable(rows), ...threadTables(rows), ...layoutTable(rows), ...shuffleTable(rows), ...gapTables(rows),
  ].flatMap((each) => ['', each]);
  const header = ['G items/s', 'auto', 'of the limit', 'times baseline', 'baseline, items/s', 'auto-host', 'of link or kernel',
    'compile', 'cached'];
  const first = lines.length === 0 ? [] : [table([header, header.map(() => '---'), ...lines])];
  return [...first, ...mean, ...modes, ...tables].join('\n').replace(/^\n/, '');
}

/** Table 2.1 of each program's filter: milliseconds by limit on registers and threads, the least in bold; ∞: cannot run. */
function threadTables(rows: readonly Row[]): string[] {
  return rows.flatMap(({ id, value, figures = {}, note = '' }) => {
    const [, program = '', method, filter = ''] = id.split('/');
    if (method !== 'threads') return [];
    const shapes = Object.keys(figures).map((name) => /^r(\d+)t(\d+)$/.exec(name)!.slice(1).map(Number));
    const axis = (which: 0 | 1): number[] => [...new Set(shapes.map((shape) => shape[which]!))].sort((a, b) => a - b);
    const cell = (seconds: number | undefined): string => {
      if (seconds === undefined) return '∞';
      const text = (1e3 * seconds).toPrecision(4);
      return seconds === value ? `**${text}**` : text;
    };
    const threads = axis(1);
    const lines = axis(0).map((limit) => [String(limit), ...threads.map((count) => cell(figures[`r${limit}t${count}`]))]);
    const heading = `Table 2.1, ms: the filter ${filter} of ${title(program)}, ${note}`;
    const header = ['registers', ...threads.map((count) => `${count} threads`)];
    return [`${heading}\n\n${table([header, header.map(() => '---'), ...lines])}`];
  });
}

/** Table 4.1. */
function layoutTable(rows: readonly Row[]): string[] {
  const at = (name: string): string => {
    const row = rows.find(({ id }) => id === `stream/all/layout/${name}`);
    return row === undefined ? '' : (1e3 * row.value).toPrecision(4);
  };
  if (!rows.some(({ id }) => id.startsWith('stream/all/layout/'))) return [];
  const lines = [['CPU', 'cpu'], ['GPU', 'gpu']].map(([name = '', side]) => [name, at(`${side}-serial`), at(`${side}-shuffled`)]);
  return [`Table 4.1\n\n${table([['32 MB, ms', 'serial', 'shuffled'], ['---', '---', '---'], ...lines])}`];
}

/** Shuffles of section 4.7: GB/s, and shares of the copy of the same run. */
function shuffleTable(rows: readonly Row[]): string[] {
  const own = rows.filter(({ id }) => id.startsWith('stream/all/shuffle/'));
  if (own.length === 0) return [];
  const names = ['shuffle128', 'deshuffle128', 'shuffle32', 'deshuffle32'];
  const lines = own.map(({ id, value, figures = {}, peers = {} }) => {
    const copy = peers['copy'] ?? NaN;
    const cell = (rate: number): string => `${(rate / 1e9).toPrecision(4)} (${(100 * rate / copy).toFixed(0)} %)`;
    const cells = names.map((name) => cell(figures[name] ?? value));
    return [id.split('/').at(-1)!, ...cells, (copy / 1e9).toPrecision(4)];
  });
  const header = ['GB/s, items', 'shuffle, 128 wide', 'deshuffle', 'shuffle, 32 wide', 'deshuffle', 'copy'];
  return [`Section 4.7\n\n${table([header, header.map(() => '---'), ...lines])}`];
}

/**
 * Tables 4.3, for as many cores and multiprocessors as the thesis had, and 4.4, for all: intervals of the ILP and of the heuristic in
 * milliseconds, how much longer that is in percent, and the same of Algorithms 3 and 4 alone.
 */
function gapTables(rows: readonly Row[]): string[] {
  const percent = (value: number | undefined): string => (value === undefined ? '' : `${(100 * value).toFixed(2)} %`);
  const milliseconds = (value: number | undefined): string => (value === undefined ? '' : (1e3 * value).toPrecision(4));
  const header = ['II, ms', 'ILP', 'heuristic', 'longer', 'Algorithms 3, 4', 'thesis', ''];
  return [['Table 4.3', /\/ilp-gap-16$/], ['Table 4.4', /\/ilp-gap(-mean|-worst)?$/]].flatMap(([name, ids]) => {
    const lines = rows.filter(({ id }) => (ids as RegExp).test(id)).map(({ id, value, figures = {}, peers = {}, note = '' }) => {
      const [, program = '', method = ''] = id.split('/');
      return [program === 'all' ? method.slice('ilp-gap-'.length) : title(program), milliseconds(figures['ilpInterval']),
        milliseconds(figures['interval']), percent(value), percent(peers['clusters']), percent(peers['thesis']), note];
    });
    return lines.length === 0 ? [] : [`${String(name)}\n\n${table([header, header.map(() => '---'), ...lines])}`];
  });
}

/** Figures of `swp` that are no rates. */
const tableFigures = ['bufferBytes', 'aboveBound'];

/** Cells of Tables 3.2 and 3.3. */
function tablesOf(row: Row | undefined): string[] {
  const [bytes, above] = tableFigures.map((name) => row?.figures?.[name]);
  return [bytes === undefined ? '' : `${(bytes / 1e6).toPrecision(3)} MB`, above === undefined ? '' : `${(100 * above).toFixed(1)} %`];
}

/** Figures 3.11, 3.12 and 4.7 as a table: times over the baseline by SWPn, then by each schedule; then Table 3.2 and intervals. */
function modeTable(rows: readonly Row[]): string {
  const programs = [...byProgram(rows)];
  const shown = modeColumns.filter((mode) => programs.some(([, methods]) => methods.has(mode)));
  const all = new Set(programs.flatMap(([, methods]) => Object.keys(methods.get('swp')?.figures ?? {})));
  const series = [...all].filter((name) => !tableFigures.includes(name));
  const times = (value: number | undefined, baseline: number | undefined): string =>
    (value === undefined || baseline === undefined ? '' : (value / baseline).toPrecision(3));
  const lines = programs.map(([program, methods]) => {
    const baseline = shown.map((mode) => methods.get(mode)?.peers?.['baseline']).find((value) => value !== undefined);
    return [title(program), ...series.map((name) => times(methods.get('swp')?.figures?.[name], baseline)),
      ...shown.map((mode) => times(methods.get(mode)?.value, baseline)), ...tablesOf(methods.get('swp'))];
  });
  const meanOf = (name: string): string => {
    const ratios = programs.flatMap(([, methods]) => {
      const row = methods.get('swp'), value = row?.figures?.[name], baseline = row?.peers?.['baseline'];
      return value === undefined || baseline === undefined ? [] : [value / baseline];
    });
    return ratios.length === 0 ? '' : geomean(ratios).toPrecision(3);
  };
  const mean = ['geometric mean', ...series.map(meanOf), ...shown.map((mode) =>
    rows.find(({ id }) => id === `stream/geomean/${mode}`)?.value.toPrecision(3) ?? ''), '', ''];
  const header = ['times baseline', ...series.map((name) => name.replace(/^n(?=\d)/, 'SWP')), ...shown, 'buffers', 'above bound'];
  return `Figures 3.11, 3.12 and 4.7, Table 3.2\n\n${table([header, header.map(() => '---'), ...lines, mean])}`;
}

/** Table 3.3: what the ILP of the schedule takes, and how far its interval is above the bound. */
function solutionTable(rows: readonly Row[]): string[] {
  const lines = rows.filter(({ id }) => id.endsWith('/swp-ilp')).map(({ id, value, figures = {}, note = '' }) => {
    const { aboveBound } = figures;
    return [title(id.split('/')[1]!), value.toPrecision(3), aboveBound === undefined ? '' : `${(100 * aboveBound).toFixed(2)} %`, note];
  });
  const header = ['ILP of the schedule', 'seconds', 'above bound', ''];
  return lines.length === 0 ? [] : [`Table 3.3\n\n${table([header, header.map(() => '---'), ...lines])}`];
}

/** Figures 4.6, 4.8 and 4.9: times over the baseline by plans alone, on all of the machine, and on as much as the thesis had. */
function planTable(rows: readonly Row[]): string[] {
  const ways = [
    ['plannedByIlp', 'ILP'], ['plannedByHeuristic', 'heuristic'], ['planned', 'chosen'], ['planned16', 'chosen, 16 multiprocessors'],
  ] as const;
  const found = [...byProgram(rows)].flatMap(([program, methods]) => {
    const row = methods.get('synergistic'), gpu = methods.get('gpu');
    const baseline = row?.peers?.['baseline'];
    if (row?.figures?.['planned'] === undefined || baseline === undefined) return [];
    const rates = [...ways.map(([name]) => row.figures?.[name]), gpu?.value];
    return [{ program, ratios: rates.map((rate) => (rate === undefined ? undefined : rate / baseline)) }];
  });
  if (found.length === 0) return [];
  const text = (ratio: number | undefined): string => ratio?.toPrecision(3) ?? '';
  const lines = found.map(({ program, ratios }) => [title(program), ...ratios.map(text)]);
  const mean = [...ways, 'gpu'].map((_, at) => {
    const ratios = found.map(({ ratios: all }) => all[at]).filter((ratio) => ratio !== undefined);
    return text(ratios.length === 0 ? undefined : geomean(ratios));
  });
  const header = ['times baseline, by plans', ...ways.map(([, name]) => name), 'mostly GPU'];
  return [`Figures 4.6, 4.8 and 4.9\n\n${table([header, header.map(() => '---'), ...lines, ['geometric mean', ...mean]])}`];
}

/** Rows that only the report of a device has. */
const onDevice =
  /\/(auto(-host)?|swp|swpnc|serial|cpu|gpu|synergistic|ilp-gap|ilp-gap-16|swp-ilp)$|\/threads\/|^stream\/all\/(layout|shuffle)\//;

/** Items a second by program and method, then what holds for all. */
export function streamTables({ rows }: Report): string {
  if (rows.some(({ id }) => onDevice.test(id))) return deviceTable(rows);
  const original = 'original, Cascade Lake', best = 'original at its best, Cascade Lake';
  const lines = [...byProgram(rows)].map(([program, methods]) => {
    const cells = columns.map((method) => methods.get(method)?.value.toExponential(2) ?? '');
    const peers = methods.get('cpp1')?.peers ?? {};
    const compile = methods.get('compile');
    return [title(program), ...cells, peers[original]?.toExponential(2) ?? '', peers[best]?.toExponential(2) ?? '',
      compile === undefined ? '' : `${(1e3 * compile.value).toFixed(0)} ms`];
  });
  const header = ['items/s', ...columns, '(a)', '(b)', 'compile'];
  const all = rows.filter(({ id }) => id.startsWith('stream/all/')).map(({ id, value, unit, note = '' }) =>
    [id.slice('stream/all/'.length), `${value.toPrecision(3)}${unit === 'ratio' ? '' : ` ${unit}`}`, note]);
  const styles = rows.filter(({ id, unit }) => id.startsWith('stream/style/') && unit === 'ratio').map(({ id, value, note = '' }) =>
    [id.slice('stream/style/'.length), value.toPrecision(3), note]);
  return [table([header, header.map(() => '---'), ...lines]),
    ...(styles.length > 0 ? ['', table([['original style', 'value', ''], ['---', '---', '---'], ...styles])] : []),
    ...(all.length > 0 ? ['', table([['all', 'value', ''], ['---', '---', '---'], ...all])] : [])].join('\n');
}

/** Writes `path` (SVG); false where there is nothing to draw or vega is not installed. */
export async function writeStreamFigures(path: string, report: Report): Promise<boolean> {
  const bars = streamBars(report.rows);
  if (bars.length === 0) return false;
  const svg = await plotSvg({
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    title: `stream on ${report.deviceName}: items a second over the baseline's`, background: 'white',
    data: { values: bars }, width: 1100, height: 300, mark: 'bar',
    encoding: {
      x: { field: 'program', type: 'nominal', title: null, sort: null, axis: { labelAngle: -20 } },
      xOffset: { field: 'method', type: 'nominal', sort: null },
      y: {
        field: 'times', type: 'quantitative', title: 'times the baseline', scale: { type: 'symlog' },
        axis: { values: [0, 1, 10, 100, 1000, 10_000, 100_000] },
      },
      color: { field: 'method', type: 'nominal', sort: null, title: null, scale: { scheme: 'tableau10' } },
    },
  });
  if (svg === undefined) return false;
  await writeFile(path, svg);
  return true;
}
