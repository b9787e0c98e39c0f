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

function headerOf(text: string): Fields {
  let header: unknown;
  try {
    header = JSON.parse(text);
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

function refuseSharedMemory(parameters: Fields, what: string): void {
  if (parameters['shared_memory_region'] === undefined) return;
  throw new RequestError(400, `${what}: shared memory is not supported; send tensors with the request`);
}

/** An input as the JSON part describes it. */
interface DescribedInput extends Pick<Tensor, 'name' | 'datatype' | 'shape'> {
  readonly count: number;
  /** Of its binary data; undefined: `data` has its values. */
  readonly bytes: number | undefined;
  readonly data: unknown;
}

function describedInput(value: unknown): DescribedInput {
  const fields = fieldsOf(value, 'an input');
  const name = nameOf(fields, 'an input');
  const { datatype, shape, data } = fields;
  if (!isDatatype(datatype)) throw new RequestError(400, `input '${name}': datatype must be one of ${datatypes.join(', ')}`);
  const count = elementsOf(shape, name);
  const { binary_data_size: size, ...others } = fieldsOf(fields['parameters'], `input '${name}': parameters`);
  refuseSharedMemory(others, `input '${name}'`);
  if (size !== undefined && data !== undefined) throw new RequestError(400, `input '${name}' has both data and binary_data_size`);
  const bytes = size === undefined ? undefined : sizeOf(size, `input '${name}': binary_data_size`);
  return { name, datatype, shape: shape as number[], count, bytes, data };
}

/** The tensors of a request; binary data begins at `at`. */
function tensorsOf(inputs: readonly DescribedInput[], body: Buffer, at: number): ReadonlyMap<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  let from = at;
  for (const { name, datatype, shape, count, bytes, data } of inputs) {
    if (tensors.has(name)) throw new RequestError(400, `input '${name}' is given twice`);
    const end = from + (bytes ?? 0);
    if (end > body.byteLength) throw new RequestError(400, `input '${name}': its binary data goes beyond the end of the body`);
    const elements = bytes === undefined ? fromJson(name, datatype, count, data) : fromBytes(name, datatype, count, body, from, bytes);
    tensors.set(name, { name, datatype, shape, data: elements });
    from = end;
  }
  if (from !== body.byteLength) throw new RequestError(400, `the body has ${body.byteLength - from} bytes that belong to no input`);
  return tensors;
}

function readOutputs(value: unknown, binary: boolean): ReadonlyMap<string, boolean> | undefined {
  if (value === undefined) return undefined;
  const outputs = new Map<string, boolean>();
  for (const each of listOf(value, 'outputs')) {
    const fields = fieldsOf(each, 'an output');
    const name = nameOf(fields, 'an output');
    const { binary_data: own = binary, classification, ...others } = fieldsOf(fields['parameters'], `output '${name}': parameters`);
    refuseSharedMemory(others, `output '${name}'`);
    if (typeof own !== 'boolean') throw new RequestError(400, `output '${name}': binary_data must be true or false`);
    if (classification !== undefined) throw new RequestError(400, `output '${name}': classification is not supported`);
    outputs.set(name, own);
  }
  return outputs.size === 0 ? undefined : outputs;
}

/** The JSON part of a request. */
interface Header extends Omit<InferRequest, 'inputs'> {
  readonly described: readonly DescribedInput[];
}

function readHeader(text: string): Header {
  const header = headerOf(text);
  const { id } = header;
  if (id !== undefined && (typeof id !== 'string' || id.length > 1024)) {
    throw new RequestError(400, 'id must be a string of at most 1024 characters');
  }
  const given = fieldsOf(header['parameters'], 'parameters');
  const { binary_data_output: binary = false, timeout } = given;
  if (typeof binary !== 'boolean') throw new RequestError(400, 'parameter binary_data_output must be true or false');
  const microseconds = timeout === undefined ? 0 : sizeOf(timeout, 'parameter timeout');
  return {
    id, binary, described: listOf(header['inputs'], 'inputs').map(describedInput),
    outputs: readOutputs(header['outputs'], binary), priority: priorityOf(given['priority']),
    timeout: microseconds === 0 ? undefined : microseconds / 1000,
    parameters: Object.fromEntries(Object.entries(given).filter(([name]) => !known.has(name))),
  };
}

/** JSON parts of at most so many bytes are kept, and as many of them. */
const mostKeptBytes = 4096, mostKept = 256;

/** Reads requests. The JSON parts of binary requests are often the same to the byte: the last ones are kept, by their bytes. */
export class RequestReader {
  readonly #kept = new Map<string, Header>();

  /** Reads a request: JSON, followed by the bytes of binary inputs if `headerLength` says where it ends. */
  read(body: Buffer, headerLength: string | undefined): InferRequest {
    const length = headerLengthOf(headerLength, body.byteLength);
    const { described, id, outputs, binary, parameters, priority, timeout } = this.#headerOf(body, length);
    return { id, inputs: tensorsOf(described, body, length), outputs, binary, parameters, priority, timeout };
  }

  #headerOf(body: Buffer, length: number): Header {
    if (length > mostKeptBytes || length === body.byteLength) return readHeader(body.toString('utf8', 0, length));
    const bytes = body.toString('latin1', 0, length);
    const known = this.#kept.get(bytes);
    if (known !== undefined) return known;
    const header = readHeader(body.toString('utf8', 0, length));
    // One with an id will not come again, and one with values is no description alone.
    if (header.id !== undefined || header.described.some((input) => input.bytes === undefined)) return header;
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= mostKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(bytes, header);
    return header;
  }
}

