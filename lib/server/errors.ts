// Errors as HTTP answers.
import { FileError, WarploomError, type ErrorCode } from '../core/errors.ts';
import type { JobIssue } from '../jobs/issues.ts';

/** What an answer says besides its sentence. */
interface Details {
  readonly argument?: string;
  /** Of a job that its schema refuses. */
  readonly issues?: readonly JobIssue[];
}

/** An error with an HTTP status of its own. */
export class RequestError extends Error {
  readonly statusCode: number;
  readonly details: Details;
  /** Of the answer. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(statusCode: number, message: string, details: Details = {}, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.statusCode = statusCode;
    this.details = details;
    this.headers = headers;
  }
}

/** Statuses of the library's errors that are not 500. */
const statuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  ERR_WARPLOOM_INVALID_ARGUMENT: 400, ERR_WARPLOOM_UNSUPPORTED: 400, ERR_WARPLOOM_INVALID_PROGRAM: 400, ERR_WARPLOOM_DAMAGED_FILE: 400,
  ERR_WARPLOOM_UNSTABLE: 400, ERR_WARPLOOM_SYSTEM_FAILED: 422, ERR_WARPLOOM_LOCKED: 409, ERR_WARPLOOM_QUEUE_FULL: 503,
  ERR_WARPLOOM_OUT_OF_MEMORY: 503, ERR_WARPLOOM_DEVICE_LOST: 503, ERR_WARPLOOM_DISPOSED: 503, ERR_WARPLOOM_UNAVAILABLE: 503,
  ERR_WARPLOOM_DEADLINE: 504,
};

/** The status, and what the answer says: never a path or a stack. */
export interface Answer {
  readonly status: number;
  readonly body: { readonly error: string; readonly code?: string } & Details;
  readonly headers: Readonly<Record<string, string>>;
}

/** How an error is answered. */
export function answerOf(error: unknown): Answer {
  if (error instanceof RequestError) {
    const { statusCode, message, details, headers } = error;
    return answer(statusCode, { error: message, ...details }, headers);
  }
  if (error instanceof FileError) {
    return answer(error.systemCode === 'ENOENT' ? 400 : 500, { error: `a file cannot be used (${error.systemCode})`, code: error.code });
  }
  if (error instanceof WarploomError) {
    const argument: unknown = (error as { argument?: unknown }).argument;
    const named = typeof argument === 'string' && argument !== '' ? { argument } : {};
    return answer(statuses[error.code] ?? 500, { error: error.message, code: error.code, ...named });
  }
  const { statusCode, message, code } = error as { statusCode?: unknown; message?: unknown; code?: unknown };
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) { // of fastify: too large a body, a bad length
    return answer(statusCode, { error: String(message), ...(typeof code === 'string' ? { code } : {}) });
  }
  return answer(500, { error: 'internal error' });
}

function answer(status: number, body: Answer['body'], headers: Answer['headers'] = {}): Answer {
  return { status, body, headers: status === 503 ? { 'retry-after': '1', ...headers } : headers };
}
