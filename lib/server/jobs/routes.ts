// Jobs over HTTP: submit, follow, control, and fetch results.
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readBytes, unlessAbsent } from '../../core/files.ts';
import { jobJsonSchema } from '../../jobs/kinds/index.ts';
import { RequestError } from '../errors.ts';
import { framesOf } from './frames.ts';
import { filesBelow, typeOf } from './inputs.ts';
import { jsonOf } from '../protocol/json.ts';
import type { JobStore } from './store.ts';
import type { Submission } from './submission.ts';

/** Bytes that a follower may be behind before frames are left out, and before it is dropped. */
const mostBehind = 2 ** 20, mostLate = 2 ** 24;
/** Milliseconds between the comments that keep a connection open. */
const keepAlive = 15_000;

const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;

/** Server-sent events of a job until it is over or the client goes. */
function follow(job: Submission, reply: FastifyReply): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    'content-type': 'text/event-stream', 'cache-control': 'no-store', 'connection': 'keep-alive', 'x-accel-buffering': 'no',
  });
  let leave: () => void = () => undefined;
  const beat = setInterval(() => raw.write(': still there\n\n'), keepAlive);
  const end = (): void => {
    clearInterval(beat);
    leave();
    raw.end();
  };
  const send = (event: string, data: unknown): void => {
    if (event === 'frame' && raw.writableLength > mostBehind) return;
    if (raw.writableLength > mostLate) {
      raw.destroy();
      return;
    }
    raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (event === 'state' && job.isOver) setImmediate(end);
  };
  raw.once('close', end);
  leave = job.follow(send);
}

async function resultsOf(job: Submission): Promise<object> {
  const items: object[] = [];
  for (const { name, values } of job.job.items) {
    const folder = join(job.results, job.job.name, name);
    const files = await filesBelow(folder);
    if (files.length === 0) continue;
    const text = await unlessAbsent(readBytes(join(folder, 'result.json')));
    items.push({ item: name, values, ...(text === undefined ? {} : { result: JSON.parse(text.toString('utf8')) as unknown }), files });
  }
  const own = (await filesBelow(join(job.results, job.job.name), '', false));
  return { id: job.id, items, files: own };
}

/** A file of an item or of the whole job, found by its name in the list of what there is. */
async function resultFile(job: Submission, path: string, reply: FastifyReply): Promise<Buffer> {
  const item = job.job.items.find(({ name }) => path.startsWith(`${name}/`));
  const folder = join(job.results, job.job.name, item?.name ?? '');
  const wanted = item === undefined ? path : path.slice(item.name.length + 1);
  const found = (await filesBelow(folder, '', item !== undefined)).find(({ name }) => name === wanted);
  if (found === undefined) throw new RequestError(404, 'there is no such file among the results');
  void reply.header('content-type', typeOf(found.name)).header('x-content-type-options', 'nosniff')
    .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; img-src data:");
  return readBytes(join(folder, found.name));
}

/** The snapshots of an item that is not running. */
async function itemFrames(job: Submission, name: string): Promise<object> {
  const item = job.job.items.find((each) => each.name === name);
  if (item === undefined) throw new RequestError(404, 'the job has no such item');
  if (job.state === 'running') throw new RequestError(409, 'the job is running: follow its events, or pause it');
  return framesOf(join(job.results, job.job.name, item.name, 'result.zarr'), item);
}

/** Adds the routes. */
export function jobRoutes(app: FastifyInstance, store: JobStore): void {
  const schema = (summary: string, more: object = {}): { schema: object } => ({ schema: { summary, tags: ['jobs'], ...more } });
  app.get('/v1/schema', schema('The JSON Schema of jobs'), () => jobJsonSchema());
  app.post('/v1/jobs', schema('Submits a job', {
    description: '{ "job": a job as in docs/jobs.md, "files": { NAME: base64 } }', consumes: ['application/json'],
  }), async (request, reply) => {
    const job = await store.submit(jsonOf(request.body));
    void reply.code(201).header('location', `/v1/jobs/${job.id}`);
    return job.describe();
  });
  app.get('/v1/jobs', schema('All jobs, the newest first'), () => ({ jobs: store.jobs.map((job) => job.describe()) }));
  app.get('/v1/jobs/:id', schema('The state of a job'), (request) => store.get(idOf(request)).describe());
  app.get('/v1/jobs/:id/events', schema('Follows a job: server-sent events state, item, progress, frame and warning'), (request, reply) => {
    follow(store.get(idOf(request)), reply);
  });
  app.get('/v1/jobs/:id/job', schema('The items of a job with all defaults'), (request) => {
    const { job } = store.get(idOf(request));
    return { name: job.name, items: job.items.map(({ name, values, job: one }) => ({ item: name, values, job: one })) };
  });
  for (const action of ['pause', 'resume', 'abort'] as const) {
    app.post(`/v1/jobs/:id/${action}`, schema(`${action[0]?.toUpperCase() ?? ''}${action.slice(1)}s a job`), (request) =>
      store[action](idOf(request)).describe());
  }
  app.delete('/v1/jobs/:id', schema('Removes a job that is over, and its files'), async (request, reply) => {
    await store.remove(idOf(request));
    await reply.code(204).send();
  });
  app.get('/v1/jobs/:id/results', schema('The results of finished items, and their files'), (request) =>
    resultsOf(store.get(idOf(request))));
  app.get('/v1/jobs/:id/frames/:item', schema('The snapshots of a simulation, thinned out'), (request) =>
    itemFrames(store.get(idOf(request)), (request.params as { item: string }).item));
  app.get('/v1/jobs/:id/results/*', schema('A file of the results: ITEM/NAME'), (request, reply) =>
    resultFile(store.get(idOf(request)), (request.params as { '*': string })['*'], reply));
}
