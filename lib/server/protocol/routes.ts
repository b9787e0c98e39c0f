// The routes of the Open Inference Protocol v2.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DevicePool } from '../../core/pool.ts';
import { version } from '../../core/version.ts';
import { RequestError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { requireInputs, type Model, type TensorDescription } from '../models/model.ts';
import { readRequest, writeResponse } from './messages.ts';

/** What the routes need. */
export interface InferenceServer {
  readonly pool: DevicePool;
  readonly models: ReadonlyMap<string, Model>;
  readonly metrics: Metrics;
  /** Milliseconds for a request at most. */
  readonly requestTimeout: number;
  readonly maxWork: number;
  /** False while the server stops. */
  readonly isReady: () => boolean;
}

const modelVersion = '1';

interface ModelPath {
  readonly name: string;
  readonly version?: string;
}

/** A signal that comes when the client goes away before it has an answer. */
export function signalOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) gone.abort(new RequestError(499, 'the client closed the connection'));
  });
  return gone.signal;
}

function modelOf({ models }: InferenceServer, { name, version: wanted = modelVersion }: ModelPath): Model {
  const model = models.get(name);
  if (model === undefined) throw new RequestError(404, `there is no model '${name}'; GET /v2 lists them`);
  if (wanted !== modelVersion) throw new RequestError(404, `model '${name}' has only version ${modelVersion}`);
  return model;
}

const described = ({ name, datatype, shape }: TensorDescription): object => ({ name, datatype, shape });

function metadataOf({ name, summary, inputs, outputs, parameters }: Model): object {
  return {
    name, versions: [modelVersion], platform: 'warploom', inputs: inputs.map(described), outputs: outputs.map(described),
    properties: { summary, optional_inputs: inputs.filter(({ optional }) => optional === true).map((input) => input.name), parameters },
  };
}

async function infer(server: InferenceServer, request: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
  const began = performance.now();
  const model = modelOf(server, request.params as ModelPath);
  try {
    const { body, headers } = request;
    const length = headers['inference-header-content-length'];
    if (!Buffer.isBuffer(body) || body.byteLength === 0) throw new RequestError(400, 'the request has no body');
    const call = readRequest(body, Array.isArray(length) ? length[0] : length);
    requireInputs(model, call);
    const deadline = Math.min(call.timeout ?? server.requestTimeout, server.requestTimeout);
    const made = await model.infer(call, {
      pool: server.pool, signal: signalOf(reply), mostWork: server.maxWork, queued: { priority: call.priority, deadline },
    });
    const { headerLength, body: answer } = writeResponse({ name: model.name, version: modelVersion }, call, made);
    if (headerLength === undefined) void reply.header('content-type', 'application/json');
    else void reply.header('content-type', 'application/octet-stream').header('inference-header-content-length', headerLength);
    server.metrics.request(model.name, 'ok', (performance.now() - began) / 1000);
    return answer;
  } catch (error) {
    server.metrics.request(model.name, 'error', (performance.now() - began) / 1000);
    throw error;
  }
}

const binaryNote = 'JSON, or JSON followed by the bytes of tensors with the header Inference-Header-Content-Length.';

/** Adds the routes. */
export function inferenceRoutes(app: FastifyInstance, server: InferenceServer): void {
  const schema = (summary: string, more: object = {}): { schema: object } => ({ schema: { summary, tags: ['inference'], ...more } });
  const isReady = (reply: FastifyReply): object => {
    if (!server.isReady()) void reply.code(503);
    return { ready: server.isReady() };
  };
  app.get('/v2/health/live', schema('Whether the server runs'), () => ({ live: true }));
  app.get('/v2/health/ready', schema('Whether it takes requests'), (_, reply) => isReady(reply));
  app.get('/v2', schema('The server and its models'), () => ({
    name: 'warploom', version, extensions: ['binary_tensor_data', 'model_repository'], models: [...server.models.keys()],
  }));
  app.post('/v2/repository/index', schema('The models'), () =>
    [...server.models.keys()].map((name) => ({ name, version: modelVersion, state: 'READY', reason: '' })));
  for (const path of ['/v2/models/:name', '/v2/models/:name/versions/:version']) {
    app.get(path, schema('Inputs, outputs and parameters of a model'), (request) =>
      metadataOf(modelOf(server, request.params as ModelPath)));
    app.get(`${path}/ready`, schema('Whether a model takes requests'), (request, reply) => {
      modelOf(server, request.params as ModelPath);
      return isReady(reply);
    });
    app.get(`${path}/config`, schema('The configuration of a model, in short'), (request) => {
      const model = modelOf(server, request.params as ModelPath);
      return { name: model.name, platform: 'warploom', backend: 'warploom', max_batch_size: 0 };
    });
    app.post(`${path}/infer`, schema('Computes outputs of a model', {
      description: binaryNote, consumes: ['application/json', 'application/octet-stream'],
      response: { 200: { description: binaryNote, type: 'object', additionalProperties: true } },
    }), (request, reply) => infer(server, request, reply));
  }
}
