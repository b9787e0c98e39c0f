// Equations in one and two dimensions on grids that stay on the device's multiprocessors: the scheme for cuda/stencil/resident.cuh. Its
// rows run along the first of two axes, its columns along the last; one dimension is a single row.
import type { DeviceText } from './cuda.ts';
import { classicText } from './cuda.ts';
import { columnsText, type Cut } from './planes.ts';
import { lanes, schemeText, type Ranked, type Shape } from './scheme.ts';
import type { StencilProgram, Target } from './stages.ts';

export const residentKernel = 'resident';

/** How rows and columns are cut; `depth`: steps between two exchanges. */
export function residentTile({ stages, reach }: StencilProgram, { depth, points, rows, warps }: Shape): { readonly rows: Cut;
    readonly columns: Cut } {
  const levels = stages.length * depth;
  const [ry, rz] = [reach.at(-2) ?? 0, reach.at(-1) ?? 0];
  const cut = (tile: number, margin: number): Cut => ({ tile, margin, own: tile - 2 * margin });
  return { rows: cut(rows * warps, levels * ry), columns: cut(lanes * points, Math.ceil((levels * rz) / points) * points) };
}

/** Bytes of shared memory of a block: what its warps tell each other. */
export function residentBytes({ reach, names }: StencilProgram, { points, warps }: Shape): number {
  return 2 * names.fields.length * warps * 2 * (reach.at(-2) ?? 0) * points * lanes * (names.precision === 'f32' ? 4 : 8);
}

/** The kernels of `classic`, and the one that takes any number of steps. */
export function residentText(made: StencilProgram, target: Target, shape: Shape): DeviceText {
  const classic = classicText(made);
  const ranked: Ranked = { ...made, rank: 3 };
  const [ry, rz] = [made.reach.at(-2) ?? 0, made.reach.at(-1) ?? 0];
  return {
    source: [
      classic.source, '#include "cuda/stencil/resident.cuh"',
      schemeText(ranked, target, shape, [
        `  static constexpr int kReachX = 0, kReachY = ${ry}, kReachZ = ${rz};`,
        `  static constexpr int kRows = ${shape.rows}, kWarps = ${shape.warps}, kRing = 2;`, ...columnsText(ranked, target, shape),
      ]),
      `WARPLOOM_KERNEL(${residentKernel}, warploom::WARPLOOM_TARGET::stencil::ResidentAgent<streaming::Scheme>)`, '',
    ].join('\n'),
    kernels: [...classic.kernels, residentKernel],
  };
}
