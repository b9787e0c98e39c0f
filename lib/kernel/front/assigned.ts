// Which variables a part of a function assigns.
import type * as acorn from 'acorn';
import type { Node } from './source.ts';

const found = new WeakMap<Node, ReadonlySet<string>>();

/** Every node of a tree; not inside of the types `except`. */
export function* nodesOf(root: Node, except: ReadonlySet<string> = new Set()): Generator<acorn.AnyNode> {
  const left: unknown[] = [root];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (Array.isArray(node)) left.push(...node as unknown[]);
    else if (typeof node === 'object' && node !== null && 'type' in node && !except.has(node.type as string)) {
      yield node as acorn.AnyNode;
      left.push(...Object.values(node).filter((part) => typeof part === 'object' && part !== null));
    }
  }
}

/** Names of variables that are assigned anywhere in a tree, whatever they mean there. */
export function assignedIn(root: Node): ReadonlySet<string> {
  const known = found.get(root);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const node of nodesOf(root)) {
    const place = node.type === 'AssignmentExpression' ? node.left : node.type === 'UpdateExpression' ? node.argument : undefined;
    if (place?.type === 'Identifier') names.add(place.name);
  }
  found.set(root, names);
  return names;
}
