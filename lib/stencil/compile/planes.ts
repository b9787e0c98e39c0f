// Equations in three dimensions as one kernel that takes several steps per pass over memory: the scheme for cuda/stencil/planes.cuh. Its
// planes run along the first axis, rows along the second, columns along the last.
import { required } from '../../core/known.ts';
import { classicText, type DeviceText } from './cuda.ts';
import { besideOf, isPeriodic, lanes, passKernel, schemeText, type Ranked, type Shape } from './scheme.ts';
import type { StencilProgram, Target } from './stages.ts';

/** Planes of a tile in shared memory: one that is in use, the others on their way. */
const ring = 4;

/** Cells of a tile along an axis: all of them, those at each end that are lost, and those that it owns between two others. */
export interface Cut {
  readonly tile: number;
  readonly margin: number;
  readonly own: number;
}

/** How rows and columns are cut. */
export function tileOf({ stages, reach }: StencilProgram, { depth, points, rows, warps }: Shape): { readonly rows: Cut; readonly columns:
    Cut } {
  const levels = stages.length * depth;
  const [, ry = 0, rz = 0] = reach;
  const cut = (tile: number, margin: number): Cut => ({ tile, margin, own: tile - 2 * margin });
  return { rows: cut(rows * warps, levels * ry), columns: cut(lanes * points, Math.ceil((levels * rz) / points) * points) };
}

/** Tiles along an axis of n cells; 0 if it is too short for them. */
export function tilesAlong({ tile, own }: Cut, n: number, periodic: boolean): number {
  if (own < 1) return 0;
  if (periodic) return Math.ceil(n / own);
  return n < tile ? 0 : 1 + Math.ceil((n - tile) / own);
}

/** Bytes of shared memory of a block: planes on their way, and what warps tell each other. */
export function planesBytes({ stages, reach, names }: StencilProgram, { depth, points, rows, warps }: Shape): number {
  const numbers = names.fields.length * points * lanes * warps;
  const edges = 2 * required(reach[1]) * numbers;
  return (ring * rows * numbers + (2 * depth * stages.length + 1) * edges) * (names.precision === 'f32' ? 4 : 8);
}

/** The columns that stages read in each row, as bits. */
export function columnsText(made: Ranked, target: Target, { points, rows }: Shape): readonly string[] {
  const [ry = 0, rz = 0] = [made.reach.at(-2), made.reach.at(-1)];
  const isClosed = made.reach.every((_, axis) => isPeriodic(target, axis));
  const cases = made.stages.flatMap((_, s) => {
    const reads = besideOf(made, s);
    return made.names.fields.flatMap((__, field) => Array.from({ length: rows + 2 * ry }, (___, row) => {
      let bits = 0;
      for (const { component, rest: [dy = 0, dz = 0] } of reads) {
        // Conditions may read all fields.
        const isMeant = component === field || !isClosed;
        const own = row - ry - dy;
        if (!isMeant || own < 0 || own >= rows) continue;
        for (let e = 0; e < points; e += 1) bits |= 1 << (rz + e + dz);
      }
      return bits === 0 ? '' : `stage == ${s} && field == ${field} && row == ${row} ? ${bits}u : `;
    }));
  });
  return ['  static constexpr WARPLOOM_DEVICE unsigned int columns(int stage, int field, int row) {',
    `    return ${cases.join('')}0u;`, '  }'];
}

/** The kernels of `classic`, for single steps, and the pass. */
export function planesText(made: StencilProgram, target: Target, shape: Shape): DeviceText {
  const classic = classicText(made);
  const [rx = 0, ry = 0, rz = 0] = made.reach;
  return {
    source: [
      classic.source, '#include "cuda/stencil/planes.cuh"',
      schemeText(made, target, shape, [
        `  static constexpr int kReachX = ${rx}, kReachY = ${ry}, kReachZ = ${rz};`,
        `  static constexpr int kRows = ${shape.rows}, kWarps = ${shape.warps}, kRing = ${ring};`, ...columnsText(made, target, shape),
      ]),
      `WARPLOOM_KERNEL(${passKernel}, warploom::WARPLOOM_TARGET::stencil::PlanesAgent<streaming::Scheme>)`, '',
    ].join('\n'),
    kernels: [...classic.kernels, passKernel],
  };
}
