// Finds statements that write every element of an array, by evaluating their index arithmetic for every thread of a block of known shape.
// After such a statement, the previous content of the array is no longer needed.
import { elementAt } from '../core/known.ts';
import type { SharedArray } from './arrays.ts';
import { evaluate, type Meaning } from './constants.ts';
import type { Instance } from './effects.ts';
import type { Flow, FlowNode } from './flow.ts';
import type { Sym } from './symbols.ts';
import { ancestor, child, descend, namedChildren, partOf, type SyntaxNode } from './syntax.ts';

/** Threads of a block along x, y and z. */
export type BlockShape = readonly [number, number, number];

/** The maximum number of evaluations for one statement. */
const kMostSteps = 100_000;

/** Types whose values are represented exactly here. */
const kIntegers = /^(?:(?:const|unsigned|signed|int|long|size_t|u?int(?:32|64)_t)\s*)+$/;

/** Thrown if a statement cannot be evaluated. */
class Unproven extends Error {}

/** The thread whose index arithmetic is being evaluated. */
interface Thread {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** Evaluates the integer arithmetic of one statement, one thread after another. */
class Walker {
  readonly #instance: Instance;
  readonly #base: Meaning;
  readonly #shape: BlockShape;
  readonly #array: SharedArray;
  readonly #statement: SyntaxNode;
  readonly covered: Uint8Array;
  #thread: Thread = { x: 0, y: 0, z: 0 };
  #variables = new Map<Sym, number | undefined>();
  #steps = 0;

  constructor(instance: Instance, base: Meaning, shape: BlockShape, array: SharedArray, statement: SyntaxNode) {
    this.#instance = instance;
    this.#base = base;
    this.#shape = shape;
    this.#array = array;
    this.#statement = statement;
    this.covered = new Uint8Array(array.extents.reduce((product, extent) => product * extent, 1));
  }

  /** Whether all threads together write all elements. */
  run(): boolean {
    const [nx, ny, nz] = this.#shape;
    for (let z = 0; z < nz; ++z) {
      for (let y = 0; y < ny; ++y) {
        for (let x = 0; x < nx; ++x) {
          this.#thread = { x, y, z };
          this.#variables = new Map();
          this.#execute(this.#statement);
        }
      }
    }
    return this.covered.every((each) => each === 1);
  }

  #text(node: SyntaxNode): string {
    return this.#instance.model.text(node);
  }

  /** Value of an integer expression for the current thread. */
  #value(node: SyntaxNode, depth = 0): number | undefined {
    if (++this.#steps > kMostSteps || depth > 16) throw new Unproven();
    const names = new Map<string, number | undefined>();
    for (const each of descend(node)) {
      if (each.type !== 'identifier') continue;
      const sym = this.#instance.model.use(each);
      if (sym !== undefined) names.set(sym.name, this.#variable(sym, depth));
    }
    const text = this.#text(node).replace(/\b(threadIdx|blockDim)\s*\.\s*([xyz])\b/g, (_all, what: string, axis: 'x' | 'y' | 'z') =>
      String(what === 'threadIdx' ? this.#thread[axis] : elementAt(this.#shape, 'xyz'.indexOf(axis))));
    return evaluate(text, {
      natural: true,
      value: (name) => names.has(name) ? names.get(name) : this.#base.value(name),
      macro: (name) => this.#base.macro(name), sizeOf: (type) => this.#base.sizeOf(type), alignOf: (type) => this.#base.alignOf(type),
    });
  }

  /** The value of a variable of the statement, or of one that keeps its initial value. */
  #variable(sym: Sym, depth: number): number | undefined {
    if (this.#variables.has(sym)) return this.#variables.get(sym);
    const assignments = this.#instance.model.assignments.filter((each) => each.sym === sym);
    const plain = sym.kind === 'variable' && !sym.pointer && !sym.reference && sym.dimensions === 0 && sym.value !== undefined;
    if (!plain || assignments.length !== 1 || !kIntegers.test(sym.type)) return undefined;
    const value = this.#value(sym.value, depth + 1);
    this.#variables.set(sym, value);
    return value;
  }

  #execute(node: SyntaxNode): void {
    if (++this.#steps > kMostSteps) throw new Unproven();
    switch (node.type) {
      case 'comment': case 'preproc_call': return;
      case 'compound_statement': for (const each of namedChildren(node)) this.#execute(each); return;
      case 'declaration': return this.#declare(node);
      case 'expression_statement': return this.#expression(namedChildren(node)[0]);
      case 'for_statement': return this.#for(node);
      case 'if_statement': return this.#if(node);
      default: return this.#skip(node);
    }
  }

  #declare(node: SyntaxNode): void {
    for (const declarator of node.children.filter((each) => each.field === 'declarator')) {
      const sym = this.#instance.model.scopes.syms.find((each) => each.declarator === declarator);
      const value = declarator.type === 'init_declarator' ? child(declarator, 'value') : undefined;
      if (sym === undefined) continue;
      const isNumber = kIntegers.test(sym.type) && !sym.pointer && !sym.reference && sym.dimensions === 0;
      this.#variables.set(sym, value === undefined || !isNumber ? undefined : this.#value(value));
    }
  }

  #expression(node: SyntaxNode | undefined): void {
    if (node === undefined) return;
    if (node.type !== 'assignment_expression') return this.#skip(node);
    const left = partOf(node, 'left');
    const right = partOf(node, 'right');
    this.#skip(right);
    const element = child(node, 'operator')?.type === '=' ? this.#element(left) : undefined;
    if (element !== undefined) {
      this.covered[element] = 1;
      return;
    }
    if (left.type === 'identifier' && child(node, 'operator')?.type === '=') {
      const sym = this.#instance.model.use(left);
      if (sym !== undefined) this.#variables.set(sym, kIntegers.test(sym.type) && !sym.pointer ? this.#value(right) : undefined);
      return;
    }
    this.#skip(node);
  }

