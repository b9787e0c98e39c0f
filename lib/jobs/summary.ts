// The roll-up of a sweep: one table and one picture of all its items.
import { join } from 'node:path';
import { csvFormatRows } from 'd3-dsv';
import { isThere, writeFileAtomic } from '../core/files.ts';
import { plotSvg, type PlotSpecification } from '../pictures/plot.ts';
import { shareColours, type SharingOptions } from './colours.ts';
import type { ItemResult } from './events.ts';
import { canonical } from './canonical.ts';
import { itemStates, type ItemState } from './items.ts';
import type { LoadedJob } from './loaded.ts';

/** The most figures that are drawn. */
const mostPanels = 4;

/** A value of a sweep as text: a path, a name, a number; objects as JSON. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : canonical(value));

/** The numbers of a result that a sweep compares. */
function numbersOf({ accuracy, figures, wallSeconds }: ItemResult): Record<string, number | null> {
  return { accuracy: accuracy.value, ...figures, wallSeconds };
}

/** The names of all figures, in the order in which they come. */
function figureNames(items: readonly ItemState[]): string[] {
  return [...new Set(items.flatMap(({ result }) => (result === undefined ? [] : Object.keys(numbersOf(result)))))];
}

/** The summary as rows of text: swept fields, state, and the figures of each item. */
export function summaryRows(items: readonly ItemState[]): string[][] {
  const fields = Object.keys(items[0]?.values ?? {});
  const figures = figureNames(items);
  const rows = items.map(({ name, values, state, result }) => {
    const numbers = result === undefined ? {} : numbersOf(result);
    const one = (figure: string): string => {
      const value = numbers[figure];
      return typeof value === 'number' && Number.isFinite(value) ? String(value) : '';
    };
    return [name, ...fields.map((field) => textOf(values[field])), result?.failed === true ? 'failed' : state, ...figures.map(one)];
  });
  return [['item', ...fields, 'state', ...figures], ...rows];
}

const isTime = (name: string): boolean => /seconds$|PerSecond$|^seconds/i.test(name);

/** The figures that differ between items, those that measure time last. */
export function comparedFigures(results: readonly ItemResult[]): string[] {
  const all = results.map(numbersOf);
  const names = [...new Set(all.flatMap((numbers) => Object.keys(numbers)))];
  const varied = names.filter((name) => {
    const values = all.map((numbers) => numbers[name]).filter((value) => Number.isFinite(value));
    return new Set(values).size > 1;
  });
  return [...varied.filter((name) => !isTime(name)), ...varied.filter(isTime)];
}

/** Whether values span so much that a logarithmic axis shows them better. */
function needsLog(values: readonly number[]): boolean {
  return values.every((value) => value > 0) && Math.max(...values) > 50 * Math.min(...values);
}

/** Units of names, as far as they are known: those of the job, and those that figures have in their names. */
function unitOf(name: string, result: ItemResult): string | undefined {
  const own = (result.parameters as { units?: Readonly<Record<string, string>> }).units ?? {};
  const last = name.split('.').at(-1) ?? name;
  const field = /^(?:minimum|maximum|l1Error)Of(.+)$/.exec(name)?.[1]?.replace(/^./, (letter) => letter.toLowerCase());
  const known = own[last] ?? own[field ?? ''] ?? (['dt', 'timeStep', 'time'].includes(last) ? own['t'] : undefined);
  if (known !== undefined) return known;
  return /PerSecond$/.test(name) ? '1/s' : /seconds$/i.test(name) ? 's' : undefined;
}

/** `relativeDriftOfTotal` as words. */
const wordsOf = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);

function titleOf(name: string, result: ItemResult): string {
  const words = name === 'accuracy' ? result.accuracy.meaning : wordsOf(name);
  const unit = unitOf(name, result);
  return unit === undefined ? words : `${words} (${unit})`;
}

/** Figures over the first swept field; the second one by colour, the third by shape. Undefined if nothing differs. */
export function summaryPlot(name: string, items: readonly ItemState[]): PlotSpecification | undefined {
  const ended = items.flatMap(({ values, result }) => (result === undefined ? [] : [{ values, result }]));
  const first = ended[0];
  if (first === undefined || ended.length < 2) return undefined;
  const fields = Object.keys(first.values);
  const isNumeric = (field: string): boolean => ended.every(({ values }) => typeof values[field] === 'number');
  const [x = '', colour, shape] = [...fields.filter(isNumeric), ...fields.filter((field) => !isNumeric(field))];
  const panels = comparedFigures(ended.map(({ result }) => result)).slice(0, mostPanels);
  if (panels.length === 0) return undefined;
  const numeric = isNumeric(x);
  const place = ({ values }: (typeof ended)[number]): number | string => (numeric ? values[x] as number : textOf(values[x]));
  const panel = (figure: string): object => {
    const values = ended.flatMap((one) => {
      const value = numbersOf(one.result)[figure];
      if (typeof value !== 'number' || !Number.isFinite(value)) return [];
      return [{
        x: place(one), value, ...(colour === undefined ? {} : { colour: textOf(one.values[colour]) }),
        ...(shape === undefined ? {} : { shape: textOf(one.values[shape]) }),
      }];
    });
    const scale = (numbers: number[]): object => (needsLog(numbers) ? { type: 'log' } : { zero: false });
    return {
      data: { values }, width: 330, height: 220, mark: { type: 'line', point: { size: 40, filled: true }, strokeWidth: 1 },
      encoding: {
        x: {
          field: 'x', type: numeric ? 'quantitative' : 'nominal', title: titleOf(x, first.result),
          ...(numeric ? { scale: scale(values.map((one) => one.x as number)) } : { axis: { labelAngle: -30 } }),
        },
        y: { field: 'value', type: 'quantitative', title: titleOf(figure, first.result), scale: scale(values.map((one) => one.value)) },
        ...(colour === undefined ? {} : { color: { field: 'colour', type: 'nominal', title: colour, sort: null } }),
        ...(shape === undefined ? {} : { shape: { field: 'shape', type: 'nominal', title: shape, sort: null } }),
      },
    };
  };
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json', title: { text: name, anchor: 'start' }, background: 'white',
    concat: panels.map(panel), columns: 2,
  };
}

/** Names of the files of a summary, in the job's folder. */
export const summaryFiles = ['summary.csv', 'summary.svg'] as const;

/**
 * Writes summary.csv and, where vega is installed, summary.svg of a sweep into the job's folder, and gives the maps of its items one range
 * of colours; nothing for a job of one item. Items of other shards that finish meanwhile are taken in.
 */
export async function writeSummary(loaded: LoadedJob, results: string, options: SharingOptions = {}): Promise<void> {
  const place = join(results, loaded.name);
  if (loaded.items.length < 2 || !isThere(place)) return;
  const finished = (items: readonly ItemState[]): number => items.filter(({ state }) => state === 'finished').length;
  for (let items = await itemStates(loaded, results), count = -1; count !== finished(items); items = await itemStates(loaded, results)) {
    count = finished(items);
    if (count === 0) return;
    await writeFileAtomic(join(place, summaryFiles[0]), `${csvFormatRows(summaryRows(items))}\n`);
    const plot = summaryPlot(loaded.name, items);
    const svg = plot === undefined ? undefined : await plotSvg(plot);
    if (svg !== undefined) await writeFileAtomic(join(place, summaryFiles[1]), svg);
    await shareColours(items, loaded.folder, options);
  }
}
