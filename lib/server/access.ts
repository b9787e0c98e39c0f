// Who may use the server: a token, compared in a time that does not depend on it, and no page of another site.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { RequestError } from './errors.ts';

/** Why a request is refused before its body is read; undefined: it is not. */
export type Guard = (request: Pick<IncomingMessage, 'headers' | 'url'>) => RequestError | undefined;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Refuses requests without the token, except those for health and those that `isOpen` names. */
export function tokenGuard(token: string, isOpen: (url: string) => boolean): Guard {
  const expected = digest(`Bearer ${token}`);
  return ({ headers, url = '' }) => {
    if (url.startsWith('/v2/health/') || isOpen(url)) return undefined;
    if (timingSafeEqual(digest(headers.authorization ?? ''), expected)) return undefined;
    return new RequestError(401, 'this server needs the header Authorization: Bearer TOKEN', {}, { 'www-authenticate': 'Bearer' });
  };
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
export function originGuard(isLocal: boolean): Guard {
  let lastLocal: string | undefined; // most requests have the same
  const isOwn = (host: string): boolean => {
    if (host === lastLocal) return true;
    if (!loopback.test(hostOf(host))) return false;
    lastLocal = host;
    return true;
  };
  return ({ headers: { host = '', origin } }) => {
    if (isLocal && !isOwn(host)) return new RequestError(403, 'this server answers requests for this machine only');
    const isForeign = origin !== undefined && origin.replace(/^https?:\/\//, '') !== host;
    return isForeign ? new RequestError(403, 'pages of other sites may not use this server') : undefined;
  };
}
