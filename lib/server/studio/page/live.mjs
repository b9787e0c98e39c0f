// The state of a running job as it grows: profiles of one dimension, maps of two, and figures over time.
import { nameText, numberText } from './format.mjs';
import { drawnRange, HeatMap, LinePlot, rangeOf } from './plots.mjs';
import { html, useMemo, useState } from './ui.mjs';

/** @typedef {import('./api.mjs').Frame} Frame */
/** @typedef {import('./api.mjs').Progress & { figures: Record<string, number> }} Figures */

/** First and last place of an axis. @param {{ values: number[] } | undefined} axis @returns {[number, number]} */
const ends = (axis) => [axis?.values[0] ?? 0, axis?.values.at(-1) ?? 1];

/** @param {Frame} frame @param {string} field @param {[number, number]} range */
const sentence = (frame, field, range) =>
  `${field} at time ${numberText(frame.time)}, from ${numberText(range[0])} to ${numberText(range[1])}`;

/** @param {{ frame: Frame, field: string, range: [number, number] }} props */
function Profile({ frame, field, range }) {
  const [axis] = frame.axes, values = frame.fields[field] ?? [];
  return html`<${LinePlot} x=${axis?.values ?? []} lines=${[{ label: field, values }]} xLabel=${axis?.name ?? 'x'} yLabel=${field}
    range=${range} label=${`Profile of ${sentence(frame, field, rangeOf(values))}`} />`;
}

/** All profiles of one dimension so far, time upwards. @param {{ frames: Frame[], field: string, range: [number, number] }} props */
function SpaceTime({ frames, field, range }) {
  const first = frames[0], last = frames.at(-1);
  const map = useMemo(() => ({
    columns: first?.axes[0]?.values.length ?? 0, rows: frames.length,
    at: (/** @type {number} */ i, /** @type {number} */ j) => frames[j]?.fields[field]?.[i],
    x: ends(first?.axes[0]), y: /** @type {[number, number]} */ ([first?.time ?? 0, last?.time ?? 1]), range,
    xLabel: first?.axes[0]?.name ?? 'x', yLabel: 'time', shown: field,
  }), [frames, field, range[0], range[1]]);
  return html`<${HeatMap} map=${map} label=${`${field} over space and time, up to time ${numberText(last?.time ?? 0)}`} />`;
}

/** @param {{ frame: Frame, field: string, range: [number, number] }} props */
function Plane({ frame, field, range }) {
  const [x, y] = frame.axes, values = frame.fields[field] ?? [];
  const rows = y?.values.length ?? 0;
  const map = useMemo(() => ({
    columns: x?.values.length ?? 0, rows, at: (/** @type {number} */ i, /** @type {number} */ j) => values[i * rows + j],
    x: ends(x), y: ends(y), range, xLabel: x?.name ?? 'x', yLabel: y?.name ?? 'y', shown: field,
  }), [frame, field, range[0], range[1]]);
  return html`<${HeatMap} map=${map} isPlace=${true} label=${`Map of ${sentence(frame, field, rangeOf(values))}`} />`;
}

/** @param {(number | null)[]} values */
function meanOf(values) {
  const known = values.filter((value) => value !== null);
  return known.reduce((sum, value) => sum + value, 0) / Math.max(1, known.length);
}

/** Least value, mean and greatest value of what is drawn. @param {{ frames: Frame[], field: string }} props */
function Extremes({ frames, field }) {
  const rows = useMemo(() => frames.map((frame) => {
    const values = frame.fields[field] ?? [];
    return { time: frame.time, range: rangeOf(values), mean: meanOf(values) };
  }), [frames, field]);
  const lines = [
    { label: 'mean', values: rows.map(({ mean }) => mean) }, { label: 'greatest', values: rows.map(({ range }) => range[1]) },
    { label: 'least', values: rows.map(({ range }) => range[0]) },
  ];
  return html`<${LinePlot} x=${rows.map(({ time }) => time)} lines=${lines} xLabel="time" yLabel=${field} height=${220}
    label=${`Mean, greatest and least value of ${field} over time`} />`;
}

