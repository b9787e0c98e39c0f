// Captures a caller's arguments at the time of the call: for functions that read them again after they have returned.
import { typedCopy } from './arrays.ts';

/**
 * A deep copy of arrays, typed arrays and plain objects; everything else (devices, device arrays, signals, functions, class instances) is
 * kept by reference.
 */
export function snapshot<Value>(value: Value): Value {
  return copyOf(value, new Map()) as Value;
}

function copyOf(value: unknown, made: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const known = made.get(value);
  if (known !== undefined) return known;
  if (ArrayBuffer.isView(value)) return typedCopy(value);
  const isArray = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!isArray && prototype !== null && Object.getPrototypeOf(prototype) !== null) return value;
  if (isArray) {
    const copy: unknown[] = value.slice();
    made.set(value, copy);
    for (let i = 0; i < copy.length; i += 1) if (typeof copy[i] === 'object') copy[i] = copyOf(copy[i], made);
    return copy;
  }
  const copy: Record<string, unknown> = {};
  made.set(value, copy);
  for (const key of Object.keys(value)) copy[key] = copyOf((value as Record<string, unknown>)[key], made);
  return copy;
}
