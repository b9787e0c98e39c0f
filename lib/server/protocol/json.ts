// Bodies of requests as JSON.
import { RequestError } from '../errors.ts';

/** The value of a body. @throws RequestError 400 if it is none */
export function jsonOf(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.byteLength === 0) throw new RequestError(400, 'the request has no body');
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new RequestError(400, 'the request is not JSON');
  }
}
