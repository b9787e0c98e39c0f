// Vega-Lite specifications drawn as SVG, without a browser or canvas.

/** A Vega-Lite specification; see the vega-lite documentation. */
export type PlotSpecification = object;

/** The note of results without pictures. */
export const noPictures = 'no pictures: install the optional packages vega and vega-lite';

/** The look of all charts: titles at the left, texts of a size that can be read, legends in full colour, no zeros that say nothing. */
const look = {
  numberFormat: ',.12~g',
  background: 'white', title: { anchor: 'start', fontSize: 14, subtitleFontSize: 12 },
  axis: { labelFontSize: 11, titleFontSize: 12 },
  legend: { labelFontSize: 11, titleFontSize: 12, symbolOpacity: 1, labelLimit: 320, titleLimit: 320 },
  header: { labelFontSize: 12 },
} as const;

/** The longest line of a title. */
const longestTitle = 64;

/** A specification whose title is in lines that are no wider than a chart. */
function withLines(specification: PlotSpecification): PlotSpecification {
  const { title } = specification as { title?: unknown };
  if (typeof title !== 'string' || title.length <= longestTitle) return specification;
  const lines = [''];
  for (const word of title.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && last.length + 1 + word.length > longestTitle) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return { ...specification, title: lines };
}

/** Vega counts gradients and clipping paths per process; counted per picture, the same chart has the same bytes. */
function withOwnIds(svg: string): string {
  const own = new Map<string, string>();
  return svg.replaceAll(/( id="|url\(#|href="#)(gradient_|clip)(\d+)/g, (_, before: string, kind: string, number: string) => {
    const name = kind + number;
    if (!own.has(name)) own.set(name, `${kind}${own.size}`);
    return `${before}${own.get(name)}`;
  });
}

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
  const compiled = lite.compile(withLines(specification) as Parameters<typeof lite.compile>[0], { config: look }).spec;
  const view = new vega.View(vega.parse(compiled), { renderer: 'none', logLevel: vega.Error });
  try {
    await view.runAsync();
    return withOwnIds(await view.toSVG());
  } finally {
    view.finalize();
  }
}
