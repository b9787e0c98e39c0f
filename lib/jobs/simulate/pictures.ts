// Profiles of a simulation in one dimension: at the beginning, at the end, and exact.
import { elementAt, required } from '../../core/known.ts';
import type { PlotSpecification } from '../../pictures/plot.ts';
import { atTime, titled, type Units } from '../../pictures/units.ts';
import type { Fields } from './fields.ts';

/** The maximum number of points of a curve. */
const mostPoints = 1500;

/** What {@link profilePlot} draws. */
export interface Profile {
  readonly title: string;
  readonly x: Float64Array;
  readonly initial: Fields;
  readonly final: Fields;
  readonly exact: Fields | undefined;
  readonly time: number;
  readonly units: Units;
}

/** Curves of every field at the beginning and the end, on the exact solution if there is one. */
export function profilePlot({ title, x, initial, final, exact, time, units }: Profile): PlotSpecification {
  const stride = Math.ceil(x.length / mostPoints);
  const series = (fields: Fields, name: string, label: string) =>
    Array.from(x, (place, i) => ({ x: place, value: elementAt(required(fields[name]), i), series: label }))
      .filter((_, i) => i % stride === 0);
  const names = Object.keys(final);
  const at = `computed, ${atTime(time, units)}`;
  const domain = [atTime(0, units), ...(exact === undefined ? [] : ['exact']), at];
  const range = ['#888888', ...(exact === undefined ? [] : ['#f5a65b']), '#1f4e9c'];
  const [start = ''] = domain;
  const encoding = (name: string) => ({
    x: { field: 'x', type: 'quantitative', title: titled('x', units), axis: { tickCount: 6 }, scale: { zero: false, nice: false } },
    y: { field: 'value', type: 'quantitative', title: titled(name, units), scale: { zero: false } },
    color: {
      field: 'series', type: 'nominal', title: null, scale: { domain, range }, legend: { symbolType: 'stroke', symbolStrokeWidth: 3 },
    },
  });
  const layer = (values: object[], mark: object, name: string) => ({ data: { values }, mark, encoding: encoding(name) });
  // Points lie on the exact curve, which shows on both sides of them.
  const computed = exact === undefined ? { type: 'line', strokeWidth: 1.2 } : { type: 'point', size: 7, filled: true, opacity: 1 };
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json', title,
    hconcat: names.map((name) => ({
      width: names.length > 1 ? 300 : 720, height: 300,
      layer: [
        layer(series(initial, name, start), { type: 'line', strokeWidth: 1, strokeDash: [4, 3] }, name),
        ...(exact?.[name] === undefined ? [] : [layer(series(exact, name, 'exact'), { type: 'line', strokeWidth: 4.5 }, name)]),
        layer(series(final, name, at), computed, name),
      ],
    })),
  };
}
