// Models of tridiagonal systems, scans and splines.
import { scan, type ScanOptions } from '../../scan/index.ts';
import * as tridiagonal from '../../tridiagonal/index.ts';
import { RequestError } from '../errors.ts';
import type { InferRequest } from '../protocol/messages.ts';
import type { Tensor } from '../protocol/tensors.ts';
import { inputOf, modelName, realsOf, tensor, type Model, type Real, type TensorDescription } from './model.ts';

type RealArray = Float32Array | Float64Array;
type Band = RealArray | number;

interface Shape {
  readonly n: number;
  readonly batch: number;
  readonly rhsCount: number;
}

/** The systems of right-hand sides [n], [batch, n] or [batch, sides, n]. */
function shapeOf({ name, shape }: Tensor): Shape {
  const [n, batch = 1, rhsCount = 1] = shape.length === 3 ? [shape[2], shape[0], shape[1]] : shape.toReversed();
  if (shape.length === 0 || shape.length > 3 || n === undefined) {
    throw new RequestError(400, `input '${name}': expected the shape [n], [batch, n] or [batch, sides, n], received [${shape.join(', ')}]`);
  }
  return { n, batch, rhsCount };
}

/** A band [batch, n], [n] for all systems, or [1] for all rows. */
function bandOf(request: InferRequest, name: string, { n, batch }: Shape): Band | undefined {
  const band = request.inputs.get(name);
  if (band === undefined) return undefined;
  const { shape } = band;
  if (shape.length === 1 && shape[0] === 1 && n * batch !== 1) return realsOf(band)[0];
  const fits = shape.at(-1) === n && (shape.length === 1 || (shape.length === 2 && shape[0] === batch));
  if (fits) return realsOf(band);
  throw new RequestError(400, `input '${name}': expected the shape [${batch}, ${n}], [${n}] or [1], received [${shape.join(', ')}]`);
}

const bandInputs = (real: Real): TensorDescription[] => [
  { name: 'lower', datatype: real, shape: [-1, -1] }, { name: 'diagonal', datatype: real, shape: [-1, -1] },
  { name: 'upper', datatype: real, shape: [-1, -1], optional: true },
];

/** The options that bands of a request give. A constant diagonal would not say what the precision is; the right-hand side does. */
function matrixOf(request: InferRequest, shape: Shape): tridiagonal.MatrixOptions {
  const upper = bandOf(request, 'upper', shape);
  return {
    lower: bandOf(request, 'lower', shape) as Band, diagonal: bandOf(request, 'diagonal', shape) as Band,
    ...(upper === undefined ? {} : { upper }),
  };
}

const matrixParameters = {
  periodic: 'whether lower[0] and upper[n-1] couple the ends; default false', transpose: 'none (default) or transpose',
  structure: 'general (default), or positive-definite: without upper',
};

function solveModel(real: Real): Model {
  return {
    name: modelName('tridiagonal_solve', real),
    summary: 'Solves batches of tridiagonal systems lower[i] x[i-1] + diagonal[i] x[i] + upper[i] x[i+1] = rhs[i].',
    inputs: [...bandInputs(real), { name: 'rhs', datatype: real, shape: [-1, -1] }],
    outputs: [
      { name: 'solution', datatype: real, shape: [-1, -1] }, { name: 'status', datatype: 'INT32', shape: [-1] },
      { name: 'row', datatype: 'INT32', shape: [-1] }, { name: 'backward_error', datatype: 'FP64', shape: [-1], optional: true },
    ],
    parameters: {
      ...matrixParameters, stable: 'partial pivoting; default false',
      check: 'backward errors, and pivoting where they are large; default false',
      refine: 'iterative refinement; default false', tolerance: 'largest accepted backward error of check',
    },
    async infer(request, { pool, queued }) {
      const rhs = inputOf(request, 'rhs');
      const shape = shapeOf(rhs);
      const { solution, status, row, backwardError } = await pool.callOwned(tridiagonal.solve<RealArray>, queued, {
        ...request.parameters, ...matrixOf(request, shape), ...shape, rhs: realsOf(rhs),
      });
      const { length } = status;
      return [
        tensor('solution', real, rhs.shape, solution), tensor('status', 'INT32', [length], status.words),
        tensor('row', 'INT32', [length], row),
        ...(backwardError === undefined ? [] : [tensor('backward_error', 'FP64', [length], backwardError)]),
      ];
    },
  };
}

