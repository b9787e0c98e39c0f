// Equations in two dimensions by the swept rule: the scheme for cuda/stencil/swept.cuh.
import { elementAt, required } from '../../core/known.ts';
import { classicText, type DeviceText } from './cuda.ts';
import { isPeriodic, layoutOf, schemeText } from './scheme.ts';
import type { StencilProgram, Target } from './stages.ts';

/** Kernels of pyramids (and octahedra), and of bridges. */
export const pyramidKernel = 'pyramid', bridgeKernel = 'bridge';

/** Steps of a round that are considered, the best first: large tiles exchange least. */
const depths = [32, 24, 20, 16, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
/** Bytes of shared memory with which a multiprocessor holds two blocks, and the most that a block may have. */
const twoBlocks = 113 * 1024, mostBytes = 227 * 1024;
/** Stages of a round: their times are parameters. */
const mostLevels = 128;

/** Cells of a tile along each axis. */
export const sweptTile = ({ stages, reach }: StencilProgram, depth: number): readonly number[] =>
  reach.map((r) => 2 * stages.length * depth * r);

/** Bytes of shared memory of a block: the planes of two levels. */
export function sweptBytes(made: StencilProgram, depth: number): number {
  const cells = sweptTile(made, depth).reduce((product, side, axis) => product * (side + 2 * elementAt(made.reach, axis)), 1);
  return 2 * layoutOf(made).components * cells * (made.names.precision === 'f32' ? 4 : 8);
}

/** The steps of a round, or why there can be none. */
export function sweptDepth(made: StencilProgram, target: Target, shape: readonly number[], wanted: number | undefined): number | string {
  const { names, reach, stages } = made;
  if (names.dimensions !== 2) return 'it is for two dimensions';
  if (reach.includes(0)) return 'it needs neighbours along all axes';
  if (!reach.every((_, axis) => isPeriodic(target, axis))) return 'it needs periodic boundaries';
  const fits = depths.concat(wanted ?? []).filter((depth) => (wanted === undefined || depth === wanted)
    && sweptBytes(made, depth) <= mostBytes && depth * stages.length <= mostLevels);
  if (fits.length === 0) return 'its tiles do not fit in shared memory';
  const cut = fits.filter((depth) => sweptTile(made, depth).every((side, axis) => elementAt(shape, axis) % side === 0));
  const of = wanted === undefined ? '2 × reach × stages' : '2 × reach × stages × depth';
  return cut.find((depth) => sweptBytes(made, depth) <= twoBlocks) ?? cut.at(-1)
    ?? `its tiles have a multiple of ${of} cells along each axis, which does not divide ${shape.join(' × ')}`;
}

/** The kernels of `classic`, for single steps, and those of rounds. */
export function sweptText(made: StencilProgram, target: Target, depth: number): DeviceText {
  const classic = classicText(made);
  const [rx, ry] = made.reach;
  const space = 'warploom::WARPLOOM_TARGET::stencil';
  return {
    source: [
      classic.source, '#include "cuda/stencil/swept.cuh"',
      schemeText(made, target, { depth, points: 1, rows: 1, warps: 8, minBlocks: 1 },
        [`  static constexpr int kReachX = ${required(rx)}, kReachY = ${required(ry)};`]),
      `WARPLOOM_KERNEL(${pyramidKernel}, ${space}::PyramidAgent<streaming::Scheme>)`,
      `WARPLOOM_KERNEL(${bridgeKernel}, ${space}::BridgeAgent<streaming::Scheme>)`, '',
    ].join('\n'),
    kernels: [...classic.kernels, pyramidKernel, bridgeKernel],
  };
}
