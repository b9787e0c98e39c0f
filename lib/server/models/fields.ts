// Models of images, the heat equation, and functions of the configuration.
import type { Image } from '../../files/image.ts';
import * as imaging from '../../imaging/index.ts';
import { map, type KernelInput, type MapOptions } from '../../kernel/index.ts';
import * as swept from '../../swept/index.ts';
import { RequestError } from '../errors.ts';
import type { InferRequest } from '../protocol/messages.ts';
import { inputOf, modelName, realsOf, requireWork, tensor, wholeParameter, type Model, type Real } from './model.ts';

type Reals = Float32Array | Float64Array;

/** An image [height, width] or [channels, height, width]. */
function imageOf(request: InferRequest, name: string): Image<Reals> {
  const { shape, data } = inputOf(request, name);
  const [width, height, channels = 1] = shape.toReversed();
  if (width === undefined || height === undefined || shape.length > 3) {
    const expected = 'the shape [height, width] or [channels, height, width]';
    throw new RequestError(400, `input '${name}': expected ${expected}, received [${shape.join(', ')}]`);
  }
  return { data: data as Reals, width, height, channels };
}

/** The signal of a call that has one. */
const stopping = (signal: AbortSignal | undefined): { signal?: AbortSignal } => (signal === undefined ? {} : { signal });

function denoiseModel(real: Real): Model {
  return {
    name: modelName('imaging_denoise', real), summary: 'Removes noise from an image by total variation.',
    inputs: [{ name: 'image', datatype: real, shape: [-1, -1, -1] }],
    outputs: [
      { name: 'image', datatype: real, shape: [-1, -1, -1] }, { name: 'iterations', datatype: 'INT32', shape: [1] },
      { name: 'converged', datatype: 'BOOL', shape: [1] },
    ],
    parameters: {
      weight: 'weight of the total variation', sigma: 'instead: standard deviation of the noise, or estimate (default)',
      method: 'primal-dual (default) or flow', noise: 'gaussian (default) or impulse',
      coupled: 'edges shared by all channels; default true',
      iterations: 'most iterations; default 500', tolerance: 'relative gap to stop at',
      missing: 'refuse (default) or fill: pixels that are NaN',
    },
    async infer(request, context) {
      const image = imageOf(request, 'image');
      const iterations = wholeParameter(request, 'iterations', 500);
      requireWork(iterations * image.data.length, context, 'iterations × pixels');
      const result = await context.pool.runFor((device, signal) =>
        imaging.denoise(image, { ...request.parameters, iterations, device, ...stopping(signal) }),
      context.queued);
      return [
        tensor('image', real, inputOf(request, 'image').shape, result.image.data),
        tensor('iterations', 'INT32', [1], Int32Array.of(result.iterations)),
        tensor('converged', 'BOOL', [1], Uint8Array.of(Number(result.converged))),
      ];
    },
  };
}

function segmentModel(real: Real): Model {
  return {
    name: modelName('imaging_segment', real), summary: 'Divides an image into two regions of similar intensity (Chan and Vese).',
    inputs: [{ name: 'image', datatype: real, shape: [-1, -1, -1] }],
    outputs: [
      { name: 'mask', datatype: 'BOOL', shape: [-1, -1] }, { name: 'level_set', datatype: real, shape: [-1, -1] },
      { name: 'converged', datatype: 'BOOL', shape: [1] },
    ],
    parameters: {
      mu: 'weight of the length of the contour', nu: 'weight of the area', lambda1: 'default 1', lambda2: 'default 1',
      iterations: 'most iterations; default 500', tolerance: 'step to stop at', normalize: 'intensities scaled to 0 … 1; default true',
    },
    async infer(request, context) {
      const image = imageOf(request, 'image');
      const iterations = wholeParameter(request, 'iterations', 500);
      requireWork(iterations * image.data.length, context, 'iterations × pixels');
      const { mask, levelSet, converged } = await context.pool.runFor((device, signal) =>
        imaging.segment(image, { ...request.parameters, iterations, device, ...stopping(signal) }),
      context.queued);
      const shape = [image.height, image.width];
      return [
        tensor('mask', 'BOOL', shape, mask), tensor('level_set', real, shape, levelSet),
        tensor('converged', 'BOOL', [1], Uint8Array.of(Number(converged))),
      ];
    },
  };
}

