// Panels with words above them: what each is, and its measure.
import { elementAt } from '../../core/known.ts';
import { panelsPng, type Panel, type Spacing } from './pictures.ts';

/** A panel, what it is, and a measure of it. */
export interface LabelledPanel extends Panel {
  readonly label: string;
  readonly measure?: string;
}

const [gap, largest, line] = [6, 13, 16];

const escaped = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A line of text, not wider than its column: letters are about 0.55 times as wide as they are high. */
function textAt(x: number, y: number, text: string, width: number, weight: number): string {
  const size = Math.min(largest, width / (0.55 * Math.max(1, text.length)));
  return `<text x="${x}" y="${y}" font-size="${Number(size.toFixed(2))}" font-weight="${weight}">${escaped(text)}</text>`;
}

/** The panels side by side as an SVG, with their labels and measures above them; they are its description, too. */
export function panelsSvg(panels: readonly LabelledPanel[], spacing?: Spacing): string {
  const png = Buffer.from(panelsPng(panels, spacing));
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const column = (width + gap) / panels.length;
  const top = panels.some(({ measure }) => measure !== undefined) ? 2 * line + gap : line + gap;
  const texts = panels.flatMap(({ label, measure }, i) => [
    textAt(i * column, line - 3, label, column - gap, 600),
    ...(measure === undefined ? [] : [textAt(i * column, 2 * line - 3, measure, column - gap, 400)]),
  ]);
  const words = panels.map(({ label, measure }) => (measure === undefined ? label : `${label} (${measure})`)).join('; ');
  const whole = height + top;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${whole}" width="${width}" height="${whole}" role="img">`
    + `<title>${escaped(words)}</title><rect width="100%" height="100%" fill="white"/>`
    + `<g font-family="sans-serif" fill="#222">${texts.join('')}</g>`
    + `<image y="${top}" width="${width}" height="${height}" href="data:image/png;base64,${png.toString('base64')}"/></svg>\n`;
}

/** Panels as a file of a path's kind: an SVG with their labels, or a PNG without. */
export function panelsFile(path: string, panels: readonly LabelledPanel[], spacing?: Spacing): Uint8Array | string {
  return /\.svg$/i.test(path) ? panelsSvg(panels, spacing) : panelsPng(panels, spacing);
}

/** The measure of an image against the ground truth, as far as it is known. */
export function qualityLabel(figures: Readonly<Record<string, number>>, suffix = ''): string | undefined {
  const [psnr, ssim] = [figures[`psnr${suffix}`], figures[`ssim${suffix}`]];
  if (psnr === undefined) return undefined;
  return `PSNR ${psnr.toFixed(1)} dB${ssim === undefined ? '' : `, SSIM ${ssim.toFixed(3)}`}`;
}

/** A panel with a measure that may be unknown. */
export const withMeasure = (panel: Panel, label: string, measure: string | undefined): LabelledPanel =>
  ({ ...panel, label, ...(measure === undefined ? {} : { measure }) });

/** The root of the mean squared difference of two images of one grid, in the units of a range. */
export function changeLabel(one: ArrayLike<number>, two: ArrayLike<number>, [low, high]: readonly [number, number]): string {
  let [sum, count] = [0, 0];
  for (let i = 0; i < one.length; i += 1) {
    const off = elementAt(one, i) - elementAt(two, i);
    if (!Number.isFinite(off)) continue;
    [sum, count] = [sum + off * off, count + 1];
  }
  return `changed by ${(Math.sqrt(sum / Math.max(1, count)) * (high - low)).toPrecision(3)} (root mean square)`;
}
