// Planes of grids, for maps.
import { elementAt } from '../core/known.ts';
import type { Plane } from './map.ts';

/**
 * A plane of a field: axis `a` to the right, `b` upwards (`isDown`: downwards), in the middle of the others. At most `most` cells of a side
 * are taken.
 */
export function planeOf(
  values: ArrayLike<number>, shape: readonly number[], [a, b]: readonly [number, number], most: number, { isDown = false } = {},
): Plane {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, extent) => product * extent, 1));
  const [nx, ny] = [elementAt(shape, a), elementAt(shape, b)];
  const thin = Math.max(1, Math.max(nx, ny) / most);
  const [width, height] = [Math.max(1, Math.floor(nx / thin)), Math.max(1, Math.floor(ny / thin))];
  const middle = shape.reduce((sum, extent, axis) =>
    (axis === a || axis === b ? sum : sum + Math.floor(extent / 2) * elementAt(strides, axis)), 0);
  const taken = new Float64Array(width * height);
  for (let row = 0; row < height; row += 1) {
    const line = isDown ? row : height - 1 - row;
    const from = middle + Math.floor(((line + 0.5) * ny) / height) * elementAt(strides, b);
    for (let column = 0; column < width; column += 1) {
      taken[row * width + column] = elementAt(values, from + Math.floor(((column + 0.5) * nx) / width) * elementAt(strides, a));
    }
  }
  return { width, height, values: taken };
}
