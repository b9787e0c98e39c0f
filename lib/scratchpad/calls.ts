// Calls: barriers, atomics, shuffles, CUDA functions, functions of the source file.
import { elementAt, required } from '../core/known.ts';
import { kAnyMemory, type Effects, type Instance, type MemoryBase, type Mode, type Shape } from './effects.ts';
import { plainness } from './certainty.ts';
import { macroOf } from './macros.ts';
import { calledName, rootOf } from './model.ts';
import { blockBarriers, cachedLoad, cachedStore, isAtomic, isPureFunction, opaqueFunctions, resultsByPointer, shuffle } from './names.ts';
import type { FunctionNode } from './program.ts';
import { Refusal } from './refusal.ts';
import type { Sym } from './symbols.ts';
import { child, descend, namedChildren, partOf, type SyntaxNode } from './syntax.ts';
import { requireAllowed, type Walker } from './walker.ts';
import { requireReadable } from './waits.ts';

const kCasts = /^(?:static_cast|const_cast|reinterpret_cast|dynamic_cast|bit_cast)$/;
const kGroups = /^(?:this_thread_block|tiled_partition|coalesced_threads|this_grid|this_thread|binary_partition|labeled_partition)$/;
const kGroupTypes = /\b(?:thread_block|thread_block_tile|coalesced_group|grid_group|thread_group|multi_grid_group)\b/;
/** The maximum depth of nested calls. */
const kDeepest = 24;

/** Records the effects of a call. */
export function callOf(visitor: Walker, node: SyntaxNode, instance: Instance, effects: Effects): void {
  const { program } = visitor.library;
  const callee = partOf(node, 'function');
  const name = calledName(program, node);
  if (callee.type === 'field_expression') return methodOf(visitor, node, callee, name, instance, effects);
  const qualified = program.text(callee).replace(/\s/g, '');
  requireAllowed(qualified.replace(/<[^]*$/, ''), node);
  requireOwnMeaning(visitor, node, name);
  if (blockBarriers.has(name)) return barrierOf(visitor, node, instance, effects);
  if (kGroups.test(name) || (name === 'sync' && isGroupScope(qualified, program.namespaces))) return groupOf(node, name, instance, effects);
  requireNoVariable(callee, instance);
  if (instance.model.use(callee) !== undefined) return lambdaCall(visitor, node, instance, effects);
  if (kCasts.test(name)) return castOf(visitor, node, name, instance, effects);
  if (program.isType(name) || callee.type === 'primitive_type' || callee.type === 'sized_type_specifier'
    || instance.model.fn.template.includes(name)) {
    return argumentsOf(visitor, node, instance, effects);
  }
  if (name === '__syncwarp') throw new Refusal('warp-synchronous', node, '__syncwarp() orders only the threads of a warp');
  if (isAtomic(name)) return atomicOf(visitor, node, instance, effects);
  if (shuffle.test(name)) {
    argumentsOf(visitor, node, instance, effects);
    effects.shuffles.push(effects.order++);
    effects.opaque = true;
    return;
  }
  if (program.macros.has(name) && program.functions.get(name) === undefined) {
    argumentsOf(visitor, node, instance, effects);
    return macroOf(visitor, node, name, instance, effects);
  }
  const candidates = visitor.library.candidates(node);
  if (candidates.length > 0) return userCall(visitor, node, candidates, instance, effects);
  libraryCall(visitor, node, name, instance, effects);
}

/** Refuses names of CUDA's barriers, groups, shuffles and atomics that the source redefines. */
function requireOwnMeaning(visitor: Walker, node: SyntaxNode, name: string): void {
  const { program } = visitor.library;
  const orders = blockBarriers.has(name) || kGroups.test(name) || name === 'sync' || name === '__syncwarp';
  if (!orders && !shuffle.test(name) && !isAtomic(name)) return;
  if (program.macros.has(name)) throw new Refusal('macro', node, `${name} is a macro of this text`);
  if (orders && program.functions.has(name)) {
    throw new Refusal('ambiguous-function', node, `${name} is a function of this text as well`);
  }
}

