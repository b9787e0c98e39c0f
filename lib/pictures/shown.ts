// What notebooks show: images, volumes slice by slice, and charts, which the notebook itself draws.
import { encode } from 'fast-png';
import type { MimeBundle } from '../core/display.ts';
import { elementAt, required } from '../core/known.ts';
import { finiteRange } from './grid.ts';

/** A picture or a volume, plane by plane, as `imaging.Image` arranges it. */
export interface Raster {
  readonly data: ArrayLike<number>;
  readonly width: number;
  readonly height: number;
  readonly depth?: number | undefined;
  readonly channels?: number | undefined;
}

/** The longest side of a picture in a notebook, in pixels of its own; and how many slices of a volume are shown at most. */
const longestSide = 1024, mostSlices = 64;

/** The PNG of one slice: grey, or red, green and blue; `range` becomes black and white. Large ones are thinned out. */
export function slicePng(raster: Raster, z: number, range: readonly [number, number]): Uint8Array {
  const { data, width, height, depth = 1, channels = 1 } = raster;
  const step = Math.max(1, Math.ceil(Math.max(width, height) / longestSide));
  const [wide, high] = [Math.ceil(width / step), Math.ceil(height / step)];
  const shown = channels >= 3 ? 3 : 1;
  const bytes = new Uint8Array(wide * high * shown);
  const scale = range[1] > range[0] ? 255 / (range[1] - range[0]) : 0;
  for (let c = 0; c < shown; ++c) {
    for (let y = 0; y < high; ++y) {
      const row = ((c * depth + z) * height + y * step) * width;
      for (let x = 0; x < wide; ++x) {
        const value = (required(data[row + x * step]) - range[0]) * scale;
        bytes[(y * wide + x) * shown + c] = Number.isFinite(value) ? Math.min(255, Math.max(0, Math.round(value))) : 128;
      }
    }
  }
  return encode({ width: wide, height: high, data: bytes, channels: shown, depth: 8 });
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');

/** Slices with a slider; notebooks that run no scripts show the middle one. */
function volumeHtml(pngs: readonly string[], slices: readonly number[], depth: number): string {
  const middle = pngs.length >> 1;
  const images = pngs.map((png, i) =>
    `<img src="data:image/png;base64,${png}" `
    + `style="display:${i === middle ? 'block' : 'none'};min-width:256px;image-rendering:pixelated">`);
  const show = 'const p=this.parentElement.parentElement;'
    + 'p.querySelectorAll("img").forEach((e,i)=>{e.style.display=i==this.value?"block":"none"});'
    + 'p.querySelector("output").value=this.dataset.slices.split(",")[this.value]';
  return `<div>${images.join('')}<label>slice <input type="range" min="0" max="${pngs.length - 1}" value="${middle}" `
    + `data-slices="${slices.join(',')}" oninput='${show}'> <output>${elementAt(slices, middle)}</output> of ${depth}</label></div>`;
}

/** A picture as PNG; a volume as its middle slice and, in HTML, as slices with a slider. */
export function rasterBundle(raster: Raster, range: readonly [number, number] = finiteRange(raster.data)): MimeBundle {
  const { depth = 1 } = raster;
  const count = Math.min(depth, mostSlices);
  const slices = Array.from({ length: count }, (_, i) => Math.floor(((i + 0.5) * depth) / count));
  if (depth === 1) return { 'image/png': base64(slicePng(raster, 0, range)) };
  const pngs = slices.map((z) => base64(slicePng(raster, z, range)));
  return { 'image/png': elementAt(pngs, count >> 1), 'text/html': volumeHtml(pngs, slices, depth) };
}

/** A Vega-Lite specification for a notebook, which brings its own Vega-Lite. */
export function chartBundle(specification: object): MimeBundle {
  return {
    'application/vnd.vegalite.v5+json': { ...specification, $schema: 'https://vega.github.io/schema/vega-lite/v5.json' },
  };
}
