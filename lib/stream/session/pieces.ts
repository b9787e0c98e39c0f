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
 * be made alone then, since preworks could go wrong in its middle. Those with state that may fail, since nothing could make the steady
 * states before a fault again; and those that the device makes in larger pieces than `chunk` items, or than it has memory for.
 */
export function requirePieces(graph: StreamGraph, compiled: CompiledGpu, chunk = Infinity): void {
  const { program: { plan, input, output, canFault }, hasState, wholeStates, device } = compiled;
  const { sites } = compiledWasm(graph).written.program;
  const mayFail = sites.some(({ kind }) => kind !== 'print');
  if (hasState) {
    if (mayFail && canFault) {
      throw new UnsupportedProgram('the program has state, and might go wrong: a session could not go on from there');
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
