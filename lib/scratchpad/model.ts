// One function of the source, with what the analysis needs repeatedly: names, assignments, control statements.
import { blockBarriers, isPureFunction, opaqueFunctions } from './names.ts';
import type { FunctionNode, Program } from './program.ts';
import { resolve, type Scopes, type Sym } from './symbols.ts';
import { ancestor, child, descend, namedChildren, type SyntaxNode } from './syntax.ts';

/** An assignment to a variable; `value` is undefined if nothing is known about it. */
export interface Assignment {
  readonly sym: Sym;
  readonly node: SyntaxNode;
  readonly value: SyntaxNode | undefined;
}

/** Statements in which threads may diverge. */
export const controlTypes = new Set(['if_statement', 'for_statement', 'while_statement', 'do_statement', 'switch_statement',
  'for_range_loop',
  'conditional_expression']);
export const loopTypes = new Set(['for_statement', 'while_statement', 'do_statement', 'for_range_loop']);

/** The name of the called function without template arguments and scopes; '' if the callee is an expression. */
export function calledName(program: Program, call: SyntaxNode): string {
  let callee = child(call, 'function');
  for (;;) {
    if (callee === undefined) return '';
    if (callee.type === 'qualified_identifier' || callee.type === 'template_function' || callee.type === 'template_method') {
      callee = child(callee, 'name');
    } else if (callee.type === 'field_expression') {
      callee = child(callee, 'field');
    } else if (callee.type === 'parenthesized_expression') {
      // (Type)(x) parses like a call.
      callee = namedChildren(callee)[0];
    } else if (/identifier$|^primitive_type$|^sized_type_specifier$/.test(callee.type)) {
      return program.text(callee);
    } else {
      return '';
    }
  }
}

/** The condition of a control statement. */
export function conditionOf(node: SyntaxNode): SyntaxNode | undefined {
  const condition = child(node, 'condition');
  return condition?.type === 'condition_clause' ? child(condition, 'value') ?? condition : condition;
}

/** The variable at the root of an assigned expression (x, x.y, x[i], *x), and whether x itself changes. */
export function rootOf(node: SyntaxNode): SyntaxNode | undefined {
  let part: SyntaxNode | undefined = node;
  while (part !== undefined) {
    switch (part.type) {
      case 'identifier': return part;
      case 'subscript_expression': case 'field_expression': part = child(part, 'argument'); break;
      case 'pointer_expression': part = child(part, 'argument'); break;
      case 'parenthesized_expression': part = namedChildren(part)[0]; break;
      case 'cast_expression': part = child(part, 'value'); break;
      case 'binary_expression': part = child(part, 'left'); break;
      default: return undefined;
    }
  }
  return undefined;
}

/** A function of the text. */
export class FunctionModel {
  readonly program: Program;
  readonly fn: FunctionNode;
  readonly scopes: Scopes;
  readonly assignments: readonly Assignment[];

  constructor(program: Program, fn: FunctionNode) {
    this.program = program;
    this.fn = fn;
    this.scopes = resolve(program, fn);
    this.assignments = [...this.#assignments()];
  }

  text(node: SyntaxNode): string {
    return this.program.text(node);
  }

  /** The meaning of a name here. */
  use(node: SyntaxNode): Sym | undefined {
    return this.scopes.uses.get(node);
  }

  /** The loop or switch that a break or continue leaves. */
  targetOf(jump: SyntaxNode): SyntaxNode | undefined {
    return jump.type === 'break_statement' ? ancestor(jump, ...loopTypes, 'switch_statement') : ancestor(jump, ...loopTypes);
  }

  * #assignments(): Generator<Assignment> {
    for (const sym of this.scopes.syms) {
      if (sym.kind !== 'variable') continue;
      const isRange = sym.declaration.type === 'for_range_loop';
      if (sym.value !== undefined || isRange) yield { sym, node: sym.node, value: isRange || sym.dimensions > 0 ? undefined : sym.value };
    }
    for (const node of descend(this.fn.body)) {
      if (node.type === 'assignment_expression') {
        yield* this.#assigned(child(node, 'left'), node, child(node, 'right'));
      } else if (node.type === 'update_expression') {
        yield* this.#assigned(child(node, 'argument'), node, child(node, 'argument'));
      } else if (node.type === 'pointer_expression' && this.text(node).startsWith('&')) {
        yield* this.#assigned(child(node, 'argument'), node, undefined);
      } else if (node.type === 'call_expression') {
        yield* this.#byReference(node);
      } else if (node.type === 'lambda_expression') {
        for (const each of descend(node)) {
          const sym = this.use(each);
          if (sym?.kind === 'variable' || sym?.kind === 'parameter') yield { sym, node, value: undefined };
        }
      }
    }
  }

