// Resolves names inside a function to their declarations.
import { elementAt, lastOf } from '../core/known.ts';
import type { FunctionNode, Program } from './program.ts';
import { declaredName, child, descend, namedChildren, type SyntaxNode } from './syntax.ts';

/** A name declared in a function. */
export interface Sym {
  readonly name: string;
  /** The identifier that declares it. */
  readonly node: SyntaxNode;
  /** Its declarator (with an initial value, if any), and the surrounding declaration. */
  readonly declarator: SyntaxNode;
  readonly declaration: SyntaxNode;
  readonly kind: 'shared' | 'dynamic' | 'variable' | 'parameter' | 'type';
  /** The type in the declaration, without the declarator. */
  readonly type: string;
  readonly pointer: boolean;
  readonly reference: boolean;
  /** Number of array dimensions. */
  readonly dimensions: number;
  readonly isConst: boolean;
  readonly isRestrict: boolean;
  readonly value: SyntaxNode | undefined;
}

/** Names of one function. */
export interface Scopes {
  readonly syms: readonly Sym[];
  /** The declaration of each use, by identifier node. */
  readonly uses: ReadonlyMap<SyntaxNode, Sym>;
}

const kScopes = new Set(['compound_statement', 'for_statement', 'for_range_loop', 'if_statement', 'while_statement', 'do_statement',
  'switch_statement', 'lambda_expression', 'catch_clause', 'case_statement']);
const kNames = new Set(['identifier', 'type_identifier']);

/** Unwraps a declarator (initial value, pointers, references, arrays, parentheses) and records what it finds. */
function shapeOfDeclarator(declarator: SyntaxNode): { pointer: boolean; reference: boolean; dimensions: number; restrict: boolean } {
  const shape = { pointer: false, reference: false, dimensions: 0, restrict: false };
  let part: SyntaxNode | undefined = declarator;
  while (part !== undefined && !kNames.has(part.type)) {
    if (part.type === 'pointer_declarator' || part.type === 'abstract_pointer_declarator') {
      shape.pointer = true;
      shape.restrict ||= part.children.some((each) => each.type === 'type_qualifier' && each.end - each.start >= 8);
    }
    if (part.type === 'reference_declarator') shape.reference = true;
    if (part.type === 'array_declarator') ++shape.dimensions;
    part = child(part, 'declarator') ?? namedChildren(part).find((each) => /declarator$|^identifier$/.test(each.type));
  }
  return shape;
}

class Resolver {
  readonly syms: Sym[] = [];
  readonly uses = new Map<SyntaxNode, Sym>();
  readonly #program: Program;
  readonly #scopes: Map<string, Sym>[] = [];

  constructor(program: Program) {
    this.#program = program;
  }

  function(fn: FunctionNode): void {
    this.#scopes.push(new Map());
    for (const parameter of fn.parameters) this.#parameter(parameter);
    this.#walk(fn.body);
    this.#scopes.pop();
  }

  #declare(node: SyntaxNode | undefined, fields: Omit<Sym, 'name' | 'node'>): void {
    if (node === undefined) return;
    const sym: Sym = { name: this.#program.text(node), node, ...fields };
    this.syms.push(sym);
    this.uses.set(node, sym);
    lastOf(this.#scopes).set(sym.name, sym);
  }

  #parameter(parameter: SyntaxNode): void {
    const declarator = child(parameter, 'declarator');
    if (declarator === undefined) return;
    const text = this.#program.text(parameter);
    const { restrict, ...shape } = shapeOfDeclarator(declarator);
    this.#declare(declaredName(declarator), {
      declarator, declaration: parameter, kind: 'parameter', type: this.#typeOf(parameter), ...shape,
      pointer: shape.pointer || shape.dimensions > 0, isConst: /^\s*(?:\w+\s+)*?const\b|\bconst\b[^*]*\*/.test(text),
      isRestrict: restrict || /\b__restrict(?:__)?\b/.test(text), value: undefined,
    });
  }

  #typeOf(declaration: SyntaxNode): string {
    const type = child(declaration, 'type');
    return type === undefined ? '' : this.#program.text(type);
  }

  #walk(node: SyntaxNode): void {
    if (kNames.has(node.type)) {
      const sym = this.#lookup(this.#program.text(node));
      if (sym !== undefined) this.uses.set(node, sym);
      return;
    }
    if (node.type === 'declaration') return this.#declaration(node);
    if (node.type === 'for_range_loop') return this.#rangeLoop(node);
    const isScope = kScopes.has(node.type);
    if (isScope) this.#scopes.push(new Map());
    if (node.type === 'lambda_expression') {
      for (const each of descend(node)) if (/parameter_declaration$/.test(each.type)) this.#parameter(each);
    }
    if (node.type === 'struct_specifier' || node.type === 'alias_declaration' || node.type === 'type_definition') {
      this.#localType(node);
    } else {
      for (const each of node.children) this.#walk(each);
    }
    if (isScope) this.#scopes.pop();
  }

  #localType(node: SyntaxNode): void {
    const name = child(node, 'name') ?? child(node, 'declarator');
    this.#declare(name === undefined ? undefined : declaredName(name), {
      declarator: node, declaration: node, kind: 'type', type: '', pointer: false, reference: false, dimensions: 0,
      isConst: false, isRestrict: false, value: undefined,
    });
  }

  #rangeLoop(node: SyntaxNode): void {
    this.#scopes.push(new Map());
    const range = child(node, 'right');
    if (range !== undefined) this.#walk(range);
    const declarator = child(node, 'declarator');
    if (declarator !== undefined) {
      const { restrict: isRestrict, ...shape } = shapeOfDeclarator(declarator);
      this.#declare(declaredName(declarator), {
        declarator, declaration: node, kind: 'variable', type: this.#typeOf(node), ...shape, isConst: false, isRestrict, value: range,
      });
    }
    const body = child(node, 'body');
    if (body !== undefined) this.#walk(body);
    this.#scopes.pop();
  }

  #declaration(node: SyntaxNode): void {
    const text = this.#program.text(node);
    const words = node.children.filter((each) => each.field !== 'declarator').map((each) => this.#program.text(each));
    const shared = words.includes('__shared__');
    const kind = !shared ? 'variable' : words.includes('extern') ? 'dynamic' : 'shared';
    const type = child(node, 'type');
    if (type !== undefined) this.#walk(type);
    for (const declarator of node.children.filter((each) => each.field === 'declarator')) {
      const value = declarator.type === 'init_declarator' ? child(declarator, 'value') : undefined;
      const { restrict: isRestrict, ...shape } = shapeOfDeclarator(declarator);
      for (const part of descend(declarator)) {
        if (part.type === 'array_declarator') for (const each of part.children) if (each.field === 'size') this.#walk(each);
      }
      if (value !== undefined) this.#walk(value);
      this.#declare(declaredName(declarator), {
        declarator, declaration: node, kind, type: this.#typeOf(node), ...shape, isRestrict, value,
        isConst: words.includes('const') || words.includes('constexpr') || /^\s*const\b/.test(text),
      });
    }
  }

  #lookup(name: string): Sym | undefined {
    for (let at = this.#scopes.length; at-- > 0;) {
      const found = elementAt(this.#scopes, at).get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Resolves the names of a function. */
export function resolve(program: Program, fn: FunctionNode): Scopes {
  const resolver = new Resolver(program);
  resolver.function(fn);
  return { syms: resolver.syms, uses: resolver.uses };
}
