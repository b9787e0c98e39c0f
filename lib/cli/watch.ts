// What the command line shows of jobs while they run, and when they have ended.
import { join } from 'node:path';
import type { ItemResult, RunEvent } from '../jobs/events.ts';
import { comparedFigures } from '../jobs/summary.ts';
import type { CommandContext } from './command.ts';
import type { ProgressBar } from './progress-bar.ts';
import { formatSeconds } from './table.ts';
import { columnsOf } from './terminal.ts';

/** The most items of a sweep in the table; all are in the summary. */
const mostRows = 60;

/** The most characters of a figure, and of all other columns where those of text are narrow. */
const figureWidth = 11, otherWidth = 36;

/** The items of one sweep: the values of the swept fields, and the figures that differ. */
function summaryTable(results: readonly ItemResult[], folder: string, context: CommandContext): string | undefined {
  const [first, ...more] = results;
  if (first === undefined || more.length === 0 || more.some(({ job }) => job !== first.job)) return undefined;
  const compared = comparedFigures(results).filter((name) => name !== 'accuracy' && name !== 'seconds').slice(0, 3);
  const ends = compared.map((_, i) => compared.slice(0, i + 1).reduce((sum, name) => sum + Math.max(name.length, figureWidth) + 2, 0));
  const figures = compared.filter((_, i) => otherWidth + (ends[i] ?? 0) <= columnsOf(context.out));
  const cell = (value = NaN): string => (Number.isFinite(value) ? String(Number(value.toPrecision(5))) : '');
  const rows = results.slice(0, mostRows).map((r) => [
    r.failed === true ? context.paint('red', r.item) : r.item, r.device.backend, formatSeconds(r.wallSeconds),
    Number.isFinite(r.accuracy.value) ? r.accuracy.value.toExponential(1) : '',
    ...figures.map((name) => cell(name === 'wallSeconds' ? r.wallSeconds : r.figures[name])),
  ]);
  const left = results.length > mostRows ? `… and ${results.length - mostRows} more\n` : '';
  return `${context.table(['item', 'on', 'time', 'accuracy', ...figures], rows)}\n${left}`
    + `${first.job}: ${results.length} items; accuracy: ${first.accuracy.meaning}; all figures: ${join(folder, first.job, 'summary.csv')}`;
}

/** One table of what ran, where, how fast, how accurate, and where the pictures are. */
export function resultTable(results: readonly ItemResult[], folder: string, context: CommandContext): string {
  const sweep = summaryTable(results, folder, context);
  if (sweep !== undefined) return sweep;
  return context.table(['job', 'what ran', 'on', 'time', 'accuracy', 'results'], results.map((r) => [
    r.item === 'all' ? r.job : `${r.job}/${r.item}`, r.failed === true ? context.paint('red', r.summary) : r.summary, r.device.backend,
    formatSeconds(r.wallSeconds),
    Number.isFinite(r.accuracy.value) ? `${r.accuracy.value.toExponential(1)} (${r.accuracy.meaning})` : r.accuracy.meaning,
    join(folder, r.job, r.item)]));
}

/** One bar for all the items of a job: those that have ended, and what is done of those that run. */
class SweepBar {
  readonly #bar: ProgressBar;
  readonly #parts = new Map<string, number>();
  /** Of all parts. */
  #sum = 0;
  #ended = 0;
  #total = 1;

  constructor(bar: ProgressBar) {
    this.#bar = bar;
  }

  show(event: RunEvent): void {
    if ('sweep' in event) {
      const { finished, failed, total } = event.sweep;
      [this.#ended, this.#total] = [finished + failed, total];
      if (event.event !== 'started') this.#set(event.item, undefined);
    }
    if (event.event === 'progress') this.#set(event.item, event.done / event.total);
    if (this.#ended === this.#total) {
      this.#bar.clear();
      return;
    }
    if (event.event !== 'progress' && this.#total === 1) return;
    const name = this.#total === 1 ? `${event.job}/${event.item}` : `${event.job}: ${this.#ended} of ${this.#total}`;
    this.#bar.update(name, this.#ended + this.#sum, this.#total, this.#total === 1 ? name : event.job);
  }

  /** What is done of an item that runs. */
  #set(item: string, part: number | undefined): void {
    const next = part !== undefined && Number.isFinite(part) ? part : 0;
    this.#sum += next - (this.#parts.get(item) ?? 0);
    if (part === undefined) this.#parts.delete(item);
    else this.#parts.set(item, next);
    if (this.#parts.size === 0) this.#sum = 0; // without what rounding has left
  }
}

/** Notes of items that were skipped: one for all that come one after another. */
class SkippedNote {
  readonly #note: (text: string) => void;
  #job = '';
  #items: string[] = [];

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  add({ job, item }: RunEvent): void {
    if (job !== this.#job) this.write();
    this.#job = job;
    this.#items.push(item);
  }

  write(): void {
    const [first, ...more] = this.#items;
    if (first !== undefined) {
      this.#note(more.length === 0 ? `${this.#job}/${first}: already finished, skipped (--again runs it again)`
        : `${this.#job}: ${more.length + 1} items already finished, skipped (--again runs them again)`);
    }
    this.#items = [];
  }
}

/** Progress and notes, or JSON lines. */
export function watcher(context: CommandContext): (event: RunEvent) => void {
  const { out, json } = context;
  if (json) return (event) => out.write(`${JSON.stringify(event)}\n`);
  const bar = context.progress();
  const said = new Set<string>();
  const hints = new Set<string>();
  const sweep = new SweepBar(bar);
  const skipped = new SkippedNote((text) => { context.note(text); });
  return (event) => {
    if (event.event !== 'progress' && event.event !== 'frame') bar.clear();
    if (event.event === 'skipped') skipped.add(event);
    const isEnd = 'sweep' in event && event.sweep.finished + event.sweep.failed === event.sweep.total;
    if (event.event !== 'skipped' || isEnd) skipped.write();
    if (event.event === 'failed') context.err.write(`${event.job}/${event.item}: ${event.error.message}\n`);
    const atEnd = event.event === 'finished' ? event.result.notes ?? [] : [];
    const notes = event.event === 'warning' ? [event.note] : atEnd;
    for (const note of notes) {
      if (!said.has(note) && !hints.has(note)) context.note(`${event.job}/${event.item}: ${note}`);
      if (note.includes('install the optional package')) hints.add(note); // true of every item
      said.add(note);
    }
    if (event.event === 'finished') said.clear(); // of this item
    sweep.show(event);
  };
}
