// Every error that this library creates: one base class, stable codes, and messages that say what to do.

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
  | 'ERR_WARPLOOM_DEADLINE'
  | 'ERR_WARPLOOM_DAMAGED_FILE'
  | 'ERR_WARPLOOM_FILE'
  | 'ERR_WARPLOOM_LOCKED'
  | 'ERR_WARPLOOM_SYSTEM_FAILED'
  | 'ERR_WARPLOOM_UNSTABLE'
  | 'ERR_WARPLOOM_INVALID_PROGRAM';

/** Base of all errors of this library. `code` never changes between releases; messages may. */
export class WarploomError extends Error {
  override readonly name: string = 'WarploomError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** The fields of the error with its name and message: for answers of servers and for other threads, where errors keep neither. */
  toJSON(): { readonly name: string; readonly code: ErrorCode; readonly message: string; readonly [field: string]: unknown } {
    return { ...this as object, name: this.name, code: this.code, message: this.message };
  }
}

/** What an {@link ArgumentError} carries besides its message. */
export interface ArgumentErrorOptions extends ErrorOptions {
  /** What was expected. */
  readonly expected: string;
  /** What was received. */
  readonly received: string;
}

/** A call was rejected before any work started: `argument` names what was wrong. */
export class ArgumentError extends WarploomError {
  override readonly name = 'ArgumentError';
  /** The argument as the caller spells it, such as 'rhs' or 'options.depth'. */
  readonly argument: string;
  /** What was expected. */
  readonly expected: string;
  /** What was received. */
  readonly received: string;

  /** @param message what was expected and what was received, to follow the argument's name */
  constructor(argument: string, message: string, options: ArgumentErrorOptions) {
    super('ERR_WARPLOOM_INVALID_ARGUMENT', argument === '' ? message : `${argument}: ${message}`, options);
    this.argument = argument;
    this.expected = options.expected;
    this.received = options.received;
  }
}

/** An allocation did not fit. All figures are in bytes. */
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

/** A sticky device fault: the device object can no longer be used; start another process to use the GPU. */
export class DeviceLostError extends WarploomError {
  override readonly name = 'DeviceLostError';

  constructor(message: string, options?: ErrorOptions) {
    super('ERR_WARPLOOM_DEVICE_LOST', message, options);
  }
}

/** A backend or device that cannot be used here: not compiled into this build, or no such device. */
export class UnavailableError extends WarploomError {
  override readonly name = 'UnavailableError';

  constructor(message: string, options?: ErrorOptions & { code?: 'ERR_WARPLOOM_NOT_COMPILED' | 'ERR_WARPLOOM_UNAVAILABLE' }) {
    super(options?.code ?? 'ERR_WARPLOOM_UNAVAILABLE', message, options);
  }
}

/** A device or device array was used after it was closed or disposed. */
export class DisposedError extends WarploomError {
  override readonly name = 'DisposedError';
  /** The argument that was disposed; empty for the device itself. */
  readonly argument: string;

  constructor(message: string, argument = '', options?: ErrorOptions) {
    super('ERR_WARPLOOM_DISPOSED', argument === '' ? message : `${argument}: ${message}`, options);
    this.argument = argument;
  }
}

/**
 * More calls wait on a device than its `queueLimit`, or their arrays hold as many bytes as its `memoryLimit`. Rejected before
 * anything is copied. The figures are zero if the number of calls is the reason.
 */
export class QueueFullError extends WarploomError {
  override readonly name = 'QueueFullError';
  /** Bytes that the rejected call would copy. */
  readonly requestedBytes: number;
  /** Bytes that the calls in flight hold, with arrays on the cpu backend. */
  readonly queuedBytes: number;
  readonly limitBytes: number;

  constructor(message: string, options?: ErrorOptions & { requestedBytes?: number; queuedBytes?: number; limitBytes?: number }) {
    super('ERR_WARPLOOM_QUEUE_FULL', message, options);
    this.requestedBytes = options?.requestedBytes ?? 0;
    this.queuedBytes = options?.queuedBytes ?? 0;
    this.limitBytes = options?.limitBytes ?? 0;
  }
}

/** What a {@link FileError} carries besides its message. */
export interface FileErrorDetails extends ErrorOptions {
  /** What was tried: 'read', 'write', 'list', … */
  readonly action: string;
  readonly path: string;
  /** The system's code: ENOENT, EACCES, ENOSPC, ERR_ACCESS_DENIED, … */
  readonly systemCode: string;
  readonly remedy: string;
}

