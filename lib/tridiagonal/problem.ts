// Derives the problem of a tridiagonal call from its arrays: shape and type, and the views of its bands.
import { refusal } from '../core/errors.ts';
import type { Taken } from '../core/options.ts';
import { resolveBatch, type Names, type Problem, type Vectors } from '../linear/problem.ts';
import { bandView, describe, expectedArray, type View } from '../linear/views.ts';
import type { matrixChecks, shapeChecks } from './options.ts';
import { arrayNames, type Band, type MatrixOptions, type ShapeOptions, type Structure, type Transpose } from './types.ts';

const names: Names = { bands: ['diagonal', 'lower', 'upper'], arrays: arrayNames, like: { cotangent: 'rhs' } };

/** Resolves element type, n, batch and ragged offsets of a call from its bands and vectors. */
export function resolveProblem(options: Taken<ShapeOptions & Partial<MatrixOptions>, typeof shapeChecks>, vectors: Vectors): Problem {
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

/** Views of the bands. Throws if one is missing, or is given although the structure excludes it. */
export function matrixParameters(options: Taken<MatrixOptions, typeof matrixChecks>, problem: Problem): MatrixParameters {
  const { lower, diagonal, upper, periodic, transpose, structure } = options;
  if (structure === 'general') {
    return {
      lower: bandOf(problem, 'lower', lower), diagonal: bandOf(problem, 'diagonal', diagonal), upper: bandOf(problem, 'upper', upper),
      periodic, transpose, structure,
    };
  }
  if (upper !== undefined) {
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

/** The bands of a shared matrix, as a batch of one. */
export function oneMatrix(matrix: MatrixParameters): MatrixParameters {
  const one = (view: View): View => ({ ...view, extents: [1, ...view.extents.slice(1)] });
  const { lower, diagonal, upper } = matrix;
  return { ...matrix, lower: one(lower), diagonal: one(diagonal), upper: upper === undefined ? undefined : one(upper) };
}
