// The routes of the Open Inference Protocol v2.
import type { FastifyInstance, FastifyReply } from 'fastify';
import { version } from '../../core/version.ts';
import { RequestError } from '../errors.ts';
import type { Model, TensorDescription } from '../models/model.ts';
import { describedStatistics } from './statistics.ts';
import { departureOf, infer, modelVersion, type InferenceServer } from './infer.ts';

interface ModelPath {
  readonly name: string;
  readonly version?: string;
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

/** A model's configuration, in the words of Triton. */
function configOf({ name, inputs, outputs }: Model): object {
  const tensors = (all: readonly TensorDescription[]): object[] =>
    all.map(({ name: tensor, datatype, shape: dims, optional = false }) =>
      ({ name: tensor, data_type: `TYPE_${datatype}`, dims, optional }));
  return {
    name, platform: 'warploom', backend: 'warploom', version_policy: { latest: { num_versions: 1 } }, max_batch_size: 0,
    input: tensors(inputs), output: tensors(outputs).map(({ optional: _, ...output }: { optional?: boolean }) => output),
  };
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
    name: 'warploom', version, extensions: ['binary_tensor_data', 'model_configuration', 'model_repository', 'statistics'],
    models: [...server.models.keys()],
  }));
  const statisticsOf = async (names: readonly string[]): Promise<object> => {
    const all = await server.allStatistics();
    return { model_stats: names.map((name) => describedStatistics(all, name, modelVersion)) };
  };
  app.get('/v2/models/stats', schema('Statistics of all models'), () => statisticsOf([...server.models.keys()]));
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
      return configOf(model);
    });
    app.get(`${path}/stats`, schema('Statistics of a model'), (request) =>
      statisticsOf([modelOf(server, request.params as ModelPath).name]));
    app.post(`${path}/infer`, schema('Computes outputs of a model', {
      description: binaryNote, consumes: ['application/json', 'application/octet-stream'],
      response: { 200: { description: binaryNote, type: 'object', additionalProperties: true } },
    }), async (request, reply) => { // answers what the short way (infer.ts) does not recognise, such as encoded paths
      const model = modelOf(server, request.params as ModelPath);
      const { headers, parts } = await infer(server, model, request.headers, request.body, departureOf(reply.raw));
      await reply.headers(headers).send(parts.length === 1 ? parts[0] : Buffer.concat(parts));
    });
  }
}
