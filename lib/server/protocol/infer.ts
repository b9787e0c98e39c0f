// Inferences. They come by the ten thousand a second: most are answered from Node's own request and response. fastify has all other paths.
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Departure } from '../../core/batching/departure.ts';
import type { DevicePool } from '../../core/pool.ts';
import type { Guard } from '../access.ts';
import { giveBack, readBody } from '../body.ts';
import { answerOf, RequestError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { requireInputs, type Model } from '../models/model.ts';
import { writeResponse, type RequestReader } from './messages.ts';
import type { AllStatistics, Statistics } from './statistics.ts';

/** What inferences need. */
export interface InferenceServer {
  readonly pool: DevicePool;
  readonly models: ReadonlyMap<string, Model>;
  readonly metrics: Metrics;
  readonly statistics: Statistics;
  /** Those of all processes. */
  readonly allStatistics: () => Promise<readonly AllStatistics[]>;
  readonly reader: RequestReader;
  /** Milliseconds for a request at most. */
  readonly requestTimeout: number;
  readonly maxWork: number;
  /** Bytes of a body at most. */
  readonly bodyLimit: number;
  readonly guards: readonly Guard[];
  /** False while the server stops. */
  readonly isReady: () => boolean;
}

export const modelVersion = '1';

/** Told when the client goes away before it has an answer. */
export function departureOf(response: ServerResponse): Departure {
  const departure = new Departure();
  response.on('close', () => {
    if (!response.writableFinished) departure.leave(new RequestError(499, 'the client closed the connection'));
  });
  return departure;
}

/** An answer: headers, and the body in one piece or several. */
interface Inference {
  readonly headers: OutgoingHttpHeaders;
  readonly parts: readonly Buffer[];
}

/** Answers a request whose body was read. */
export async function infer(
  server: InferenceServer, model: Model, { 'inference-header-content-length': length }: IncomingHttpHeaders, body: unknown,
  departure: Departure,
): Promise<Inference> {
  const began = performance.now();
  try {
    if (!Buffer.isBuffer(body) || body.byteLength === 0) throw new RequestError(400, 'the request has no body');
    const call = server.reader.read(body, Array.isArray(length) ? length[0] : length);
    requireInputs(model, call);
    const deadline = Math.min(call.timeout ?? server.requestTimeout, server.requestTimeout);
    const queued = { priority: call.priority, deadline, departure };
    const outputs = await model.infer(call, { pool: server.pool, mostWork: server.maxWork, queued });
    const made = performance.now();
    const { headerLength, parts, byteLength } = writeResponse({ name: model.name, version: modelVersion }, call, outputs);
    const ended = performance.now();
    server.metrics.request(model.name, 'ok', (ended - began) / 1000);
    server.statistics.succeeded(model.name, { began, made, ended }, departure);
    const headers = headerLength === undefined ? { 'content-type': 'application/json', 'content-length': byteLength }
      : { 'content-type': 'application/octet-stream', 'inference-header-content-length': headerLength, 'content-length': byteLength };
    return { headers, parts };
  } catch (error) {
    const spent = performance.now() - began;
    server.metrics.request(model.name, 'error', spent / 1000);
    server.statistics.failed(model.name, spent);
    throw error;
  }
}

function send(response: ServerResponse, { headers, parts }: Inference, status = 200): void {
  const [first, ...others] = parts;
  response.writeHead(status, headers);
  if (others.length === 0) {
    response.end(first);
    return;
  }
  response.cork();
  for (const part of parts) response.write(part);
  response.end();
  response.uncork();
}

/** Answers an error. `open`: the request's body was read. */
function sendError(response: ServerResponse, error: unknown, open: boolean): void {
  if (response.headersSent) { // it broke off within the answer
    response.destroy();
    return;
  }
  const { status, body, headers } = answerOf(error);
  const text = Buffer.from(JSON.stringify(body));
  const common = { 'content-type': 'application/json; charset=utf-8', 'content-length': text.byteLength };
  send(response, { headers: { ...common, ...headers, ...(open ? {} : { connection: 'close' }) }, parts: [text] }, status);
}

async function answer(server: InferenceServer, model: Model, request: IncomingMessage, response: ServerResponse): Promise<void> {
  let isRead = false;
  try {
    for (const guard of server.guards) {
      const refusal = guard(request);
      if (refusal !== undefined) throw refusal;
    }
    const body = await readBody({ headers: request.headers, raw: request }, server.bodyLimit);
    isRead = true;
    const inference = await infer(server, model, request.headers, body, departureOf(response));
    if (!server.isReady()) response.setHeader('connection', 'close');
    send(response, inference);
    // A call that failed may still have it, and an output may be an input.
    if (inference.parts.every(({ buffer }) => buffer !== body.buffer)) giveBack(body);
  } catch (error) {
    sendError(response, error, isRead);
  }
}

/**
 * The short way: answers inferences whose paths are those of the models, letter by letter. Returns whether it does; others are for fastify.
 */
export function shortWay(server: InferenceServer): (request: IncomingMessage, response: ServerResponse) => boolean {
  const models = new Map([...server.models].flatMap(([name, model]) =>
    [`/v2/models/${name}/infer`, `/v2/models/${name}/versions/${modelVersion}/infer`].map((path) => [path, model] as const)));
  return (request, response) => {
    const model = request.method === 'POST' ? models.get(request.url ?? '') : undefined;
    if (model === undefined) return false;
    void answer(server, model, request, response);
    return true;
  };
}
