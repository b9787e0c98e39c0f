// Vega-Lite specifications drawn as SVG, without a browser or canvas.

/** A Vega-Lite specification; see the vega-lite documentation. */
export type PlotSpecification = object;

/**
 * The SVG of a Vega-Lite specification, or undefined if the optional packages `vega` and `vega-lite` are not installed (results are then
 * written without pictures).
 */
export async function plotSvg(specification: PlotSpecification): Promise<string | undefined> {
  let vega: typeof import('vega');
  let lite: typeof import('vega-lite');
  try {
    [vega, lite] = await Promise.all([import('vega'), import('vega-lite')]);
  } catch {
    return undefined;
  }
  const compiled = lite.compile(specification as Parameters<typeof lite.compile>[0]).spec;
  const view = new vega.View(vega.parse(compiled), { renderer: 'none', logLevel: vega.Error });
  try {
    return await view.toSVG();
  } finally {
    view.finalize();
  }
}
