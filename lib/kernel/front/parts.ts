// Elements of arrays and fields of objects.
import type * as acorn from 'acorn';
import { elementAt } from '../../core/known.ts';
import type { Lowering } from './lowering.ts';
import { keyOf } from './names.ts';
import { describe, known, namesOf, type Scope, type Staged } from './values.ts';

/** An element of an array, or a field of an object. */
export function partOf(object: Staged, node: acorn.MemberExpression, scope: Scope, to: Lowering): Staged {
  if (object.kind === 'tuple') {
    if (!node.computed && keyOf(node.property, to) === 'length') return known(object.items.length);
    if (node.computed) return elementAt(object.items, indexOf(node, object.items.length, scope, to));
  }
  if (object.kind === 'record' && (!node.computed || node.property.type === 'Literal')) {
    const name = keyOf(node.property, to);
    const found = object.fields.get(name);
    if (found !== undefined) return found;
    throw to.error(node.property, `${describe(object)} has no ${name}`, namesOf(object));
  }
  throw to.error(node, `${describe(object)} has no such member`,
    'arrays have elements and a length, objects the fields that they were made with');
}

/** The index of an element, which must be known while the function is compiled. */
function indexOf(node: acorn.MemberExpression, length: number, scope: Scope, to: Lowering): number {
  const index = to.numeric(to.rules.evaluate(node.property as acorn.Expression, scope, to), node.property);
  if (index.kind !== 'known') {
    throw to.error(node.property, 'an index that depends on data',
      'indices must be known while the function is compiled: constants and counters of loops');
  }
  const value = Number(index.value);
  if (!Number.isInteger(value) || value < 0 || value >= length) {
    throw to.error(node.property, `index ${value} of an array of ${length}`, `use integers from 0 to ${length - 1}`);
  }
  return value;
}

/**
 * What a pattern takes apart: patterns inside it, each with its value; undefined where the value has none and the pattern has a default.
 * @throws what is wrong with the pattern or does not fit the value
 */
export function partsOf(
  pattern: acorn.ArrayPattern | acorn.ObjectPattern, value: Staged, to: Lowering,
): (readonly [acorn.Pattern, Staged | undefined])[] {
  const isMissing = (inner: acorn.Pattern, part: Staged | undefined): boolean =>
    part === undefined && inner.type !== 'AssignmentPattern';
  if (pattern.type === 'ArrayPattern') {
    if (value.kind !== 'tuple') {
      throw to.error(pattern, `${describe(value)} in place of an array`, 'only arrays can be taken apart like this');
    }
    return pattern.elements.flatMap((each, i) => {
      if (each === null) return [];
      const item = value.items[i];
      if (isMissing(each, item)) throw to.error(each, `there is no element ${i} in ${describe(value)}`, 'take apart what is there');
      return [[each, item] as const];
    });
  }
  if (value.kind !== 'record') {
    throw to.error(pattern, `${describe(value)} in place of an object`, 'only objects can be taken apart like this');
  }
  return pattern.properties.map((each) => {
    if (each.type === 'RestElement' || each.computed) {
      throw to.error(each, 'the rest of an object, or a computed name', 'name each field');
    }
    const name = keyOf(each.key, to), field = value.fields.get(name);
    if (isMissing(each.value, field)) throw to.error(each, `${describe(value)} has no ${name}`, namesOf(value));
    return [each.value, field] as const;
  });
}
