// Which programs a device makes piece by piece.
import type { StreamGraph } from '../graph.ts';
import { startMatters } from '../plan/start.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import type { CompiledGpu } from '../run/gpu.ts';
import { compiledWasm } from '../run/wasm.ts';

/** Slices under way at once. */
export const inFlight = 3;
/** Items of the largest slices that sessions make by default, and bytes of a scalar at most. */
const sliceItems = 2 ** 20, scalarBytes = 8;

/**
 * Refuses programs whose sessions have to go to the CPU. Those that may fail, and whose preworks matter later: a part of the stream cannot
 * be made alone then, since preworks could go wrong in its middle. Of those with state: those whose firings one thread makes in order, if
 * they may fail, since what they keep is overwritten; those with loops without known end, which nothing could go on with that is given more
 * time; and those that the device makes in larger pieces than `chunk` items, or than it has memory for.
 */
export function requirePieces(graph: StreamGraph, compiled: CompiledGpu, chunk = Infinity): void {
  const { program: { plan, input, output, canFault, state }, hasState, wholeStates, device } = compiled;
  const { sites } = compiledWasm(graph).written.program;
  const mayFail = sites.some(({ kind }) => kind !== 'print');
  if (hasState) {
    if (mayFail && canFault && state === undefined) {
      throw new UnsupportedProgram('the program has state in order, and might go wrong: nothing could tell how');
    }
    if (state?.countsTurns === true) {
      throw new UnsupportedProgram('the program has state, and loops that might turn more often than a device is given time for');
    }
    const items = wholeStates * input.items, { limitBytes } = device.memory();
    if (items > chunk) {
      throw new UnsupportedProgram(`the program has state, and the device takes ${items} items at a time, not ${chunk}`);
    }
    const slice = Math.max(items, Math.min(chunk, sliceItems));
    const bytes = 2 * inFlight * scalarBytes * slice * (1 + output.items / input.items);
    if (limitBytes > 0 && bytes > limitBytes) {
      throw new UnsupportedProgram(`the program has state, and slices take up to ${Math.ceil(bytes)} bytes of the device's memory`);
    }
    return;
  }
  const matters = startMatters(plan);
  if (matters !== undefined && matters >= 0 && mayFail) {
    throw new UnsupportedProgram('a prework might go wrong in the middle of the input');
  }
}
