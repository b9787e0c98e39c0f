// Charts: lines with uPlot, and heat maps with axes and a colour bar on a canvas. Both follow the width of the page and its colours.
import { numberText } from './format.mjs';
import { html, useEffect, useLayoutEffect, useRef, useState } from './ui.mjs';
import inferno from './vendor/inferno.mjs';
import uPlot from './vendor/uplot.mjs';

/** A colour of the style sheet. @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A number that changes when the colours of the page do. */
function useTheme() {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const change = () => setCount((before) => before + 1);
    const system = matchMedia('(prefers-color-scheme: dark)');
    window.addEventListener('themechange', change);
    system.addEventListener('change', change);
    return () => {
      window.removeEventListener('themechange', change);
      system.removeEventListener('change', change);
    };
  }, []);
  return count;
}

/** The width of an element. @param {{ current: HTMLElement | null }} box */
function useWidth(box) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    setWidth(Math.floor(element.clientWidth));
    return () => observer.disconnect();
  }, []);
  return width;
}

/** @typedef {{ label: string, values: (number | null)[] }} Line */

/** Least and greatest of what there is. @param {readonly (number | null)[]} values @returns {[number, number]} */
export function rangeOf(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

/**
 * The range to draw: values that differ by rounding only are drawn as level.
 * @param {[number, number]} range @param {number} [rounding] relative to the values
 * @returns {[number, number]}
 */
export function drawnRange([low, high], rounding = 1e-12) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  return high - low > rounding * size ? [low, high] : [low - 0.05 * size, high + 0.05 * size];
}

/** A range that is not empty, with a little room. @param {[number, number]} range @returns {[number, number]} */
function roomy(range) {
  const [low, high] = drawnRange(range);
  const room = high > low ? (high - low) * 0.05 : 1e-12;
  return [low - room, high + room];
}

/** Digits by which the numbers at an axis differ. @param {number[]} splits */
function digitsOf(splits) {
  const [first = 0, second = first] = splits, size = Math.max(...splits.map(Math.abs));
  const digits = second === first || size === 0 ? 0 : Math.ceil(Math.log10(size / Math.abs(second - first))) + 2;
  return Math.min(15, Math.max(5, digits));
}

/** Room for the numbers at an axis. @param {unknown} _ @param {string[] | null} texts */
const axisWidth = (_, texts) => 22 + 7 * Math.max(3, ...(texts ?? []).map((text) => text.length));

/** @param {{ xLabel: string, yLabel: string, lines: Line[], width: number, height: number }} props @returns {any} */
function lineOptions({ xLabel, yLabel, lines, width, height }) {
  const axis = {
    stroke: colour('text'), font: '12px system-ui, sans-serif', labelFont: '13px system-ui, sans-serif', labelSize: 22,
    grid: { stroke: colour('grid'), width: 1 }, ticks: { stroke: colour('grid'), width: 1 },
    values: (/** @type {unknown} */ _, /** @type {number[]} */ splits) => splits.map((value) => numberText(value, digitsOf(splits))),
  };
  return {
    width, height, scales: { x: { time: false }, y: { auto: false } }, legend: { live: false, show: lines.length > 1 }, pxAlign: 0,
    axes: [{ ...axis, label: xLabel }, { ...axis, label: yLabel, size: axisWidth }],
    series: [{ label: xLabel }, ...lines.map(({ label }, i) => ({
      label, stroke: colour(`plot-${(i % 3) + 1}`), width: 2, points: { show: false }, dash: [[], [6, 4], [2, 3]][i % 3] ?? [],
    }))],
  };
}

/**
 * Lines over a common axis. `range`: of the values; by default their own. `label`: what the chart shows, in a sentence.
 * @param {{ x: number[], lines: Line[], xLabel: string, yLabel: string, label: string, range?: [number, number], height?: number }} props
 */
export function LinePlot({ x, lines, xLabel, yLabel, label, range, height = 260 }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (undefined));
  const theme = useTheme(), width = useWidth(box);
  const shape = [xLabel, yLabel, width, height, theme, ...lines.map((line) => line.label)].join('|');
  const data = [x, ...lines.map(({ values }) => values)];
  const limits = roomy(range ?? rangeOf(lines.flatMap(({ values }) => values)));
  useEffect(() => {
    if (box.current === null || width < 50) return undefined;
    plot.current = new uPlot(lineOptions({ xLabel, yLabel, lines, width, height }), /** @type {any} */ (data), box.current);
    return () => { plot.current?.destroy(); plot.current = undefined; };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(data);
    plot.current?.setScale('y', { min: limits[0], max: limits[1] });
  });
  return html`<div class="plot" role="img" aria-label=${label} ref=${box}></div>`;
}

