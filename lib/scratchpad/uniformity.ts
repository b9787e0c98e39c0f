// Determines which expressions have the same value for all threads of a block, and which statements all threads reach together.
// Conservative: whatever is not known to be uniform is divergent. Loads from memory are divergent, except from constant memory and `const
// T* __restrict__` parameters, which nothing writes while the kernel runs.
import { elementAt } from '../core/known.ts';
import { blockBarriers, builtinNames, isPureFunction, uniformNames } from './names.ts';
import { calledName, conditionOf, controlTypes, loopTypes, rootOf, type FunctionModel, type Library } from './model.ts';
import type { FunctionNode } from './program.ts';
import type { Sym } from './symbols.ts';
import { child, descend, namedChildren, partOf, type SyntaxNode } from './syntax.ts';

/** The maximum depth of nested calls. */
const kDeepestCall = 12;
const kCastNames = /^(?:static_cast|const_cast)$/;

/** Uniformity inside one function, given which of its parameters are uniform. */
export class Uniformity {
  readonly #library: Library;
  readonly #model: FunctionModel;
  readonly #divergent = new Set<Sym>();
  readonly #divergentLoops = new Set<SyntaxNode>();
  readonly #depth: number;
  #returnsUniform = true;

  constructor(library: Library, model: FunctionModel, divergentParameters: ReadonlySet<string>, depth = 0) {
    this.#library = library;
    this.#model = model;
    this.#depth = depth;
    for (const sym of model.scopes.syms) {
      if (sym.kind === 'parameter' && divergentParameters.has(sym.name)) this.#divergent.add(sym);
      if (sym.dimensions > 0 && sym.kind === 'variable') this.#divergent.add(sym);
    }
    this.#solve();
  }

  /** Whether a function's result is the same for all threads. */
  get returnsUniform(): boolean {
    return this.#returnsUniform;
  }

