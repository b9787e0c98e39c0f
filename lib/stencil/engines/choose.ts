// The engine for a device that fits an equation.
import { refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { remembered } from '../compile/memo.ts';
import { streamingObstacle } from '../compile/scheme.ts';
import { sweptDepth } from '../compile/swept.ts';
import { AdaptiveEngine } from './adaptive-device.ts';
import { longestShared, sharedTime } from './blocks.ts';
import { ClassicEngine, type DeviceParts } from './device.ts';
import { GraphEngine } from './graph.ts';
import { lineResidence } from './line-residence.ts';
import { gridResidence, PersistentEngine } from './persistent.ts';
import type { Engine } from './span.ts';
import { streamingShapes } from './shapes.ts';
import { StreamingEngine } from './streaming.ts';
import { SweptEngine } from './swept.ts';

/** Cells for which `auto` keeps the grid on the multiprocessors. */
const leastPersistent = 2 ** 10, mostPersistent = 2 ** 19;
/** Numbers of a state below which a launch takes less time than it takes the host. */
const worthRecording = 2 ** 21;
/**
 * Nodes of a shared function from which its numbers do not fit in registers beside those of several cells: measured with WENO, 1,831 of
 * them, which takes twice as long by passes as by stages; MUSCL has 629.
 */
export const mostNodes = 1000;
/** Cells from which passes of several steps are faster, measured. */
const worthStreaming = 2 ** 16;

/**
 * Starts a run on a device.
 * @throws ArgumentError if the variant that was asked for cannot run the equation
 */
export async function startDeviceEngine(parts: DeviceParts): Promise<Engine> {
  const { made, target, content: { grid }, request: { variant, depth, points, adaptive } } = parts;
  if (adaptive !== undefined) {
    if (variant === 'auto' || variant === 'classic') return AdaptiveEngine.start(parts);
    throw refusal('variant', "'classic' or 'auto', because the steps vary in length", `'${variant}'`);
  }
  if (variant === 'classic') return ClassicEngine.start(parts, 'one kernel per stage, as asked for');
  if (variant === 'graph') return GraphEngine.begin(parts, 'one kernel per stage, in graphs, as asked for');
  if (variant === 'swept') return startSwept(parts);
  let obstacle = streamingObstacle(made, target, grid.members);
  if (obstacle === undefined && (variant === 'persistent' || variant === 'auto')) {
    const engine = await startPersistent(parts);
    if (engine !== undefined) return engine;
  }
  if (variant === 'persistent') {
    const reason = obstacle ?? 'the grid does not fit on the multiprocessors';
    throw refusal('variant', "'classic', 'graph', 'streaming' or 'auto'", `'persistent': ${reason}`);
  }
  const isWanted = variant === 'streaming';
  const wanted = { depth, points };
  const shapes = obstacle !== undefined ? []
    : remembered(made, ['shapes', grid, wanted], () => streamingShapes(made, target, grid, wanted));
  if (obstacle === undefined && shapes.length === 0) {
    const isPossible = streamingShapes(made, target, { ...grid, shape: grid.shape.map(() => 4096) }, wanted).length > 0;
    obstacle = isPossible ? 'the grid is too narrow for its tiles' : 'its cells do not fit in registers';
  }
  if (obstacle === undefined && !isWanted && grid.cells * grid.members < worthStreaming) obstacle = 'the grid is small';
  const shared = isWanted || depth !== undefined || points !== undefined ? undefined : sharedTime(made);
  if (obstacle === undefined && shared !== undefined && longestShared(made) > mostNodes) {
    obstacle = 'what neighbouring cells share is too long a function for several steps at once';
  }
  if (obstacle === undefined && shared !== undefined && shared < required(shapes[0]).picoseconds) {
    obstacle = 'neighbouring cells share more work than steps share memory';
  }
  if (obstacle === undefined) return StreamingEngine.begin(parts, shapes);
  if (isWanted) throw refusal('variant', "'classic', 'graph' or 'auto'", `'streaming': ${obstacle}`);
  if (grid.cells * grid.members * grid.fields >= worthRecording) return ClassicEngine.start(parts, `one kernel per stage: ${obstacle}`);
  return GraphEngine.begin(parts, `one kernel per stage, in graphs: ${obstacle}`);
}

/** The swept rule, which is chosen by name only. */
async function startSwept(parts: DeviceParts): Promise<Engine> {
  const { made, target, content: { grid }, request: { depth } } = parts;
  const found = sweptDepth(made, target, grid.shape, depth);
  if (typeof found === 'string') throw refusal('variant', "'classic', 'graph', 'streaming' or 'auto'", `'swept': ${found}`);
  return SweptEngine.begin(parts, found);
}

/** Undefined if the grid does not fit on the multiprocessors, or (for `auto`) is so large that passes over memory are as fast. */
async function startPersistent(parts: DeviceParts): Promise<Engine | undefined> {
  const { made, target, device, content: { grid }, request: { variant, depth, points } } = parts;
  const [isLine, cells] = [grid.shape.length === 1, grid.cells * grid.members];
  if (variant === 'auto' && (cells < leastPersistent || (cells > mostPersistent && !isLine))) return undefined;
  if (variant === 'auto' && longestShared(made) > mostNodes) return undefined;
  const multiprocessors = Math.max(1, device.description.multiprocessors);
  const limits = { depth, points, multiprocessors, blocks: device.backend === 'simt' ? 2 : 16 };
  const find = isLine ? lineResidence : gridResidence;
  const residence = remembered(made, ['resident', grid, limits], () => find(made, target, grid, limits));
  if (residence === undefined) return undefined;
  if (variant === 'auto' && isLine && cells > worthStreaming) {
    const [pass] = remembered(made, ['shapes', grid, { depth, points }], () => streamingShapes(made, target, grid, { depth, points }));
    if (pass !== undefined && pass.picoseconds < residence.shape.predicted) return undefined;
  }
  return PersistentEngine.begin(parts, residence);
}
