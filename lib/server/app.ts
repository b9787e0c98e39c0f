// The HTTP server: fastify with the routes of the inference protocol, jobs, metrics, their description and the studio.
import { availableParallelism } from 'node:os';
import swagger from '@fastify/swagger';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import prometheus from 'prom-client';
import { openPool, type DevicePool } from '../core/pool.ts';
import { version } from '../core/version.ts';
import { originGuard, tokenGuard, type Guard } from './access.ts';
import { readBody } from './body.ts';
import { keepConnections } from './connections.ts';
import { answerOf, RequestError } from './errors.ts';
import { jobRoutes } from './jobs/routes.ts';
import { JobStore } from './jobs/store.ts';
import { forwarder, isOfWorker, type Forwarder } from './cluster/forward.ts';
import { stateOfDevices, type DeviceState } from './devices.ts';
import { makeMetrics, textOfAll, type Metrics } from './metrics.ts';
import { fieldModels, mapModel } from './models/fields.ts';
import { linearModels } from './models/linear.ts';
import type { Model } from './models/model.ts';
import { isLoopback, type TakenServerOptions } from './options.ts';
import { shortWay, type InferenceServer } from './protocol/infer.ts';
import { RequestReader } from './protocol/messages.ts';
import { inferenceRoutes } from './protocol/routes.ts';
import { Statistics, type AllStatistics } from './protocol/statistics.ts';
import { isPage, studioRoutes } from './studio/routes.ts';

/** A server that runs, without its public face. */
export interface Running {
  readonly url: string;
  readonly app: FastifyInstance;
  readonly pool: DevicePool;
  readonly metrics: Metrics;
  readonly statistics: Statistics;
  close(): Promise<void>;
}

/** What is different in a server of several processes (cluster/). */
export interface Place {
  /** In workers: the socket of the process that answers what is not for them. */
  readonly forwardTo?: string;
  /** In that process: its socket. */
  readonly listenOn?: string;
  /** There: the metrics of all processes, and their devices. */
  readonly metrics?: (own: readonly object[]) => Promise<readonly (readonly object[])[]>;
  readonly devices?: (pool: DevicePool) => Promise<readonly DeviceState[]>;
  /** There: the statistics of workers. */
  readonly statistics?: () => Promise<readonly AllStatistics[]>;
  /** There: how many workers were replaced. */
  readonly replaced?: () => number;
}

function modelsOf({ maps }: TakenServerOptions): ReadonlyMap<string, Model> {
  const models = [...linearModels, ...fieldModels, ...Object.entries(maps).map(([name, description]) => mapModel(name, description))];
  return new Map(models.map((model) => [model.name, model]));
}

/** What refuses requests, in this order. */
function guardsOf({ host, token, studio }: TakenServerOptions, isReady: () => boolean): Guard[] {
  const stopping: Guard = ({ url = '' }) =>
    (isReady() || url.startsWith('/v2/health/') ? undefined : new RequestError(503, 'the server is stopping'));
  const own = token === undefined ? [] : [tokenGuard(token, (url) => studio && isPage(url))];
  return [originGuard(isLoopback(host)), ...own, stopping];
}

/** Has inferences answered by the short way, and passes on what is not for this process. */
function shorten(app: FastifyInstance, server: InferenceServer, forward: Forwarder | undefined): void {
  const [long] = app.server.listeners('request') as [(request: IncomingMessage, response: ServerResponse) => void];
  const short = shortWay(server);
  app.server.off('request', long).on('request', (request, response) => {
    if (short(request, response)) return;
    if (forward === undefined || isOfWorker(request.url ?? '')) long(request, response);
    else forward.forward(request, response);
  });
}

