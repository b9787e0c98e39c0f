// Maps: pictures of grids with axes, units and a colour bar.
import { finiteRange, gridPng, spreadRange } from './grid.ts';
import type { PlotSpecification } from './plot.ts';

/** One side of a map. */
export interface MapAxis {
  /** With its unit: 'x (cm)'. */
  readonly title: string;
  /** The values at its ends: left and right, or bottom and top. */
  readonly range: readonly [number, number];
}

/** A plane of numbers, rows from the top. */
export interface Plane {
  readonly width: number;
  readonly height: number;
  readonly values: ArrayLike<number>;
}

/** One map. */
export interface MapPanel {
  readonly title?: string;
  readonly x: MapAxis;
  readonly y: MapAxis;
  /** The numbers, or the bytes of a PNG that shows them, `above` of whose height stands above the map. */
  readonly picture: Plane | { readonly png: Uint8Array; readonly above: number };
  /** What is shown, with its unit, and the values of the darkest and the brightest colour (default: those of the numbers). */
  readonly shown: { readonly title: string; readonly range?: readonly [number, number] };
  /** Whether it has a colour bar; default true. */
  readonly bar?: boolean;
}

/** The longest side of a map, and the shortest, in pixels of a screen. */
const longest = 420, shortest = 100;

/** Width and height in the proportion of the ranges, unless the axes differ in kind or one is very short. */
export function extentOf(x: MapAxis, y: MapAxis, isPlace: boolean): { readonly width: number; readonly height: number } {
  const [wide, high] = [x, y].map(({ range: [from, to] }) => Math.abs(to - from)) as [number, number];
  if (!isPlace) return { width: longest, height: Math.round(longest * 0.7) };
  const scale = longest / Math.max(wide, high);
  return { width: Math.max(shortest, Math.round(wide * scale)), height: Math.max(shortest, Math.round(high * scale)) };
}

const axis = ({ title, range }: MapAxis, name: string): object => ({
  field: name, type: 'quantitative', title, axis: { grid: false, tickCount: 6 }, scale: { domain: range, nice: false, zero: false },
});

const titleLook = { anchor: 'middle', fontSize: 12, fontWeight: 'normal' };

function panelOf({ title, x, y, picture, shown, bar = true }: MapPanel, isPlace: boolean): object {
  const { width, height } = extentOf(x, y, isPlace);
  const isPlane = 'values' in picture;
  const range = spreadRange(shown.range ?? (isPlane ? finiteRange(picture.values) : [0, 1]));
  const png = isPlane ? gridPng(picture.values, picture.width, picture.height, range) : picture.png;
  const above = isPlane ? 0 : picture.above;
  const whole = height / (1 - above);
  const gradientLength = Math.min(height, 300);
  const image = { type: 'image', width, height: whole, aspect: false, smooth: false };
  return {
    ...(title === undefined ? {} : { title: { text: title, ...titleLook, offset: whole - height + 6 } }), width, height,
    layer: [
      {
        data: { values: [{}] }, mark: image,
        encoding: {
          x: { value: width / 2 }, y: { value: height - whole / 2 },
          url: { value: `data:image/png;base64,${Buffer.from(png).toString('base64')}` },
        },
      },
      {
        data: { values: [{ x: x.range[0], y: y.range[0], value: range[0] }] }, mark: { type: 'point', size: 0, opacity: 1 },
        encoding: {
          x: axis(x, 'x'), y: axis(y, 'y'),
          color: {
            field: 'value', type: 'quantitative', scale: { domain: range, scheme: 'inferno' },
            legend: bar ? { title: shown.title, gradientLength, tickCount: Math.max(5, Math.round(gradientLength / 45)) } : null,
          },
        },
      },
    ],
  };
}

/**
 * Maps in rows, as a Vega-Lite specification.
 * @param options `isPlace`: both axes are lengths, which are drawn to scale
 */
export function mapPlot(title: string, rows: readonly (readonly MapPanel[])[], { isPlace = true } = {}): PlotSpecification {
  const resolve = { scale: { x: 'independent', y: 'independent', color: 'independent' } };
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json', title, background: 'white', resolve,
    vconcat: rows.map((row) => ({ hconcat: row.map((panel) => panelOf(panel, isPlace)), resolve })),
  };
}
