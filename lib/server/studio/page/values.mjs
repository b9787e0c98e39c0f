// The values of drafts, and what keeps them from having one.
import { alternativesOf, fieldsOf, freeOf, isPlainList, itemOf } from './schema.mjs';

/** @typedef {import('./schema.mjs').Schema} Schema */
/** @typedef {import('./schema.mjs').Draft} Draft */
/** @typedef {import('./api.mjs').Issue} Issue */
/** @typedef {(string | number)[]} Path */

/** A number as people write it. @param {string} text @param {Path} path @param {Issue[]} issues */
function numberOf(text, path, issues) {
  const value = Number(text.trim().replace('−', '-'));
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  issues.push({ path, message: `'${text}' is not a number` });
  return undefined;
}

/** @param {string} text @param {Path} path @param {Issue[]} issues @returns {unknown} */
function jsonOf(text, path, issues) {
  try {
    return JSON.parse(text);
  } catch {
    issues.push({ path, message: 'this is not JSON; texts are in "quotation marks"' });
    return undefined;
  }
}

/** @param {Schema} schema @param {string} text @param {Path} path @param {Issue[]} issues @returns {unknown} */
function textValue(schema, text, path, issues) {
  if (isPlainList(schema)) {
    return text.split(',').map((part, i) => {
      const item = itemOf(schema, i);
      return item.type === 'string' ? part.trim() : numberOf(part, path, issues);
    });
  }
  if (schema.enum !== undefined) return schema.enum.find((each) => String(each) === text);
  if (schema.type === 'number' || schema.type === 'integer') return numberOf(text, path, issues);
  return schema.type === 'string' ? text : jsonOf(text, path, issues);
}

/** @param {Schema} schema @param {Draft & { kind: 'fields' }} draft @param {Path} path @param {Issue[]} issues */
function fieldsValue(schema, draft, path, issues) {
  /** @type {Record<string, unknown>} */
  const value = {};
  for (const [name, field, isNeeded] of fieldsOf(schema)) {
    const part = draft.fields[name];
    const own = part === undefined ? undefined : valueOf(field, part, isNeeded, [...path, name], issues);
    if (own !== undefined) value[name] = own;
  }
  return value;
}

/**
 * The value of a draft; undefined for one that is left out. Adds to `issues` what is missing or cannot be read.
 * @param {Schema} schema
 * @param {Draft} draft
 * @param {boolean} isNeeded
 * @param {Path} path
 * @param {Issue[]} issues
 * @returns {unknown}
 */
export function valueOf(schema, draft, isNeeded, path, issues) {
  switch (draft.kind) {
    case 'fixed': return schema.const;
    case 'flag': return isNeeded || draft.on !== (schema.default === true) ? draft.on : undefined;
    case 'text':
      if (draft.text.trim() !== '') return textValue(schema, draft.text, path, issues);
      if (isNeeded) issues.push({ path, message: 'this is needed' });
      return undefined;
    case 'choice': {
      const chosen = (alternativesOf(schema) ?? [schema])[draft.index];
      return chosen === undefined || draft.draft === undefined ? undefined : valueOf(chosen, draft.draft, true, path, issues);
    }
    case 'fields': return fieldsValue(schema, draft, path, issues);
    case 'list': return draft.items.length === 0 && !isNeeded ? undefined
      : draft.items.map((item, i) => valueOf(itemOf(schema, i), item, true, [...path, i], issues));
    case 'pairs': return draft.pairs.length === 0 && !isNeeded ? undefined
      : Object.fromEntries(draft.pairs.map(({ name, value }) => [name, valueOf(freeOf(schema), value, true, [...path, name], issues)]));
  }
}
