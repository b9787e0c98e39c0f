// Requests and responses of the Open Inference Protocol v2 with its extension for binary tensors.
import { RequestError } from '../errors.ts';
import { datatypes, elementsOf, fromBytes, fromJson, isDatatype, toBytes, toJson, type Tensor } from './tensors.ts';

/** A request for an inference. */
export interface InferRequest {
  readonly id: string | undefined;
  readonly inputs: ReadonlyMap<string, Tensor>;
  /** The outputs to return, or undefined for all. */
  readonly outputs: ReadonlyMap<string, boolean> | undefined;
  /** Whether outputs are binary unless the request says otherwise for one of them. */
  readonly binary: boolean;
  /** Parameters besides those of the protocol. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Larger starts earlier. */
  readonly priority: number;
  /** Milliseconds in which the result is wanted. */
  readonly timeout: number | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown, what: string): Fields {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RequestError(400, `${what} must be an object`);
  return value as Fields;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new RequestError(400, `${what} must be an array`);
  return value;
}

function nameOf(fields: Fields, what: string): string {
  const { name } = fields;
  if (typeof name !== 'string' || name === '' || name.length > 256) throw new RequestError(400, `${what} must have a name`);
  return name;
}

function sizeOf(value: unknown, what: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new RequestError(400, `${what} must be a whole number of at least 0`);
  return value as number;
}

/** Triton's priorities: 0 is the default, 1 the highest, and larger numbers are less urgent. */
function priorityOf(value: unknown): number {
  const level = sizeOf(value ?? 0, 'parameter priority');
  return level === 0 ? 0 : 1 / level;
}

/** Parameters of the protocol itself. */
const known: ReadonlySet<string> = new Set([
  'binary_data_output', 'priority', 'timeout', 'sequence_id', 'sequence_start', 'sequence_end', 'headers',
]);

function headerOf(body: Buffer, headerLength: number): Fields {
  let header: unknown;
  try {
    header = JSON.parse(body.toString('utf8', 0, headerLength));
  } catch (error) {
    throw new RequestError(400, `the request is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (typeof header === 'object' && header !== null && !Array.isArray(header)) return header as Fields;
  throw new RequestError(400, 'the request must be a JSON object');
}

/** The length of a request's JSON part. */
function headerLengthOf(text: string | undefined, total: number): number {
  if (text === undefined) return total;
  const length = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (length <= total) return length;
  throw new RequestError(400, `Inference-Header-Content-Length must be a whole number of at most ${total}, the length of the body`);
}

/** Reads a tensor; binary data begins at `at`. Returns where it ends. */
function readInput(value: unknown, body: Buffer, at: number): { tensor: Tensor; end: number } {
  const fields = fieldsOf(value, 'an input');
  const name = nameOf(fields, 'an input');
  const { datatype, shape, data } = fields;
  if (!isDatatype(datatype)) throw new RequestError(400, `input '${name}': datatype must be one of ${datatypes.join(', ')}`);
  const count = elementsOf(shape, name);
  const size = fieldsOf(fields['parameters'], `input '${name}': parameters`)['binary_data_size'];
  if (size === undefined) {
    return { tensor: { name, datatype, shape: shape as number[], data: fromJson(name, datatype, count, data) }, end: at };
  }
  if (data !== undefined) throw new RequestError(400, `input '${name}' has both data and binary_data_size`);
  const end = at + sizeOf(size, `input '${name}': binary_data_size`);
  if (end > body.byteLength) throw new RequestError(400, `input '${name}': its binary data goes beyond the end of the body`);
  return { tensor: { name, datatype, shape: shape as number[], data: fromBytes(name, datatype, count, body.subarray(at, end)) }, end };
}

function readOutputs(value: unknown, binary: boolean): ReadonlyMap<string, boolean> | undefined {
  if (value === undefined) return undefined;
  const outputs = new Map<string, boolean>();
  for (const each of listOf(value, 'outputs')) {
    const fields = fieldsOf(each, 'an output');
    const name = nameOf(fields, 'an output');
    const { binary_data: own = binary, classification } = fieldsOf(fields['parameters'], `output '${name}': parameters`);
    if (typeof own !== 'boolean') throw new RequestError(400, `output '${name}': binary_data must be true or false`);
    if (classification !== undefined) throw new RequestError(400, `output '${name}': classification is not supported`);
    outputs.set(name, own);
  }
  return outputs.size === 0 ? undefined : outputs;
}

/** Reads a request: JSON, followed by the bytes of binary inputs if `headerLength` says where it ends. */
export function readRequest(body: Buffer, headerLength: string | undefined): InferRequest {
  const length = headerLengthOf(headerLength, body.byteLength);
  const header = headerOf(body, length);
  const { id } = header;
  if (id !== undefined && (typeof id !== 'string' || id.length > 1024)) {
    throw new RequestError(400, 'id must be a string of at most 1024 characters');
  }
  const given = fieldsOf(header['parameters'], 'parameters');
  const { binary_data_output: binary = false, timeout } = given;
  if (typeof binary !== 'boolean') throw new RequestError(400, 'parameter binary_data_output must be true or false');
  const inputs = new Map<string, Tensor>();
  let at = length;
  for (const each of listOf(header['inputs'], 'inputs')) {
    const { tensor, end } = readInput(each, body, at);
    if (inputs.has(tensor.name)) throw new RequestError(400, `input '${tensor.name}' is given twice`);
    inputs.set(tensor.name, tensor);
    at = end;
  }
  if (at !== body.byteLength) throw new RequestError(400, `the body has ${body.byteLength - at} bytes that belong to no input`);
  const microseconds = timeout === undefined ? 0 : sizeOf(timeout, 'parameter timeout');
  return {
    id, inputs, binary, outputs: readOutputs(header['outputs'], binary), priority: priorityOf(given['priority']),
    timeout: microseconds === 0 ? undefined : microseconds / 1000,
    parameters: Object.fromEntries(Object.entries(given).filter(([name]) => !known.has(name))),
  };
}

/** A response, ready to be sent. */
export interface InferResponse {
  /** The length of the JSON part, if there are binary tensors. */
  readonly headerLength: number | undefined;
  readonly body: Buffer;
}

/** The outputs of a model as the request wants them. */
export function writeResponse(
  { name, version }: { readonly name: string; readonly version: string }, { id, outputs, binary }: InferRequest, made: readonly Tensor[],
): InferResponse {
  const unknown = [...outputs?.keys() ?? []].find((wanted) => made.every((tensor) => tensor.name !== wanted));
  if (unknown !== undefined) {
    throw new RequestError(400, `there is no output '${unknown}'; this request has ${made.map((tensor) => tensor.name).join(', ')}`);
  }
  const parts: Buffer[] = [];
  const described = made.filter((tensor) => outputs?.has(tensor.name) ?? true).map((tensor) => {
    const common = { name: tensor.name, datatype: tensor.datatype, shape: tensor.shape };
    if (!(outputs?.get(tensor.name) ?? binary)) return { ...common, data: toJson(tensor) };
    parts.push(toBytes(tensor));
    return { ...common, parameters: { binary_data_size: tensor.data.byteLength } };
  });
  const header = { ...(id === undefined ? {} : { id }), model_name: name, model_version: version, outputs: described };
  const json = Buffer.from(JSON.stringify(header));
  if (parts.length === 0) return { headerLength: undefined, body: json };
  return { headerLength: json.byteLength, body: Buffer.concat([json, ...parts]) };
}
