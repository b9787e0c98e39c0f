// Errors on their way from the process of an item: the library's own arrive as what they were.
import * as errors from '../../core/errors.ts';

/** An error as plain data. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** What the error carries besides: `code`, `argument`, … */
  readonly fields: Readonly<Record<string, unknown>>;
}

const classes: Readonly<Record<string, new (...args: never[]) => Error>> = Object.fromEntries(
  Object.values(errors).filter((value) => typeof value === 'function' && value.prototype instanceof Error)
    .map((value) => [value.name, value as new (...args: never[]) => Error]));

const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

/** An error as plain data. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), stack: undefined, fields: {} };
  const fields = Object.fromEntries(Object.entries(error).filter(([name, value]) => name !== 'name' && isPlain(value)));
  return { name: error.name, message: error.message, stack: error.stack, fields };
}

/** The error that {@link failureOf} was given, of the same class if that is one of the library's. */
export function errorOf({ name, message, stack, fields }: Failure): Error {
  const error = new Error(message);
  const known = Object.hasOwn(classes, name) ? classes[name] : undefined;
  if (known !== undefined) Object.setPrototypeOf(error, known.prototype as object);
  Object.defineProperty(error, 'name', { value: name, enumerable: false, configurable: true, writable: true });
  if (stack !== undefined) error.stack = stack;
  return Object.assign(error, fields);
}