  /** The array element that an expression denotes, if it is one. */
  #element(node: SyntaxNode): number | undefined {
    const indices: SyntaxNode[] = [];
    let part = node;
    for (; part.type === 'subscript_expression'; part = partOf(part, 'argument')) {
      const list = namedChildren(partOf(part, 'indices'));
      if (list.length !== 1) return undefined;
      indices.unshift(elementAt(list, 0));
    }
    const { sym, extents } = this.#array;
    if (part.type !== 'identifier' || this.#instance.model.use(part) !== sym || indices.length !== extents.length) return undefined;
    let place = 0;
    for (const [axis, index] of indices.entries()) {
      const value = this.#value(index);
      if (value === undefined || value < 0 || value >= elementAt(extents, axis)) return undefined;
      place = place * elementAt(extents, axis) + value;
    }
    return place;
  }

  #for(node: SyntaxNode): void {
    for (const each of descend(node)) if (/^(?:break|continue|return|goto)_statement$/.test(each.type)) throw new Unproven();
    const initializer = child(node, 'initializer');
    const condition = child(node, 'condition');
    const update = child(node, 'update');
    if (initializer === undefined || condition === undefined || update === undefined) throw new Unproven();
    if (initializer.type === 'declaration') this.#declare(initializer);
    else this.#expression(initializer);
    for (;;) {
      const holds = this.#value(condition);
      if (holds === undefined) throw new Unproven();
      if (holds === 0) return;
      this.#execute(partOf(node, 'body'));
      this.#step(update);
    }
  }

  /** i += n, ++i, i = i + n. */
  #step(node: SyntaxNode): void {
    const target = node.type === 'update_expression' ? partOf(node, 'argument') : child(node, 'left');
    const sym = target?.type === 'identifier' ? this.#instance.model.use(target) : undefined;
    const now = sym === undefined ? undefined : this.#variables.get(sym);
    if (sym === undefined || now === undefined) throw new Unproven();
    if (node.type === 'update_expression') {
      this.#variables.set(sym, now + (this.#text(node).includes('++') ? 1 : -1));
      return;
    }
    const operator = child(node, 'operator')?.type;
    const value = node.type === 'assignment_expression' ? this.#value(partOf(node, 'right')) : undefined;
    const next = value === undefined ? undefined
      : ({ '+=': now + value, '-=': now - value, '*=': now * value, '=': value } as Record<string, number>)[operator ?? ''];
    if (next === undefined || next < 0 || next > 0x7fffffff) throw new Unproven();
    this.#variables.set(sym, next);
  }

  #if(node: SyntaxNode): void {
    const condition = partOf(node, 'condition');
    const test = condition.type === 'condition_clause' ? child(condition, 'value') : condition;
    const holds = test === undefined || namedChildren(condition).length !== 1 ? undefined : this.#value(test);
    if (holds === undefined) return this.#skip(node);
    const taken = holds !== 0 ? child(node, 'consequence') : child(node, 'alternative');
    if (taken !== undefined) this.#execute(taken.type === 'else_clause' ? elementAt(namedChildren(taken), 0) : taken);
  }

  /** Code that is not evaluated may change variables. */
  #skip(node: SyntaxNode): void {
    for (const each of this.#instance.model.assignments) {
      if (each.node.start >= node.start && each.node.end <= node.end) this.#variables.set(each.sym, undefined);
    }
    for (const each of descend(node)) if (/^(?:break|continue|return|goto)_statement$/.test(each.type)) throw new Unproven();
  }
}

/** Nodes that write the whole array and read none of it. */
export function fullWrites(flow: Flow, closed: ReadonlySet<number>, array: SharedArray, instance: Instance, meaning: Meaning,
  shape: BlockShape | undefined): Set<number> {
  const found = new Set<number>();
  if (shape === undefined || array.symbolic) return found;
  const writes = flow.nodes.filter((node) => node.accesses.some((access) => access.array === array.index && access.mode !== 'r'));
  for (const node of writes) {
    // If an array is written only once, and not in a loop, it had no previous content.
    if (writes.length === 1 && node.loops.length === 0) continue;
    if (mayCover(node, closed, array) && covers(node, array, instance, meaning, shape)) found.add(node.id);
  }
  return found;
}

function mayCover(node: FlowNode, closed: ReadonlySet<number>, array: SharedArray): boolean {
  const own = node.accesses.filter((access) => access.array === array.index);
  const isStatement = node.node.type === 'for_statement' || node.node.type === 'expression_statement';
  return own.length > 0 && own.every((access) => access.mode === 'w') && !closed.has(node.id) && !node.exits && isStatement
    && node.place === node.node && ancestor(node.node, 'lambda_expression') === undefined;
}

function covers(node: FlowNode, array: SharedArray, instance: Instance, meaning: Meaning, shape: BlockShape): boolean {
  try {
    return new Walker(instance, meaning, shape, array, node.node).run();
  } catch (error) {
    if (error instanceof Unproven) return false;
    throw error;
  }
}
