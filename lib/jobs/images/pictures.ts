// Pictures of images: slices side by side, outlines of labels, contours and grids as SVG.
import { encode } from 'fast-png';
import { elementAt, lastOf, required } from '../../core/known.ts';
import type { HostImage } from './input.ts';

/** A plane of an image: up to three channels, one after the other. */
interface Plane {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  /** How wide and how high a pixel is, in units of the least distance of voxels. */
  readonly pixel: readonly [number, number];
  readonly at: (x: number, y: number, c: number) => number;
}

/** The intensities that are drawn black and white. */
export type Shades = readonly [black: number, white: number];

/** One column of a picture. */
export interface Panel {
  readonly image: HostImage;
  readonly shades?: Shades;
  /** Labels whose outline is drawn on it. */
  readonly outline?: ArrayLike<number>;
}

const background = 255;
const gap = 6;
const outlineColour = [255, 59, 48] as const;
/** Beside an outline, so that it is seen on every colour. */
const haloColour = 255;

/** Distances of voxels in x, y and z; only their ratios count. */
export type Spacing = readonly [x: number, y: number, z: number];

/** Distances in units of the least one; equal ones where the file gives none that can be. */
function relative(spacing: Spacing | undefined, isVolume: boolean): Spacing {
  const used = spacing?.slice(0, isVolume ? 3 : 2) ?? [];
  const isUsable = used.length > 0 && used.every((each) => Number.isFinite(each) && each > 0);
  const [x = 1, y = 1, z = 1] = isUsable ? used.map((each) => each / Math.min(...used)) : [];
  return [x, y, z];
}

/** The middle planes: one of a picture; xy, xz and yz of a volume. */
function planesOf(
  { data, width, height, depth = 1, channels = 1 }: HostImage, values: ArrayLike<number> = data, spacing?: Spacing,
): Plane[] {
  const [sx, sy, sz] = relative(spacing, depth > 1);
  const points = width * height * depth;
  const shown = Math.min(channels, 3);
  const pixel = (x: number, y: number, z: number, c: number) => elementAt(values, c * points + (z * height + y) * width + x);
  const [mx, my, mz] = [width >> 1, height >> 1, depth >> 1];
  const xy: Plane = { width, height, channels: shown, pixel: [sx, sy], at: (x, y, c) => pixel(x, y, mz, c) };
  if (depth === 1) return [xy];
  return [xy, { width, height: depth, channels: shown, pixel: [sx, sz], at: (x, y, c) => pixel(x, my, depth - 1 - y, c) },
    { width: height, height: depth, channels: shown, pixel: [sy, sz], at: (x, y, c) => pixel(mx, x, depth - 1 - y, c) }];
}

/** A label's pixel with a neighbour outside it. */
function isOutline({ width, height, at }: Plane, x: number, y: number): boolean {
  if (at(x, y, 0) === 0) return false;
  return [[1, 0], [-1, 0], [0, 1], [0, -1]].some(([dx, dy]) => {
    const [nx, ny] = [x + required(dx), y + required(dy)];
    return nx >= 0 && ny >= 0 && nx < width && ny < height && at(nx, ny, 0) === 0;
  });
}

/** Pixels of a picture per pixel of a plane, or (negative) pixels of the plane per pixel of the picture. */
function zoomOf(planes: readonly Plane[]): number {
  const longest = Math.max(...planes.map(({ width, height, pixel: [w, h] }) => Math.max(width * w, height * h)));
  return longest > 1024 ? -Math.ceil(longest / 1024) : Math.max(1, Math.round(320 / longest));
}

const scaled = (length: number, zoom: number): number =>
  Math.max(1, zoom > 0 ? Math.round(length * zoom) : Math.ceil(length / -zoom));

/** Extents of a plane in a picture. */
const drawn = ({ width, height, pixel: [w, h] }: Plane, zoom: number): [width: number, height: number] =>
  [scaled(width * w, zoom), scaled(height * h, zoom)];

/** The pixel of a plane at an offset in a picture. */
function sampled(offset: number, zoom: number, pixel: number, extent: number): number {
  return Math.min(extent - 1, Math.floor((zoom > 0 ? offset / zoom : offset * -zoom) / pixel));
}

/** A plane's outline in a picture: 2 on it, 1 on its halo, one pixel wide. */
function outlineOf(plane: Plane, zoom: number): Uint8Array {
  const [width, height] = drawn(plane, zoom);
  const marks = new Uint8Array(width * height);
  for (let j = 0; j < height; j += 1) {
    for (let i = 0; i < width; i += 1) {
      const [x, y] = [sampled(i, zoom, plane.pixel[0], plane.width), sampled(j, zoom, plane.pixel[1], plane.height)];
      if (isOutline(plane, x, y)) marks[j * width + i] = 2;
    }
  }
  const marked = (x: number, y: number): boolean => x >= 0 && y >= 0 && x < width && y < height && marks[y * width + x] === 2;
  for (let j = 0; j < height; j += 1) {
    for (let i = 0; i < width; i += 1) {
      if (marked(i, j)) continue;
      if (marked(i - 1, j) || marked(i + 1, j) || marked(i, j - 1) || marked(i, j + 1)) marks[j * width + i] = 1;
    }
  }
  return marks;
}

/**
 * Panels side by side, with the planes of volumes below each other. All panels have the same grid. Pixels have the shape that the spacing
 * gives them: a scan of 1 × 1 × 3 mm is three times as high in its xz and yz planes as its slices are many.
 */
