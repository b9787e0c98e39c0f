// What compiling has made in this process: equations are often run again, with other numbers or on other grids.
import { Latest } from '../../core/latest.ts';
import type { Equation } from '../types.ts';
import { stencilProgram } from './program.ts';
import type { StencilProgram, Target } from './stages.ts';

/** Programs that are kept. */
const programs = new Latest<StencilProgram>(32);
const made = new WeakMap<StencilProgram, Latest<unknown>>();
/** Things that are kept for a program. */
const mostOfProgram = 16;

/** Functions count by their texts. */
function keyOf({ dimensions, fields, parameters, coefficients, method, definition }: Equation, target: Target): string {
  const { rate, step, admissible, speed, diffusivity, functions } = definition as unknown as Readonly<Record<string, unknown>>;
  const all = [dimensions, fields, parameters, coefficients, method, rate, step, admissible, speed, diffusivity, functions, target];
  return JSON.stringify(all, (_, value: unknown) => {
    if (typeof value === 'function') return Function.prototype.toString.call(value);
    return typeof value === 'number' ? Object.is(value, -0) ? '-0' : String(value) : value;
  });
}

/**
 * The program of an equation, from this or an earlier call.
 * @throws FunctionError for functions that cannot be compiled
 */
export function programOf(equation: Equation, target: Target): StencilProgram {
  return programs.get(keyOf(equation, target), () => stencilProgram(equation, target));
}

/** What `make` makes of a program, or has made of it before. `key`: everything else that it depends on. */
export function remembered<T>(program: StencilProgram, key: readonly unknown[], make: () => T): T {
  const own = made.get(program) ?? new Latest<unknown>(mostOfProgram);
  made.set(program, own);
  return own.get(JSON.stringify(key), make) as T;
}
