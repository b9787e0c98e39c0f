// Helpers that pictures of streams share.

/** Okabe and Ito's colours, told apart by people who see few of them. */
export const colours = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a800', '#7f7f7f'];

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
export const rounded = (value: number): string => String(Math.round(value * 100) / 100);

/** A text at a place; `attributes`: more of SVG. */
export function textAt(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${rounded(x)}" y="${rounded(y)}"${attributes === '' ? '' : ` ${attributes}`}>${escaped(content)}</text>`;
}

/** Round numbers from 0 to `end`, at most nine: multiples of 1, 2 or 5 times a power of ten. */
export function roundTicks(end: number): number[] {
  if (!(end > 0) || !Number.isFinite(end)) return [0];
  const power = 10 ** Math.floor(Math.log10(end / 8));
  const step = power * ([1, 2, 5, 10].find((times) => times * power * 8 >= end) ?? 10);
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** A whole picture. */
export function svgDocument(width: number, height: number, title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${rounded(width)}" height="${rounded(height)}" `
      + `viewBox="0 0 ${rounded(width)} ${rounded(height)}" font-family="sans-serif" font-size="11" fill="#222">`,
    `<title>${escaped(title)}</title>`, `<rect width="${rounded(width)}" height="${rounded(height)}" fill="#fff"/>`, ...parts, '</svg>', '',
  ].join('\n');
}
