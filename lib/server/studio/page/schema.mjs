// A job's JSON Schema as a form: what the fields are called, drafts of their values, and values of drafts. Nothing here is seen.

/**
 * A schema, as far as jobs use them.
 * @typedef {{ type?: string, const?: unknown, enum?: unknown[], anyOf?: Schema[], oneOf?: Schema[], properties?: Record<string, Schema>,
 *   required?: string[], additionalProperties?: boolean | Schema, items?: Schema | boolean, prefixItems?: Schema[], minItems?: number,
 *   maxItems?: number, default?: unknown, description?: string, format?: string, minimum?: number, exclusiveMinimum?: number,
 *   maximum?: number }} Schema
 */
/**
 * What stands in a form. `text`: a field with a text; `flag`; `fields`: of an object; `list`; `pairs`: an object with free names;
 * `choice`: one of several alternatives, -1 for none; `fixed`: a constant.
 * @typedef {{ kind: 'text', text: string } | { kind: 'flag', on: boolean } | { kind: 'fields', fields: Record<string, Draft> }
 *   | { kind: 'list', items: Draft[] } | { kind: 'pairs', pairs: { name: string, value: Draft }[] }
 *   | { kind: 'choice', index: number, draft: Draft | undefined } | { kind: 'fixed' }} Draft
 */

/** @type {WeakMap<Schema, Schema[]>} */
const known = new WeakMap();

/**
 * The alternatives of a union: each word on its own, those of unions within it among them.
 * @param {Schema} schema
 * @returns {Schema[] | undefined}
 */
export function alternativesOf(schema) {
  if (schema.oneOf !== undefined || schema.anyOf === undefined) return schema.oneOf;
  const all = known.get(schema) ?? schema.anyOf.flatMap((each) =>
    each.enum?.map((word) => ({ const: word })) ?? (each.anyOf === undefined ? [each] : alternativesOf(each) ?? []));
  known.set(schema, all);
  return all;
}

/** @param {Schema} schema */
const isObject = (schema) => schema.type === 'object';

/** Whether one line of text holds a value. @param {Schema} schema */
export function isScalar(schema) {
  return schema.const !== undefined || schema.enum !== undefined || ['string', 'number', 'integer', 'boolean'].includes(schema.type ?? '');
}

/** Whether a list is written as one text, its items separated by commas. @param {Schema} schema */
export function isPlainList(schema) {
  const items = schema.prefixItems ?? (typeof schema.items === 'object' ? [schema.items] : []);
  return schema.type === 'array' && items.length > 0 && items.every((item) =>
    ['string', 'number', 'integer'].includes(item.type ?? '') && item.enum === undefined && item.format === undefined && !isCode(item));
}

/** Whether a text is a function. @param {Schema} schema */
export const isCode = (schema) => schema.type === 'string' && /text of a JavaScript function/.test(schema.description ?? '');

/** Objects of a union, unions within it included. @param {Schema} schema @returns {Schema[]} */
function objectsOf(schema) {
  const inner = alternativesOf(schema);
  return inner === undefined ? [schema] : inner.flatMap(objectsOf);
}

/** The values that a field of an object may have if they are few. @param {Schema} schema @param {string} name @returns {unknown[]} */
function fixedValues(schema, name) {
  const values = objectsOf(schema).map((each) => {
    const field = each.properties?.[name];
    return field?.const !== undefined ? [field.const] : field?.enum ?? [];
  });
  return values.some((each) => each.length === 0) ? [] : [...new Set(values.flat())];
}

/** Fields by which the alternatives of a union are told apart. */
const tellingFields = ['kind', 'equation', 'phantom', 'signal'];

/** @param {readonly unknown[]} words */
const either = (words) => (words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);

/** The name of one alternative. @param {Schema} schema @param {readonly string[]} telling @returns {string} */
function nameOf(schema, telling) {
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return either(schema.enum);
  const inner = alternativesOf(schema);
  if (inner !== undefined && !inner.some(isObject)) return either(inner.map((each) => nameOf(each, telling)));
  const field = telling.find((name) => fixedValues(schema, name).length > 0);
  if (field !== undefined) return either(fixedValues(schema, field));
  if (inner !== undefined) return either([...new Set(inner.map((each) => nameOf(each, telling)))]);
  if (isObject(schema)) return either(schema.required ?? Object.keys(schema.properties ?? {}))?.replace(' or ', ' and ') || 'fields';
  if (schema.type === 'string') return schema.format === 'path' ? 'a file' : isCode(schema) ? 'a function' : 'text';
  if (schema.type === 'number' || schema.type === 'integer') return 'a number';
  if (schema.type === 'array') return 'a list';
  return schema.type ?? 'anything';
}

/** The names of a union's alternatives, all different. @param {Schema} schema @returns {string[]} */
export function alternativeNames(schema) {
  const alternatives = alternativesOf(schema) ?? [];
  const telling = tellingFields.filter((name) => new Set(alternatives.map((each) => fixedValues(each, name).join())).size > 1);
  const names = alternatives.map((each) => nameOf(each, telling));
  return names.map((name, i) => {
    if (names.indexOf(name) === names.lastIndexOf(name)) return name;
    const alternative = alternatives[i] ?? {};
    const more = Object.keys(alternative.properties ?? {}).filter((field) => fixedValues(alternative, field).length === 0);
    return more.length > 0 ? `${name}, with ${more.join(' and ')}` : name;
  });
}

