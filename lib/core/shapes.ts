// The shapes of data stored outside the program (checkpoints, policies, reports): checks composed of other checks. Job files have published
// schemas and are checked by zod instead.
import { describeValue } from './arrays.ts';
import { hasFields, type Check } from './checks.ts';
import { refusal } from './errors.ts';

/** The name of a part: a field or index is appended to the name of the whole, after a dot. */
const within = (name: string, part: string | number): string => (name === '' ? String(part) : `${name}.${part}`);

/** Rejects anything but an object with named fields. */
export function requireObject(value: unknown, name: string): asserts value is Readonly<Record<string, unknown>> {
  if (hasFields(value)) return;
  throw refusal(name, 'an object', describeValue(value));
}

/** A field of the object itself; inherited ones do not count. */
const fieldOf = (value: Readonly<Record<string, unknown>>, key: string): unknown => (Object.hasOwn(value, key) ? value[key] : undefined);

/** An object with these fields. Each is checked, even if absent. `others`: how to treat other fields. */
export function record(fields: Readonly<Record<string, Check>>, others: 'refuse' | 'ignore' = 'refuse'): Check {
  const entries = Object.entries(fields);
  return (value, name) => {
    requireObject(value, name);
    for (const [key, check] of entries) check(fieldOf(value, key), within(name, key));
    if (others === 'ignore') return;
    const other = Object.keys(value).find((key) => !Object.hasOwn(fields, key));
    if (other !== undefined) throw refusal(within(name, other), 'no such field', describeValue(value[other]));
  };
}

/** One of several records, distinguished by the value of the field `key`. */
export function oneOfRecords(key: string, records: Readonly<Record<string, Check>>): Check {
  return (value, name) => {
    requireObject(value, name);
    const chosen = fieldOf(value, key);
    if (typeof chosen !== 'string' || !Object.hasOwn(records, chosen)) {
      throw refusal(within(name, key), `one of ${Object.keys(records).map((each) => `"${each}"`).join(', ')}`, describeValue(chosen));
    }
    records[chosen]?.(value, name);
  };
}

/** An object with arbitrary field names. */
export function mapOf(check: Check): Check {
  return (value, name) => {
    requireObject(value, name);
    for (const [key, each] of Object.entries(value)) check(each, within(name, key));
  };
}

/** A list of exactly `length` entries, or of at least `least`. */
export function list<T>(
  check: Check<T>, { length, least = 0 }: { readonly length?: number; readonly least?: number } = {},
): Check<readonly T[]> {
  return (value, name) => {
    if (!Array.isArray(value) || (length !== undefined && value.length !== length) || value.length < least) {
      const many = length !== undefined ? ` of ${length}` : least > 0 ? ` of at least ${least}` : '';
      throw refusal(name, `a list${many}`, describeValue(value));
    }
    for (const [place, each] of value.entries()) check(each, within(name, place));
  };
}

/** A value that may be absent. */
export function optional(check: Check): Check {
  return (value, name) => {
    if (value !== undefined) check(value, name);
  };
}
