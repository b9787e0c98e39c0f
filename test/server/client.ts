// A client of the Open Inference Protocol v2, written from the protocol's text: JSON and binary tensors.
import { request, type Agent } from 'node:http';

export interface SentTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: ArrayBufferView | readonly unknown[];
}

export interface Answer {
  readonly status: number;
  readonly json: Record<string, unknown>;
  /** Outputs by name: numbers of JSON, or the bytes of binary tensors as an array of their type. */
  readonly outputs: Readonly<Record<string, { readonly shape: readonly number[]; readonly datatype: string; readonly data: ArrayLike<unknown> }>>;
  readonly headers: Headers;
}

const arrays: Readonly<Record<string, new (buffer: ArrayBuffer) => ArrayLike<unknown>>> = {
  FP64: Float64Array, FP32: Float32Array, INT32: Int32Array, BOOL: Uint8Array,
};

/** The body of a request, and the length of its JSON part if there are binary tensors. */
export function encode(
  tensors: readonly SentTensor[], { parameters, outputs, id }: { parameters?: object; outputs?: readonly object[]; id?: string } = {},
): { body: Buffer; headerLength: number | undefined } {
  const parts: Buffer[] = [];
  const inputs = tensors.map(({ data, ...rest }) => {
    if (!ArrayBuffer.isView(data)) return { ...rest, data };
    parts.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    return { ...rest, parameters: { binary_data_size: data.byteLength } };
  });
  const header = Buffer.from(JSON.stringify({ id, inputs, outputs, parameters }));
  return { body: Buffer.concat([header, ...parts]), headerLength: parts.length === 0 ? undefined : header.byteLength };
}

interface InferOptions {
  readonly parameters?: object;
  readonly outputs?: readonly object[];
  readonly id?: string;
  readonly headers?: Record<string, string>;
}

function headersOf({ headers }: InferOptions, headerLength: number | undefined): Record<string, string> {
  return { ...headers, ...(headerLength === undefined ? {} : { 'inference-header-content-length': String(headerLength) }) };
}

/** Sends a request for an inference. */
export async function infer(
  url: string, model: string, tensors: readonly SentTensor[], options: InferOptions & { readonly signal?: AbortSignal } = {},
): Promise<Answer> {
  const { body, headerLength } = encode(tensors, options);
  const response = await fetch(`${url}/v2/models/${model}/infer`, {
    method: 'POST', body: new Uint8Array(body), headers: headersOf(options, headerLength),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  return decode(response);
}

/**
 * The same over connections of `agent`. `fetch` opens some that it then has no request for, and the server closes those after a while,
 * perhaps as `fetch` begins to use one; an agent opens none of that kind.
 */
export function inferOver(agent: Agent, url: string, model: string, tensors: readonly SentTensor[], options: InferOptions = {}): Promise<Answer> {
  const { body, headerLength } = encode(tensors, options);
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v2/models/${model}/infer`, {
      method: 'POST', agent, headers: { ...headersOf(options, headerLength), 'content-length': body.byteLength },
    }, (response) => {
      const parts: Buffer[] = [];
      response.on('error', reject).on('data', (part: Buffer) => parts.push(part)).on('end', () => {
        resolve(answerOf(response.statusCode ?? 0, new Headers(response.headers as Record<string, string>), Buffer.concat(parts)));
      });
    });
    sent.on('error', reject).end(body);
  });
}

export async function decode(response: Response): Promise<Answer> {
  return answerOf(response.status, response.headers, Buffer.from(await response.arrayBuffer()));
}

function answerOf(status: number, headers: Headers, bytes: Buffer): Answer {
  const length = headers.get('inference-header-content-length');
  const json = JSON.parse(bytes.toString('utf8', 0, length === null ? bytes.byteLength : Number(length))) as Record<string, unknown>;
  let at = Number(length);
  const outputs: Record<string, Answer['outputs'][string]> = {};
  for (const each of (json['outputs'] ?? []) as { name: string; datatype: string; shape: number[]; data?: unknown[]; parameters?: { binary_data_size: number } }[]) {
    const { name, datatype, shape, data, parameters } = each;
    if (data !== undefined) {
      outputs[name] = { shape, datatype, data };
      continue;
    }
    const end = at + parameters!.binary_data_size;
    outputs[name] = { shape, datatype, data: new arrays[datatype]!(new Uint8Array(bytes.subarray(at, end)).buffer) };
    at = end;
  }
  return { status, json, outputs, headers };
}
