// Loops that wait for other threads. They are refused, because a barrier inserted before the statement that ends the wait would deadlock.
import { requireCertain } from './certainty.ts';
import type { FunctionModel } from './model.ts';
import { controlTypes, loopTypes, calledName, rootOf } from './model.ts';
import { cachedLoad, isAtomic } from './names.ts';
import { Refusal } from './refusal.ts';
import type { Sym } from './symbols.ts';
import { ancestor, child, descend, namedChildren, partOf, type SyntaxNode } from './syntax.ts';

/** What the exit conditions of one loop depend on. */
class LoopEnds {
  readonly #model: FunctionModel;
  readonly #loop: SyntaxNode;
  /** Variables that the loop sets. */
  readonly #set = new Set<Sym>();
  /** Those whose value comes from memory that other threads may write. */
  readonly #awaited = new Set<Sym>();

  constructor(model: FunctionModel, loop: SyntaxNode) {
    this.#model = model;
    this.#loop = loop;
    const own = model.assignments.filter(({ node }) => node.start >= loop.start && node.end <= loop.end);
    for (const { sym } of own) this.#set.add(sym);
    for (let grown = true; grown;) {
      grown = false;
      for (const { sym, node, value } of own) {
        if (this.#awaited.has(sym)) continue;
        // If nothing is known of the value, only the statement itself can tell.
        const isAwaited = this.#awaits(value ?? node) || this.#guards(node).some((condition) => this.#awaits(condition));
        if (!isAwaited) continue;
        this.#awaited.add(sym);
        grown = true;
      }
    }
  }

  /** Whether the loop itself never gets closer to any of its exits. */
  get waits(): boolean {
    const ends = this.#ends();
    return ends.some((end) => this.#awaits(end)) && !ends.some((end) => this.#moves(end));
  }

  #ends(): SyntaxNode[] {
    const condition = child(this.#loop, 'condition');
    const ends = condition === undefined ? [] : [condition];
    for (const each of descend(this.#loop)) {
      const leaves = each.type === 'return_statement'
        || (each.type === 'break_statement' && ancestor(each, ...loopTypes, 'switch_statement') === this.#loop);
      if (leaves) ends.push(...this.#guards(each));
    }
    return ends;
  }

  /** Conditions inside the loop on which a statement depends. */
  #guards(node: SyntaxNode): SyntaxNode[] {
    const found: SyntaxNode[] = [];
    for (let up = node.parent, below = node; up !== undefined && up !== this.#loop; below = up, up = up.parent) {
      const condition = controlTypes.has(up.type) ? child(up, 'condition') : undefined;
      if (condition !== undefined && condition !== below) found.push(condition);
    }
    return found;
  }

  /** Whether an expression depends on what other threads may have written: an atomic, or a load from the same place each time. */
  #awaits(node: SyntaxNode): boolean {
    for (const each of descend(node)) {
      const sym = each.type === 'identifier' ? this.#model.use(each) : undefined;
      if (sym !== undefined && this.#awaited.has(sym)) return true;
      if (sym !== undefined && /\bvolatile\b/.test(this.#model.text(sym.declaration))) return true;
      if (each.type === 'call_expression' && this.#isAwaitingCall(each)) return true;
      const isLoad = each.type === 'subscript_expression'
        || (each.type === 'pointer_expression' && !this.#model.text(each).startsWith('&'));
      if (isLoad && this.#isMemory(each) && !this.#moves(each)) return true;
    }
    return false;
  }

  #isAwaitingCall(call: SyntaxNode): boolean {
    const name = calledName(this.#model.program, call);
    if (name === '__nanosleep') return true;
    if (cachedLoad.test(name)) return !this.#moves(call);
    if (!isAtomic(name)) return /^(?:load|test|test_and_set|exchange|compare_exchange_\w+|wait|try_wait\w*)$/.test(name);
    return !isTicket(this.#model, call, name) && !isRetry(this.#model, call, name);
  }

  /** Whether it is in memory, and not an array in registers. */
  #isMemory(node: SyntaxNode): boolean {
    const root = rootOf(node);
    const sym = root === undefined ? undefined : this.#model.use(root);
    return sym?.kind !== 'variable' || sym.dimensions === 0 || sym.pointer;
  }

  /** Whether the loop itself changes a variable of an expression. */
  #moves(node: SyntaxNode): boolean {
    for (const each of descend(node)) {
      const sym = each.type === 'identifier' ? this.#model.use(each) : undefined;
      if (sym !== undefined && this.#set.has(sym) && !this.#awaited.has(sym)) return true;
    }
    return false;
  }

}

/** atomicAdd(&next, 1): every call makes progress, whatever other threads do. */
function isTicket(model: FunctionModel, call: SyntaxNode, name: string): boolean {
  if (!/^atomic(?:Add|Sub|Inc|Dec)/.test(name)) return false;
  const step = namedChildren(partOf(call, 'arguments'))[1];
  if (step === undefined || /^[-+]?0\w*$/.test(model.text(step).trim())) return false;
  const comparison = comparisonOf(model, call);
  return comparison !== undefined && /^[<>]=?$/.test(comparison);
}

/** The operator that compares the result of a call, directly or through a variable it is assigned to. */
function comparisonOf(model: FunctionModel, call: SyntaxNode): string | undefined {
  for (let up = call.parent; up !== undefined && !/_statement$|^declaration$/.test(up.type); up = up.parent) {
    const operator = up.type === 'binary_expression' ? child(up, 'operator')?.type : undefined;
    if (operator !== undefined && /^(?:[<>]=?|[!=]=)$/.test(operator)) return operator;
  }
  const assigned = call.parent?.type === 'assignment_expression' ? child(call.parent, 'left')
    : call.parent?.type === 'init_declarator' ? child(call.parent, 'declarator') : undefined;
  const sym = assigned === undefined ? undefined : model.use(assigned);
  if (sym === undefined) return undefined;
  const operators = new Set<string | undefined>();
  for (const each of descend(model.fn.body)) {
    if (each.type !== 'binary_expression') continue;
    const operator = child(each, 'operator')?.type;
    const sides = [child(each, 'left'), child(each, 'right')];
    const isCompared = operator !== undefined && /^(?:[<>]=?|[!=]=)$/.test(operator);
    if (isCompared && sides.some((side) => side?.type === 'identifier' && model.use(side) === sym)) operators.add(operator);
  }
  return operators.size === 1 ? [...operators][0] : undefined;
}

/** `do { assumed = old; old = atomicCAS(p, assumed, …); } while (assumed != old)`: fails only if another thread has made progress. */
function isRetry(model: FunctionModel, call: SyntaxNode, name: string): boolean {
  if (!name.startsWith('atomicCAS')) return false;
  const expected = namedChildren(partOf(call, 'arguments'))[1];
  const sym = expected?.type === 'identifier' ? model.use(expected) : undefined;
  if (sym === undefined) return false;
  const loop = ancestor(call, ...loopTypes);
  const condition = loop === undefined ? undefined : child(loop, 'condition');
  if (loop === undefined || condition === undefined) return false;
  const old = call.parent?.type === 'assignment_expression' ? child(call.parent, 'left') : undefined;
  const result = old === undefined ? undefined : model.use(old);
  const isRefreshed = model.assignments.some(({ sym: set, node, value }) => set === sym && node.start >= loop.start && node.end <= loop.end
    && value !== undefined && [...descend(value)].some((each) => result !== undefined && model.use(each) === result));
  const compares = [...descend(condition)].some((each) => each.type === 'binary_expression' && child(each, 'operator')?.type === '!='
    && [...descend(each)].some((side) => model.use(side) === sym) && [...descend(each)].some((side) => model.use(side) === result));
  return isRefreshed && compares;
}

const readable = new WeakSet<FunctionModel>();

/** Refuses a function whose meaning is uncertain or that waits for other threads. Each function is checked once. */
export function requireReadable(model: FunctionModel): void {
  if (readable.has(model)) return;
  requireCertain(model);
  requireNoWait(model);
  readable.add(model);
}

/** Refuses a function with a loop that only other threads can end. */
function requireNoWait(model: FunctionModel): void {
  for (const node of descend(model.fn.body)) {
    if (!loopTypes.has(node.type) || node.type === 'for_range_loop') continue;
    if (new LoopEnds(model, node).waits) {
      throw new Refusal('spin-wait', node,
        'this loop waits for what another thread writes: a barrier put before that write would never be passed');
    }
  }
}
