// What is wrong with a job, field by field: what is allowed there, and which spelling comes close.
import type { z } from 'zod';
import { nearest } from '../core/similar.ts';
import { lineOf } from './lines.ts';
import { listed, meantBy, namesOf, schemasAt, shapeOf, type Schema } from './schema-walk.ts';

/** One thing that is wrong with a job. */
export interface JobIssue {
  /** Where, as names and places of lists: ['until', 'time']. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type Issue = z.core.$ZodIssue;

/**
 * How far a value with `fields` fields is from an alternative: 100 if it is of another kind altogether, 20 for another name of its kind, 10
 * for an unknown field.
 */
function distance(issues: readonly Issue[], fields: number): number {
  return issues.reduce((sum, issue) => {
    if (issue.path.length > 0) return sum + (issue.code === 'invalid_value' && issue.path.length === 1 ? 20 : 1);
    if (issue.code === 'invalid_union') return sum + Math.min(100, ...issue.errors.map((inner) => distance(inner, fields)));
    if (issue.code === 'unrecognized_keys') return sum + (issue.keys.length === fields ? 100 : 10 * issue.keys.length);
    return sum + (issue.code === 'invalid_type' || issue.code === 'invalid_value' ? 100 : 1);
  }, 0);
}

/** The issues of the alternative that was meant: the nearest one, if it is the only one. */
function meant(alternatives: readonly (readonly Issue[])[], value: unknown): readonly Issue[] | undefined {
  const fields = typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
  if (fields === 0 && typeof value === 'object') return undefined; // nothing says which
  const [first, second] = alternatives.map((issues) => ({ issues, far: distance(issues, fields) })).sort((a, b) => a.far - b.far);
  return first !== undefined && first.far < 100 && (second === undefined || second.far > first.far) ? first.issues : undefined;
}

/** '; did you mean "x"?', or nothing. */
function hint(name: unknown, known: readonly unknown[]): string {
  const found = typeof name === 'string' ? nearest(name, known.filter((each) => typeof each === 'string')) : undefined;
  return found === undefined ? '' : `; did you mean "${found}"?`;
}

function valueAt(value: unknown, path: JobIssue['path']): unknown {
  return path.reduce<unknown>((at, key) =>
    (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Record<PropertyKey, unknown>)[key] : undefined), value);
}

/** What is counted of texts and lists. */
const counted: Readonly<Record<string, readonly [what: string, one: string, more: string]>> = {
  string: ['a text', 'character', 'characters'], array: ['a list', 'value', 'values'],
};

/** The bound that a number, a text or a list does not keep to; undefined for other issues. */
function boundText(issue: Issue): string | undefined {
  if (issue.code !== 'too_small' && issue.code !== 'too_big') return undefined;
  const [bound, side] = issue.code === 'too_small' ? [issue.minimum, 'at least'] : [issue.maximum, 'at most'];
  const of = Object.hasOwn(counted, issue.origin) ? counted[issue.origin] : undefined;
  if (of !== undefined) return `expected ${of[0]} of ${side} ${bound} ${Number(bound) === 1 ? of[1] : of[2]}`;
  const what = issue.origin === 'int' ? 'an integer' : 'a number';
  return `expected ${what} ${issue.inclusive === false ? (issue.code === 'too_small' ? 'above' : 'below') : `of ${side}`} ${bound}`;
}

/** Explains issues of one value. */
class Explainer {
  readonly #schema: Schema;
  readonly #value: unknown;

  constructor(schema: Schema, value: unknown) {
    this.#schema = schema;
    this.#value = value;
  }

  /** A field that there is not: which one comes close, or which there are. */
  #unknown(path: JobIssue['path'], key: string): string {
    const object = valueAt(this.#value, path);
    const schemas = meantBy(schemasAt(this.#schema, this.#value, path), object);
    const known = [...new Set(schemas.flatMap((each) => Object.keys(shapeOf(each) ?? {})))];
    const close = hint(key, known);
    const free = known.filter((name) => typeof object !== 'object' || object === null || !Object.hasOwn(object, name));
    return `there is no such field${close !== '' || free.length === 0 ? close : `; there could be ${free.join(', ')}`}`;
  }

  /** A text of another form: what it should be, as its field is described. */
  #form(path: JobIssue['path'], otherwise: string): string {
    const about = schemasAt(this.#schema, this.#value, path).map((schema) => (schema as z.ZodType).description)[0];
    return about === undefined ? otherwise : `expected a text of another form: ${about}`;
  }

  /** What may stand at a place where something else does. */
  #allowed(path: JobIssue['path'], otherwise: string): string {
    const schemas = schemasAt(this.#schema, this.#value, path);
    if (schemas.length === 0) return otherwise;
    const found = valueAt(this.#value, path);
    const areJobs = schemas.every((schema) => ['kind', 'name'].every((name) => Object.hasOwn(shapeOf(schema) ?? {}, name)));
    if (path.length === 0 && areJobs && (typeof found !== 'object' || found === null || Array.isArray(found))) { // the list is long
      return 'expected an object, such as { "kind": …, "name": …, … }';
    }
    const names = schemas.flatMap((schema) => namesOf(schema) ?? []);
    const fields = schemas.flatMap((schema) => Object.keys(shapeOf(schema) ?? {}));
    const unknown = typeof found === 'object' && found !== null && !Array.isArray(found)
      ? Object.keys(found).find((name) => !fields.includes(name)) : undefined;
    return `${found === undefined ? 'missing; ' : ''}expected ${listed(schemas)}`
      + (unknown === undefined ? hint(found, names) : hint(unknown, fields));
  }

  flatten(issue: Issue, before: readonly PropertyKey[]): JobIssue[] {
    const whole = [...before, ...issue.path];
    const path = whole.map((part) => (typeof part === 'number' ? part : String(part)));
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ path: [...path, key], message: this.#unknown(path, key) }));
    }
    if (issue.code === 'invalid_type' || issue.code === 'invalid_value') return [{ path, message: this.#allowed(path, issue.message) }];
    if (issue.code === 'invalid_format') return [{ path, message: this.#form(path, issue.message) }];
    const bound = boundText(issue);
    if (bound !== undefined) return [{ path, message: bound }];
    // A union with a message of its own says more.
    if (issue.code !== 'invalid_union' || (issue.message !== 'Invalid input' && issue.errors.length > 0)) {
      return [{ path, message: issue.message }];
    }
    const one = issue.errors.length === 0 ? undefined : meant(issue.errors, valueAt(this.#value, path));
    if (one !== undefined) return one.flatMap((inner) => this.flatten(inner, whole));
    return [{ path, message: this.#allowed(path, issue.message) }];
  }
}

/** The issues of a job that its schema refuses. `value`: the job. */
export function issuesOf(error: z.ZodError, schema: Schema, value: unknown): JobIssue[] {
  const explainer = new Explainer(schema, value);
  return error.issues.flatMap((issue) => explainer.flatten(issue, [])).sort((a, b) => a.path.length - b.path.length);
}

/** A path as it is written in a job: until.time, y[0]. */
export function pathText(path: JobIssue['path']): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i === 0 ? '' : '.'}${part}`)).join('');
}

/** All issues, one below the other; with lines where the text of the job is given. */
export function issuesText(issues: readonly JobIssue[], text?: string): string {
  return issues.map(({ path, message }) => {
    const place = [text === undefined ? '' : `line ${lineOf(text, path)}`, pathText(path)].filter((part) => part !== '').join(', ');
    return place === '' ? message : `${place}: ${message}`;
  }).join('\n');
}
