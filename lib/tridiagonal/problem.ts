// One call's problem: shape and type from the arrays of a tridiagonal call, and the views of its bands.
import { refusal } from '../core/errors.ts';
import { resolveBatch, type Names, type Problem, type Vectors } from '../linear/problem.ts';
import { bandView, describe, expectedArray, type View } from '../linear/views.ts';
import type { ArrayName, Band, MatrixOptions, ShapeOptions, Structure, Transpose } from './types.ts';

/** Arrays that can have a layout of their own. */
export const arrayNames = ['lower', 'diagonal', 'upper', 'rhs', 'solution', 'x', 'y'] as const satisfies readonly ArrayName[];

const names: Names = { bands: ['diagonal', 'lower', 'upper'], arrays: arrayNames, like: { cotangent: 'rhs' } };

/** Resolves element type, n, batch and ragged offsets of a call from its bands and vectors. */
export function resolveProblem(options: ShapeOptions & Partial<MatrixOptions>, vectors: Vectors): Problem {
  return resolveBatch(options, vectors, names);
}

/** Matrix fields as the operations take them. */
export interface MatrixParameters {
  lower: View;
  diagonal: View;
  upper: View | undefined;
  periodic: boolean;
  transpose: Transpose;
  structure: Structure;
}

/** Views of the bands. Throws when one is missing, or given against the structure. */
export function matrixParameters(options: MatrixOptions, problem: Problem): MatrixParameters {
  const structure = options.structure ?? 'general';
  const { lower, diagonal, upper, periodic = false, transpose = 'none' } = options;
  if (structure === 'general') {
    return {
      lower: bandOf(problem, 'lower', lower), diagonal: bandOf(problem, 'diagonal', diagonal), upper: bandOf(problem, 'upper', upper),
      periodic, transpose, structure,
    };
  }
  if (options.upper !== undefined) {
    throw refusal('upper', 'none with structure "positive-definite": upper[i] = conj(lower[i+1])', describe(upper));
  }
  return {
    lower: bandOf(problem, 'lower', lower), diagonal: bandOf(problem, 'diagonal', diagonal), upper: undefined,
    periodic, transpose, structure,
  };
}

function bandOf(problem: Problem, name: 'lower' | 'diagonal' | 'upper', band: Band | undefined): View {
  if (band === undefined) throw refusal(name, expectedArray, 'undefined');
  return bandView(band, problem.type, problem.layoutOf(name), problem.shape, name);
}