function values(node: SyntaxNode): SyntaxNode[] {
  const list = child(node, 'arguments');
  return list === undefined ? [] : namedChildren(list);
}

function argumentsOf(visitor: Walker, node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode = 'r'): void {
  for (const each of values(node)) {
    const shape = visitor.peek(each, instance);
    if (shape !== undefined && shape.dimensions > 0) {
      throw new Refusal('escaping-pointer', each,
        `a pointer to ${elementAt(visitor.arrays, shape.array).name} is passed to ${instance.model.text(partOf(node, 'function'))}`);
    }
    visitor.visit(each, instance, effects, mode);
  }
}

function barrierOf(visitor: Walker, node: SyntaxNode, instance: Instance, effects: Effects): void {
  const before = effects.accesses.length;
  argumentsOf(visitor, node, instance, effects);
  effects.barriers.push({ node, accesses: effects.accesses.length - before });
  effects.order++;
}

function isGroupScope(qualified: string, namespaces: ReadonlyMap<string, string>): boolean {
  const scope = qualified.replace(/(?:::)?sync$/, '');
  return scope === '' || (namespaces.get(scope) ?? scope) === 'cooperative_groups';
}

/** Functions of cooperative groups. */
function groupOf(node: SyntaxNode, name: string, instance: Instance, effects: Effects): void {
  if (name === 'this_grid') throw new Refusal('grid-barrier', node, 'the grid waits as a whole');
  if (name !== 'sync') {
    effects.opaque = true;
    return;
  }
  const group = values(node)[0];
  if (group === undefined) throw new Refusal('warp-synchronous', node, 'sync() of an unknown group');
  syncOf(node, group, instance, effects);
}

/** The kind of group that an expression denotes, according to its declaration. */
function groupKind(node: SyntaxNode, instance: Instance): 'block' | 'grid' | 'part' | undefined {
  const sym = node.type === 'identifier' ? instance.model.use(node) : undefined;
  const text = sym === undefined ? instance.model.text(node)
    : `${sym.type} ${sym.value === undefined ? '' : instance.model.text(sym.value)}`;
  if (/\bthis_thread_block\s*\(\s*\)\s*$/.test(text)) return 'block';
  if (/\bgrid_group\b|\bthis_grid\b/.test(text)) return 'grid';
  if (/\b(?:tiled_partition|coalesced_threads|thread_block_tile|coalesced_group|this_thread|binary_partition)\b/.test(text)) return 'part';
  if (/\bthread_block\b/.test(text)) return 'block';
  return kGroupTypes.test(text) ? 'part' : undefined;
}

function syncOf(node: SyntaxNode, group: SyntaxNode, instance: Instance, effects: Effects): void {
  const kind = groupKind(group, instance);
  if (kind === 'grid') throw new Refusal('grid-barrier', node, 'the grid waits as a whole');
  if (kind !== 'block') throw new Refusal('warp-synchronous', node, 'a barrier for only some threads of the block');
  effects.barriers.push({ node, accesses: 0 });
  effects.order++;
}

function methodOf(visitor: Walker, node: SyntaxNode, callee: SyntaxNode, name: string, instance: Instance, effects: Effects): void {
  const object = partOf(callee, 'argument');
  if (visitor.peek(object, instance) !== undefined) {
    throw new Refusal('unrecognised-use', node, `a member function of a shared object is called: ${instance.model.text(callee)}`);
  }
  requireAllowed(name, node);
  const kind = groupKind(object, instance);
  if (name === 'sync' && kind !== undefined) return syncOf(node, object, instance, effects);
  if (kind === undefined) throw new Refusal('unknown-function', node, `the body of ${instance.model.text(callee)} is not followed`);
  argumentsOf(visitor, node, instance, effects);
  if (!/^(?:shfl\w*|any|all|ballot|match_\w+)$/.test(name)) return;
  effects.shuffles.push(effects.order++);
  effects.opaque = true;
}

