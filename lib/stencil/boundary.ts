// Boundary conditions: read from options, and what they put beyond the boundary.
import { describeValue } from '../core/arrays.ts';
import { choice, hasFields, number, requireNumber } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import { required } from '../core/known.ts';

export const sides = ['low', 'high'] as const;
export const axisNames = ['x', 'y', 'z'] as const;

/** A number, a function of place and parameters, or the text of one. */
export type RuleValue = number | string | ((...args: never[]) => unknown);

/** The condition of one field at one side of one axis. */
export type Rule =
  | { readonly kind: 'periodic' } | { readonly kind: 'mirror' } | { readonly kind: 'odd-mirror' } | { readonly kind: 'outflow' }
  | { readonly kind: 'dirichlet'; readonly value: RuleValue } | { readonly kind: 'neumann'; readonly value: RuleValue }
  | { readonly kind: 'robin'; readonly alpha: number; readonly beta: number; readonly value: RuleValue }
  | { readonly kind: 'function'; readonly value: Exclude<RuleValue, number> };

/** By axis, side and field. */
export type Rules = readonly (readonly [low: readonly Rule[], high: readonly Rule[]])[];

const plainKinds = ['periodic', 'mirror', 'odd-mirror', 'outflow'] as const;
const kinds = [...plainKinds, 'dirichlet', 'neumann', 'robin', 'function'] as const;
const kindCheck = choice(kinds);
const finite = number();

const fieldsOf: Readonly<Record<(typeof kinds)[number], readonly string[]>> = {
  periodic: [], mirror: [], 'odd-mirror': [], outflow: [], dirichlet: ['value'], neumann: ['value'], robin: ['alpha', 'beta', 'value'],
  function: ['value'],
};

const isFunction = (value: unknown): value is Exclude<RuleValue, number> => typeof value === 'function' || typeof value === 'string';

function ruleOf(given: unknown, name: string): Rule {
  if (typeof given === 'string') {
    choice(plainKinds)(given, name);
    return { kind: given as (typeof plainKinds)[number] };
  }
  if (!hasFields(given)) throw refusal(name, 'a boundary condition, such as \'mirror\' or { kind: \'dirichlet\', value: 0 }',
    describeValue(given));
  const { kind, value, alpha, beta } = given;
  kindCheck(kind, `${name}.kind`);
  const known = fieldsOf[kind as Rule['kind']];
  const other = Object.keys(given).find((key) => key !== 'kind' && !known.includes(key));
  if (other !== undefined) throw refusal(`${name}.${other}`, 'no such field', describeValue(given[other]));
  switch (kind as Rule['kind']) {
    case 'dirichlet': case 'neumann': case 'robin': {
      if (!isFunction(value)) finite(value, `${name}.value`);
      if (kind !== 'robin') return { kind: kind as 'dirichlet', value: value as RuleValue };
      requireNumber(alpha, `${name}.alpha`);
      requireNumber(beta, `${name}.beta`);
      if (alpha === 0 && beta === 0) throw refusal(`${name}.beta`, 'alpha or beta that is not 0', '0 for both');
      return { kind: 'robin', alpha, beta, value: value as RuleValue };
    }
    case 'function':
      if (!isFunction(value)) throw refusal(`${name}.value`, 'a function or the text of one', describeValue(value));
      return { kind: 'function', value };
    default: return { kind: kind as (typeof plainKinds)[number] };
  }
}

const has = (value: unknown, ...names: readonly string[]): value is Readonly<Record<string, unknown>> =>
  hasFields(value) && names.some((name) => Object.hasOwn(value, name));

function requireOnly(value: Readonly<Record<string, unknown>>, names: readonly string[], within: string): void {
  const other = Object.keys(value).find((key) => !names.includes(key));
  if (other !== undefined) throw refusal(`${within}.${other}`, `one of ${names.join(', ')}`, describeValue(value[other]));
}

