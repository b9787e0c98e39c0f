// Code that relies on the threads of a warp running in lockstep. It is refused, because its author relies on an order that the code does
// not express.
import { elementAt, lastOf } from '../core/known.ts';
import { evaluate } from './constants.ts';
import type { Access, Instance } from './effects.ts';
import type { Flow, FlowNode } from './flow.ts';
import { reach } from './liveness.ts';
import { Refusal } from './refusal.ts';
import { child, descend, namedChildren, partOf, type SyntaxNode } from './syntax.ts';
import type { Visitor } from './visitor.ts';

const kWarp = 32;

/** Refuses values that are written to shared memory before a shuffle and read after it without a barrier of the block in between. */
function requireNoShuffleOrder(visitor: Visitor, flow: Flow): void {
  const isOpen = (_from: number, to: number): boolean => elementAt(flow.nodes, to).kind !== 'barrier';
  for (const node of flow.nodes) {
    const shuffles = node.effects?.shuffles ?? [];
    if (shuffles.length === 0) continue;
    const after = reach(flow, [node.id], isOpen);
    for (const array of visitor.arrays) {
      const writes = flow.nodes.filter((each) => each !== node && each.accesses.some((access) => access.array === array.index
        && access.mode !== 'r'));
      const before = writes.some((each) => reach(flow, [each.id], isOpen)[node.id] === 1) || own(node, array.index, (access) =>
        access.mode !== 'r' && access.order < lastOf(shuffles));
      const later = flow.nodes.some((each) => each !== node && after[each.id] === 1
        && own(each, array.index, (access) => access.mode !== 'w'))
        || own(node, array.index, (access) => access.mode !== 'w' && access.order > elementAt(shuffles, 0)
          && access.order > firstWrite(node, array.index));
      if (before && later) throw new Refusal('warp-synchronous', node.node,
        `a shuffle comes between a write of ${array.name} and a read of it`);
    }
  }
}

function own(node: FlowNode, array: number, test: (access: Access) => boolean): boolean {
  return node.accesses.some((access) => access.array === array && test(access));
}

function firstWrite(node: FlowNode, array: number): number {
  return node.accesses.find((access) => access.array === array && access.mode !== 'r')?.order ?? -1;
}

/** Whether a condition selects threads of at most one warp: x < n with n ≤ 32, and x differs between threads. */
function isLaneGuard(visitor: Visitor, condition: SyntaxNode, instance: Instance): boolean {
  for (const node of descend(condition)) {
    if (node.type !== 'binary_expression') continue;
    const operator = child(node, 'operator')?.type;
    const right = partOf(node, 'right');
    if (operator !== '<' && operator !== '<=') continue;
    const text = instance.model.text(right).trim();
    const bound = text === 'warpSize' ? kWarp : evaluate(text, visitor.library.program);
    if (bound !== undefined && bound <= kWarp && bound > 1 && partOf(node, 'left').type !== 'number_literal') return true;
  }
  return false;
}

/** Index expressions of an access, outermost first. */
function indicesOf(node: SyntaxNode, instance: Instance): string[] {
  const indices: string[] = [];
  for (let part: SyntaxNode | undefined = node; part?.type === 'subscript_expression'; part = child(part, 'argument')) {
    indices.unshift(instance.model.text(partOf(part, 'indices')).replace(/\s/g, ''));
  }
  return indices;
}

/** Whether two accesses of an array, one of them a write, differ in the last index: they concern other threads' elements. */
function differ(a: Access, b: Access, instance: Instance): boolean {
  const first = indicesOf(a.node, instance);
  const second = indicesOf(b.node, instance);
  return first.length > 0 && second.length > 0 && first.at(-1) !== second.at(-1);
}

function statementOf(node: SyntaxNode): SyntaxNode {
  let up = node;
  while (up.parent !== undefined && !/_statement$|^declaration$/.test(up.type)) up = up.parent;
  return up;
}

/** The guarded tail of a reduction: several consecutive statements in which lanes read what other lanes wrote. */
function requireNoLaneOrder(visitor: Visitor, instance: Instance, node: FlowNode): void {
  for (const statement of descend(node.node)) {
    if (statement.type !== 'if_statement' || !isLaneGuard(visitor, partOf(statement, 'condition'), instance)) continue;
    const inside = node.accesses.filter((access) => access.node.start >= statement.start && access.node.end <= statement.end);
    for (const write of inside) {
      if (write.mode === 'r') continue;
      const read = inside.find((access) => access.array === write.array && access.mode !== 'w' && access.order > write.order
        && statementOf(access.node) !== statementOf(write.node) && differ(write, access, instance));
      if (read !== undefined) {
        throw new Refusal('warp-synchronous', read.node,
          `lanes of a warp read here what others wrote to ${elementAt(visitor.arrays, read.array).name}, with no barrier between`);
      }
    }
  }
}

/** Refuses code that relies on warps to order shared accesses. */
export function requireNoWarpSynchrony(visitor: Visitor, instance: Instance, flow: Flow): void {
  requireNoShuffleOrder(visitor, flow);
  for (const node of flow.nodes) {
    if (node.kind === 'statement' && node.accesses.length > 1 && namedChildren(node.node).length > 0) requireNoLaneOrder(visitor,
      instance, node);
  }
}
