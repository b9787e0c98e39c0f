// Checks of option values: code ERR_WARPLOOM_INVALID_ARGUMENT and the option's name, before any work.
import { describeValue } from './arrays.ts';
import { Device } from './device.ts';
import { ArgumentError, refusal } from './errors.ts';
import type { CallOptions } from './progress.ts';

/** Refuses anything but an object whose fields are all `known`. */
export function requireFields(value: unknown, known: readonly string[], name: string, owner: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) {
    throw refusal(name, 'an object', describeValue(value));
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    throw new ArgumentError(name === 'options' ? key : `${name}.${key}`, `${owner} has no such option; it takes ${known.join(', ')}`);
  }
}

/** One of `choices`, or absent. */
export function requireChoice(value: unknown, name: string, choices: readonly unknown[]): void {
  if (value === undefined || choices.includes(value)) return;
  throw refusal(name, `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`, describeValue(value));
}

/** True, false, or absent. */
export function requireBoolean(value: unknown, name: string): void {
  if (value !== undefined && typeof value !== 'boolean') throw new ArgumentError(name, 'expected true or false');
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

/** A Device, or absent. */
export function requireDevice(value: unknown): void {
  if (value !== undefined && !(value instanceof Device)) throw refusal('device', 'a Device', describeValue(value));
}

/** Signal and progress callback of a call. */
export function requireCall(options: CallOptions, known: readonly string[], owner: string): void {
  requireFields(options, [...known, 'signal', 'onProgress'], 'options', owner);
  const { signal, onProgress } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw refusal('signal', 'an AbortSignal', describeValue(signal));
  if (onProgress !== undefined && typeof onProgress !== 'function') throw refusal('onProgress', 'a function', describeValue(onProgress));
}

/** Of alternatives of which at most one may be given: its name and value. */
export function oneOf<Name extends string>(options: Readonly<Partial<Record<Name, unknown>>>, names: readonly Name[]): Name | undefined {
  const given = names.filter((name) => options[name] !== undefined);
  if (given.length > 1) throw new ArgumentError(given[1]!, `give ${given[0]} or ${given[1]}, not both`);
  return given[0];
}
