// The flow graph of a kernel. A statement in which the threads of a block may diverge is a single node, so that all threads of the block
// take every edge together (except those that have left the kernel).
import { elementAt, lastOf, required } from '../core/known.ts';
import type { Visitor } from './visitor.ts';
import type { Access, Effects, InlinedCall, Instance } from './effects.ts';
import { loopTypes } from './model.ts';
import { Refusal } from './refusal.ts';
import { child, descend, namedChildren, partOf, type SyntaxNode } from './syntax.ts';
import { Uniformity } from './uniformity.ts';

/** A point of a kernel: a statement, a barrier, or a place where a barrier may be put. */
export interface FlowNode {
  readonly id: number;
  readonly kind: 'statement' | 'barrier' | 'slot';
  /** The statement; for a slot, the statement before which, or the block at whose end, a barrier would go. */
  readonly node: SyntaxNode;
  /** The corresponding place in the kernel itself: for a statement of a called function, the call. */
  readonly place: SyntaxNode;
  readonly effects: Effects | undefined;
  readonly accesses: readonly Access[];
  readonly successors: number[];
  /** The surrounding loops. */
  readonly loops: readonly SyntaxNode[];
  /** Individual threads may leave the kernel here. */
  readonly exits: boolean;
  /** For a slot: where to insert the barrier, and whether that is the end of a block. */
  readonly offset: number;
  readonly closing: boolean;
}

/** A loop whose threads iterate together: the first node of an iteration, and the edges that start the next one. */
export interface FlowLoop {
  readonly node: SyntaxNode;
  readonly nodes: readonly number[];
  readonly head: number;
}

/** Statements and their order. */
export interface Flow {
  readonly nodes: readonly FlowNode[];
  readonly entry: number;
  readonly loops: readonly FlowLoop[];
}

/** The maximum number of nodes of a kernel. */
const kMostNodes = 20_000;

interface Context {
  readonly instance: Instance;
  readonly uniformity: Uniformity;
  readonly loops: readonly SyntaxNode[];
  /** Whether barriers may be inserted here. */
  readonly slots: boolean;
  readonly returns: number[];
  readonly jumps: readonly { readonly node: SyntaxNode; readonly breaks: number[]; readonly continues: number[] }[];
  /** For a node of a called function: the place in the kernel to which it belongs. */
  readonly place: SyntaxNode | undefined;
}

const kSkipped = new Set(['comment', 'preproc_call', 'preproc_def', 'preproc_function_def', 'using_declaration', 'alias_declaration',
  'type_definition', 'struct_specifier', 'enum_specifier', 'static_assert_declaration', 'namespace_alias_definition']);

class Builder {
  readonly nodes: FlowNode[] = [];
  readonly loops: FlowLoop[] = [];
  readonly #visitor: Visitor;

  constructor(visitor: Visitor) {
    this.#visitor = visitor;
  }

  kernel(instance: Instance): Flow {
    const uniformity = new Uniformity(this.#visitor.library, instance.model, new Set());
    const { body } = instance.model.fn;
    const context: Context = { instance, uniformity, loops: [], slots: true, returns: [], jumps: [], place: undefined };
    const entry = this.#add('statement', body, [], context);
    this.#block(body, [entry], context);
    this.#visitor.requireAllSeen(instance);
    return { nodes: this.nodes, entry, loops: this.loops };
  }

  #add(kind: FlowNode['kind'], node: SyntaxNode, before: readonly number[], context: Context, effects?: Effects,
    slot: { offset: number; closing: boolean } = { offset: node.start, closing: false }): number {
    const id = this.nodes.length;
    if (id >= kMostNodes) throw new Refusal('too-deep', node, `the kernel has more than ${kMostNodes} statements`);
    const leaves = effects !== undefined && effects.returns.length > 0 && kind === 'statement';
    this.nodes.push({
      id, kind, node, place: context.place ?? node, effects, accesses: effects?.accesses ?? [], successors: [], loops: context.loops,
      exits: leaves && context.instance.parent === undefined, ...slot,
    });
    for (const each of before) elementAt(this.nodes, each).successors.push(id);
    return id;
  }

  /** Each builder takes the nodes that precede its statement and returns those that precede the next one. */
  #block(block: SyntaxNode, before: number[], context: Context): number[] {
    let at = before;
    let pragma: SyntaxNode | undefined;
    for (const each of namedChildren(block)) {
      if (each.type === 'preproc_call') {
        pragma ??= each;
        continue;
      }
      if (context.slots && at.length > 0) {
        const offset = (pragma ?? each).start;
        at = [this.#add('slot', each, at, context, undefined, { offset, closing: false })];
      }
      pragma = undefined;
      at = this.#statement(each, at, context);
    }
    if (!context.slots || at.length === 0) return at;
    return [this.#add('slot', block, at, context, undefined, { offset: block.end - 1, closing: true })];
  }

  #statement(node: SyntaxNode, before: number[], context: Context): number[] {
    if (kSkipped.has(node.type)) return before;
    if (node.failed) throw new Refusal('parse-error', node, 'the grammar does not know this text');
    switch (node.type) {
      case 'compound_statement': return this.#block(node, before, context);
      case 'if_statement': return this.#if(node, before, context);
      case 'for_statement': case 'while_statement': case 'do_statement': return this.#loop(node, before, context);
      case 'switch_statement': return this.#switch(node, before, context);
      case 'break_statement': case 'continue_statement': return this.#jump(node, before, context);
      case 'return_statement': return this.#return(node, before, context);
      case 'attributed_statement': return this.#attributed(node, before, context);
      case 'else_clause': return this.#statement(elementAt(namedChildren(node), 0), before, context);
      case 'for_range_loop': return this.#together(node, before, context);
      default: return this.#simple(node, before, context);
    }
  }