/** fastify, set up to take bodies as they are and to answer errors as the protocol says. */
async function makeApp(
  { bodyLimit, requestTimeout, keepAliveTimeout }: TakenServerOptions, server: InferenceServer, forward: Forwarder | undefined,
): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit, requestTimeout, keepAliveTimeout, logger: false, forceCloseConnections: 'idle', exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 256 }, return503OnClosing: true,
  });
  shorten(app, server, forward);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest) => readBody(request, bodyLimit));
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (data) => (Buffer.isBuffer(data) ? data as unknown as string : JSON.stringify(data)));
  app.setErrorHandler(async (error, _, reply) => {
    const { status, body, headers } = answerOf(error);
    await reply.code(status).headers(headers).send(body);
  });
  app.setNotFoundHandler(async (_, reply) => {
    await reply.code(404).send({ error: 'there is no such path; GET /openapi.json lists them' });
  });
  await app.register(swagger, {
    openapi: { info: { title: 'Warploom', description: 'Numerics as a service: Open Inference Protocol v2, and jobs.', version } },
  });
  for (const guard of server.guards) app.addHook('onRequest', ({ raw }, _, done) => { done(guard(raw)); });
  // Connections that stay open would keep the server from stopping.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (!server.isReady()) void reply.header('connection', 'close');
    done();
  });
  return app;
}

/** Processor time that this process has used. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function commonRoutes(app: FastifyInstance, metrics: Metrics, pool: DevicePool, place: Place): void {
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
  app.get('/metrics', { schema: { summary: 'Metrics for Prometheus', tags: ['operation'] } }, async (_, reply) => {
    void reply.header('content-type', metrics.contentType);
    const all = await place.metrics?.(await metrics.json());
    return Buffer.from(await (all === undefined ? metrics.text() : textOfAll(prometheus, all)));
  });
  app.get('/v1/devices', { schema: { summary: 'The devices and how much work they have', tags: ['operation'] } }, async () => ({
    devices: await place.devices?.(pool) ?? stateOfDevices(pool),
    host: { cores: availableParallelism(), cpuSeconds: cpuSeconds(), residentBytes: process.memoryUsage.rss() },
  }));
}

/** Opens the devices and listens. */
export async function run(options: TakenServerOptions, place: Place = {}): Promise<Running> {
  const { devices, maxBatch, maxDelay, queueLimit, queueBytes, host, port, requestTimeout, maxWork, bodyLimit } = options;
  const pool = await openPool({ maxBatch, maxDelay, queueLimit, queueBytes, ...(devices === undefined ? {} : { devices }) });
  let store: JobStore | undefined;
  const metrics = makeMetrics(prometheus, { pool, bytesOfJobs: () => store?.bytes ?? 0, replaced: place.replaced });
  const forward = place.forwardTo === undefined ? undefined : forwarder(place.forwardTo);
  let ready = true;
  const release = async (): Promise<void> => {
    await pool.close();
    forward?.close();
    metrics.close();
  };
  try {
    const isReady = (): boolean => ready;
    const statistics = new Statistics();
    const inferences: InferenceServer = {
      pool, statistics, allStatistics: async () => [statistics.all(), ...await place.statistics?.() ?? []],
      models: modelsOf(options), metrics, reader: new RequestReader(), requestTimeout, maxWork, bodyLimit,
      guards: guardsOf(options, isReady), isReady,
    };
    const app = await makeApp(options, inferences, forward);
    const closeUnused = keepConnections(app.server, options.keepAliveTimeout);
    inferenceRoutes(app, inferences);
    commonRoutes(app, metrics, pool, place);
    if (options.jobs) {
      store = await JobStore.open(options, pool);
      jobRoutes(app, store);
    }
    if (options.studio) await studioRoutes(app, requestTimeout);
    const url = await app.listen(place.listenOn === undefined ? { host, port } : { path: place.listenOn });
    const close = async (): Promise<void> => {
      ready = false;
      pool.hurry();
      await store?.close();
      const closing = app.close();
      closeUnused();
      // All answers are there by then: what is left are clients that do not read them, or do not send what they have begun.
      const end = setTimeout(() => { app.server.closeAllConnections(); }, requestTimeout);
      await closing;
      clearTimeout(end);
      await release();
    };
    return { url, app, pool, metrics, statistics, close };
  } catch (error) {
    await store?.close();
    await release();
    throw error;
  }
}
