// What an H200 does per cycle, as models of kernels take it, and the operations of functions.
import type { Expression, KernelFunction } from '../../kernel/ir.ts';
import { walkBody, walkExpression } from '../../kernel/visit.ts';
import type { Shape } from '../compile/scheme.ts';
import type { StencilProgram } from '../compile/stages.ts';
import type { Traced } from '../compile/trace.ts';

/** A shape, and the picoseconds per cell and step that the model predicts for an H200. */
export interface PredictedShape extends Shape {
  readonly picoseconds: number;
}

// An H200: its multiprocessors with their registers and shared memory, cycles per second of all of them, bytes per second, cycles until a
// result of an operation can be used.
export const multiprocessors = 132, mostRegisters = 65536, mostOfThread = 255, mostShared = 228 * 1024;
export const cyclesPerSecond = 1.755e9;
export const cycles = multiprocessors * cyclesPerSecond, bytesPerSecond = 4.2e12, latency = 16;

export const words = ({ names }: StencilProgram): number => (names.precision === 'f32' ? 1 : 2);

function weightOf(e: Expression): number {
  switch (e.kind) {
    case 'math': return e.name.startsWith('fma') ? 1 : 40;
    case 'unary': return e.op === 'sqrt' ? 12 : 1;
    case 'binary': return e.op === 'div' ? 10 : e.op === 'rem' ? 40 : 1;
    case 'compare': case 'select': case 'convert': return 1;
    default: return 0;
  }
}

/** Counts what it has counted before once: models look at hundreds of shapes. */
function counted<K extends object>(count: (of: K) => number): (of: K) => number {
  const known = new WeakMap<K, number>();
  return (of) => {
    const found = known.get(of) ?? count(of);
    known.set(of, found);
    return found;
  };
}

/** Operations of a function, in additions. */
export const operations = counted(({ body }: KernelFunction): number => {
  let sum = 0;
  walkBody(body, { expression: (e) => { sum += weightOf(e); } });
  return sum;
});

/** Operations of a stage that depend on the cell: compilers make the others once for all cells of a lane. */
export const operationsPerCell = counted(({ f, inputs }: Traced): number => {
  const varying = new Set(f.parameters.filter((_, i) => inputs[i]?.kind !== 'scalar'));
  const varies = (e: Expression): boolean => {
    let found = false;
    walkExpression(e, (each) => { found ||= each.kind === 'load' || (each.kind === 'get' && varying.has(each.local)); });
    return found;
  };
  let sum = 0;
  walkBody(f.body, {
    statement: (each) => {
      if (each.kind === 'set' && varies(each.value)) varying.add(each.local);
      else if (each.kind === 'call') for (const local of each.results) varying.add(local);
    },
    expression: (e) => { if (varies(e)) sum += weightOf(e); },
  });
  return sum;
});

/** What a caller may ask for. */
export interface Wanted {
  readonly depth?: number | undefined;
  readonly points?: number | undefined;
}
