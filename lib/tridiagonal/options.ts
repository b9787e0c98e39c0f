// Checks of the options that the operations share.
import { anything, truth } from '../core/checks.ts';
import { normally, parametersOf } from '../core/options.ts';
import { batchChecks } from '../linear/options.ts';
import { arrayNames } from './types.ts';

/** Checks of ShapeOptions. */
export const shapeChecks = batchChecks(arrayNames);

/** Checks of MatrixOptions. Arrays are checked by views.ts, where missing ones are reported too. */
export const matrixChecks = {
  lower: anything, diagonal: anything, upper: anything,
  complex: normally(truth, false), ...parametersOf('tridiagonal.solve', 'periodic', 'transpose', 'structure'),
};
