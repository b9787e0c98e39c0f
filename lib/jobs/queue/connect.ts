// The packages of the queue, loaded when a queue is asked for, and connections to its server.
import type * as Bull from 'bullmq';
import type { Redis, RedisOptions } from 'ioredis';
import { UnavailableError } from '../../core/errors.ts';
import { missingPackages } from '../../core/optional.ts';
import type { Address } from './address.ts';

/** Names in Redis begin with this. */
export const prefix = 'warploom';

/** Where the workers of a queue publish frames. The server keeps none of them. */
export const framesOf = (queueName: string): string => `${prefix}:frames:${queueName}`;

/** BullMQ, and a connection that is open. */
export interface Opened {
  readonly bull: typeof Bull;
  readonly redis: Redis;
}

/**
 * Loads BullMQ and connects to the server.
 * @throws UnavailableError if a package is missing or the server does not answer; the message has no password
 */
export async function connect({ connection, shown, scrub }: Address): Promise<Opened> {
  let bull: typeof Bull;
  let Client: typeof Redis;
  try {
    [bull, { Redis: Client }] = await Promise.all([import('bullmq'), import('ioredis')]);
  } catch (error) {
    throw missingPackages(error, 'queues on Redis or Valkey need two optional packages', 'bullmq ioredis');
  }
  let isOpen = false;
  const options: RedisOptions = {
    ...connection, maxRetriesPerRequest: null, lazyConnect: true, connectTimeout: 10_000,
    retryStrategy: (times) => (isOpen ? Math.min(5000, 50 * 2 ** times) : null), // only a server that has answered is waited for
  };
  const redis = new Client(options);
  let last = 'it does not answer';
  redis.on('error', (error: Error) => { last = error.message; });
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    redis.disconnect();
    const { message } = error as Error; // no cause: errors of ioredis carry the command, with the password
    throw new UnavailableError(`no Redis or Valkey server at ${shown}: ${scrub(/closed/i.test(message) ? last : message)}`);
  }
  isOpen = true;
  return { bull, redis };
}