/** Figures that the job reports, such as energies. @param {{ figures: Figures[] }} props */
export function FiguresView({ figures }) {
  const last = figures.at(-1);
  if (last === undefined || figures.length < 2) return null;
  return html`<section class="card" aria-labelledby="figures"><h2 id="figures">Figures</h2><div class="plots">
    ${Object.keys(last.figures).map((name) => {
      const values = figures.map((each) => each.figures[name] ?? null);
      return html`<figure key=${name}><figcaption>${nameText(name)}: ${numberText(last.figures[name] ?? NaN, 6)}</figcaption>
        <${LinePlot} x=${figures.map(({ done }) => done)} lines=${[{ label: name, values }]} xLabel="steps" yLabel=${nameText(name)}
          height=${220} label=${`${nameText(name)} over ${figures.length} reports`} /></figure>`;
    })}</div></section>`;
}

/** Totals over the domain, such as mass and energy. @param {{ frames: Frame[] }} props */
function TotalsView({ frames }) {
  const last = frames.at(-1)?.totals ?? {};
  return html`${Object.keys(last).map((name) => {
    const values = frames.map(({ totals }) => totals?.[name] ?? null), title = nameText(name);
    return html`<figure key=${name}><figcaption>${title}: ${numberText(last[name] ?? NaN, 6)}</figcaption>
      <${LinePlot} x=${frames.map(({ time }) => time)} lines=${[{ label: title, values }]} xLabel="time" yLabel=${title}
        height=${220} range=${drawnRange(rangeOf(values), 1e-9)}
        label=${`${title} over time, ${numberText(last[name] ?? NaN, 6)} at time ${numberText(frames.at(-1)?.time ?? 0)}`} /></figure>`;
  })}`;
}

/** @param {{ frames: Frame[], shownAt: number, onChange: (at: number | undefined) => void }} props */
function TimeSlider({ frames, shownAt, onChange }) {
  const time = frames[shownAt]?.time ?? 0;
  return html`<div class="field"><label for="live-time">Time <span>${numberText(time)}</span></label>
    <input type="range" id="live-time" min="0" max=${frames.length - 1} value=${shownAt} aria-valuetext=${`time ${numberText(time)}`}
      onInput=${(/** @type {any} */ event) => {
        const at = Number(event.currentTarget.value);
        onChange(at === frames.length - 1 ? undefined : at);
      }} /></div>`;
}

/** Frames as pictures; the last one, or the one that is chosen. @param {{ frames: Frame[], title: string }} props */
export function FramesView({ frames, title }) {
  const [chosen, setChosen] = useState(/** @type {string | undefined} */ (undefined));
  const [at, setAt] = useState(/** @type {number | undefined} */ (undefined));
  const shownAt = Math.min(at ?? frames.length - 1, frames.length - 1), frame = frames[shownAt];
  const names = Object.keys(frame?.fields ?? {});
  const field = chosen !== undefined && names.includes(chosen) ? chosen : names[0] ?? '';
  const range = useMemo(() => drawnRange(rangeOf(frames.flatMap((each) => rangeOf(each.fields[field] ?? [])))), [frames, field]);
  if (frame === undefined) return null;
  const isLine = frame.axes.length === 1;
  return html`<section class="card" aria-label=${title}><h2>${title}</h2>
    <div class="controls">
      ${names.length > 1 && html`<div class="field"><label for="live-field">Field</label>
        <select id="live-field" value=${field} onChange=${(/** @type {any} */ event) => setChosen(event.currentTarget.value)}>
          ${names.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></div>`}
      ${frames.length > 1 && html`<${TimeSlider} frames=${frames} shownAt=${shownAt} onChange=${setAt} />`}
    </div>
    <div class="plots">
      <figure><figcaption>${field} at time ${numberText(frame.time)}</figcaption>
        ${isLine ? html`<${Profile} frame=${frame} field=${field} range=${range} />`
          : html`<${Plane} frame=${frame} field=${field} range=${range} />`}</figure>
      ${isLine && frames.length > 1 && html`<figure><figcaption>${field} over space and time</figcaption>
        <${SpaceTime} frames=${frames} field=${field} range=${range} /></figure>`}
      ${frames.length > 1 && html`<figure><figcaption>Mean, greatest and least ${field} of the points shown</figcaption>
        <${Extremes} frames=${frames} field=${field} /></figure>`}
      ${frames.length > 1 && html`<${TotalsView} frames=${frames} />`}
    </div></section>`;
}