  * #assigned(left: SyntaxNode | undefined, node: SyntaxNode, value: SyntaxNode | undefined): Generator<Assignment> {
    const root = left === undefined ? undefined : rootOf(left);
    const sym = root === undefined ? undefined : this.use(root);
    if (sym === undefined || (sym.kind !== 'variable' && sym.kind !== 'parameter')) return;
    // Storing through a pointer does not change the pointer. A reference may stand for another variable.
    if (root !== left && sym.pointer && sym.dimensions === 0) return;
    yield { sym, node, value };
    if (!sym.reference) return;
    for (const behind of sym.value === undefined ? [] : descend(sym.value)) {
      const other = this.use(behind);
      if (other !== undefined && other.kind !== 'shared') yield { sym: other, node, value: undefined };
    }
  }

  /** Variables passed by reference may be changed by the call. */
  * #byReference(call: SyntaxNode): Generator<Assignment> {
    const name = calledName(this.program, call);
    const candidates = this.program.functions.get(name) ?? [];
    const isKnown = candidates.length > 0 || isPureFunction(name) || blockBarriers.has(name) || opaqueFunctions.has(name)
      || this.program.macros.has(name) || this.program.isType(name);
    const list = child(call, 'arguments');
    for (const [at, argument] of (list === undefined ? [] : namedChildren(list)).entries()) {
      const takesReference = !isKnown || candidates.some((fn) => {
        const parameter = fn.parameters[at];
        return parameter !== undefined && /&/.test(this.text(parameter)) && !/\bconst\b/.test(this.text(parameter));
      });
      if (takesReference) yield* this.#assigned(argument, call, undefined);
    }
  }
}

/** All functions of a program, with their models, and whether they contain barriers. */
export class Library {
  readonly program: Program;
  readonly #models = new Map<FunctionNode, FunctionModel>();
  readonly #barriers = new Map<FunctionNode, boolean>();

  constructor(program: Program) {
    this.program = program;
  }

  model(fn: FunctionNode): FunctionModel {
    let model = this.#models.get(fn);
    if (model === undefined) this.#models.set(fn, model = new FunctionModel(this.program, fn));
    return model;
  }

  /** Functions of the source that a call may refer to. */
  candidates(call: SyntaxNode): readonly FunctionNode[] {
    const name = calledName(this.program, call);
    const list = child(call, 'arguments');
    const count = list === undefined ? 0 : namedChildren(list).length;
    const all = (this.program.functions.get(name) ?? []).filter((fn) => !fn.isKernel);
    const fitting = all.filter((fn) => fn.parameters.length === count
      || (fn.parameters.length > count && fn.parameters.slice(count).every((each) => each.type === 'optional_parameter_declaration')));
    return fitting.length > 0 ? fitting : all;
  }

  /** Whether a function, or one that it calls, contains a barrier of the block. */
  hasBarrier(fn: FunctionNode): boolean {
    const known = this.#barriers.get(fn);
    if (known !== undefined) return known;
    this.#barriers.set(fn, false);
    let found = false;
    for (const node of descend(fn.body)) {
      if (node.type !== 'call_expression') {
        const macro = node.type === 'identifier' ? this.program.macros.get(this.program.text(node)) : undefined;
        if (macro?.body !== undefined && isBarrierText(macro.body)) found = true;
        continue;
      }
      const name = calledName(this.program, node);
      if (blockBarriers.has(name) || name === 'sync' || this.candidates(node).some((each) => this.hasBarrier(each))) found = true;
      if (found) break;
    }
    this.#barriers.set(fn, found);
    return found;
  }
}

/** Whether a macro consists of one call of __syncthreads. */
export function isBarrierText(text: string): boolean {
  return /^\(?\s*__syncthreads\s*\(\s*\)\s*\)?\s*;?$/.test(text.trim());
}
