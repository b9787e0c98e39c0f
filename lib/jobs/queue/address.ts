// Addresses of queues. They may hold a password, so nothing but `shown` is ever printed.
import { isIP } from 'node:net';
import { refusal } from '../../core/errors.ts';

/** What is needed to reach a Redis or Valkey server. */
export interface Address {
  /** Options of ioredis. */
  readonly connection: Readonly<Record<string, unknown>>;
  /** The address without name and password, for messages. */
  readonly shown: string;
  /** Removes name and password from a text. */
  readonly scrub: (text: string) => string;
}

const expected = 'redis://HOST[:PORT][/DATABASE], rediss://… for TLS, or unix:///PATH';

function scrubber(secrets: readonly string[]): Address['scrub'] {
  const known = secrets.filter((secret) => secret !== '');
  return (text) => known.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

/** Reads the address of a queue. @throws ArgumentError, which does not repeat the address */
export function parseAddress(text: string): Address {
  let url: URL;
  let secrets: [string, string];
  try {
    url = new URL(text);
    secrets = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  } catch {
    throw refusal('queue', expected, 'something else (which is not shown: it may hold a password)');
  }
  const [username, password] = secrets;
  const login = { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
  const scrub = scrubber([password, encodeURIComponent(password), url.password]);
  if (url.protocol === 'unix:' && url.pathname.length > 1) {
    return { connection: { path: decodeURIComponent(url.pathname), ...login }, shown: `unix://${url.pathname}`, scrub };
  }
  const database = /^\/?(\d{0,6})$/.exec(url.pathname)?.[1];
  if (!['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '' || database === undefined) {
    throw refusal('queue', expected, `an address of ${url.protocol}//`);
  }
  const port = url.port === '' ? 6379 : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return {
    connection: {
      host, port, ...login, ...(database === '' ? {} : { db: Number(database) }),
      // TLS has names of servers, and IP addresses are none.
      ...(url.protocol === 'rediss:' ? { tls: isIP(host) === 0 ? { servername: host } : {} } : {}),
    },
    shown: `${url.protocol}//${url.hostname}:${port}${database === '' ? '' : `/${database}`}`, scrub,
  };
}