/** Round numbers within a range. @param {[number, number]} range @param {number} count */
export function ticksOf([low, high], count) {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((each) => each * power >= raw * (1 - 1e-9)) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const ticks = [];
  for (let i = first; i * step <= high + step * 1e-9; i += 1) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/** The 256 colours as red, green and blue. */
const ramp = inferno.map((each) => [1, 3, 5].map((at) => parseInt(each.slice(at, at + 2), 16)));

/**
 * A map: `at(i, j)` is the value of column i and row j, rows from below.
 * @typedef {{ columns: number, rows: number, at: (i: number, j: number) => number | null | undefined, x: [number, number],
 *   y: [number, number], range: [number, number], xLabel: string, yLabel: string, shown: string }} HeatMapData
 */

/** The map as a picture, one pixel for each value. @param {HeatMapData} map */
function pixelsOf({ columns, rows, at, range: [low, high] }) {
  const picture = document.createElement('canvas');
  picture.width = columns;
  picture.height = rows;
  const context = picture.getContext('2d');
  if (context === null) return picture;
  const image = context.createImageData(columns, rows);
  const scale = high > low ? 255 / (high - low) : 0;
  for (let j = 0; j < rows; j += 1) {
    for (let i = 0; i < columns; i += 1) {
      const value = at(i, rows - 1 - j), place = 4 * (j * columns + i);
      const [r = 128, g = 128, b = 128] = typeof value === 'number'
        ? ramp[Math.max(0, Math.min(255, Math.round((value - low) * scale)))] ?? [] : [];
      image.data.set([r, g, b, 255], place);
    }
  }
  context.putImageData(image, 0, 0);
  return picture;
}

const margin = { left: 64, right: 96, top: 10, bottom: 46 };

/** @param {CanvasRenderingContext2D} context @param {HeatMapData} map @param {number} width @param {number} height */
function drawAxes(context, { x, y, range, xLabel, yLabel, shown }, width, height) {
  const right = width - margin.right, bottom = height - margin.bottom;
  const wide = right - margin.left, high = bottom - margin.top;
  context.font = '12px system-ui, sans-serif';
  context.fillStyle = context.strokeStyle = colour('text');
  context.lineWidth = 1;
  context.strokeRect(margin.left - 0.5, margin.top - 0.5, wide + 1, high + 1);
  context.textAlign = 'center';
  context.textBaseline = 'top';
  /** @param {[number, number]} range @param {number} count @returns {[number, string][]} */
  const labelled = (range, count) => {
    const ticks = ticksOf(range, count);
    return ticks.map((tick) => [tick, numberText(tick, digitsOf(ticks))]);
  };
  for (const [tick, text] of labelled(x, wide / 55)) {
    const at = margin.left + (wide * (tick - x[0])) / (x[1] - x[0] || 1);
    context.fillRect(at, bottom, 1, 5);
    context.fillText(text, at, bottom + 8);
  }
  context.fillText(xLabel, margin.left + wide / 2, bottom + 28);
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (const [tick, text] of labelled(y, high / 40)) {
    const at = bottom - (high * (tick - y[0])) / (y[1] - y[0] || 1);
    context.fillRect(margin.left - 5, at, 5, 1);
    context.fillText(text, margin.left - 8, at);
  }
  context.save();
  context.translate(12, margin.top + high / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = 'center';
  context.fillText(yLabel, 0, 0);
  context.restore();
  const bar = right + 18, strip = high / 256;
  for (let k = 0; k < 256; k += 1) {
    context.fillStyle = `rgb(${(ramp[k] ?? []).join(',')})`;
    context.fillRect(bar, bottom - (k + 1) * strip, 14, strip + 1);
  }
  context.fillStyle = colour('text');
  context.textAlign = 'left';
  for (const [tick, text] of labelled(range, high / 40)) {
    const at = bottom - (high * (tick - range[0])) / (range[1] - range[0] || 1);
    context.fillRect(bar + 14, at, 4, 1);
    context.fillText(text, bar + 21, at);
  }
  context.fillText(shown, bar, bottom + 16);
}

/**
 * A heat map. `isPlace`: both axes are lengths, which are drawn to scale.
 * @param {{ map: HeatMapData, label: string, isPlace?: boolean, height?: number }} props
 */
export function HeatMap({ map, label, isPlace = false, height: given = 300 }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const theme = useTheme(), available = useWidth(box);
  const across = Math.abs(map.x[1] - map.x[0]) || 1, up = Math.abs(map.y[1] - map.y[0]) || 1;
  const room = Math.max(60, available - margin.left - margin.right);
  const wide = isPlace ? Math.min(room, 460, (420 * across) / up) : room;
  const high = isPlace ? Math.max(60, (wide * up) / across) : given - margin.top - margin.bottom;
  const width = Math.round(wide) + margin.left + margin.right, height = Math.round(high) + margin.top + margin.bottom;
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (canvas.current === null || context === null || context === undefined || available < 50) return;
    const ratio = devicePixelRatio || 1;
    canvas.current.width = Math.round(width * ratio);
    canvas.current.height = Math.round(height * ratio);
    canvas.current.style.width = `${width}px`;
    canvas.current.style.height = `${height}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.imageSmoothingEnabled = false;
    context.drawImage(pixelsOf(map), margin.left, margin.top, width - margin.left - margin.right, height - margin.top - margin.bottom);
    drawAxes(context, map, width, height);
  }, [map, width, height, theme, available]);
  return html`<div class="plot" ref=${box}><canvas ref=${canvas} role="img" aria-label=${label}></canvas></div>`;
}
