// Equations on grids that stay on the device's multiprocessors: the scheme for cuda/stencil/resident.cuh. Its columns run along the last
// axis, its rows along the one before it, its planes along the first of three.
import type { DeviceText } from './cuda.ts';
import { columnsText, type Cut } from './planes.ts';
import { besideOf, lanes, passHeaders, schemeText, type Ranked, type Shape } from './scheme.ts';
import type { StencilProgram, Target } from './stages.ts';

export const residentKernel = 'resident';

/** A shape, and the planes of a thread: 1 in one and two dimensions. */
export interface ResidentShape extends Shape {
  readonly planes: number;
}

/** The largest offsets along planes, rows and columns. */
const reaches = ({ reach }: StencilProgram): readonly [x: number, y: number, z: number] =>
  [reach.at(-3) ?? 0, reach.at(-2) ?? 0, reach.at(-1) ?? 0];

/** How planes, rows and columns are cut; `depth`: steps between two exchanges. */
export function residentTile(made: StencilProgram, { depth, points, rows, warps, planes }: ResidentShape): { readonly planes: Cut;
    readonly rows: Cut; readonly columns: Cut } {
  const levels = made.stages.length * depth;
  const [rx, ry, rz] = reaches(made);
  const cut = (tile: number, margin: number): Cut => ({ tile, margin, own: tile - 2 * margin });
  return {
    planes: cut(planes, levels * rx), rows: cut(rows * warps, levels * ry),
    columns: cut(lanes * points, Math.ceil((levels * rz) / points) * points),
  };
}

/** Bytes of shared memory of a block: what its warps tell each other. */
export function residentBytes(made: StencilProgram, { points, warps, planes }: ResidentShape): number {
  const { fields, precision } = made.names;
  const [rx, ry] = reaches(made);
  return 2 * (planes + 2 * rx) * fields.length * warps * 2 * ry * points * lanes * (precision === 'f32' ? 4 : 8);
}

/** The kernel, which takes any number of steps. */
export function residentText(made: StencilProgram, target: Target, shape: ResidentShape): DeviceText {
  const ranked: Ranked = { ...made, rank: 3 };
  const [rx, ry, rz] = reaches(made);
  const besideText = made.stages.map((_, s) => `(stage == ${s} && ${besideOf(ranked, s).some(({ dx }) => dx !== 0)})`).join(' || ');
  return {
    source: [
      passHeaders('resident.cuh'),
      schemeText(ranked, target, shape, [
        `  static constexpr int kReachX = ${rx}, kReachY = ${ry}, kReachZ = ${rz}, kPlanes = ${shape.planes};`,
        `  static constexpr int kRows = ${shape.rows}, kWarps = ${shape.warps}, kRing = 2;`,
        '  /// Whether a stage reads beside the cell in other planes than its own.',
        `  static constexpr WARPLOOM_DEVICE bool beside_planes(int stage) { return ${besideText}; }`,
        ...columnsText(ranked, target, shape),
      ]),
      `WARPLOOM_KERNEL(${residentKernel}, warploom::WARPLOOM_TARGET::stencil::ResidentAgent<streaming::Scheme>)`, '',
    ].join('\n'),
    kernels: [residentKernel],
  };
}