  #attributed(node: SyntaxNode, before: number[], context: Context): number[] {
    const statement = lastOf(namedChildren(node));
    return this.#statement(statement, before, context);
  }

  /** A statement in which threads may diverge: one node, with no barriers inside. */
  #together(node: SyntaxNode, before: number[], context: Context): number[] {
    const effects = this.#visitor.effects(node, context.instance);
    const barrier = effects.barriers[0]?.node ?? effects.inlined[0]?.call;
    if (barrier !== undefined) {
      throw new Refusal('divergent-barrier', barrier, 'this barrier is at a place where threads of the block may diverge');
    }
    if (effects.returns.length > 0 && context.instance.parent !== undefined
      && this.#visitor.library.hasBarrier(context.instance.model.fn)) {
      throw new Refusal('divergent-return', elementAt(effects.returns, 0),
        'threads may leave a function that contains a barrier at different times');
    }
    return [this.#add('statement', node, before, context, effects)];
  }

  #simple(node: SyntaxNode, before: number[], context: Context): number[] {
    const effects = this.#visitor.effects(node, context.instance);
    if (effects.barriers.length === 0 && effects.inlined.length === 0) {
      const isEmpty = node.type === 'expression_statement' && namedChildren(node).length === 0;
      return isEmpty ? before : [this.#add('statement', node, before, context, effects)];
    }
    if (effects.barriers.length + effects.inlined.length > 1 || isConditional(node, effects)) {
      throw new Refusal('barrier-in-expression', node, 'the barrier is one part of a larger expression');
    }
    const [barrier] = effects.barriers;
    if (barrier === undefined) return this.#inline(node, effects, elementAt(effects.inlined, 0), before, context);
    if (effects.accesses.length !== barrier.accesses) {
      throw new Refusal('barrier-in-expression', node, 'the statement touches shared memory besides its barrier');
    }
    const first = effects.accesses.length > 0 ? [this.#add('statement', node, before, context, effects)] : before;
    return [this.#add('barrier', barrier.node, first, context, effects.accesses.length > 0 ? undefined : effects)];
  }

  /** A call of a function with barriers: its statements are inserted here. */
  #inline(node: SyntaxNode, effects: Effects, inlined: InlinedCall, before: number[], context: Context): number[] {
    const { instance, fn } = inlined;
    if (effects.accesses.some((access) => access.node.start < inlined.call.start || access.node.end > inlined.call.end)) {
      throw new Refusal('barrier-in-expression', node, `the statement touches shared memory besides the barriers of ${fn.name}`);
    }
    const first = [this.#add('statement', node, before, context, effects)];
    const divergent = new Set(instance.model.scopes.syms.filter((sym) => sym.kind === 'parameter').filter((sym) => {
      const value = namedChildren(partOf(inlined.call, 'arguments'))[fn.parameters.indexOf(sym.declaration)];
      return sym.reference || (value !== undefined && !sym.pointer && !context.uniformity.expression(value));
    }).map((sym) => sym.name));
    const inner: Context = {
      instance, uniformity: new Uniformity(this.#visitor.library, instance.model, divergent, 1), loops: context.loops, slots: false,
      returns: [], jumps: [], place: context.place ?? node,
    };
    const end = this.#block(fn.body, first, inner);
    this.#visitor.requireAllSeen(instance);
    return [...end, ...inner.returns];
  }

  #if(node: SyntaxNode, before: number[], context: Context): number[] {
    if (!context.uniformity.control(node)) return this.#together(node, before, context);
    const at = this.#simple(partOf(node, 'condition'), before, context);
    const yes = this.#statement(partOf(node, 'consequence'), at, context);
    const alternative = child(node, 'alternative');
    return [...yes, ...(alternative === undefined ? at : this.#statement(alternative, at, context))];
  }

  #loop(node: SyntaxNode, before: number[], context: Context): number[] {
    if (!context.uniformity.control(node)) return this.#together(node, before, context);
    const initializer = child(node, 'initializer');
    const at = initializer === undefined ? before : this.#simple(initializer, before, context);
    const from = this.nodes.length;
    const jump = { node, breaks: [] as number[], continues: [] as number[] };
    const inner: Context = { ...context, loops: [...context.loops, node], jumps: [...context.jumps, jump] };
    const head = this.#add('statement', node, at, inner);
    const condition = child(node, 'condition');
    const test = (from_: number[]): number[] => condition === undefined ? from_ : this.#simple(condition, from_, inner);
    const isDo = node.type === 'do_statement';
    const entered = isDo ? [head] : test([head]);
    const body = this.#statement(partOf(node, 'body'), entered, inner);
    const update = child(node, 'update');
    let last = [...body, ...jump.continues];
    if (update !== undefined && last.length > 0) last = this.#simple(update, last, inner);
    if (isDo && last.length > 0) last = test(last);
    for (const each of last) elementAt(this.nodes, each).successors.push(head);
    this.loops.push({ node, head, nodes: Array.from({ length: this.nodes.length - from }, (_, i) => from + i) });
    const ends = isDo ? last : condition === undefined ? [] : entered;
    return [...ends, ...jump.breaks];
  }

  #switch(node: SyntaxNode, before: number[], context: Context): number[] {
    if (!context.uniformity.control(node)) return this.#together(node, before, context);
    const at = this.#simple(partOf(node, 'condition'), before, context);
    const around = context.jumps.findLast((each) => loopTypes.has(each.node.type));
    const jump = { node, breaks: [] as number[], continues: around?.continues ?? [] };
    const inner: Context = { ...context, slots: context.slots, jumps: [...context.jumps, jump] };
    let through: number[] = [];
    let hasDefault = false;
    for (const each of namedChildren(partOf(node, 'body'))) {
      if (each.type !== 'case_statement') throw new Refusal('unsupported-statement', each, 'a statement of a switch outside of its cases');
      const value = child(each, 'value');
      hasDefault ||= value === undefined;
      const statements = namedChildren(each).filter((part) => part !== value);
      if (through.length > 0 && (holdsBarrier(each, this.#visitor) || holdsBarrier(required(each.parent), this.#visitor))) {
        throw new Refusal('switch-fallthrough', each, 'a case falls through in a switch with barriers');
      }
      let now = [...at, ...through];
      if (statements.length === 0) continue;
      for (const statement of statements) now = this.#statement(statement, now, inner);
      through = now;
    }
    return [...through, ...jump.breaks, ...(hasDefault ? [] : at)];
  }

  #jump(node: SyntaxNode, before: number[], context: Context): number[] {
    const isBreak = node.type === 'break_statement';
    const target = isBreak ? context.jumps.at(-1) : context.jumps.findLast((each) => loopTypes.has(each.node.type));
    if (target === undefined) throw new Refusal('unsupported-statement', node, 'a jump that leads nowhere');
    (isBreak ? target.breaks : target.continues).push(...before);
    return [];
  }

  #return(node: SyntaxNode, before: number[], context: Context): number[] {
    const value = namedChildren(node)[0];
    const at = value === undefined ? before : this.#simple(value, before, context);
    context.returns.push(...at);
    return [];
  }
}

/** Whether a barrier or inlined call is in a part of an expression that may not be evaluated. */
function isConditional(node: SyntaxNode, effects: Effects): boolean {
  for (const each of [...effects.barriers.map((barrier) => barrier.node), ...effects.inlined.map((inlined) => inlined.call)]) {
    for (let up = each.parent, below = each; up !== undefined && below !== node; below = up, up = up.parent) {
      if (up.type === 'conditional_expression' && below.field !== 'condition') return true;
      const isShort = up.type === 'binary_expression' && /^(?:&&|\|\|)$/.test(child(up, 'operator')?.type ?? '');
      if (isShort && below.field === 'right') return true;
    }
  }
  return false;
}

/** Whether some source contains a barrier. */
function holdsBarrier(node: SyntaxNode, visitor: Visitor): boolean {
  const { program } = visitor.library;
  for (const each of descend(node)) {
    if (each.type !== 'call_expression') continue;
    const callee = child(each, 'function');
    if (callee !== undefined && /__syncthreads|\bsync$/.test(program.text(callee))) return true;
    if (visitor.library.candidates(each).some((fn) => visitor.library.hasBarrier(fn))) return true;
  }
  return false;
}

/** Slots that not all threads reach together, because some have left the kernel before. Refuses barriers at such places. */
export function closeAfterExits(flow: Flow): Set<number> {
  const closed = new Set<number>();
  const stack = flow.nodes.filter((node) => node.exits).map((node) => ({ node, cause: node }));
  while (stack.length > 0) {
    const { node, cause } = required(stack.pop());
    for (const next of node.successors) {
      if (closed.has(next)) continue;
      closed.add(next);
      const follower = elementAt(flow.nodes, next);
      if (follower.kind === 'barrier') {
        const place = elementAt(required(cause.effects).returns, 0);
        throw new Refusal('divergent-return', place, 'threads may have left the kernel here before a barrier');
      }
      stack.push({ node: follower, cause });
    }
  }
  return closed;
}

/** The flow graph of a kernel. */
export function buildFlow(visitor: Visitor, instance: Instance): Flow {
  return new Builder(visitor).kernel(instance);
}
