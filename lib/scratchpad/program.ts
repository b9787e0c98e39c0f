// Facts from the source around a kernel: macros, constants, types, functions.
import { isIntegerType, kSizes, normalType, type Size } from './c-types.ts';
import { evaluate, type Meaning } from './constants.ts';
import { layoutOf, type Struct } from './structs.ts';
import { ancestor, child, declaredName, descend, namedChildren, partOf, textOf, type Syntax, type SyntaxNode } from './syntax.ts';

/** A macro of the source; `body` is undefined if there are different definitions. */
export interface Macro {
  readonly parameters: readonly string[] | undefined;
  readonly body: string | undefined;
}

/** A function with a body. */
export interface FunctionNode {
  readonly name: string;
  readonly node: SyntaxNode;
  readonly body: SyntaxNode;
  readonly parameters: readonly SyntaxNode[];
  /** Template parameter names, outermost first. */
  readonly template: readonly string[];
  readonly isKernel: boolean;
  /** Offset of its name. */
  readonly offset: number;
}

/** Branches of conditional compilation: what they contain is not always defined. */
const kConditional = ['preproc_if', 'preproc_ifdef', 'preproc_else', 'preproc_elif', 'preproc_elifdef'];

/** Facts about one source. */
export class Program implements Meaning {
  readonly syntax: Syntax;
  readonly macros = new Map<string, Macro>();
  readonly functions = new Map<string, FunctionNode[]>();
  readonly kernels: FunctionNode[] = [];
  /** Names of global variables in constant memory, and of those in any other memory. */
  readonly constantMemory = new Set<string>();
  readonly globals = new Set<string>();
  readonly namespaces = new Map<string, string>();
  readonly #constants = new Map<string, SyntaxNode | number | undefined>();
  readonly #types = new Map<string, string | undefined>();
  readonly #structs = new Map<string, Struct | undefined>();
  readonly #structNodes = new Map<string, SyntaxNode | undefined>();
  readonly #defines: ReadonlyMap<string, number | string>;
  readonly #busy = new Set<string>();

  /** Whether an operator other than an assignment takes a reference through which it may write. */
  readonly mutatingOperators: boolean;

