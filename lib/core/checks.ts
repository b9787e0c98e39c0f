// Rules for values: options (options.ts), parts of stored data (shapes.ts) and arguments. Violations are reported under the name of the
// value, with what was expected and what was received, as ERR_WARPLOOM_INVALID_ARGUMENT.
import { types } from 'node:util';
import { describeValue } from './arrays.ts';
import { refusal } from './errors.ts';
import { elementAt } from './known.ts';

/** Rejects a value that violates the rule, reporting it under the given name. */
export interface Check<T = unknown> {
  (value: unknown, name: string): void;
  /** Only a type: what the rule accepts. */
  readonly takes?: T;
}

/** A rule about the value as a whole, from which other rules can be built. */
export interface Rule<T = unknown> extends Check<T> {
  /** What it accepts, in words that follow "expected". */
  readonly expected: string;
  readonly fits: (value: unknown) => boolean;
  /** The same rule as data, so that option tables can check it without a call. */
  readonly quick?: QuickRule;
}

/** A range of (whole) numbers, one of a list, or a boolean. */
export type QuickRule =
  | { readonly kind: 'number'; readonly low: number; readonly high: number; readonly whole: boolean }
  | { readonly kind: 'choice'; readonly values: readonly unknown[] }
  | { readonly kind: 'boolean' };

/** A rule with the given words and test. */
export function rule<T>(expected: string, fits: (value: unknown) => boolean, quick?: QuickRule): Rule<T> {
  const check = (value: unknown, name: string): void => {
    if (!fits(value)) throw refusal(name, expected, describeValue(value));
  };
  return Object.assign(check, { expected, fits }, quick === undefined ? {} : { quick });
}

/** Arrays and other values that are checked elsewhere. */
export const anything: Check<never> = () => undefined;

export const truth: Rule<boolean> = rule('true or false', (value) => typeof value === 'boolean', { kind: 'boolean' });

/** One of a few values. */
export function choice<T>(values: readonly T[]): Rule<T> {
  const expected = `one of ${values.map((each) => JSON.stringify(each)).join(', ')}`;
  return rule(expected, (value) => values.includes(value as T), { kind: 'choice', values });
}

/** Bounds of a number: from `least` or above `above`, to `most` or below `below`. */
export interface NumberBounds {
  readonly least?: number;
  readonly above?: number;
  readonly most?: number;
  readonly below?: number;
}

/** Describes the bounds, for messages. */
function boundsText({ least, above, most, below }: NumberBounds, kind: string): string {
  const low = above !== undefined ? ` above ${above}` : least === undefined ? ''
    : most === undefined && below === undefined ? ` of at least ${least}` : ` from ${least}`;
  const high = most !== undefined ? (low === '' ? ` of at most ${most}` : ` to ${most}`) : below === undefined ? '' : ` below ${below}`;
  return `a ${kind}${low}${high}`;
}

function isWithin(value: unknown, { least, above, most, below }: NumberBounds): value is number {
  return typeof value === 'number' && Number.isFinite(value) && (least === undefined || value >= least)
    && (above === undefined || value > above) && (most === undefined || value <= most) && (below === undefined || value < below);
}

/** A finite number within bounds. */
export function number(bounds: NumberBounds = {}): Rule<number> {
  const { least, above, most = Number.MAX_VALUE, below } = bounds;
  const expected = boundsText(bounds, 'finite number');
  const fits = (value: unknown): boolean => isWithin(value, bounds);
  if (below !== undefined || (above !== undefined && above !== 0)) return rule(expected, fits);
  const low = above === 0 ? Number.MIN_VALUE : least ?? -Number.MAX_VALUE;
  return rule(expected, fits, { kind: 'number', low, high: most, whole: false });
}

/** A finite number above 0. */
export const positive = number({ above: 0 });

function wholeText(least: number, most: number): string {
  return boundsText(most === Number.MAX_SAFE_INTEGER ? { least } : { least, most }, 'whole number');
}

