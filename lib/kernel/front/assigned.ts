// Which variables a part of a function assigns.
import type * as acorn from 'acorn';
import { elementAt } from '../../core/known.ts';
import type { Node } from './source.ts';

const found = new WeakMap<Node, ReadonlySet<string>>();
const assigning = new WeakMap<Node, boolean>();

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

/** Names in a pattern, and some others: those of its keys and defaults. */
export function namesIn(pattern: Node): readonly string[] {
  return [...nodesOf(pattern)].flatMap((node) => (node.type === 'Identifier' ? [node.name] : []));
}

/** Whether a tree declares a variable with `var`. */
export function redeclares(root: Node, name: string): boolean {
  return [...nodesOf(root)].some((node) => node.type === 'VariableDeclaration' && node.kind === 'var'
    && node.declarations.some(({ id }) => namesIn(id).includes(name)));
}

/** Whether anything is assigned in a tree, be it an element of an array. */
export function assigns(root: Node): boolean {
  const known = assigning.get(root);
  if (known !== undefined) return known;
  // All parts at once: expressions ask again for each of theirs.
  const nodes: { readonly node: Node; readonly parent: number }[] = [];
  const left: { readonly part: unknown; readonly parent: number }[] = [{ part: root, parent: -1 }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { part, parent } = next;
    if (typeof part !== 'object' || part === null) continue;
    const isNode = 'type' in part;
    if (isNode) nodes.push({ node: part as Node, parent });
    const own = isNode ? nodes.length - 1 : parent;
    if (isNode || Array.isArray(part)) for (const each of Object.values(part)) left.push({ part: each, parent: own });
  }
  const found = nodes.map(({ node: { type } }) => type === 'AssignmentExpression' || type === 'UpdateExpression');
  for (let i = nodes.length - 1; i >= 0; --i) {
    const { node, parent } = elementAt(nodes, i);
    assigning.set(node, elementAt(found, i));
    if (parent >= 0 && found[i] === true) found[parent] = true;
  }
  return elementAt(found, 0);
}

/** Whether elements of arrays or fields of objects are assigned in a tree. */
export function assignsElements(root: Node): boolean {
  for (const node of nodesOf(root)) {
    const isUpdate = node.type === 'UpdateExpression' && node.argument.type === 'MemberExpression';
    if (isUpdate) return true;
    if (node.type === 'AssignmentExpression' && [...nodesOf(node.left)].some(({ type }) => type === 'MemberExpression')) return true;
  }
  return false;
}

/** Names of variables that are assigned anywhere in a tree, whatever they mean there. */
export function assignedIn(root: Node): ReadonlySet<string> {
  const known = found.get(root);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const node of nodesOf(root)) {
    const place = node.type === 'AssignmentExpression' ? node.left : node.type === 'UpdateExpression' ? node.argument : undefined;
    if (place !== undefined && place.type !== 'MemberExpression') for (const name of namesIn(place)) names.add(name);
  }
  found.set(root, names);
  return names;
}
