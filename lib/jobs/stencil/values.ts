// Values over the cells of a job: numbers, functions of equation files, texts of functions, files.
import { describeValue, isReal } from '../../core/arrays.ts';
import { hasFields } from '../../core/checks.ts';
import { ArgumentError, refusal } from '../../core/errors.ts';
import { readBytes } from '../../core/files.ts';
import { elementAt } from '../../core/known.ts';
import { parseNpy } from '../../files/npy.ts';
import * as kernel from '../../kernel/index.ts';
import type { CellValues, RealArray } from '../../stencil/index.ts';
import type { Resolve } from '../kind.ts';
import type { Plan } from './plan.ts';

/** The centres of the cells along an axis. */
export function centres({ shape, spacing, origin }: Pick<Plan, 'shape' | 'spacing' | 'origin'>, axis: number): Float64Array {
  return Float64Array.from({ length: elementAt(shape, axis) },
    (_, i) => (i + 0.5) * elementAt(spacing, axis) + elementAt(origin, axis));
}

async function fromFile(path: string, plan: Plan, name: string): Promise<RealArray> {
  const { data, type, shape } = parseNpy(await readBytes(path), name);
  if (!isReal(data)) throw refusal(name, 'float32 or float64 values', type);
  if (shape.join() !== plan.shape.join()) throw refusal(name, `the shape ${plan.shape.join(' × ')}`, shape.join(' × '));
  return data;
}

/** The values of a function that is given as text, which may call those of the equation: compiled, so that nothing is evaluated. */
async function fromText(text: string, plan: Plan, name: string): Promise<RealArray> {
  const dimensions = plan.shape.length;
  const inputs = plan.shape.map((_, axis) => {
    const shape = plan.shape.map((extent, i) => (i === axis ? extent : 1));
    return { data: centres(plan, axis), shape };
  });
  try {
    const functions = (plan.equation.definition.functions ?? {}) as NonNullable<kernel.MapOptions['functions']>;
    const result: unknown = await kernel.map(text, inputs, { functions });
    if (isReal(result)) return result;
  } catch (error) {
    if (!(error instanceof ArgumentError) || error.argument !== 'inputs') throw error;
  }
  throw refusal(name, `a function of ${['x', 'y', 'z'].slice(0, dimensions).join(', ')} that returns a number`, text);
}

/** Values of the kinds that `stencil.simulate` takes, by name. */
export async function valuesOf(
  given: Readonly<Record<string, unknown>>, plan: Plan, argument: string, input: Resolve,
): Promise<Record<string, CellValues>> {
  const values: Record<string, CellValues> = {};
  for (const [key, value] of Object.entries(given)) {
    const name = `${argument}.${key}`;
    if (typeof value === 'string') values[key] = await fromText(value, plan, name);
    else if (hasFields(value) && typeof value['file'] === 'string') {
      values[key] = await fromFile(input(value['file']), plan, `${name}.file`);
    } else if (typeof value === 'number' || typeof value === 'function' || isReal(value)) values[key] = value as CellValues;
    else throw refusal(name, 'a number, a function of the place, the text of one, an array or { file }', describeValue(value));
  }
  return values;
}
