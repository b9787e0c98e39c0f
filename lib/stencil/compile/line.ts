// Equations in one dimension as one kernel that takes many steps per pass over memory: the scheme for cuda/stencil/line.cuh. It is a single
// row with columns along y.
import { required } from '../../core/known.ts';
import type { DeviceText } from './cuda.ts';
import { fieldsBeside } from './line-cells.ts';
import { innerAlong, lanes, passHeaders, passKernel, schemeText, type Shape } from './scheme.ts';
import { stageSize, type StencilProgram, type Target } from './stages.ts';

/** `haloLanes`: lanes at each side of a warp that others share; default: those that a step needs. */
export interface LineCut extends Pick<Shape, 'depth' | 'points' | 'warps'> {
  readonly haloLanes?: number;
}

/** A shape of tiles that stay on a device. */
export interface LineShape extends Shape {
  readonly haloLanes: number;
}

export const lineResidentKernel = 'line_resident';

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
export const reachOfStep = ({ stages, reach }: StencilProgram): number => stages.length * required(reach.at(-1));

/** Lanes that a step uses up at each side of a warp. */
export const leastHalo = (made: StencilProgram, points: number): number => Math.max(1, Math.ceil(reachOfStep(made) / points));

/** Nodes of a stage times cells of a lane that are compiled without a branch in between, about. */
const mostUnrolled = 1200;

export function lineTile(made: StencilProgram, { depth, points, warps, haloLanes = leastHalo(made, points) }: LineCut): LineTile {
  const step = reachOfStep(made);
  const halo = haloLanes * points;
  const round = warps === 1 ? depth : Math.min(depth, Math.floor(halo / step));
  return { haloLanes, halo, margin: depth * step, tile: warps * (lanes * points - 2 * halo) + 2 * halo, round };
}

/** Bytes of shared memory of a block: two halves for what its warps tell each other, and each warp's cells from and to memory. */
export function lineBytes(made: StencilProgram, shape: LineCut): number {
  const { fields, precision } = made.names;
  const { points, warps } = shape;
  const reals = fields.length * warps * (2 * 2 * lineTile(made, shape).halo + lanes * (points | 1));
  return reals * (precision === 'f32' ? 4 : 8);
}

/** Tiles of a line of so many cells; 0 if it is too short for them. */
export function lineTiles(made: StencilProgram, shape: LineCut, cells: number, isPeriodic: boolean): number {
  const { tile, margin, halo, haloLanes } = lineTile(made, shape);
  const own = tile - 2 * margin;
  if (own < shape.points || 4 * haloLanes > lanes) return 0;
  if (isPeriodic) return Math.ceil(cells / own);
  if (cells < tile - halo || own < halo) return 0;
  // A tile at each end, which stores more: it has no margin there.
  const first = tile - halo - margin;
  return 2 + Math.max(0, Math.ceil((cells - 2 * first) / own));
}

/** A kernel of line.cuh or line_resident.cuh, which takes any number of steps. */
function textOf(
  made: StencilProgram, target: Target, shape: Shape, { haloLanes, round }: LineTile,
  { header, kernel, agent }: { readonly header: string; readonly kernel: string; readonly agent: string },
): DeviceText {
  const size = made.stages.reduce((sum, stage) => sum + stageSize(stage), 0) * shape.points;
  const unroll = [8, 4, 2, 1].find((each) => each <= round && each * size <= mostUnrolled) ?? 1;
  const beside = made.stages.map((_, s) => fieldsBeside(made, s).map((component) => 
    `(stage == ${s} && component == ${component})`)).flat().join(' || ') || 'false';
  return {
    source: [
      passHeaders(header),
      schemeText(made, target, shape, [
        `  static constexpr WARPLOOM_DEVICE bool beside(int stage, int component) { return ${beside}; }`,
        `  static constexpr int kReachY = ${required(made.reach.at(-1))}, kInnerY = ${Math.max(1, innerAlong(made, target, 0))};`,
        `  static constexpr int kWarps = ${shape.warps}, kHaloLanes = ${haloLanes}, kRound = ${round}, kUnroll = ${unroll};`,
      ], true),
      `WARPLOOM_KERNEL(${kernel}, warploom::WARPLOOM_TARGET::stencil::${agent}<streaming::Scheme>)`, '',
    ].join('\n'),
    kernels: [kernel],
  };
}

/** The kernel of passes over memory. */
export const lineText = (made: StencilProgram, target: Target, shape: Shape): DeviceText =>
  textOf(made, target, shape, lineTile(made, shape), { header: 'line.cuh', kernel: passKernel, agent: 'LineAgent' });

/** The kernel of tiles that stay on a device. The margins of tiles are an argument, so that the depth changes nothing. */
export function lineResidentText(made: StencilProgram, target: Target, given: LineShape): DeviceText {
  const tile = lineTile(made, { ...given, depth: lanes * given.points });
  return textOf(made, target, { ...given, depth: tile.round }, tile,
    { header: 'line_resident.cuh', kernel: lineResidentKernel, agent: 'LineResidentAgent' });
}
