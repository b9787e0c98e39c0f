// The namespace `notebook`: what notebooks draw (Deno's Jupyter kernel, and others that read Symbol.for('Jupyter.display')).
export { plot, show, table } from './show.ts';
export type { Chart, PlotMark, PlotOptions, PlotSeries, Shown, ShowOptions } from './show.ts';