  /** Starts with everything uniform and removes what is not until nothing changes. */
  #solve(): void {
    for (let changed = true; changed;) {
      changed = false;
      for (const { sym, node, value } of this.#model.assignments) {
        if (this.#divergent.has(sym)) continue;
        if (value === undefined || !this.expression(value) || !this.reachedTogether(node)) {
          this.#divergent.add(sym);
          changed = true;
        }
      }
      for (const node of descend(this.#model.fn.body)) {
        if (node.type !== 'break_statement' && node.type !== 'continue_statement') continue;
        const target = this.#model.targetOf(node);
        if (target === undefined || this.#divergentLoops.has(target) || this.reachedTogether(node, target)) continue;
        this.#divergentLoops.add(target);
        changed = true;
      }
    }
    for (const node of descend(this.#model.fn.body)) {
      if (node.type !== 'return_statement') continue;
      const value = namedChildren(node)[0];
      if (!this.reachedTogether(node) || (value !== undefined && !this.expression(value))) this.#returnsUniform = false;
    }
  }

  /** Whether all threads that are still running take the same path at a control statement, each time. */
  control(node: SyntaxNode): boolean {
    if (node.type === 'for_range_loop' || this.#divergentLoops.has(node)) return false;
    const condition = conditionOf(node);
    if (condition === undefined) return node.type === 'for_statement';
    if (condition.type === 'declaration') return false;
    return this.expression(condition);
  }

  /** Whether no divergent statement surrounds a node, up to `end` or the whole function. */
  reachedTogether(node: SyntaxNode, end: SyntaxNode = this.#model.fn.body): boolean {
    for (let up = node.parent, below = node; up !== undefined && below !== end; below = up, up = up.parent) {
      // All threads reach the condition of a conditional statement.
      const inCondition = below.field === 'condition' || below.field === 'initializer';
      const isLoop = loopTypes.has(up.type);
      if (controlTypes.has(up.type) && up !== end && (!inCondition || isLoop) && !this.control(up)) return false;
      if (up.type === 'binary_expression' && below.field === 'right' && this.#isShortCircuit(up)) {
        const left = child(up, 'left');
        if (left === undefined || !this.expression(left)) return false;
      }
      if (up.type === 'lambda_expression') return false;
      if (up === end) return true;
    }
    return true;
  }

  #isShortCircuit(node: SyntaxNode): boolean {
    const operator = child(node, 'operator');
    return operator !== undefined && /^(?:&&|\|\||and|or)$/.test(this.#model.text(operator));
  }

  /** Whether an expression has the same value throughout the block. */
  expression(node: SyntaxNode): boolean {
    switch (node.type) {
      case 'number_literal': case 'true': case 'false': case 'char_literal': case 'string_literal': case 'null': case 'nullptr':
      case 'sizeof_expression': case 'alignof_expression':
        return true;
      case 'identifier': case 'qualified_identifier': return this.#name(node);
      case 'call_expression': return this.#call(node);
      case 'subscript_expression': case 'pointer_expression': return this.#load(node);
      case 'field_expression': return this.#field(node);
      case 'update_expression': return this.expression(partOf(node, 'argument'));
      case 'assignment_expression': return this.expression(partOf(node, 'left')) && this.expression(partOf(node, 'right'));
      case 'parenthesized_expression': case 'binary_expression': case 'unary_expression': case 'conditional_expression':
      case 'cast_expression': case 'comma_expression': case 'initializer_list': case 'condition_clause': case 'argument_list':
      case 'subscript_argument_list': case 'compound_literal_expression':
        return namedChildren(node).every((each) => each.field === 'type' || each.field === 'operator' || this.expression(each));
      default: return false;
    }
  }

  #name(node: SyntaxNode): boolean {
    const sym = this.#model.use(node);
    if (sym !== undefined) {
      return (sym.kind === 'variable' || sym.kind === 'parameter') && !this.#divergent.has(sym)
        && !(sym.reference && sym.kind === 'parameter')
        && (sym.kind === 'parameter' || sym.dimensions === 0);
    }
    const name = this.#model.text(node).replace(/\s/g, '');
    const { program } = this.#library;
    if (program.isConstant(name) || program.constantMemory.has(name) || this.#model.fn.template.includes(name)) return true;
    if (builtinNames.has(name)) return uniformNames.has(name);
    const macro = program.macros.get(name);
    return macro !== undefined && this.#macroText(macro.body, macro.parameters ?? []);
  }

  /** Whether the body of a macro refers only to uniform names. */
  #macroText(body: string | undefined, parameters: readonly string[], depth = 0): boolean {
    if (body === undefined || depth > 8) return false;
    const { program } = this.#library;
    for (const [word] of body.matchAll(/(?<![.\w])[A-Za-z_]\w*/g)) {
      if (parameters.includes(word) || program.isConstant(word) || program.isType(word) || this.#model.fn.template.includes(word)) continue;
      if (uniformNames.has(word) || isPureFunction(word) || /^(?:sizeof|int|unsigned|float|double)$/.test(word)) continue;
      const macro = program.macros.get(word);
      if (macro === undefined || !this.#macroText(macro.body, macro.parameters ?? [], depth + 1)) return false;
    }
    return !/[=[\]*]\s*[^=]?=|->/.test(body);
  }

  #call(node: SyntaxNode): boolean {
    const { program } = this.#library;
    const name = calledName(program, node);
    const list = child(node, 'arguments');
    const values = list === undefined ? [] : namedChildren(list);
    if (blockBarriers.has(name)) return true;
    const callee = partOf(node, 'function');
    if (callee.type === 'field_expression') return /^(?:size|num_threads|group_index|group_dim)$/.test(name)
      && this.expression(partOf(callee, 'argument'));
    if (/^this_thread_block$/.test(name)) return true;
    const uniform = (): boolean => values.every((each) => this.expression(each));
    if (program.isType(name) || callee.type === 'primitive_type' || kCastNames.test(name) || isPureFunction(name)) {
      return values.every((each) => this.expression(each));
    }
    if (cachedConstant(name) && values[0] !== undefined) return this.#readOnly(values[0]) && uniform();
    const macro = program.macros.get(name);
    if (macro !== undefined) return this.#macroText(macro.body, macro.parameters ?? []) && uniform();
    const candidates = this.#library.candidates(node);
    return candidates.length === 1 && this.#userCall(elementAt(candidates, 0), values);
  }

  #userCall(fn: FunctionNode, values: readonly SyntaxNode[]): boolean {
    if (this.#depth >= kDeepestCall) return false;
    const divergent = new Set<string>();
    const model = this.#library.model(fn);
    for (const sym of model.scopes.syms) {
      if (sym.kind !== 'parameter') continue;
      const at = fn.parameters.indexOf(sym.declaration);
      const value = values[at];
      if (sym.pointer || sym.reference || (value !== undefined && !this.expression(value))) divergent.add(sym.name);
    }
    return new Uniformity(this.#library, model, divergent, this.#depth + 1).returnsUniform;
  }

  /** Uniform loads: from constant memory, and from parameters that are const and __restrict__. */
  #load(node: SyntaxNode): boolean {
    if (node.type === 'pointer_expression' && this.#model.text(node).startsWith('&')) return false;
    return this.#readOnly(node) && this.#indicesUniform(node);
  }

  #indicesUniform(node: SyntaxNode): boolean {
    if (node.type === 'subscript_expression') {
      const indices = child(node, 'indices');
      return indices !== undefined && this.expression(indices) && this.#indicesUniform(partOf(node, 'argument'));
    }
    if (node.type === 'identifier') return true;
    if (node.type === 'pointer_expression') return this.expression(partOf(node, 'argument'));
    return false;
  }

  #readOnly(node: SyntaxNode): boolean {
    const root = rootOf(node);
    if (root === undefined) return false;
    const sym = this.#model.use(root);
    if (sym === undefined) return this.#library.program.constantMemory.has(this.#model.text(root));
    const isPromised = sym.kind === 'parameter' && sym.pointer && sym.isConst && sym.isRestrict;
    if (this.#depth > 0 || !isPromised || this.#divergent.has(sym)) return false;
    // A loaded pointer may point to memory that changes; indexing rows of a pointer to arrays is a single load.
    const text = this.#model.text(sym.declaration);
    const isRow = (each: SyntaxNode): boolean => each.type === 'subscript_expression' && partOf(each, 'argument').type !== 'identifier';
    const isChain = [...descend(node)].some(isRow);
    return !/\bvolatile\b/.test(text) && (text.match(/\*/g)?.length ?? 0) === 1 && (!isChain || text.includes('('));
  }

  #field(node: SyntaxNode): boolean {
    const object = partOf(node, 'argument');
    if (this.#model.text(node).includes('->')) return false;
    return this.expression(object);
  }
}

function cachedConstant(name: string): boolean {
  return name === '__ldg';
}
