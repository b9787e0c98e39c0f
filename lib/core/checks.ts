// Checks of option values: code ERR_WARPLOOM_INVALID_ARGUMENT and the option's name, before any work.
import { types } from 'node:util';
import { describeValue } from './arrays.ts';
import { Device } from './device.ts';
import { refusal, unknownOption } from './errors.ts';
import { elementAt } from './known.ts';
import type { CallOptions } from './progress.ts';

/** What all typed arrays inherit from; so do imitations, whose methods and lengths throw. */
const AnyTypedArray = Object.getPrototypeOf(Uint8Array) as abstract new () => object;

/** Refuses anything but an object whose fields are all `known`. */
export function requireFields(
  value: unknown, known: readonly string[], name: string, owner: string, more: readonly string[] = [],
): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof AnyTypedArray) {
    throw refusal(name, 'an object', describeValue(value));
  }
  for (const key in value) {
    if (known.includes(key) || more.includes(key) || !Object.hasOwn(value, key)) continue;
    throw unknownOption(name === 'options' ? key : `${name}.${key}`, owner, [...known, ...more]);
  }
}

const callNames: readonly string[] = ['signal', 'onProgress'];

/** One of `choices`, which must be given. */
export function requireChosen(value: unknown, name: string, choices: readonly unknown[]): void {
  requireChoice(value === undefined ? null : value, name, choices);
}

/** One of `choices`, or absent. */
export function requireChoice(value: unknown, name: string, choices: readonly unknown[]): void {
  if (value === undefined || choices.includes(value)) return;
  throw refusal(name, `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`, describeValue(value));
}

/** True, false, or absent. */
export function requireBoolean(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== 'boolean') throw refusal(name, 'true or false', describeValue(value));
}

/** A whole number within limits, or absent. */
export function requireWhole(value: unknown, name: string, low: number, high: number): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= low && (value as number) <= high)) return;
  throw refusal(name, `a whole number from ${low} to ${high}`, describeValue(value));
}

/** A finite number, positive if so asked, or absent. */
export function requireReal(value: unknown, name: string, positive = true): void {
  if (value === undefined || (Number.isFinite(value) && (!positive || (value as number) > 0))) return;
  throw refusal(name, positive ? 'a positive finite number' : 'a finite number', describeValue(value));
}

/** A file name. */
export function requirePath(value: unknown, name = 'path'): void {
  if (typeof value !== 'string' || value === '') throw refusal(name, 'a file name', describeValue(value));
  if (value.includes('\0')) throw refusal(name, 'a file name without null bytes', JSON.stringify(value));
}

/** Bounds of a number: from `least` or above `above`, to `most` or below `below`. */
export interface NumberBounds {
  readonly least?: number;
  readonly above?: number;
  readonly most?: number;
  readonly below?: number;
}

/** What a number within bounds is, for messages. */
function boundsText({ least, above, most, below }: NumberBounds, kind: string): string {
  const low = above === 0 ? ' above 0' : above !== undefined ? ` above ${above}` : least !== undefined ? ` from ${least}` : '';
  return `a ${kind}${low}${most === undefined ? '' : ` to ${most}`}${below === undefined ? '' : ` below ${below}`}`;
}

function isWithin(value: unknown, { least, above, most, below }: NumberBounds): value is number {
  return typeof value === 'number' && Number.isFinite(value) && (least === undefined || value >= least)
    && (above === undefined || value > above) && (most === undefined || value <= most) && (below === undefined || value < below);
}

/** A finite number within bounds, which must be given: for functions whose answer is a formula of it. */
export function requireNumber(value: unknown, name: string, bounds: NumberBounds = {}): asserts value is number {
  if (!isWithin(value, bounds)) throw refusal(name, boundsText(bounds, 'finite number'), describeValue(value));
}

/** A whole number within bounds, which must be given. */
export function requireCount(value: unknown, name: string, least: number, most: number = Number.MAX_SAFE_INTEGER): asserts value is number {
  if (value === undefined) throw refusal(name, `a whole number from ${least} to ${most}`, 'undefined');
  requireWhole(value, name, least, most);
}

/** Whether `value` is an array or a typed array, of this realm or another, and no imitation of one. */
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

/** The answer of a formula: refuses arguments that take it beyond the range of numbers, in the name of `argument`. */
export function requireRange(answer: number, argument: string): number {
  if (Number.isFinite(answer)) return answer;
  throw refusal(argument, 'values nearer to 1', `one whose answer is beyond the range of numbers (${answer})`);
}

/** A Device, or absent. */
export function requireDevice(value: unknown): void {
  if (value !== undefined && !(value instanceof Device)) throw refusal('device', 'a Device', describeValue(value));
}

/** An AbortSignal, or absent. */
export function requireSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw refusal('signal', 'an AbortSignal', describeValue(signal));
}

/** Signal and progress callback of a call. */
export function requireCall(options: CallOptions, known: readonly string[], owner: string): void {
  requireFields(options, known, 'options', owner, callNames);
  const { signal, onProgress } = options;
  requireSignal(signal);
  if (onProgress !== undefined && typeof onProgress !== 'function') throw refusal('onProgress', 'a function', describeValue(onProgress));
}

/** The one that is given of several alternatives, of which at most one may be. */
export function oneOf<Name extends string>(options: Readonly<Partial<Record<Name, unknown>>>, names: readonly Name[]): Name | undefined {
  const given = names.filter((name) => options[name] !== undefined);
  if (given.length > 1) throw refusal(elementAt(given, 1), `${given[0]} or ${given[1]}`, 'both');
  return given[0];
}