/** A response, ready to be sent. */
export interface InferResponse {
  /** The length of the JSON part, if there are binary tensors. */
  readonly headerLength: number | undefined;
  /** The body, in one piece or several. */
  readonly parts: readonly Buffer[];
  readonly byteLength: number;
}

/** The description of an output. Names of outputs need no escapes. */
function describedOutput({ name, datatype, shape, data }: Tensor, isBinary: boolean, values: unknown): string {
  const common = `{"name":"${name}","datatype":"${datatype}","shape":[${shape.join()}],`;
  return `${common}${isBinary ? `"parameters":{"binary_data_size":${data.byteLength}}` : `"data":${JSON.stringify(values)}`}}`;
}

/** Responses up to this size are put together in one piece. */
const mostJoined = 2 ** 16;

/** The outputs of a model as the request wants them. */
export function writeResponse(
  { name, version }: { readonly name: string; readonly version: string }, { id, outputs, binary }: InferRequest, made: readonly Tensor[],
): InferResponse {
  if (outputs !== undefined) {
    const unknown = [...outputs.keys()].find((wanted) => made.every((tensor) => tensor.name !== wanted));
    if (unknown !== undefined) {
      throw new RequestError(400, `there is no output '${unknown}'; this request has ${made.map((tensor) => tensor.name).join(', ')}`);
    }
  }
  const binaries: Tensor[] = [];
  let bytes = 0, described = '';
  for (const tensor of made) {
    const isBinary = outputs === undefined ? binary : outputs.get(tensor.name);
    if (isBinary === undefined) continue;
    described += `${described === '' ? '' : ','}${describedOutput(tensor, isBinary, isBinary ? undefined : toJson(tensor))}`;
    if (!isBinary) continue;
    binaries.push(tensor);
    bytes += tensor.data.byteLength;
  }
  const own = id === undefined ? '' : `"id":${JSON.stringify(id)},`;
  const json = `{${own}"model_name":"${name}","model_version":"${version}","outputs":[${described}]}`;
  const length = Buffer.byteLength(json);
  const headerLength = binaries.length === 0 ? undefined : length;
  const byteLength = length + bytes;
  if (byteLength > mostJoined) return { headerLength, parts: [Buffer.from(json), ...binaries.map(toBytes)], byteLength };
  const all = Buffer.allocUnsafe(byteLength);
  let at = all.write(json);
  for (const { data } of binaries) {
    all.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return { headerLength, parts: [all], byteLength };
}
