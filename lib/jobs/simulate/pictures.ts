// Pictures of a simulation: profiles at the end, and space-time diagrams.
import { elementAt, required } from '../../core/known.ts';
import { finiteRange, gridPng } from '../../pictures/grid.ts';
import type { PlotSpecification } from '../../pictures/plot.ts';
import type { Fields } from './fields.ts';

/** The maximum number of points of a curve, and of pixels along a side of a picture. */
const mostPoints = 1500;
const mostPixels = 1024;

/** One field over space (horizontal) and time (vertical), with no more pixels than a screen has. */
export class SpaceTime {
  readonly #width: number;
  readonly #rows: (Float32Array | undefined)[] = [];
  readonly #n: number;

  constructor(n: number, rows: number) {
    this.#n = n;
    this.#width = Math.min(n, mostPixels);
    this.#rows.length = rows;
  }

  /** Row `index` from the field's values. */
  row(index: number, values: ArrayLike<number>): void {
    this.#rows[index] = Float32Array.from({ length: this.#width }, (_, i) => elementAt(values, Math.floor((i * this.#n) / this.#width)));
  }

  /** The picture; rows are repeated until its height is at least a third of its width. */
  png(): Uint8Array {
    const thin = Math.ceil(this.#rows.length / mostPixels);
    const rows = Array.from(this.#rows, (row) => row ?? new Float32Array(this.#width).fill(NaN)).filter((_, i) => i % thin === 0);
    const repeat = Math.max(1, Math.round(this.#width / 3 / rows.length));
    const height = rows.length * repeat;
    const values = new Float32Array(this.#width * height);
    for (let y = 0; y < height; y += 1) values.set(elementAt(rows, Math.floor(y / repeat)), y * this.#width);
    return gridPng(values, this.#width, height, finiteRange(values));
  }
}

/** What {@link profilePlot} draws. */
export interface Profile {
  readonly title: string;
  readonly x: Float64Array;
  readonly initial: Fields;
  readonly final: Fields;
  readonly exact: Fields | undefined;
  readonly time: number;
  /** Titles of axes by name; default: the names. */
  readonly label?: (name: string) => string;
}

/** Points and lines of every field at the end, with the exact solution if there is one. */
export function profilePlot({ title, x, initial, final, exact, time, label = (name) => name }: Profile): PlotSpecification {
  const stride = Math.ceil(x.length / mostPoints);
  const series = (fields: Fields, name: string, label: string) =>
    Array.from(x, (place, i) => ({ x: place, value: elementAt(required(fields[name]), i), series: label }))
      .filter((_, i) => i % stride === 0);
  const names = Object.keys(final);
  const at = `computed, t = ${Number(time.toPrecision(6))}`;
  const domain = ['initial', ...(exact === undefined ? [] : ['exact']), at];
  const range = ['#aaaaaa', ...(exact === undefined ? [] : ['#d62728']), '#6baed6'];
  const encoding = (name: string) => ({
    x: { field: 'x', type: 'quantitative', title: label('x') },
    y: { field: 'value', type: 'quantitative', title: label(name), scale: { zero: false } },
    color: { field: 'series', type: 'nominal', title: null, scale: { domain, range } },
  });
  const layer = (values: object[], mark: object, name: string) => ({ data: { values }, mark, encoding: encoding(name) });
  const computed = x.length <= 400 || exact !== undefined
    ? { type: 'point', size: 14, filled: true, opacity: 0.7 } : { type: 'line', strokeWidth: 1 };
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json', title, background: 'white',
    hconcat: names.map((name) => ({
      width: names.length > 1 ? 300 : 720, height: 300,
      layer: [
        layer(series(initial, name, 'initial'), { type: 'line', strokeWidth: 1, interpolate: 'linear' }, name),
        layer(series(final, name, at), computed, name),
        ...(exact?.[name] === undefined ? [] : [layer(series(exact, name, 'exact'), { type: 'line', strokeWidth: 1 }, name)]),
      ],
    })),
  };
}
