// Determines which statements of a kernel's body may be reordered, and which need a barrier between them. Two statements depend on each
// other if they access the same variable, the same shared array or possibly the same global memory, and one of them writes. As for global
// memory, __restrict__ pointer parameters point to memory of their own, and const ones to memory that nothing writes; other pointers may
// point anywhere. Atomics, shuffles, prints and statements that contain barriers stay in order.
import { elementAt, required } from '../core/known.ts';
import type { Analysis } from './analyse.ts';
import { kAnyMemory, type Effects, type MemoryBase } from './effects.ts';
import { child, descend, namedChildren, type SyntaxNode } from './syntax.ts';
import type { Sym } from './symbols.ts';

/** A statement of the body, or a barrier. */
export interface Unit {
  readonly node: SyntaxNode;
  /** Its source, including preceding comments, pragmas and blank lines. */
  readonly start: number;
  readonly end: number;
  readonly isBarrier: boolean;
  /** Accesses nothing but registers. */
  readonly isLight: boolean;
  /** Nothing may be moved across it. */
  readonly isFence: boolean;
  /** Shared arrays it accesses. */
  readonly arrays: ReadonlySet<number>;
  readonly effects: Effects | undefined;
}

/** Statements and their ordering constraints. */
export interface Dependence {
  readonly units: readonly Unit[];
  /** before[v]: units that must come before v, transitively. */
  readonly before: readonly ReadonlySet<number>[];
  /** Pairs, first·n + second, that need a barrier between them. */
  readonly separated: ReadonlySet<number>;
}

/** Nodes that execute nothing. */
const kText = /^(?:(?:static_assert|using|alias)_declaration|type_definition|(?:struct|enum)_specifier|preproc_(?:function_)?def)$/;

function isPlainBarrier({ node, effects }: { node: SyntaxNode; effects: Effects }): boolean {
  return effects.barriers.length === 1 && effects.accesses.length === 0 && node.type === 'expression_statement'
    && namedChildren(node)[0] === elementAt(effects.barriers, 0).node;
}

/** A statement includes a comment that follows it on the same line. */
function endOfUnit(source: string, end: number): number {
  const rest = /^[ \t]*\/\/[^\n]*/.exec(source.slice(end, end + 1000));
  return rest === null ? end : end + rest[0].length;
}

function unitOf(analysis: Analysis, node: SyntaxNode, start: number): Unit {
  const { visitor, instance } = analysis;
  const { source } = visitor.library.program.syntax;
  const effects = visitor.effects(node, instance);
  const isBarrier = isPlainBarrier({ node, effects });
  const text = visitor.library.program.text(node);
  const holdsMore = effects.barriers.length > 0 || effects.inlined.length > 0 || effects.returns.length > 0;
  const isFence = !isBarrier && (holdsMore || effects.opaque || /\bvolatile\b|\bgoto\b/.test(text) || node.type === 'return_statement');
  const readsOnly = effects.accesses.length === 0 && effects.memory.every(({ base, mode }) => mode === 'r' && isReadOnly(base));
  const isLight = !isFence && !isBarrier && readsOnly;
  return {
    node, start, end: endOfUnit(source, node.end), isBarrier, isFence, isLight: isLight || kText.test(node.type),
    arrays: new Set(effects.accesses.map((access) => access.array)), effects,
  };
}

/** Statements of the kernel's body; undefined if variables are used in ways that hide dependences. */
function unitsOf(analysis: Analysis): Unit[] | undefined {
  const { model } = analysis.instance;
  for (const sym of model.scopes.syms) {
    // References and pointers to variables hide who writes them.
    if (sym.reference && sym.kind === 'variable' && !analysis.visitor.isShared(sym, analysis.instance)) return undefined;
  }
  for (const node of descend(analysis.fn.body)) {
    if (node.type === 'lambda_expression') return undefined;
    const isAddress = node.type === 'pointer_expression' && model.text(node).startsWith('&') && node.parent?.type !== 'argument_list';
    const root = isAddress ? child(node, 'argument') : undefined;
    if (root?.type === 'identifier' && model.use(root)?.kind === 'variable') return undefined;
  }
  const units: Unit[] = [];
  let start = analysis.fn.body.start + 1;
  for (const node of namedChildren(analysis.fn.body)) {
    if (node.type === 'preproc_call') continue;
    const unit = unitOf(analysis, node, start);
    units.push(unit);
    start = unit.end;
  }
  return units;
}

