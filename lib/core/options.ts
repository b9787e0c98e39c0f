// Checks of a function's options: a table of fields per function, walked over those that are given. Checking a call's
// options takes part of a microsecond; schemas of files (zod) take longer than a small call.
import { describeValue } from './arrays.ts';
import { Device } from './device.ts';
import { refusal, unknownOption } from './errors.ts';

/** Refuses, under the option's name, a value that the option does not take. It is not asked about absent ones. */
export type FieldCheck = (value: unknown, name: string) => void;

/** The options that a function takes, made by {@link optionTable}. */
export type OptionTable = ReadonlyMap<string, FieldCheck>;

/** A table of options. */
export function optionTable(fields: Readonly<Record<string, FieldCheck>>): OptionTable {
  return new Map(Object.entries(fields));
}

/**
 * Checks the options of a call of `owner`.
 * @throws ArgumentError naming the option
 */
export function checkOptions(table: OptionTable, options: unknown, owner: string): void {
  if (typeof options !== 'object' || options === null) {
    throw refusal('options', `an object of options of ${owner}`, describeValue(options));
  }
  for (const key in options) {
    const check = table.get(key);
    const value = (options as Record<string, unknown>)[key];
    if (check === undefined) {
      if (!Object.hasOwn(options, key)) continue;
      throw unknownOption(key, owner, [...table.keys()]);
    }
    if (value !== undefined) check(value, key);
  }
}

/** Arrays and what else is checked elsewhere. */
export const anything: FieldCheck = () => undefined;

/** True or false. */
export const truth: FieldCheck = (value, name) => {
  if (typeof value !== 'boolean') throw refusal(name, 'true or false', describeValue(value));
};

/** One of a few values. */
export function choice(values: readonly unknown[]): FieldCheck {
  return (value, name) => {
    if (values.includes(value)) return;
    throw refusal(name, `one of ${values.map((each) => JSON.stringify(each)).join(', ')}`, describeValue(value));
  };
}

/** A whole number of at least `low`. */
export function wholeFrom(low: number): FieldCheck {
  return (value, name) => {
    if (Number.isSafeInteger(value) && (value as number) >= low) return;
    throw refusal(name, `a whole number of at least ${low}`, describeValue(value));
  };
}

/** Counts and strides: they stay exact in float64 and fit int64. */
export const count = wholeFrom(0);

/** A finite number of at least `low`. */
export function realFrom(low: number): FieldCheck {
  return (value, name) => {
    if (Number.isFinite(value) && (value as number) >= low) return;
    throw refusal(name, low === -Infinity ? 'a finite number' : `a finite number of at least ${low}`, describeValue(value));
  };
}

/** A list of at least one entry, each checked. */
export function listOf(check: FieldCheck): FieldCheck {
  return (value, name) => {
    if (!Array.isArray(value) || value.length === 0) throw refusal(name, 'a list of one entry or more', describeValue(value));
    value.forEach((each, index) => check(each, `${name}.${index}`));
  };
}

/** A function. */
export const callback: FieldCheck = (value, name) => {
  if (typeof value !== 'function') throw refusal(name, 'a function', describeValue(value));
};

/** What every function that runs on a device takes: device, signal and progress callback. */
export const callFields = {
  device: (value: unknown, name: string): void => {
    if (!(value instanceof Device)) throw refusal(name, 'a Device', describeValue(value));
  },
  signal: (value: unknown, name: string): void => {
    if (!(value instanceof AbortSignal)) throw refusal(name, 'an AbortSignal', describeValue(value));
  },
  onProgress: callback,
};