function registerModel(real: Real): Model {
  return {
    name: modelName('imaging_register', real),
    summary: 'Finds the displacement that makes the template look like the reference (curvature registration).',
    inputs: [{ name: 'reference', datatype: real, shape: [-1, -1] }, { name: 'template', datatype: real, shape: [-1, -1] }],
    outputs: [
      { name: 'displacement', datatype: real, shape: [2, -1, -1] }, { name: 'warped', datatype: real, shape: [-1, -1] },
      { name: 'measure', datatype: 'FP64', shape: [2] },
    ],
    parameters: {
      measure: 'ssd (default) or ncc', alpha: 'weight of the curvature; default 0.1', iterations: 'most iterations of a level; default 60',
      tolerance: 'relative decrease over 10 iterations to stop at',
    },
    async infer(request, context) {
      const [reference, template] = [imageOf(request, 'reference'), imageOf(request, 'template')];
      const iterations = wholeParameter(request, 'iterations', 60);
      requireWork(2 * iterations * reference.data.length, context, 'iterations × pixels');
      const found = await context.pool.runFor((device, signal) =>
        imaging.register(reference, template, { ...request.parameters, iterations, device, ...stopping(signal) }),
      context.queued);
      const shape = [reference.height, reference.width];
      return [
        tensor('displacement', real, [2, ...shape], found.displacement.data), tensor('warped', real, shape, found.warped.data),
        tensor('measure', 'FP64', [2], Float64Array.of(found.initialMeasure, found.measure)),
      ];
    },
  };
}

function heatModel(real: Real): Model {
  return {
    name: modelName('heat', real), summary: 'Advances the heat equation in one dimension by explicit steps.',
    inputs: [{ name: 'initial', datatype: real, shape: [-1, -1] }], outputs: [{ name: 'state', datatype: real, shape: [-1, -1] }],
    parameters: {
      steps: 'number of steps; needed', fourier: 'Fourier number diffusivity dt/dx², at most 1/2', dt: 'instead: time step',
      dx: 'distance of points', diffusivity: 'default 1', boundary: 'periodic, reflective (default) or dirichlet',
    },
    async infer(request, context) {
      const initial = inputOf(request, 'initial');
      const steps = wholeParameter(request, 'steps', 0);
      requireWork(steps * initial.data.length, context, 'cell updates');
      const n = initial.shape.at(-1) ?? 0;
      const { steps: _, ...options } = request.parameters;
      const state = await context.pool.runFor(async (device, signal) => {
        await using rod = await swept.heat({ ...options, n, batch: initial.data.length / n, initial: realsOf(initial), device });
        await rod.advance(steps, stopping(signal));
        return await rod.read();
      }, context.queued);
      return [tensor('state', real, initial.shape, state)];
    },
  };
}

/** Models of images and of the heat equation. */
export const fieldModels: readonly Model[] = (['FP64', 'FP32'] as const)
  .flatMap((real) => [denoiseModel(real), segmentModel(real), registerModel(real), heatModel(real)]);

/** A function on arrays that the server offers as a model: see `kernel.map`. */
export interface MapDescription {
  /** The text of the function, such as '(x, y, a) => a * x + y'; it is compiled and never evaluated. */
  readonly function: string;
  /** Its arguments by name: an array of this type, or a number, which is a parameter of the request. */
  readonly inputs: Readonly<Record<string, 'FP32' | 'FP64' | 'INT32' | 'number'>>;
}

/** `map` of a function's text, whose result is one array. */
const mapText = map as (f: string, inputs: readonly KernelInput[], options: MapOptions) => Promise<Float64Array>;

const elementNames = { FP32: 'float32', FP64: 'float64', INT32: 'int32' } as const;

/** The model of a function of the configuration. All its arrays have one shape, as has its result. */
export function mapModel(name: string, { function: text, inputs }: MapDescription): Model {
  const arrays = Object.entries(inputs).flatMap(([input, kind]) => (kind === 'number' ? [] : [[input, kind] as const]));
  const datatype = arrays[0]?.[1] ?? 'FP64';
  return {
    name, summary: `The function ${text} of every element.`,
    inputs: arrays.map(([input, kind]) => ({ name: input, datatype: kind, shape: [-1] })),
    outputs: [{ name: 'result', datatype, shape: [-1] }],
    parameters: Object.fromEntries(Object.entries(inputs).filter(([, kind]) => kind === 'number')
      .map(([input]) => [input, 'a number; needed'])),
    async infer(request, { pool, queued }) {
      const shape = request.inputs.get(arrays[0]?.[0] ?? '')?.shape ?? [];
      const values = Object.entries(inputs).map(([input, kind]) => {
        if (kind === 'number') {
          const value = request.parameters[input];
          if (typeof value !== 'number') throw new RequestError(400, `parameter ${input} must be a number`);
          return value;
        }
        const given = inputOf(request, input);
        if (given.shape.join() !== shape.join()) throw new RequestError(400, `input '${input}' must have the shape [${shape.join(', ')}]`);
        return given.data as Float64Array;
      });
      const result = await pool.callOwned(mapText, queued, text, values, { type: elementNames[datatype] });
      return [tensor('result', datatype, shape, result)];
    },
  };
}
