// Tables of the options that the operations share.
import { arrayField, batchFields, operatorFields } from '../linear/options.ts';
import { arrayNames } from './problem.ts';

/** Fields of ShapeOptions. */
export const shapeFields = batchFields(arrayNames);

/** Fields of MatrixOptions. */
export const matrixFields = { lower: arrayField, diagonal: arrayField, upper: arrayField, ...operatorFields };
