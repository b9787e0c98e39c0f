// Checks of options that several functions of `stream` take.
import { describeValue, isUsedInPlace, lentCopy, returnCopy, typedArrayKind, type TypedArray } from '../core/arrays.ts';
import { abortSignal, callback, hasFields, isArray, number, rule, whole, type Check } from '../core/checks.ts';
import type { Device } from '../core/device.ts';
import type { Lender } from '../core/lent.ts';
import { refusal } from '../core/errors.ts';
import { normally, optionsOf, type Options, type WithDefault } from '../core/options.ts';
import { snapshot } from '../core/snapshot.ts';
import { longestTime } from './stop.ts';

/** Options that end a call early. */
export const stopChecks = { signal: abortSignal, timeout: number({ above: 0, most: longestTime }) };

/** Contents of files by path. */
export const contents: Check<Readonly<Record<string, Uint8Array>>> = (value, name) => {
  if (!hasFields(value)) throw refusal(name, 'contents by path', describeValue(value));
  for (const [path, bytes] of Object.entries(value)) {
    if (!(bytes instanceof Uint8Array)) throw refusal(`${name}['${path}']`, 'a Uint8Array', describeValue(bytes));
  }
};

/** Scalars of items. Those of typed arrays are numbers; others are looked at one by one. */
const scalars: Check<ArrayLike<number>> = (value, name) => {
  if (!isArray(value)) throw refusal(name, 'an array or a typed array of numbers', describeValue(value));
  const strange = Array.isArray(value) ? value.findIndex((x) => typeof x !== 'number') : typeof value[0] === 'bigint' ? 0 : -1;
  if (strange >= 0) throw refusal(`${name}[${strange}]`, 'a number', describeValue(value[strange]));
};

/** The input of a program. */
export const inputChecks = { input: scalars, files: contents, seed: whole(Number.MIN_SAFE_INTEGER), signal: abortSignal };

/** The lender of the device on which a run will be; run/on-device.ts sets it, once it is loaded. */
export const lenders: { for?: (device: Device | undefined, backend: string) => Lender | undefined } = {};
const lent = new WeakMap<object, Lender>();

/** A caller's input, copied unless it lies in memory that calls use in place. See {@link dropInput}. */
export function takenInput<Input extends ArrayLike<number> | undefined>(input: Input, lender?: Lender): Input {
  if (!isNumbers(input)) return snapshot(input);
  if (isUsedInPlace(input)) return input;
  const copy = lender?.copy(input);
  if (lender === undefined || copy === undefined) return lentCopy(input);
  lent.set(copy, lender);
  return copy as Input & TypedArray;
}

/** Gives memory back that a device lent to {@link takenInput}: at the end of a call, whatever its outcome. */
export function dropInput(taken: ArrayLike<number> | undefined): void {
  if (!isNumbers(taken)) return;
  const lender = lent.get(taken);
  lent.delete(taken);
  lender?.giveBack(taken);
}

/** Takes back the copy that {@link takenInput} made for a run, once nothing reads it any more. */
export function returnInput(taken: ArrayLike<number> | undefined, input: ArrayLike<number> | undefined): void {
  if (taken !== input && isNumbers(taken) && !lent.has(taken)) returnCopy(taken);
}

function isNumbers<Value>(value: Value): value is Value & TypedArray {
  return ArrayBuffer.isView(value) && typedArrayKind(value) !== undefined;
}

/** A device: {@link requireDevice} looks closer, where the class is loaded. */
export const deviceCheck: Check<Device> = rule<Device>('a Device', hasFields);

/** Several devices: {@link requireDevices} looks closer. */
export const devicesCheck: Check<readonly Device[]> = rule<readonly Device[]>('1 to 64 different Devices', (value) => Array.isArray(value)
  && value.length >= 1 && value.length <= 64 && value.every((each) => hasFields(each)) && new Set(value).size === value.length);

/** Refuses devices that are none, or that are not all of one backend. */
export async function requireDevices(devices: readonly Device[], backend?: string): Promise<void> {
  for (const [i, device] of devices.entries()) await requireDevice(device, i === 0 ? backend : devices[0]?.backend, `devices[${i}]`);
}

/** Refuses what only looks like a device, and devices of backends that run no kernels. */
export async function requireDevice(device: Device, backend?: string, name = 'device'): Promise<void> {
  const { Device: Known } = await import('../core/device.ts');
  if (!(device instanceof Known)) throw refusal(name, 'a Device', describeValue(device));
  const { backend: own } = device;
  if (own === 'cpu' || (backend !== undefined && own !== backend)) {
    throw refusal(name, `a device of backend ${backend ?? 'cuda (or simt)'}`, `one of backend ${own}`);
  }
}

/** A callback for progress: how much is done, and how much there is in total. */
export const countsProgress: Check<(done: number, total: number) => void> = callback;

type LimitTable<Limits> = { readonly [Name in keyof Limits]: WithDefault<number> };

/** Limits by name, overriding those given here. */
export function limitsOf<Limits extends object>(owner: string, defaults: Limits): Options<LimitTable<Limits>> {
  const limit = rule<number>('a whole number of at least 0, or Infinity',
    (value) => value === Infinity || (Number.isSafeInteger(value) && (value as number) >= 0));
  const table = Object.entries(defaults).map(([name, value]) => [name, normally(limit, value as number)]);
  return optionsOf(owner, Object.fromEntries(table) as LimitTable<Limits>);
}

/**
 * Refuses options that a back end does not take. `takers`: by option, the back ends that do. `named`: the back end as the caller gave it.
 */
export function requireTaker(options: object, backend: string, takers: Readonly<Record<string, readonly string[]>>, named = backend): void {
  const given = new Map<string, unknown>(Object.entries(options));
  for (const [name, names] of Object.entries(takers)) {
    if (given.get(name) === undefined || names.includes(backend)) continue;
    throw refusal(name, `none with backend '${named}' (only ${names.map((each) => `'${each}'`).join(', ')} take${
      names.length === 1 ? 's' : ''} it)`, describeValue(given.get(name)));
  }
}