function multiplyModel(real: Real): Model {
  return {
    name: modelName('tridiagonal_multiply', real), summary: 'Multiplies batches of tridiagonal matrices by vectors: y = alpha A x.',
    inputs: [...bandInputs(real), { name: 'x', datatype: real, shape: [-1, -1] }],
    outputs: [{ name: 'y', datatype: real, shape: [-1, -1] }],
    parameters: { ...matrixParameters, alpha: 'default 1' },
    async infer(request, { pool, queued }) {
      const x = inputOf(request, 'x');
      const shape = shapeOf(x);
      const { y } = await pool.callOwned(tridiagonal.multiply<RealArray>, queued, {
        ...request.parameters, ...matrixOf(request, shape), ...shape, x: realsOf(x),
      });
      return [tensor('y', real, x.shape, y)];
    },
  };
}

function scanModel(real: Real): Model {
  return {
    name: modelName('scan', real), summary: 'Prefix sums, products or maxima of every row.',
    inputs: [{ name: 'values', datatype: real, shape: [-1, -1] }, { name: 'flags', datatype: 'BOOL', shape: [-1, -1], optional: true }],
    outputs: [{ name: 'result', datatype: real, shape: [-1, -1] }],
    parameters: { operator: 'sum (default), product or max', exclusive: 'result i without element i; default false' },
    async infer(request, { pool, queued }) {
      const values = inputOf(request, 'values');
      const n = values.shape.at(-1) ?? 1;
      const batch = n === 0 ? 0 : values.data.length / n;
      const flags = request.inputs.get('flags')?.data as Uint8Array | undefined;
      const marks = flags === undefined ? {} : { flags };
      const options: ScanOptions<RealArray> = { ...request.parameters, ...marks, batch };
      const { result } = await pool.callOwned(scan<RealArray>, queued, realsOf(values), options);
      return [tensor('result', real, values.shape, result)];
    },
  };
}

const splineModel: Model = {
  name: 'cubic_spline', summary: 'Cubic splines through series with common knots, and their values, slopes or curvatures elsewhere.',
  inputs: [
    { name: 'x', datatype: 'FP64', shape: [-1] }, { name: 'y', datatype: 'FP64', shape: [-1, -1] },
    { name: 'at', datatype: 'FP64', shape: [-1] },
  ],
  outputs: [{ name: 'values', datatype: 'FP64', shape: [-1, -1] }],
  parameters: {
    boundary: 'natural (default), clamped or periodic', slopes: 'clamped: the two slopes at the ends; default [0, 0]',
    order: '0 (default): values; 1: slopes; 2: curvatures',
  },
  async infer(request, { pool, queued }) {
    const [x, y, at] = [inputOf(request, 'x'), inputOf(request, 'y'), inputOf(request, 'at')];
    const { order = 0, ...options } = request.parameters;
    const spline = await pool.callOwned(tridiagonal.cubicSpline, queued, x.data as Float64Array, y.data as Float64Array, options);
    const count = at.data.length;
    const values = new Float64Array(spline.seriesCount * count);
    for (let series = 0; series < spline.seriesCount; series += 1) {
      values.set(spline.evaluate(at.data as Float64Array, { series, order: order as 0 }), series * count);
    }
    return [tensor('values', 'FP64', [...y.shape.slice(0, -1), count], values)];
  },
};

/** Models of linear systems, scans and splines. */
export const linearModels: readonly Model[] = [
  ...(['FP64', 'FP32'] as const).flatMap((real) => [solveModel(real), multiplyModel(real), scanModel(real)]), splineModel,
];
