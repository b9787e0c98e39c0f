// Turns the addon's plain errors into the classes of errors.ts.
import {
  ArgumentError, DeviceLostError, DisposedError, OutOfMemoryError, QueueFullError, UnavailableError, WarploomError,
} from './errors.ts';

interface NativeError extends Error {
  code?: string;
  argument?: string;
  expected?: string;
  received?: string;
  requestedBytes?: number;
  inUseBytes?: number;
  limitBytes?: number;
}

function outOfMemory(error: NativeError): OutOfMemoryError {
  const { requestedBytes = 0, inUseBytes = 0, limitBytes = 0 } = error;
  const figures = requestedBytes > 0
    ? `: ${requestedBytes} bytes requested, ${inUseBytes} in use, limit ${limitBytes}` : '';
  return new OutOfMemoryError(
    `${error.message}${figures}; dispose device arrays, split the batch or raise memoryLimit`,
    { requestedBytes, inUseBytes, limitBytes }, { cause: error });
}

function queueFull(error: NativeError): QueueFullError {
  const { requestedBytes = 0, inUseBytes = 0, limitBytes = 0 } = error;
  return new QueueFullError(error.message, { cause: error, requestedBytes, queuedBytes: inUseBytes, limitBytes });
}

/** The library's error for one of the addon's; other values are returned as they are. */
export function fromNative(value: unknown): unknown {
  if (!(value instanceof Error) || value instanceof WarploomError) return value;
  const error = value as NativeError;
  const cause = { cause: error };
  switch (error.code) {
    case 'ERR_WARPLOOM_INVALID_ARGUMENT':
      // Checks that involve several arguments state the violated rule in the message.
      return new ArgumentError(error.argument ?? '', error.message,
        { cause: error, expected: error.expected ?? error.message, received: error.received ?? 'a call that is not so' });
    case 'ERR_WARPLOOM_OUT_OF_MEMORY': return outOfMemory(error);
    case 'ERR_WARPLOOM_DEVICE_LOST': return new DeviceLostError(error.message, cause);
    case 'ERR_WARPLOOM_NOT_COMPILED':
    case 'ERR_WARPLOOM_UNAVAILABLE': return new UnavailableError(error.message, { cause: error, code: error.code });
    case 'ERR_WARPLOOM_DISPOSED': return new DisposedError(error.message, error.argument, cause);
    case 'ERR_WARPLOOM_QUEUE_FULL': return queueFull(error);
    case 'ERR_WARPLOOM_UNSUPPORTED':
    case 'ERR_WARPLOOM_INTERNAL': return new WarploomError(error.code, error.message, cause);
    default: return value;
  }
}

/** Rejects with {@link fromNative} of the reason. */
export function rethrow(error: unknown): never {
  throw fromNative(error);
}