function isReadOnly(base: MemoryBase): boolean {
  return typeof base !== 'string' && base.kind === 'parameter' && base.isConst && base.isRestrict;
}

function mayBeSame(a: MemoryBase, b: MemoryBase): boolean {
  if (a === b) return true;
  if (a === kAnyMemory || b === kAnyMemory) return !(isReadOnly(a) || isReadOnly(b));
  const restrict = (base: MemoryBase): boolean => typeof base !== 'string' && base.kind === 'parameter' && base.isRestrict;
  if (restrict(a) || restrict(b)) return false;
  const isDynamic = (base: MemoryBase): boolean => typeof base !== 'string' && base.kind === 'dynamic';
  if (isDynamic(a) || isDynamic(b)) return isDynamic(a) && isDynamic(b);
  return typeof a !== 'string' || typeof b !== 'string';
}

function meet<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean {
  for (const each of a) if (b.has(each)) return true;
  return false;
}

/** Whether two statements depend on each other through memory. */
function conflictInMemory(a: Unit, b: Unit): boolean {
  if (a.isFence || b.isFence) return !a.isLight && !b.isLight;
  const x = required(a.effects);
  const y = required(b.effects);
  if (x.accesses.some((p) => y.accesses.some((q) => p.array === q.array && (p.mode !== 'r' || q.mode !== 'r')))) return true;
  return x.memory.some((p) => y.memory.some((q) => (p.mode !== 'r' || q.mode !== 'r') && mayBeSame(p.base, q.base)));
}

function conflictInRegisters(a: Unit, b: Unit, declared: ReadonlySet<Sym>, used: ReadonlySet<Sym>): boolean {
  const x = required(a.effects);
  const y = required(b.effects);
  return meet(x.writes, y.reads) || meet(x.writes, y.writes) || meet(x.reads, y.writes) || meet(declared, used);
}

/** The ordering constraints of the statements of a kernel's body; undefined if they cannot be determined. */
export function dependenceOf(analysis: Analysis): Dependence | undefined {
  const units = unitsOf(analysis);
  if (units === undefined) return undefined;
  const { model } = analysis.instance;
  const used = units.map((unit) => new Set([...descend(unit.node)].flatMap((node) => model.use(node) ?? [])));
  const declared = units.map((unit) =>
    new Set(model.scopes.syms.filter((sym) => sym.node.start >= unit.node.start && sym.node.end <= unit.node.end)));
  const before: Set<number>[] = units.map(() => new Set());
  const separated = new Set<number>();
  for (let j = 0; j < units.length; ++j) {
    if (elementAt(units, j).isBarrier) continue;
    let barrier = false;
    for (let i = j - 1; i >= 0; --i) {
      if (elementAt(units, i).isBarrier) {
        barrier = true;
        continue;
      }
      const inMemory = conflictInMemory(elementAt(units, i), elementAt(units, j));
      const leaves = leavesOrText(elementAt(units, i)) || leavesOrText(elementAt(units, j));
      if (inMemory && barrier) separated.add(i * units.length + j);
      const inRegisters = () => conflictInRegisters(elementAt(units, i), elementAt(units, j), elementAt(declared, i), elementAt(used, j));
      if (!inMemory && !leaves && !inRegisters()) continue;
      elementAt(before, j).add(i);
      for (const each of elementAt(before, i)) elementAt(before, j).add(each);
    }
  }
  return { units, before, separated };
}

const kStays = /^(?:return_statement|using_declaration|namespace_alias_definition|preproc_.*)$/;

/** Statements by which threads may leave, and declarations of names for what follows, are ordered with respect to everything. */
function leavesOrText(unit: Unit): boolean {
  return (unit.effects?.returns.length ?? 0) > 0 || kStays.test(unit.node.type);
}