function sideRules(given: unknown, fields: readonly string[], name: string): readonly Rule[] {
  if (!has(given, 'fields')) {
    const rule = ruleOf(given, name);
    return fields.map(() => rule);
  }
  requireOnly(given, ['fields'], name);
  const by = given['fields'];
  if (!hasFields(by)) throw refusal(`${name}.fields`, 'an object with a condition for each field', describeValue(by));
  requireOnly(by, fields, `${name}.fields`);
  return fields.map((field) => ruleOf(Object.hasOwn(by, field) ? by[field] : undefined, `${name}.fields.${field}`));
}

/**
 * Reads boundary conditions.
 * @throws ArgumentError naming the part that is wrong
 */
export function readBoundary(given: unknown, dimensions: number, fields: readonly string[], name = 'boundary'): Rules {
  const byAxis = has(given, ...axisNames) ? given : undefined;
  const axes = axisNames.slice(0, dimensions);
  if (byAxis !== undefined) requireOnly(byAxis, axes, name);
  return axes.map((axis, at) => {
    const of = byAxis === undefined ? given : Object.hasOwn(byAxis, axis) ? byAxis[axis] : undefined;
    const within = byAxis === undefined ? name : `${name}.${axis}`;
    let rules: readonly [readonly Rule[], readonly Rule[]];
    if (has(of, 'low', 'high')) {
      requireOnly(of, sides, within);
      rules = [sideRules(of['low'], fields, `${within}.low`), sideRules(of['high'], fields, `${within}.high`)];
    } else {
      const both = sideRules(of, fields, within);
      rules = [both, both];
    }
    fields.forEach((field, i) => {
      const [low, high] = [required(rules[0][i]), required(rules[1][i])];
      if ((low.kind === 'periodic') !== (high.kind === 'periodic')) {
        throw refusal(`${within}.${low.kind === 'periodic' ? 'high' : 'low'}`, `periodic at both sides of axis ${axisNames[at]} or at none`,
          `'${(low.kind === 'periodic' ? high : low).kind}' for ${field}`);
      }
    });
    return rules;
  });
}

/** Arithmetic on numbers or on what stands for them. Both forms of a formula then round alike. */
export interface Arithmetic<T> {
  number(value: number): T;
  add(a: T, b: T): T;
  sub(a: T, b: T): T;
  mul(a: T, b: T): T;
  div(a: T, b: T): T;
}

export const plainArithmetic: Arithmetic<number> = {
  number: (value) => value, add: (a, b) => a + b, sub: (a, b) => a - b, mul: (a, b) => a * b, div: (a, b) => a / b,
};

/** Distance of cell `k` beyond the face from its mirror image. */
export const imageDistance = (k: number, spacing: number): number => (2 * k - 1) * spacing;

/**
 * The value of cell `k` beyond a boundary, for the conditions that need no function of inner cells. `inner`: the cell at a distance from
 * the
 * boundary; `value`: the number of the condition.
 */
export function ghostValue<T>(
  rule: Exclude<Rule, { kind: 'periodic' | 'function' }>, k: number, spacing: number,
  { inner, value, at: a }: { readonly inner: (distance: number) => T; readonly value: () => T; readonly at: Arithmetic<T> },
): T {
  const h = imageDistance(k, spacing);
  switch (rule.kind) {
    case 'mirror': return inner(k - 1);
    case 'outflow': return inner(0);
    case 'odd-mirror': return a.sub(a.number(0), inner(k - 1));
    case 'dirichlet': return a.sub(a.mul(a.number(2), value()), inner(k - 1));
    case 'neumann': return a.add(inner(k - 1), a.mul(a.number(h), value()));
    case 'robin': {
      const [half, slope] = [rule.alpha / 2, rule.beta / h];
      return a.div(a.sub(value(), a.mul(a.number(half - slope), inner(k - 1))), a.number(half + slope));
    }
  }
}
