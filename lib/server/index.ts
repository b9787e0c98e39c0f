// The namespace `server` of the package: operations and jobs over HTTP.
import type { DevicePool } from '../core/pool.ts';
import type { Running } from './app.ts';
import { readServerOptions, type ServerOptions } from './options.ts';

export type { ServerOptions } from './options.ts';
export type { MapDescription } from './models/fields.ts';

/** A server that listens. Made by {@link serve}; stop it with {@link RunningServer.close} or `await using`. */
export class RunningServer {
  /** Where it listens, such as http://127.0.0.1:8000. */
  readonly url: string;
  /** The devices of this process. Workers have their own. */
  readonly pool: DevicePool;
  readonly #close: () => Promise<void>;
  #closing: Promise<void> | undefined;

  /** @internal Use {@link serve}. */
  constructor(running: Running) {
    this.url = running.url;
    this.pool = running.pool;
    this.#close = () => running.close();
  }

  /**
   * Stops: it is no longer ready, takes no new requests, answers those that it has, pauses jobs, and closes its devices. Calling it again
   * returns the same promise.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  /** The same as `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Serves operations by the Open Inference Protocol v2 (as Triton and KServe do), and jobs, on HTTP: docs/server.md.
 *
 * @example
 * await using running = await serve({ port: 8000 });
 * console.log(running.url); // http://127.0.0.1:8000
 *
 * @throws ArgumentError for an invalid option, also for a host that others can reach without a token; UnavailableError if a device cannot
 *   be opened; the system's error if the address cannot be used
 */
export async function serve(given: ServerOptions = {}): Promise<RunningServer> {
  const options = readServerOptions(given);
  options.signal?.throwIfAborted();
  const server = new RunningServer(options.workers === 1 ? await (await import('./app.ts')).run(options)
    : await (await import('./cluster/index.ts')).runWorkers(options));
  if (options.signal?.aborted === true) {
    await server.close();
    options.signal.throwIfAborted();
  }
  options.signal?.addEventListener('abort', () => { void server.close(); }, { once: true });
  return server;
}