/** The system denied access to a file or a folder, or failed at it; `systemCode` has the system's own code, `cause` its error. */
export class FileError extends WarploomError {
  override readonly name = 'FileError';
  readonly action: string;
  readonly path: string;
  readonly systemCode: string;
  /** What to do about it. */
  readonly remedy: string;

  /** @param reason what is wrong, in words */
  constructor(reason: string, details: FileErrorDetails) {
    const { action, path, systemCode, remedy } = details;
    super('ERR_WARPLOOM_FILE', `cannot ${action} ${path}: ${reason} (${systemCode}); ${remedy}`, details);
    this.action = action;
    this.path = path;
    this.systemCode = systemCode;
    this.remedy = remedy;
  }
}

/** What a {@link CheckpointError} carries besides its message. */
export interface CheckpointErrorDetails extends ErrorOptions {
  readonly path: string;
  readonly field: string;
  readonly expected: string;
  readonly received: string;
}

/** A checkpoint that is truncated, altered, or contains what no run can have written. */
export class CheckpointError extends WarploomError {
  override readonly name = 'CheckpointError';
  readonly path: string;
  /** The part that is wrong, such as 'checksum', 'step' or 'parameters.setup.dt'. */
  readonly field: string;
  readonly expected: string;
  readonly received: string;
  /** What to do about it. */
  readonly remedy: string;

  constructor(details: CheckpointErrorDetails) {
    const { path, field, expected, received } = details;
    const remedy = 'delete it (and its .previous) to start from the beginning';
    super('ERR_WARPLOOM_DAMAGED_FILE',
      `${path} is not a whole checkpoint: ${field}: expected ${expected}, received ${received}; ${remedy}`, details);
    this.path = path;
    this.field = field;
    this.expected = expected;
    this.received = received;
    this.remedy = remedy;
  }
}

/**
 * A time step produced values that are not finite, or a gas without positive density and pressure; the state is that of the step
 * before.
 */
export class InstabilityError extends WarploomError {
  override readonly name = 'InstabilityError';
  /** The first bad step, counted from time 0. */
  readonly step: number;
  /** The time it would have reached. */
  readonly time: number;
  /** The first problem of the ensemble in which it happens. */
  readonly problem: number;

  constructor(message: string, { step, time, problem }: { step: number; time: number; problem: number }, options?: ErrorOptions) {
    super('ERR_WARPLOOM_UNSTABLE', message, options);
    this.step = step;
    this.time = time;
    this.problem = problem;
  }
}

/** What a {@link ModuleError} carries besides its message. */
export interface ModuleErrorDetails extends ErrorOptions {
  /** The compiler, as messages name it. */
  readonly compiler: string;
  /** All of the compiler's messages. */
  readonly log: string;
}

/** A module's text does not compile. The message contains the beginning of the compiler's own messages, `log` all of them. */
export class ModuleError extends WarploomError {
  override readonly name = 'ModuleError';
  readonly compiler: string;
  readonly log: string;

  constructor(message: string, { compiler, log, ...options }: ModuleErrorDetails) {
    super('ERR_WARPLOOM_INVALID_PROGRAM', message, options);
    this.compiler = compiler;
    this.log = log;
  }
}

/** What a {@link FunctionError} carries besides its message. */
export interface FunctionErrorDetails extends ErrorOptions {
  /** The argument that held the function, such as 'rate'. */
  readonly argument: string;
  /** Counted from 1, in the function's own text. */
  readonly line: number;
  readonly column: number;
  /** The line of the text, with a mark below the place; empty if there is no text. */
  readonly excerpt: string;
  /** What to do about it. */
  readonly hint: string;
}

/** A function of the user's cannot be compiled: it is outside of the accepted subset, or its types do not fit. */
export class FunctionError extends WarploomError {
  override readonly name = 'FunctionError';
  readonly argument: string;
  readonly line: number;
  readonly column: number;
  readonly excerpt: string;
  readonly hint: string;

  constructor(message: string, { argument, line, column, excerpt, hint, ...options }: FunctionErrorDetails) {
    super('ERR_WARPLOOM_INVALID_PROGRAM', message, options);
    this.argument = argument;
    this.line = line;
    this.column = column;
    this.excerpt = excerpt;
    this.hint = hint;
  }
}

/** An {@link ArgumentError} with the usual wording: what was expected and what was received. */
export function refusal(argument: string, expected: string, received: string, options?: ErrorOptions): ArgumentError {
  return new ArgumentError(argument, `expected ${expected}, received ${received}`, { ...options, expected, received });
}