  constructor(syntax: Syntax, defines: ReadonlyMap<string, number | string>) {
    this.syntax = syntax;
    this.#defines = defines;
    this.mutatingOperators = /\boperator\s*(?:<<|>>|&&|\|\||[-+*/%&|^,!~]|[<>]|\(\)|\[\])\s*\((?!\s*const\b)[^(),]*&/.test(syntax.masked);
    for (const node of descend(syntax.root)) this.#note(node);
  }

  text(node: SyntaxNode): string {
    return textOf(this.syntax, node);
  }

  /** Whether the caller defines a name. */
  isDefined(name: string): boolean {
    return this.#defines.has(name);
  }

  isType(name: string): boolean {
    return normalType(name) in kSizes || this.#types.has(name) || this.#structNodes.has(name)
      || typeof this.#defines.get(name) === 'string';
  }

  isConstant(name: string): boolean {
    return this.#constants.has(name) || typeof this.#defines.get(name) === 'number';
  }

  value(name: string): number | undefined {
    const given = this.#defines.get(name);
    if (typeof given === 'number') return given;
    if (this.#busy.has(name) || this.#busy.size > 64) return undefined;
    this.#busy.add(name);
    try {
      const macro = this.macros.get(name);
      if (macro !== undefined) {
        return macro.parameters === undefined && macro.body !== undefined ? evaluate(macro.body, this) : undefined;
      }
      const constant = this.#constants.get(name);
      if (constant === undefined || typeof constant === 'number') return constant;
      return evaluate(initialText(this.text(constant)), this);
    } finally {
      this.#busy.delete(name);
    }
  }

  macro(name: string): { parameters: readonly string[]; body: string } | undefined {
    const macro = this.macros.get(name);
    return macro?.parameters !== undefined && macro.body !== undefined ? { parameters: macro.parameters, body: macro.body } : undefined;
  }

  sizeOf(type: string): number | undefined {
    return this.size(type)?.bytes;
  }

  alignOf(type: string): number | undefined {
    return this.size(type)?.alignment;
  }

  /** Bytes and alignment of a type, or undefined. */
  size(type: string): Size | undefined {
    const name = normalType(type);
    if (name in kSizes) return kSizes[name];
    if (name.endsWith('*')) return { bytes: 8, alignment: 8 };
    const given = this.#defines.get(name);
    if (typeof given === 'string') return given === name ? undefined : this.size(given);
    const other = this.#types.get(name) ?? this.macros.get(name)?.body;
    if (other !== undefined && !this.#busy.has(name)) {
      this.#busy.add(name);
      try {
        return this.size(other);
      } finally {
        this.#busy.delete(name);
      }
    }
    const struct = this.struct(name);
    return struct === undefined || struct.problem !== undefined ? undefined : struct;
  }

  /** A struct by its name or an alias. */
  struct(type: string, depth = 0): Struct | undefined {
    const name = normalType(type);
    const other = this.#types.get(name) ?? this.macros.get(name)?.body;
    if (other !== undefined && depth < 16) return this.struct(other, depth + 1);
    if (this.#structs.has(name)) return this.#structs.get(name);
    const node = this.#structNodes.get(name);
    if (node === undefined || this.#busy.has(name)) return undefined;
    this.#busy.add(name);
    const layout = layoutOf(this, node);
    this.#busy.delete(name);
    this.#structs.set(name, layout);
    return layout;
  }

  #note(node: SyntaxNode): void {
    switch (node.type) {
      case 'preproc_def': case 'preproc_function_def': return this.#noteMacro(node);
      case 'preproc_call': return this.#noteUndefined(node);
      case 'namespace_alias_definition': {
        const [name, target] = namedChildren(node);
        if (name && target) this.namespaces.set(this.text(name), this.text(target).replace(/\s/g, ''));
        return;
      }
      case 'type_definition': case 'alias_declaration': return this.#noteType(node);
      case 'struct_specifier': case 'class_specifier': case 'union_specifier': return this.#noteStruct(node);
      case 'enumerator_list': return this.#noteEnumerators(node);
      case 'declaration': case 'field_declaration': return this.#noteDeclaration(node);
      case 'function_definition': return this.#noteFunction(node);
    }
  }

  #noteMacro(node: SyntaxNode): void {
    const name = this.text(partOf(node, 'name'));
    const list = child(node, 'parameters');
    const value = child(node, 'value');
    const body = value === undefined ? '' : this.text(value).replace(/\\\r?\n/g, ' ').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/g, ' ').trim();
    const parameters = list === undefined ? undefined : this.text(list).replace(/[()\s]/g, '').split(',').filter((word) => word !== '');
    const earlier = this.macros.get(name);
    const same = earlier === undefined || (earlier.body === body && String(earlier.parameters) === String(parameters));
    this.macros.set(name, { parameters, body: same ? body : undefined });
  }

  #noteUndefined(node: SyntaxNode): void {
    const directive = child(node, 'directive');
    if (directive === undefined || this.text(directive).replace(/\s/g, '') !== '#undef') return;
    const name = this.text(child(node, 'argument') ?? node).trim();
    this.macros.set(name, { parameters: undefined, body: undefined });
  }

