// Options of `server.serve`.
import { describeValue, isObject } from '../core/arrays.ts';
import { batcherChecks } from '../core/batching/options.ts';
import { abortSignal, fileName, rule, text, truth, whole } from '../core/checks.ts';
import type { PoolOptions } from '../core/pool.ts';
import { refusal } from '../core/errors.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import type { MapDescription } from './models/fields.ts';

/** Options of {@link serve}: those of the devices and queues, and of the server. */
export interface ServerOptions extends PoolOptions {
  /** Address to listen on. Default 127.0.0.1: only programs on this machine. */
  readonly host?: string;
  /** Default 8000; 0: any free port. */
  readonly port?: number;
  /**
   * Requests must carry it, as `Authorization: Bearer TOKEN`, except those for health. At least 16 characters. Default: none; then the
   * server listens on loopback addresses only, unless `open` is true.
   */
  readonly token?: string;
  /** Whether anyone who can reach the server may use it without a token. Default false. */
  readonly open?: boolean;
  /** Most bytes of a request's body. Default 64 MiB. */
  readonly bodyLimit?: number;
  /** Milliseconds that a request may take, and the most that it can ask for. Default 30,000. */
  readonly requestTimeout?: number;
  /**
   * Milliseconds for which a connection may be without a request, as answers announce it; it is closed some seconds later. Behind a load
   * balancer it must be longer than there. Default 72,000.
   */
  readonly keepAliveTimeout?: number;
  /**
   * Processes that answer inferences on the same port, each with its own devices and queues: for more requests than one process can
   * answer. Jobs and the studio run in this one. Default 1: this process does all.
   */
  readonly workers?: number;
  /** Most cell updates, or iterations × pixels, of one inference. Default 1e10. */
  readonly maxWork?: number;
  /** Functions on arrays that are offered as models, by name. */
  readonly maps?: Readonly<Record<string, MapDescription>>;
  /** Whether jobs can be submitted. Default true. */
  readonly jobs?: boolean;
  /** Whether the studio, a page for browsers, is at /studio/: docs/studio.md. Default false. */
  readonly studio?: boolean;
  /** A folder whose files jobs may read, as `shared/NAME`. Default: none. */
  readonly shared?: string;
  /** Most jobs that wait or run. Default 16. */
  readonly jobLimit?: number;
  /** Milliseconds that a job may run. Default one hour. */
  readonly jobTimeout?: number;
  /** Most finished jobs whose results are kept; the oldest go first. Default 64. */
  readonly keptJobs?: number;
  /**
   * Most bytes of the files of all jobs together: those that came with them, and results. If they need more, the oldest finished jobs go
   * first; then a job that runs ends with an error, and one that is submitted is refused. Default 4 GiB.
   */
  readonly jobBytes?: number;
  /** Stops the server as {@link RunningServer.close} does. */
  readonly signal?: AbortSignal;
}

const kinds: readonly unknown[] = ['FP32', 'FP64', 'INT32', 'number'];

function requireMap(description: unknown, name: string): void {
  if (!isObject(description)) throw refusal(name, 'an object { function, inputs }', describeValue(description));
  const { function: source, inputs } = description as Partial<MapDescription>;
  if (typeof source !== 'string') throw refusal(`${name}.function`, 'the text of a function', describeValue(source));
  if (!isObject(inputs)) throw refusal(`${name}.inputs`, 'an object with the kind of each argument', describeValue(inputs));
  for (const [input, kind] of Object.entries(inputs)) {
    if (!kinds.includes(kind)) throw refusal(`${name}.inputs.${input}`, `one of ${kinds.join(', ')}`, describeValue(kind));
  }
  if (!Object.values(inputs).some((kind) => kind !== 'number')) throw refusal(`${name}.inputs`, 'at least one array', 'numbers alone');
}

const table = {
  ...batcherChecks,
  devices: rule<NonNullable<PoolOptions['devices']>>('an array with the options of at least one device',
    (value) => Array.isArray(value) && value.length > 0),
  host: normally(text(/^[\w.:%-]+$/), '127.0.0.1'), port: normally(whole(0, 65_535), 8000), token: text(/^[\x21-\x7e]{16,512}$/),
  open: normally(truth, false), bodyLimit: normally(whole(1024, 2 ** 32), 2 ** 26), requestTimeout: normally(whole(1, 2 ** 31 - 1), 30_000),
  keepAliveTimeout: normally(whole(1000, 2 ** 31 - 1), 72_000), maxWork: normally(whole(1), 1e10),
  workers: normally(whole(1, 1024), 1),
  maps: normally(rule<Readonly<Record<string, MapDescription>>>('an object of functions by name', isObject), {}),
  jobs: normally(truth, true), studio: normally(truth, false),
  shared: fileName, jobLimit: normally(whole(1, 4096), 16), keptJobs: normally(whole(0, 2 ** 20), 64),
  jobBytes: normally(whole(1), 2 ** 32),
  jobTimeout: normally(whole(1, 2 ** 31 - 1), 3_600_000), signal: abortSignal,
} satisfies ChecksOf<ServerOptions>;

const serverOptions = optionsOf('server.serve', table);

/** Whether only programs on this machine can reach an address. */
export const isLoopback = (host: string): boolean => /^(127\.\d+\.\d+\.\d+|localhost|::1)$/.test(host);

/** The options, checked. */
export function readServerOptions(given: ServerOptions) {
  const options = serverOptions.read(given);
  for (const [name, description] of Object.entries(options.maps)) {
    if (!/^[A-Za-z][\w-]{0,63}$/.test(name)) throw refusal(`maps.${name}`, 'a name of letters, digits, - and _', name);
    requireMap(description, `maps.${name}`);
  }
  if (options.token === undefined && !options.open && !isLoopback(options.host)) {
    throw refusal('token', `a token, or open: true, with the host ${options.host}, which others can reach`, 'neither');
  }
  return options;
}

export type TakenServerOptions = ReturnType<typeof readServerOptions>;