/** a < b > (c) is parsed as a call of a template; if a is a variable, it is not one. */
function requireNoVariable(callee: SyntaxNode, instance: Instance): void {
  const isTemplate = callee.type === 'template_function';
  const inside = callee.type === 'parenthesized_expression' ? namedChildren(callee)[0] : callee;
  const named = isTemplate ? child(callee, 'name') : inside;
  if (named?.type !== 'identifier') return;
  const name = instance.model.text(named);
  const sym = instance.model.use(named) ?? (isTemplate ? instance.model.scopes.syms.find((each) => each.name === name) : undefined);
  if (sym === undefined) return;
  if (isTemplate) throw new Refusal('ambiguous-syntax', callee, `${name} < … > ( … ) reads like the call of a template`);
  const isLambda = sym.value?.type === 'lambda_expression';
  if (!isLambda) throw new Refusal('unknown-function', callee, `${name} is called through a variable`);
}

/** A lambda of the kernel. Its body has been visited where it is defined, and accesses no shared array and no barrier. */
function lambdaCall(visitor: Walker, node: SyntaxNode, instance: Instance, effects: Effects): void {
  argumentsOf(visitor, node, instance, effects, 'rw');
  effects.opaque = true;
  effects.memory.push({ base: kAnyMemory, mode: 'rw' });
}

function castOf(visitor: Walker, node: SyntaxNode, name: string, instance: Instance, effects: Effects): void {
  for (const each of values(node)) {
    const shape = visitor.peek(each, instance);
    const isReference = name === 'reinterpret_cast' && shape !== undefined;
    if (isReference || (shape !== undefined && shape.dimensions > 0)) {
      throw new Refusal('reinterpret-cast', node,
        `${elementAt(visitor.arrays, shape.array).name} is used as something other than what it is`);
    }
    visitor.visit(each, instance, effects, 'r');
  }
}

function atomicOf(visitor: Walker, node: SyntaxNode, instance: Instance, effects: Effects): void {
  const [target, ...rest] = values(node);
  if (target === undefined) throw new Refusal('unsupported-statement', node, 'an atomic without arguments');
  const shape = visitor.peek(target, instance);
  if (shape !== undefined && shape.dimensions > 1) {
    throw new Refusal('escaping-pointer', target, 'an atomic on a whole row of a shared array');
  }
  for (const each of rest) visitor.visit(each, instance, effects, 'r');
  effects.opaque = true;
  if (shape !== undefined) {
    visitor.touch(target, instance, effects);
    effects.accesses.push({ array: shape.array, mode: 'rw', node: target, order: effects.order++ });
    return;
  }
  visitor.visit(target, instance, effects, 'r');
  effects.memory.push({ base: visitor.base(unaddressed(target), instance) ?? kAnyMemory, mode: 'rw' });
}

/** x of &x[…], p of p + i. */
function unaddressed(node: SyntaxNode): SyntaxNode {
  return rootOf(node) ?? node;
}

function libraryCall(visitor: Walker, node: SyntaxNode, name: string, instance: Instance, effects: Effects): void {
  const trusted = visitor.trusted.has(name);
  const [first] = values(node);
  if (first !== undefined && (cachedLoad.test(name) || cachedStore.test(name))) {
    argumentsOf(visitor, node, instance, effects);
    const base = visitor.base(unaddressed(first), instance);
    if (base !== undefined) effects.memory.push({ base, mode: cachedStore.test(name) ? 'w' : 'r' });
    return;
  }
  if (!isPureFunction(name) && !opaqueFunctions.has(name) && !trusted) {
    const shared = values(node).find((each) => (visitor.peek(each, instance)?.dimensions ?? 0) > 0);
    if (shared !== undefined) {
      throw new Refusal('escaping-pointer', shared, `a shared array is passed to ${name}, whose body is not in this text`);
    }
    throw new Refusal('unknown-function', node, `the body of ${name} is not in this text`);
  }
  // An unknown function may take references.
  argumentsOf(visitor, node, instance, effects, trusted ? 'rw' : 'r');
  if (isPureFunction(name) && !resultsByPointer.test(name)) return;
  effects.opaque ||= !isPureFunction(name);
  effects.memory.push({ base: kAnyMemory, mode: 'rw' });
}

