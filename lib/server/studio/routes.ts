// The studio: a page in the browser that uses the routes of the server, and those that only it needs.
import type { FastifyInstance } from 'fastify';
import { RequestError } from '../errors.ts';
import { jsonOf } from '../protocol/json.ts';
import { readAssets } from './assets.ts';
import { jobExamples } from './examples.ts';
import { examineProgram, runProgram } from './program.ts';

/** No script, style or picture but the server's own, and no page may hold this one in a frame. */
const policy = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' blob: data:", "connect-src 'self'", "base-uri 'none'",
  "form-action 'none'", "frame-ancestors 'none'",
].join('; ');

/** What a request needs no token for: the page itself, which holds no data. */
export const isPage = (url: string): boolean => url === '/' || /^\/studio(\/[\w./-]*)?(\?|$)/.test(url);

/** Adds the routes. `timeout`: milliseconds that examining a program may take. */
export async function studioRoutes(app: FastifyInstance, timeout: number): Promise<void> {
  const assets = await readAssets();
  const hidden = { schema: { hide: true } };
  for (const path of ['/', '/studio']) app.get(path, hidden, async (_, reply) => { await reply.redirect('/studio/'); });
  app.get('/studio/*', hidden, async (request, reply) => {
    const name = (request.params as { '*': string })['*'];
    const asset = assets.get(name === '' ? 'index.html' : name);
    if (asset === undefined) throw new RequestError(404, 'the studio has no such file');
    void reply.headers({
      'content-type': asset.type, 'etag': asset.etag, 'cache-control': 'no-cache', 'content-security-policy': policy,
      'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'cross-origin-opener-policy': 'same-origin',
    });
    if (request.headers['if-none-match'] === asset.etag) await reply.code(304).send();
    else await reply.send(asset.bytes);
  });
  const tags = ['studio'];
  app.get('/v1/examples', { schema: { summary: 'Jobs to begin with', tags } }, () => jobExamples());
  app.post('/v1/stream/check', {
    schema: {
      summary: 'What is wrong with a stream program, its graph and its schedule', tags, consumes: ['application/json'],
      description: '{ "text": the program, "main": the main stream, "cores": number of cores of the schedule }',
    },
  }, (request) => examineProgram(jsonOf(request.body), timeout));
  app.post('/v1/stream/run', {
    schema: {
      summary: 'Runs a stream program that needs no files', tags, consumes: ['application/json'],
      description: '{ "text": the program, "main": the main stream, "iterations": number of steady states }',
    },
  }, (request) => runProgram(jsonOf(request.body), timeout));
}