export function panelsPng(panels: readonly Panel[], spacing?: Spacing): Uint8Array {
  const columns = panels.map(({ image }) => planesOf(image, image.data, spacing));
  const [first] = columns as [Plane[]];
  const zoom = zoomOf(first);
  const columnWidth = Math.max(...first.map((plane) => drawn(plane, zoom)[0]));
  const tops = first.map((_, row) => first.slice(0, row).reduce((sum, plane) => sum + drawn(plane, zoom)[1] + gap, 0));
  const width = panels.length * (columnWidth + gap) - gap;
  const height = lastOf(tops) + drawn(lastOf(first), zoom)[1];
  const picture = new Uint8Array(3 * width * height).fill(background);
  panels.forEach(({ image, shades = [0, 1], outline }, column) => {
    const labels = outline === undefined ? undefined : planesOf({ ...image, channels: 1 }, outline, spacing);
    elementAt(columns, column).forEach((plane, row) => {
      const tone = (x: number, y: number, c: number) => {
        const value = plane.at(x, y, plane.channels === 3 ? c : 0);
        return Number.isFinite(value) ? Math.min(255, Math.max(0, Math.round((255 * (value - shades[0])) / (shades[1] - shades[0])))) : 128;
      };
      const marks = labels === undefined ? undefined : outlineOf(elementAt(labels, row), zoom);
      const [across, down] = drawn(plane, zoom);
      for (let j = 0; j < down; j += 1) {
        for (let i = 0; i < across; i += 1) {
          const [x, y] = [sampled(i, zoom, plane.pixel[0], plane.width), sampled(j, zoom, plane.pixel[1], plane.height)];
          const mark = marks?.[j * across + i] ?? 0;
          const at = 3 * ((elementAt(tops, row) + j) * width + column * (columnWidth + gap) + i);
          for (let c = 0; c < 3; c += 1) {
            picture[at + c] = mark === 2 ? elementAt(outlineColour, c) : mark === 1 ? haloColour : tone(x, y, c);
          }
        }
      }
    });
  });
  return encode({ width, height, data: picture, channels: 3, depth: 8 });
}

/** An SVG path through points, x first. */
const pathOf = (points: readonly (readonly [number, number])[], closed: boolean): string =>
  `M${points.map(([x, y]) => `${Number(x.toFixed(2))},${Number(y.toFixed(2))}`).join('L')}${closed ? 'Z' : ''}`;

/** An SVG of lines over a faint or full-strength picture of the image's middle plane; the centre of pixel (x, y) is at (x, y). */
export function linesSvg(
  image: HostImage, lines: readonly (readonly (readonly [number, number])[])[],
  { closed = false, shades = [0, 1] as Shades, faint = false, colour = '#ff3b30', title = '' } = {},
): string {
  const [plane] = planesOf(image) as [Plane];
  const { width, height } = plane;
  const flat = { data: Float32Array.from({ length: width * height * plane.channels }, (_, i) =>
    plane.at(i % width, Math.floor(i / width) % height, Math.floor(i / (width * height)))), width, height, channels: plane.channels };
  const zoom = zoomOf([plane]);
  const png = Buffer.from(panelsPng([{ image: flat, shades }])).toString('base64');
  const [w, h] = [scaled(width, zoom), scaled(height, zoom)];
  const d = lines.map((line) => pathOf(line, closed)).join('');
  const path = (stroke: string, wide: number): string => `<path d="${d}" fill="none" stroke="${stroke}" `
    + `stroke-width="${Number((wide * (width / w)).toFixed(3))}" stroke-linejoin="round"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-0.5 -0.5 ${width} ${height}" width="${w}" height="${h}">`
    + `<title>${title.replace(/[<>&]/g, ' ')}</title>`
    + `<image x="-0.5" y="-0.5" width="${width}" height="${height}" opacity="${faint ? 0.45 : 1}" href="data:image/png;base64,${png}"/>`
    + (faint ? '' : path('#fff', 3.6)) + `${path(colour, 1.6)}</svg>\n`; // a halo, so that lines are seen on every colour
}

/** Lines of a regular grid in the reference, moved by the displacement into the template (middle plane of a volume). */
export function gridLines({ data, width, height, depth = 1 }: HostImage, spacing = Math.max(2, Math.round(Math.max(width, height) / 28))) {
  const points = width * height * depth;
  const slice = (depth >> 1) * width * height;
  const moved = (x: number, y: number): [number, number] => {
    const i = slice + y * width + x;
    return [x + elementAt(data, i), y + elementAt(data, points + i)];
  };
  const steps = (extent: number) => Array.from({ length: Math.ceil(extent / spacing) }, (_, k) => k * spacing);
  const range = (extent: number) => Array.from({ length: extent }, (_, k) => k);
  return [
    ...steps(height).map((y) => range(width).map((x) => moved(x, y))),
    ...steps(width).map((x) => range(height).map((y) => moved(x, y))),
  ];
}

/** Energies (or measures) by iteration, as a Vega-Lite chart. */
export function historyPlot(title: string, series: Readonly<Record<string, ArrayLike<number>>>, { every = 1, log = false } = {}): object {
  const values = Object.entries(series).flatMap(([name, numbers]) => {
    const stride = Math.ceil(numbers.length / 1000);
    return Array.from(numbers, (value, i) => ({ iteration: (i + 1) * every, value, series: name })).filter((_, i) => i % stride === 0);
  });
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json', title, width: 640, height: 300, background: 'white',
    data: { values: values.filter(({ value }) => Number.isFinite(value) && (!log || value > 0)) },
    mark: { type: 'line', strokeWidth: 1.5, point: values.length <= 40 },
    encoding: {
      x: { field: 'iteration', type: 'quantitative' },
      y: { field: 'value', type: 'quantitative', title: Object.keys(series).join(', '), scale: log ? { type: 'log' } : { zero: false } },
      color: { field: 'series', type: 'nominal', title: null },
    },
  };
}