/** How well a value fits, roughly: 0 if not at all. @param {Schema} schema @param {unknown} value @returns {number} */
function fit(schema, value) {
  const inner = alternativesOf(schema);
  if (inner !== undefined) return Math.max(0, ...inner.map((each) => fit(each, value)));
  if (schema.const !== undefined) return schema.const === value ? 9 : 0;
  if (schema.enum !== undefined) return schema.enum.includes(value) ? 9 : 0;
  if (Array.isArray(value)) return schema.type === 'array' ? 2 : 0;
  if (typeof value === 'object' && value !== null) {
    if (!isObject(schema)) return 0;
    const known = schema.properties ?? {};
    return Object.entries(value).reduce((sum, [name, part]) => {
      const field = known[name];
      if (field === undefined) return sum - (schema.additionalProperties === false ? 4 : 0);
      const own = fit(field, part);
      return sum + (own > 0 ? own : field.const !== undefined || field.enum !== undefined ? -40 : 0);
    }, 1);
  }
  if (typeof value === 'number') return schema.type === 'number' || schema.type === 'integer' ? 2 : 0;
  return typeof value === schema.type ? 2 : schema.type === undefined ? 1 : 0;
}

/**
 * The draft of a value; of nothing if it is undefined.
 * @param {Schema} schema
 * @param {unknown} value
 * @param {boolean} isNeeded
 * @returns {Draft}
 */
export function draftOf(schema, value, isNeeded) {
  const alternatives = alternativesOf(schema);
  if (alternatives !== undefined) {
    const fits = alternatives.map((each) => (value === undefined ? 0 : fit(each, value)));
    const best = value === undefined ? (isNeeded ? 0 : -1) : fits.indexOf(Math.max(...fits));
    const chosen = alternatives[best];
    return { kind: 'choice', index: best, draft: chosen === undefined ? undefined : draftOf(chosen, value, true) };
  }
  if (schema.const !== undefined) return { kind: 'fixed' };
  if (schema.type === 'boolean') return { kind: 'flag', on: typeof value === 'boolean' ? value : schema.default === true };
  const isWhole = isNeeded || schema.properties === undefined;
  if (isObject(schema) && !isWhole && value === undefined) return { kind: 'choice', index: -1, draft: undefined };
  if (isObject(schema)) {
    const given = /** @type {Record<string, unknown>} */ (typeof value === 'object' && value !== null ? value : {});
    const whole = schema.properties === undefined
      ? pairsOf(schema, given)
      : /** @type {Draft} */ ({ kind: 'fields', fields: Object.fromEntries(fieldsOf(schema).map(([name, field, needed]) =>
        [name, draftOf(field, given[name], needed)])) });
    return isWhole ? whole : { kind: 'choice', index: 0, draft: whole };
  }
  if (schema.type === 'array' && !isPlainList(schema)) {
    const items = Array.isArray(value) ? value : [];
    return { kind: 'list', items: items.map((item, i) => draftOf(itemOf(schema, i), item, true)) };
  }
  return { kind: 'text', text: textOf(value) };
}

/** @param {Schema} schema @param {Record<string, unknown>} given @returns {Draft} */
function pairsOf(schema, given) {
  return { kind: 'pairs', pairs: Object.entries(given).map(([name, part]) => ({ name, value: draftOf(freeOf(schema), part, true) })) };
}

/** The schema of values with free names. @param {Schema} schema @returns {Schema} */
export const freeOf = (schema) => (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {});

/** @param {Schema} schema @param {number} place @returns {Schema} */
export const itemOf = (schema, place) => schema.prefixItems?.[place] ?? (typeof schema.items === 'object' ? schema.items : {});

/** Fields that jobs of all kinds have, which come last. */
const common = ['description', 'sweep', 'device', 'zarrFormat', 'compression', 'read'];

/**
 * Fields of an object: name, schema, and whether it is needed; the needed ones first.
 * @param {Schema} schema
 * @returns {[string, Schema, boolean][]}
 */
export function fieldsOf(schema) {
  const list = Object.entries(schema.properties ?? {}).filter(([name]) => name !== '$schema')
    .map(([name, field]) => /** @type {[string, Schema, boolean]} */ ([name, field, schema.required?.includes(name) === true]));
  const optional = list.filter(([, , needed]) => !needed);
  const isCommon = (/** @type {[string, Schema, boolean]} */ [name]) => common.includes(name);
  return [...list.filter(([, , needed]) => needed), ...optional.filter((each) => !isCommon(each)), ...optional.filter(isCommon)];
}

/** @param {unknown} value */
function textOf(value) {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  return Array.isArray(value) && value.every((each) => typeof each !== 'object') ? value.join(', ') : JSON.stringify(value);
}
