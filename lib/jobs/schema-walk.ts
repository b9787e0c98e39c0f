// Walks a zod schema beside a value: what may stand at a place, in words, and the names of its fields.
import type { z } from 'zod';

/** Any schema. */
export type Schema = z.core.$ZodType;
type Def = z.core.$ZodTypes['_zod']['def'];

const defOf = (schema: Schema): Def => (schema as z.core.$ZodTypes)._zod.def;

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);

/** The schemas inside wrappers and unions, down to what takes a value itself. */
export function alternativesOf(schema: Schema): Schema[] {
  const def = defOf(schema);
  switch (def.type) {
    case 'union': return def.options.flatMap(alternativesOf);
    case 'optional': case 'nullable': case 'default': case 'prefault': case 'readonly': case 'nonoptional': case 'catch':
      return alternativesOf(def.innerType);
    case 'pipe': return alternativesOf(def.in);
    default: return [schema];
  }
}

/** Whether an absent field is accepted. */
export const isOptional = (schema: Schema): boolean => (schema as z.core.$ZodTypes)._zod.optin !== undefined;

/** The values of a literal or an enumeration; undefined for other schemas. */
export function namesOf(schema: Schema): readonly unknown[] | undefined {
  const def = defOf(schema);
  if (def.type === 'literal') return def.values;
  return def.type === 'enum' ? Object.values(def.entries) : undefined;
}

/** The fields of an object's schema; undefined for other schemas. */
export function shapeOf(schema: Schema): Readonly<Record<string, Schema>> | undefined {
  const def = defOf(schema);
  return def.type === 'object' ? def.shape : undefined;
}

/** Whether an object's fields with fixed values (its kind) have these in a value: 1 for each that does, -1 for each that does not. */
function agreement(shape: Readonly<Record<string, Schema>>, value: Readonly<Record<string, unknown>>, but?: string | number): number {
  return Object.entries(shape).reduce((sum, [name, field]) => {
    const names = name !== but && Object.hasOwn(value, name) && !isOptional(field) ? namesOf(field) : undefined;
    return names === undefined ? sum : sum + (names.includes(value[name]) ? 1 : -1);
  }, 0);
}

/** Of several schemas for a value, those whose kind it names; all if it names none. `but`: a field that does not count. */
export function meantBy(schemas: readonly Schema[], value: unknown, but?: string | number): readonly Schema[] {
  if (!isPlain(value)) return schemas;
  const all = schemas.flatMap((schema) => {
    const shape = shapeOf(schema);
    return shape === undefined ? [] : [{ schema, agrees: agreement(shape, value, but) }];
  });
  const best = Math.max(...all.map(({ agrees }) => agrees));
  return best > 0 ? all.filter(({ agrees }) => agrees === best).map(({ schema }) => schema) : schemas;
}

/** The schemas of a field, or of a place of a list. */
function within(schemas: readonly Schema[], key: string | number): Schema[] {
  return schemas.flatMap((schema) => {
    const def = defOf(schema);
    if (def.type === 'object') return Object.hasOwn(def.shape, key) ? alternativesOf(def.shape[key] as Schema) : [];
    if (def.type === 'record') return alternativesOf(def.valueType);
    if (def.type === 'array' && typeof key === 'number') return alternativesOf(def.element);
    if (def.type === 'tuple' && typeof key === 'number') return def.items[key] === undefined ? [] : alternativesOf(def.items[key]);
    return [];
  });
}

/** What may stand at a path. */
export function schemasAt(schema: Schema, value: unknown, path: readonly (string | number)[]): readonly Schema[] {
  let [schemas, at]: [readonly Schema[], unknown] = [alternativesOf(schema), value];
  path.forEach((key, i) => {
    // At the end, the kind itself may be wrong: then all kinds are allowed there.
    schemas = within(meantBy(schemas, at, i + 1 === path.length ? key : undefined), key);
    at = isPlain(at) && Object.hasOwn(at, key) ? at[key] : Array.isArray(at) ? (at as unknown[])[Number(key)] : undefined;
  });
  return schemas;
}

const quoted = (value: unknown): string => (typeof value === 'string' ? `"${value}"` : String(value));

/** Fields of an object that are named in its description at most. */
const mostFields = 6;

/** 'a list of numbers'. */
function listOf(each: string): string {
  const plural = /^an? (number|integer|string)$/.exec(each)?.[1];
  return plural === undefined ? `a list, each ${each}` : `a list of ${plural}s`;
}

/** What a schema takes, in a few words: 'a number', '"a" or "b"', '{ kind: "cosine", mode: an integer }'. */
function words(schema: Schema, depth: number): string[] {
  const def = defOf(schema);
  const names = namesOf(schema);
  if (names !== undefined) return names.map(quoted);
  switch (def.type) {
    case 'number': return [(def.checks ?? []).some((check) => check._zod.def.check === 'number_format') ? 'an integer' : 'a number'];
    case 'string': return ['a string'];
    case 'boolean': return ['true', 'false'];
    case 'array': return [listOf(listed(alternativesOf(def.element), depth + 1))];
    case 'tuple': return [`[${def.items.map((item) => listed(alternativesOf(item), depth + 1)).join(', ')}]`];
    case 'record': return ['an object'];
    case 'object': {
      if (depth > 1) return ['an object'];
      const fields = Object.entries(def.shape);
      const shown = fields.slice(0, mostFields).map(([name, field]) =>
        `${name}${isOptional(field) ? '?' : ''}: ${listed(alternativesOf(field), depth + 1)}`);
      return [`{ ${[...shown, ...(fields.length > mostFields ? ['…'] : [])].join(', ')} }`];
    }
    default: return ['a value'];
  }
}

/** What any of several schemas takes. */
export function listed(schemas: readonly Schema[], depth = 0): string {
  const all = [...new Set(schemas.flatMap((schema) => words(schema, depth)))];
  return all.length < 2 ? all[0] ?? 'a value' : `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;
}

/** 'on-unstable' as 'onUnstable'. */
export const camelCase = (name: string): string => name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** A value whose fields are spelt as on the command line (on-unstable) with the spelling of its schema, where it has that alone. */
export function respelt(schemas: readonly Schema[], value: unknown): unknown {
  if (Array.isArray(value)) return value.map((part, i) => respelt(within(schemas, i), part));
  if (!isPlain(value) || schemas.length === 0) return value;
  const own = meantBy(schemas, value);
  const known = new Set(own.flatMap((schema) => Object.keys(shapeOf(schema) ?? {})));
  const isFree = own.some((schema) => defOf(schema).type === 'record');
  return Object.fromEntries(Object.entries(value).map(([name, part]) => {
    const other = camelCase(name);
    const isOther = !isFree && !known.has(name) && known.has(other) && !Object.hasOwn(value, other);
    return [isOther ? other : name, respelt(within(own, isOther ? other : name), part)];
  }));
}
