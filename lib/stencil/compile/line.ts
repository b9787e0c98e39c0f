// Equations in one dimension as one kernel that takes many steps per pass over memory: the scheme for cuda/stencil/line.cuh. It is a single
// row with columns along y.
import { required } from '../../core/known.ts';
import { classicText, type DeviceText } from './cuda.ts';
import { besideOf, innerAlong, lanes, passKernel, schemeText, type Shape } from './scheme.ts';
import { stageSize, type StencilProgram, type Target } from './stages.ts';

type Cut = Pick<Shape, 'depth' | 'points' | 'warps'>;

/** How the warps of a block share a tile. Cells: of the tile, of its margins, and of the lanes at each side of a warp that others share. */
export interface LineTile {
  readonly haloLanes: number;
  readonly halo: number;
  readonly margin: number;
  readonly tile: number;
  /** Steps that the shared lanes of a warp last. */
  readonly round: number;
}

/** Places that a step uses up at each side. */
const reachOfStep = ({ stages, reach }: StencilProgram): number => stages.length * required(reach.at(-1));

/** Nodes of a stage times cells of a lane that are compiled without a branch in between, about. */
const mostUnrolled = 1200;

export function lineTile(made: StencilProgram, { depth, points, warps }: Cut): LineTile {
  const step = reachOfStep(made);
  const haloLanes = Math.max(1, Math.ceil(step / points));
  const halo = haloLanes * points;
  const round = warps === 1 ? depth : Math.min(depth, Math.floor(halo / step));
  return { haloLanes, halo, margin: depth * step, tile: warps * (lanes * points - 2 * halo) + 2 * halo, round };
}

/** Bytes of shared memory of a block: two halves for what its warps tell each other, and each warp's cells from and to memory. */
export function lineBytes(made: StencilProgram, shape: Cut): number {
  const { fields, precision } = made.names;
  const { points, warps } = shape;
  const reals = 2 * warps * 2 * fields.length * lineTile(made, shape).halo + warps * lanes * (points | 1);
  return reals * (precision === 'f32' ? 4 : 8);
}

/** Tiles of a line of so many cells; 0 if it is too short for them. */
export function lineTiles(made: StencilProgram, shape: Cut, cells: number, isPeriodic: boolean): number {
  const { tile, margin, halo, haloLanes } = lineTile(made, shape);
  const own = tile - 2 * margin;
  if (own < shape.points || 4 * haloLanes > lanes) return 0;
  if (isPeriodic) return Math.ceil(cells / own);
  if (cells < tile - halo || own < halo) return 0;
  // A tile at each end, which stores more: it has no margin there.
  const first = tile - halo - margin;
  return 2 + Math.max(0, Math.ceil((cells - 2 * first) / own));
}

/** The kernels of both variants: those of `classic`, for single steps, and the pass. */
export function lineText(made: StencilProgram, target: Target, shape: Shape): DeviceText {
  const classic = classicText(made);
  const { haloLanes, round } = lineTile(made, shape);
  const size = made.stages.reduce((sum, stage) => sum + stageSize(stage), 0) * shape.points;
  const unroll = [8, 4, 2, 1].find((each) => each <= round && each * size <= mostUnrolled) ?? 1;
  const beside = made.stages.map((_, s) => [...new Set(besideOf(made, s).map(({ component }) => component))]
    .map((component) => `(stage == ${s} && component == ${component})`)).flat().join(' || ') || 'false';
  return {
    source: [
      classic.source, '#include "cuda/stencil/line.cuh"',
      schemeText(made, target, shape, [
        `  static constexpr WARPLOOM_DEVICE bool beside(int stage, int component) { return ${beside}; }`,
        `  static constexpr int kReachY = ${required(made.reach.at(-1))}, kInnerY = ${Math.max(1, innerAlong(made, target, 0))};`,
        `  static constexpr int kWarps = ${shape.warps}, kHaloLanes = ${haloLanes}, kRound = ${round}, kUnroll = ${unroll};`,
      ]),
      `WARPLOOM_KERNEL(${passKernel}, warploom::WARPLOOM_TARGET::stencil::LineAgent<streaming::Scheme>)`, '',
    ].join('\n'),
    kernels: [...classic.kernels, passKernel],
  };
}