  /** Records types at file scope only, because names inside functions have scopes. */
  #noteType(node: SyntaxNode): void {
    if (ancestor(node, 'compound_statement', 'field_declaration_list') !== undefined) return;
    const type = child(node, 'type');
    const isAlias = node.type === 'alias_declaration';
    for (const declarator of isAlias ? [partOf(node, 'name')] : node.children.filter((each) => each.field === 'declarator')) {
      const name = declaredName(declarator);
      if (name === undefined || type === undefined) continue;
      const template = node.parent?.type === 'template_declaration';
      const plain = !template && (isAlias || declarator.type === 'type_identifier') && !/[[\]()<&]/.test(this.text(type));
      const struct = /^(?:struct|class)_specifier$/.test(type.type) && child(type, 'body') !== undefined;
      if (struct) this.#structNodes.set(this.text(name), type);
      else this.#types.set(this.text(name), plain && !this.#types.has(this.text(name)) ? this.text(type) : undefined);
    }
  }

  #noteStruct(node: SyntaxNode): void {
    const name = child(node, 'name');
    if (name === undefined || child(node, 'body') === undefined || ancestor(node, 'compound_statement') !== undefined) return;
    const text = this.text(name);
    const template = node.parent?.type === 'template_declaration';
    this.#structNodes.set(text, template || this.#structNodes.has(text) ? undefined : node);
  }

  #noteEnumerators(node: SyntaxNode): void {
    let next: number | undefined = 0;
    for (const each of namedChildren(node)) {
      const value = child(each, 'value');
      if (value !== undefined) next = evaluate(this.text(value), this);
      const name = child(each, 'name');
      if (name !== undefined) this.#constant(this.text(name), next);
      if (next !== undefined) ++next;
    }
  }

  /** Values of other types are unknown, although their names are known. */
  #isInteger(declaration: SyntaxNode): boolean {
    const type = child(declaration, 'type');
    return type !== undefined && isIntegerType(this.text(type));
  }

  #constant(name: string, value: SyntaxNode | number | undefined): void {
    this.#constants.set(name, this.#constants.has(name) ? undefined : value);
  }

  /** Global constants, and static constants of structs as `Struct::name`. */
  #noteDeclaration(node: SyntaxNode): void {
    if (ancestor(node, 'function_definition', 'lambda_expression', 'parameter_list') !== undefined) return;
    const isWord = /^(?:type_qualifier|storage_class_specifier)$/;
    const words = namedChildren(node).filter((each) => isWord.test(each.type)).map((each) => this.text(each));
    const struct = ancestor(node, 'struct_specifier', 'class_specifier');
    const owner = struct === undefined ? undefined : child(struct, 'name');
    const constant = words.includes('constexpr') || words.includes('const');
    const template = ancestor(node, 'template_declaration') !== undefined;
    for (const declarator of node.children.filter((each) => each.field === 'declarator')) {
      const name = declaredName(declarator);
      if (name === undefined || declarator.type === 'function_declarator') continue;
      const value = declarator.type === 'init_declarator' ? child(declarator, 'value') : child(node, 'default_value');
      const text = owner === undefined ? this.text(name) : `${this.text(owner)}::${this.text(name)}`;
      const plain = child(declarator, 'declarator')?.type === 'identifier' || node.type === 'field_declaration';
      if (constant && value !== undefined && plain && !template) this.#constant(text, this.#isInteger(node) ? value : undefined);
      // A pointer in constant memory may point to memory that changes.
      else if (words.includes('__constant__') && !isPointer(declarator)) this.constantMemory.add(text);
      else if (struct === undefined) this.globals.add(text);
    }
  }

  #noteFunction(node: SyntaxNode): void {
    const body = child(node, 'body');
    const declarator = [...descend(node)].find((each) => each.type === 'function_declarator'
      && (body === undefined || each.end <= body.start));
    if (body?.type !== 'compound_statement' || declarator === undefined) return;
    const named = child(declarator, 'declarator');
    if (named === undefined) return;
    const name = /[\w~]+$/.exec(this.text(named).replace(/<[^]*$/, ''))?.[0] ?? this.text(named);
    const list = child(declarator, 'parameters');
    const template: string[] = [];
    for (let up = node.parent; up !== undefined; up = up.parent) {
      if (up.type !== 'template_declaration') continue;
      const parameters = child(up, 'parameters');
      for (const each of parameters === undefined ? [] : namedChildren(parameters)) {
        const parameter = declaredName(child(each, 'declarator') ?? child(each, 'name') ?? each);
        if (parameter !== undefined) template.push(this.text(parameter));
      }
    }
    const head = this.text(node).slice(0, body.start - node.start);
    const found: FunctionNode = {
      name, node, body, template, offset: named.start, isKernel: /\b__global__\b/.test(head),
      parameters: list === undefined ? [] : namedChildren(list).filter((each) => /parameter_declaration$/.test(each.type)),
    };
    this.functions.set(name, [...this.functions.get(name) ?? [], found]);
    if (found.isKernel) this.kernels.push(found);
  }

  /** Whether a node is inside conditional compilation. */
  isConditional(node: SyntaxNode): boolean {
    return ancestor(node, ...kConditional) !== undefined;
  }
}

function isPointer(declarator: SyntaxNode): boolean {
  return [...descend(declarator)].some((node) => /^(?:pointer|reference)_declarator$/.test(node.type));
}

/** Treats `{4}` like `4`. */
function initialText(text: string): string {
  return /^\{[\s\S]*\}$/.test(text) ? text.slice(1, -1) : text;
}