function isWhole(value: unknown, least: number, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** A whole number within bounds, which stays exact in float64. */
export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): Rule<number> {
  return rule(wholeText(least, most), (value) => isWhole(value, least, most), { kind: 'number', low: least, high: most, whole: true });
}

/** One of several rules. */
export function either<T extends readonly Rule[]>(...rules: T): Rule<T[number] extends Rule<infer U> ? U : never> {
  return rule(rules.map(({ expected }) => expected).join(', or '), (value) => rules.some(({ fits }) => fits(value)));
}

/** A string, matching `pattern` if that is given. */
export function text(pattern?: RegExp): Rule<string> {
  return rule(pattern === undefined ? 'a string' : `a string like ${String(pattern)}`,
    (value) => typeof value === 'string' && pattern?.test(value) !== false);
}

export const callback: Rule<never> = rule('a function', (value) => typeof value === 'function');

export const abortSignal: Rule<AbortSignal> = rule('an AbortSignal', (value) => value instanceof AbortSignal);

export const fileName: Check<string> = (value, name) => {
  if (typeof value !== 'string' || value === '') throw refusal(name, 'a file name', describeValue(value));
  if (value.includes('\0')) throw refusal(name, 'a file name without null bytes', JSON.stringify(value));
};

/** A finite number within bounds, as an argument: for functions that evaluate a formula. */
export function requireNumber(value: unknown, name: string, bounds: NumberBounds = {}): asserts value is number {
  if (!isWithin(value, bounds)) throw refusal(name, boundsText(bounds, 'finite number'), describeValue(value));
}

/** A whole number within bounds, as an argument. */
export function requireCount(value: unknown, name: string, least: number, most: number = Number.MAX_SAFE_INTEGER): asserts value is number {
  if (!isWhole(value, least, most)) throw refusal(name, wholeText(least, most), describeValue(value));
}

/** A string, as an argument. */
export function requireText(value: unknown, name: string): asserts value is string {
  if (typeof value !== 'string') throw refusal(name, 'a string', describeValue(value));
}

/** What all typed arrays inherit from; so do imitations, whose methods and lengths throw. */
const AnyTypedArray = Object.getPrototypeOf(Uint8Array) as abstract new () => object;

/** Whether a value has named fields: it is an object, but not an array, a typed array, or an imitation of one. */
export function hasFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
    && !(value instanceof AnyTypedArray);
}

/** Whether `value` is an array or a typed array, of this realm or another, and not an imitation of one. */
export function isArray(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || types.isTypedArray(value);
}

/** An array, a typed array or another object with a length and elements, whatever these are. */
export function requireList(value: unknown, name: string): asserts value is ArrayLike<unknown> {
  const has = isArray(value) || (typeof value === 'object' && value !== null && !(value instanceof AnyTypedArray));
  const length: unknown = has ? (value as { length?: unknown }).length : undefined;
  if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0) {
    throw refusal(name, 'an array or a typed array of numbers', describeValue(value));
  }
}

/** A list of finite numbers. */
export function requireNumbers(value: unknown, name: string): asserts value is ArrayLike<number> {
  requireList(value, name);
  for (let i = 0; i < value.length; i += 1) {
    if (!Number.isFinite(value[i])) throw refusal(`${name}[${i}]`, 'a finite number', describeValue(value[i]));
  }
}

/** The result of a formula. Rejects arguments for which it exceeds the range of numbers, naming `argument`. */
export function requireRange(answer: number, argument: string): number {
  if (Number.isFinite(answer)) return answer;
  throw refusal(argument, 'values closer to 1', `one whose result exceeds the range of numbers (${answer})`);
}

/** Returns the one alternative that is given; at most one is allowed. */
export function oneOf<Name extends string>(options: Readonly<Partial<Record<Name, unknown>>>, names: readonly Name[]): Name | undefined {
  const given = names.filter((name) => options[name] !== undefined);
  if (given.length > 1) throw refusal(elementAt(given, 1), `${given[0]} or ${given[1]}`, 'both');
  return given[0];
}
