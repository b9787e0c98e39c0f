// Variables declared with var belong to the whole function. Most are used only in the block that declares them, after their declaration:
// those are treated like let, so that counters of loops stay known. The others are declared at the beginning of the function.
import type * as acorn from 'acorn';
import { namesIn, nodesOf } from './assigned.ts';
import type { FunctionNode, Node } from './source.ts';

interface Declaration {
  readonly block: Node;
  readonly at: Node;
  readonly hasValue: boolean;
  readonly isInLoop: boolean;
  /** Names declared by the same pattern. */
  readonly names: readonly string[];
}

interface Place {
  readonly block: Node;
  readonly isInLoop: boolean;
  readonly isInner: boolean;
}

const loops: ReadonlySet<string> = new Set(['ForStatement', 'ForOfStatement', 'WhileStatement', 'DoWhileStatement']);
const blocks: ReadonlySet<string> = new Set([...loops, 'BlockStatement', 'IfStatement', 'SwitchCase']);
const functions: ReadonlySet<string> = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

/** Declarations of one name that are compared with each other; more are declared at the beginning in any case. */
const mostCompared = 32;

const contains = (outer: Node, inner: Node): boolean => outer.start <= inner.start && inner.end <= outer.end;

const known = new WeakMap<Node, ReadonlySet<string>>();

/** Names of variables that have to be declared at the beginning of a function. */
export function hoistedIn(node: FunctionNode): ReadonlySet<string> {
  let found = known.get(node);
  if (found === undefined) known.set(node, found = search(node.body, new Set(node.params.flatMap(namesIn))));
  return found;
}

function search(body: Node, parameters: ReadonlySet<string>): ReadonlySet<string> {
  if (![...nodesOf(body)].some((node) => node.type === 'VariableDeclaration' && node.kind === 'var')) return new Set();
  const declarations = new Map<string, Declaration[]>();
  const uses = new Map<string, Node[]>();
  const add = <T>(to: Map<string, T[]>, name: string, item: T): void => {
    const list = to.get(name);
    if (list === undefined) to.set(name, [item]);
    else list.push(item);
  };
  const visit = (node: acorn.AnyNode, place: Place): void => {
    if (node.type === 'VariableDeclaration' && node.kind === 'var' && !place.isInner) {
      for (const { id, init } of node.declarations) {
        const names = namesIn(id);
        for (const name of names) add(declarations, name, { ...place, at: id, hasValue: Boolean(init), names });
      }
    }
    if (node.type === 'Identifier') add(uses, node.name, node);
    const isLoop = loops.has(node.type), isBlock = blocks.has(node.type);
    const inner: Place = { block: isBlock && node !== body ? node : place.block, isInLoop: place.isInLoop || isLoop,
      isInner: place.isInner || functions.has(node.type) };
    for (const [key, part] of Object.entries(node) as [string, unknown][]) {
      const isName = (key === 'property' && node.type === 'MemberExpression' && !node.computed)
        || (key === 'key' && node.type === 'Property');
      if (isName) continue;
      for (const each of Array.isArray(part) ? part as unknown[] : [part]) {
        if (typeof each === 'object' && each !== null && 'type' in each) visit(each as acorn.AnyNode, inner);
      }
    }
  };
  visit(body as acorn.AnyNode, { block: body, isInLoop: false, isInner: false });
  const found = new Set<string>();
  for (const [name, all] of declarations) {
    if (!parameters.has(name) && !needsHoisting(all, uses.get(name) ?? [])) continue;
    for (const one of all.flatMap(({ names }) => names)) found.add(one);
  }
  return found;
}

function needsHoisting(all: readonly Declaration[], uses: readonly Node[]): boolean {
  if (all.length > mostCompared) return true;
  const overlap = (a: Node, b: Node): boolean => contains(a, b) || contains(b, a);
  const isApart = all.every((one, i) => all.slice(i + 1).every((other) => !overlap(one.block, other.block)));
  if (!isApart) return true;
  if (all.some(({ hasValue, isInLoop }) => !hasValue && (isInLoop || all.length > 1))) return true;
  return uses.some((use) => !all.some(({ block, at }) => contains(block, use) && use.start >= at.start));
}
