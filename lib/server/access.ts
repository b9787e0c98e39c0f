// Who may use the server: a token, compared in a time that does not depend on it, and no page of another site.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { RequestError } from './errors.ts';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Refuses requests without the token, except those for health and those that `isOpen` names. */
export function requireToken(app: FastifyInstance, token: string, isOpen: (url: string) => boolean): void {
  const expected = digest(`Bearer ${token}`);
  app.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith('/v2/health/') || isOpen(request.url)) return;
    if (timingSafeEqual(digest(request.headers.authorization ?? ''), expected)) return;
    await reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'this server needs the header Authorization: Bearer TOKEN' });
  });
}

/** The host of a Host header or an origin, without its port. */
function hostOf(text: string): string {
  try {
    return new URL(text.includes('://') ? text : `http://${text}`).hostname;
  } catch {
    return '';
  }
}

const loopback = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/;

/**
 * Refuses requests that a browser sends for a page of another site. A server on a loopback address also refuses other host names: a site
 * may have its name resolved to this machine.
 */
export function requireOwnOrigin(app: FastifyInstance, isLocal: boolean): void {
  app.addHook('onRequest', ({ headers: { host = '', origin } }, _, done) => {
    const isForeign = origin !== undefined && origin.replace(/^https?:\/\//, '') !== host;
    if (isLocal && !loopback.test(hostOf(host))) done(new RequestError(403, 'this server answers requests for this machine only'));
    else done(isForeign ? new RequestError(403, 'pages of other sites may not use this server') : undefined);
  });
}