function userCall(visitor: Walker, node: SyntaxNode, candidates: readonly FunctionNode[], instance: Instance, effects: Effects): void {
  const [fn] = candidates;
  if (candidates.length > 1) {
    throw new Refusal('ambiguous-function', node, `${required(fn).name} has several bodies that this call could mean`);
  }
  const entered = enter(visitor, node, required(fn), instance, effects);
  if (visitor.library.hasBarrier(required(fn))) {
    effects.inlined.push({ call: node, fn: required(fn), instance: entered });
    return;
  }
  const returns = effects.returns.length;
  visitor.visit(required(fn).body, entered, effects, 'r');
  effects.returns.length = returns;
  visitor.requireAllSeen(entered);
}

/** Evaluates the arguments and binds them to the parameters. */
function enter(visitor: Walker, node: SyntaxNode, fn: FunctionNode, instance: Instance, effects: Effects): Instance {
  let depth = 0;
  for (let up: Instance | undefined = instance; up !== undefined; up = up.parent, ++depth) {
    if (up.model.fn === fn || depth > kDeepest) throw new Refusal('recursion', node, `${fn.name} calls itself`);
  }
  const model = visitor.library.model(fn);
  requireReadable(model);
  const bindings = new Map<Sym, Shape>();
  const bases = new Map<Sym, MemoryBase>();
  for (const [at, value] of values(node).entries()) {
    const declaration = fn.parameters[at];
    const sym = model.scopes.syms.find((each) => each.declaration === declaration && each.kind === 'parameter');
    const shape = visitor.peek(value, instance);
    if (shape !== undefined && (shape.dimensions > 0 || sym?.reference === true)) {
      if (sym === undefined) throw new Refusal('escaping-pointer', value, `a shared array is passed to ${fn.name} beyond its parameters`);
      requireSimpleParameter(visitor, sym, value, fn, instance);
      visitor.touch(value, instance, effects);
      bindings.set(sym, shape);
      continue;
    }
    const writes = sym?.reference === true && !sym.isConst;
    visitor.visit(value, instance, effects, writes ? 'rw' : 'r');
    if (sym?.pointer === true || sym?.type === 'auto') bases.set(sym, visitor.base(unaddressed(value), instance) ?? kAnyMemory);
  }
  requireNoReturnedPlace(fn, node, bindings);
  return { model, bindings, bases, parent: instance, call: node, aliases: new Map(), visited: new Set() };
}

function requireSimpleParameter(visitor: Walker, sym: Sym, value: SyntaxNode, fn: FunctionNode, instance: Instance): void {
  if (plainness(visitor.library.model(fn), sym.type) === 'object') {
    throw new Refusal('object-of-element', value, `${sym.type} may keep a reference to ${instance.model.text(value)}`);
  }
  if (/\bvolatile\b/.test(visitor.library.program.text(sym.declaration))) {
    throw new Refusal('volatile-shared', value, `${fn.name} takes ${instance.model.text(value)} as volatile`);
  }
}

/** A function that returns a pointer or reference may return a part of the array. */
function requireNoReturnedPlace(fn: FunctionNode, node: SyntaxNode, bindings: ReadonlyMap<Sym, Shape>): void {
  if (bindings.size === 0) return;
  const declarator = fn.node.children.find((each) => each.field === 'declarator');
  const isPlace = declarator !== undefined && /^(?:pointer|reference)_declarator$/.test(declarator.type);
  const type = child(fn.node, 'type');
  const deduced = type !== undefined && [...descend(type)].some((each) => each.type === 'decltype');
  if (isPlace || deduced) throw new Refusal('escaping-pointer', node, `${fn.name} may return a reference into a shared array`);
}
