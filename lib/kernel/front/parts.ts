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
