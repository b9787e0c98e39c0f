// Names of fields.
import type * as acorn from 'acorn';
import type { Lowering } from './lowering.ts';
import type { Node } from './source.ts';

/** The name of a field. */
export function keyOf(key: Node, to: Lowering): string {
  const node = key as acorn.Identifier | acorn.Literal;
  const name = node.type === 'Identifier' ? node.name : node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
  if (name === undefined || name === '__proto__') throw to.error(key, 'this cannot be the name of a field', 'use a plain name');
  return name;
}
