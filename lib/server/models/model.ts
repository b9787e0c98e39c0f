// What a model of the server is: an operation with named tensors.
import type { Departure } from '../../core/batching/departure.ts';
import type { DevicePool } from '../../core/pool.ts';
import { RequestError } from '../errors.ts';
import type { InferRequest } from '../protocol/messages.ts';
import type { Datatype, Elements, Tensor } from '../protocol/tensors.ts';

/** An input or output, as its metadata describes it. */
export interface TensorDescription {
  readonly name: string;
  readonly datatype: Datatype;
  /** -1: any extent. */
  readonly shape: readonly number[];
  readonly optional?: boolean;
}

/** Where a call of a model runs. */
export interface ModelContext {
  readonly pool: DevicePool;
  readonly queued: { readonly priority: number; readonly deadline: number; readonly departure: Departure };
  /** Most cell updates, pixel iterations and the like of one request. */
  readonly mostWork: number;
}

/** An operation as a model. */
export interface Model {
  readonly name: string;
  /** One sentence, for people. */
  readonly summary: string;
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  /** The parameters of a request, with what they mean. */
  readonly parameters: Readonly<Record<string, string>>;
  infer(request: InferRequest, context: ModelContext): Promise<readonly Tensor[]>;
}

/** The two precisions in which a model may exist. */
export type Real = 'FP32' | 'FP64';

/** The name of a model in a precision: that of FP64 has no suffix. */
export function modelName(name: string, real: Real): string {
  return real === 'FP64' ? name : `${name}_fp32`;
}

/** Checks the names and data types of a request's inputs and the names of its parameters. */
export function requireInputs({ name, inputs, parameters }: Model, request: InferRequest): void {
  const known = (): string => inputs.map((input) => input.name).join(', ');
  for (const [given, { datatype }] of request.inputs) {
    const input = inputs.find((each) => each.name === given);
    if (input === undefined) throw new RequestError(400, `model '${name}' has no input '${given}'; its inputs are ${known()}`);
    if (input.datatype !== datatype) {
      throw new RequestError(400, `input '${given}': model '${name}' takes ${input.datatype}, received ${datatype}`);
    }
  }
  const missing = inputs.find((input) => input.optional !== true && !request.inputs.has(input.name));
  if (missing !== undefined) throw new RequestError(400, `model '${name}' needs the input '${missing.name}'; its inputs are ${known()}`);
  const strange = Object.keys(request.parameters).find((each) => !Object.hasOwn(parameters, each));
  if (strange !== undefined) {
    const list = Object.keys(parameters).join(', ');
    throw new RequestError(400, `model '${name}' has no parameter '${strange}'; ${list === '' ? 'it has none' : `it has ${list}`}`);
  }
}

/** An input of the request, which {@link requireInputs} has seen. */
export function inputOf(request: InferRequest, name: string): Tensor {
  return request.inputs.get(name) as Tensor;
}

/** The elements of a real input. */
export function realsOf(tensor: Tensor): Float32Array | Float64Array {
  return tensor.data as Float32Array | Float64Array;
}

export function tensor(name: string, datatype: Datatype, shape: readonly number[], data: Elements): Tensor {
  return { name, datatype, shape, data };
}

/** Refuses a request that asks for more work than the server allows. */
export function requireWork(work: number, { mostWork }: ModelContext, what: string): void {
  if (work <= mostWork) return;
  throw new RequestError(413, `the request asks for ${work} ${what}; the server allows ${mostWork} (option maxWork)`);
}

/** A whole number among the parameters. */
export function wholeParameter(request: InferRequest, name: string, normal: number): number {
  const value = request.parameters[name] ?? normal;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new RequestError(400, `parameter ${name} must be a whole number of at least 0`);
}
