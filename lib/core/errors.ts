// Every error this library makes: one base class, a stable code, and what to do about it in the message.

/** Stable codes of {@link WarploomError}. */
export type ErrorCode =
  | 'ERR_WARPLOOM_INVALID_ARGUMENT'
  | 'ERR_WARPLOOM_OUT_OF_MEMORY'
  | 'ERR_WARPLOOM_DEVICE_LOST'
  | 'ERR_WARPLOOM_NOT_COMPILED'
  | 'ERR_WARPLOOM_UNAVAILABLE'
  | 'ERR_WARPLOOM_UNSUPPORTED'
  | 'ERR_WARPLOOM_INTERNAL'
  | 'ERR_WARPLOOM_DISPOSED'
  | 'ERR_WARPLOOM_QUEUE_FULL'
  | 'ERR_WARPLOOM_DAMAGED_FILE'
  | 'ERR_WARPLOOM_SYSTEM_FAILED';

/** Base of all errors of this library. `code` never changes between releases; messages may. */
export class WarploomError extends Error {
  override readonly name: string = 'WarploomError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** A call was refused before any work started: `argument` names what was wrong. */
export class ArgumentError extends WarploomError {
  override readonly name = 'ArgumentError';
  /** The argument as the caller spells it, such as 'rhs' or 'options.depth'. */
  readonly argument: string;

  /** @param message what was expected and what was received, to follow the argument's name */
  constructor(argument: string, message: string, options?: ErrorOptions) {
    super('ERR_WARPLOOM_INVALID_ARGUMENT', argument === '' ? message : `${argument}: ${message}`, options);
    this.argument = argument;
  }
}

/** An allocation did not fit. All figures in bytes. */
export class OutOfMemoryError extends WarploomError {
  override readonly name = 'OutOfMemoryError';
  readonly requestedBytes: number;
  readonly inUseBytes: number;
  readonly limitBytes: number;

  constructor(message: string, bytes: { requestedBytes: number; inUseBytes: number; limitBytes: number },
    options?: ErrorOptions) {
    super('ERR_WARPLOOM_OUT_OF_MEMORY', message, options);
    this.requestedBytes = bytes.requestedBytes;
    this.inUseBytes = bytes.inUseBytes;
    this.limitBytes = bytes.limitBytes;
  }
}

/** A sticky device fault: the device object is useless from now on; open another process for the GPU. */
export class DeviceLostError extends WarploomError {
  override readonly name = 'DeviceLostError';

  constructor(message: string, options?: ErrorOptions) {
    super('ERR_WARPLOOM_DEVICE_LOST', message, options);
  }
}

/** An {@link ArgumentError} in the usual words: what was expected and what was received. */
export function refusal(argument: string, expected: string, received: string, options?: ErrorOptions): ArgumentError {
  return new ArgumentError(argument, `expected ${expected}, received ${received}`, options);
}
