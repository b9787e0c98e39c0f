// What the text around a kernel says: macros, constants, types, functions.
import { evaluate, type Meaning } from './constants.ts';
import { ancestor, child, descend, namedChildren, textOf, type Syntax, type SyntaxNode } from './syntax.ts';

/** A macro of the text; `body` undefined where several definitions differ. */
export interface Macro {
  readonly parameters: readonly string[] | undefined;
  readonly body: string | undefined;
}

/** A field of a struct. */
export interface Field {
  readonly type: string;
  /** Array dimensions. */
  readonly dimensions: number;
  readonly pointer: boolean;
}

/** A struct of the text. `problem` says why its size is not known. */
export interface Struct {
  readonly bytes: number;
  readonly alignment: number;
  readonly fields: ReadonlyMap<string, Field>;
  readonly problem?: 'constructor' | 'unknown-type';
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
  /** Line from 1. */
  readonly offset: number;
}

interface Size {
  readonly bytes: number;
  readonly alignment: number;
}

const kSizes: Readonly<Record<string, Size>> = Object.fromEntries([
  ...[['bool', 1], ['char', 1], ['signed char', 1], ['unsigned char', 1], ['int8_t', 1], ['uint8_t', 1], ['uchar', 1], ['std::byte', 1],
    ['short', 2], ['unsigned short', 2], ['int16_t', 2], ['uint16_t', 2], ['ushort', 2], ['half', 2], ['__half', 2], ['__nv_bfloat16', 2],
    ['int', 4], ['unsigned', 4], ['unsigned int', 4], ['uint', 4], ['int32_t', 4], ['uint32_t', 4], ['float', 4], ['char32_t', 4],
    ['long', 8], ['unsigned long', 8], ['long long', 8], ['unsigned long long', 8], ['int64_t', 8], ['uint64_t', 8], ['double', 8],
    ['size_t', 8], ['ptrdiff_t', 8], ['intptr_t', 8], ['uintptr_t', 8]].map(([name, bytes]) => [name, { bytes, alignment: bytes }]),
  ...([['char', 1], ['uchar', 1], ['short', 2], ['ushort', 2], ['int', 4], ['uint', 4], ['float', 4], ['long', 8], ['ulong', 8], ['double', 8],
    ['longlong', 8], ['ulonglong', 8]] as const).flatMap(([name, bytes]) => [1, 2, 3, 4].map((n) =>
    [`${name}${n}`, { bytes: bytes * n, alignment: n === 3 ? bytes : Math.min(16, bytes * n) }])),
  ['half2', { bytes: 4, alignment: 4 }], ['__half2', { bytes: 4, alignment: 4 }], ['__nv_bfloat162', { bytes: 4, alignment: 4 }],
  ['cuFloatComplex', { bytes: 8, alignment: 8 }], ['cuComplex', { bytes: 8, alignment: 8 }], ['cuDoubleComplex', { bytes: 16, alignment: 16 }],
] as [string, Size][]);

/** Whether a type is one of C++ or CUDA itself, of fixed size. */
export function isBuiltinType(type: string): boolean {
  return normalType(type) in kSizes;
}

/** Whether a type is certainly one of whole numbers. */
export function isIntegerType(type: string): boolean {
  return /^(?:(?:const|constexpr|static|std::)?\s*(?:bool|auto|unsigned|signed|int|long|short|char|uint|size_t|ptrdiff_t|u?int(?:8|16|32|64)_t)\s*)+$/.test(type.trim());
}

/** A type's text without qualifiers, words in the usual order. */
function normalType(text: string): string {
  const words = text.replace(/\b(?:const|constexpr|volatile|struct|class|enum|typename|static|register|__restrict__|__shared__)\b/g, ' ')
    .replace(/\s*::\s*/g, '::').replace(/\*/g, ' * ').trim().split(/\s+/).map((word) => word.replace(/^::/, '').replace(/^std::(?!byte)/, ''));
  const integers = words.filter((word) => /^(?:unsigned|signed|int|long|short|char)$/.test(word));
  if (integers.length < 2 || integers.length !== words.length) return words.join(' ');
  const longs = words.filter((word) => word === 'long').length;
  const sign = words.includes('unsigned') ? 'unsigned ' : words.includes('signed') && words.includes('char') ? 'signed ' : '';
  if (words.includes('char')) return `${sign}char`;
  if (words.includes('short')) return `${sign}short`;
  return `${sign}${longs === 2 ? 'long long' : longs === 1 ? 'long' : 'int'}`;
}

/** The name a declarator declares, under pointers, references, arrays and parentheses. */
export function declaredName(declarator: SyntaxNode): SyntaxNode | undefined {
  for (const node of descend(declarator)) {
    if (node.field === 'size' || node.field === 'value' || node.type === 'parameter_list') continue;
    if (node.type === 'identifier' || node.type === 'field_identifier' || node.type === 'type_identifier') return node;
  }
  return undefined;
}

/** The text of an alternative of conditional compilation: what stands in it is defined only sometimes. */
const kConditional = ['preproc_if', 'preproc_ifdef', 'preproc_else', 'preproc_elif', 'preproc_elifdef'];

/** Facts of one source. */
export class Program implements Meaning {
  readonly syntax: Syntax;
  readonly macros = new Map<string, Macro>();
  readonly functions = new Map<string, FunctionNode[]>();
  readonly kernels: FunctionNode[] = [];
  /** Names of global variables in constant memory, and of global variables in any other. */
  readonly constantMemory = new Set<string>();
  readonly globals = new Set<string>();
  readonly namespaces = new Map<string, string>();
  readonly #constants = new Map<string, SyntaxNode | number | undefined>();
  readonly #types = new Map<string, string | undefined>();
  readonly #structs = new Map<string, Struct | undefined>();
  readonly #structNodes = new Map<string, SyntaxNode | undefined>();
  readonly #defines: ReadonlyMap<string, number | string>;
  readonly #busy = new Set<string>();

  /** Whether an operator other than an assignment takes a reference that it may write to. */
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

  /** Whether a name is defined from outside. */
  isDefined(name: string): boolean {
    return this.#defines.has(name);
  }

  isType(name: string): boolean {
    return normalType(name) in kSizes || this.#types.has(name) || this.#structNodes.has(name) || typeof this.#defines.get(name) === 'string';
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

  /** A struct by its name or a name that stands for it. */
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
    const name = this.text(child(node, 'name')!);
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

  /** Types of the file only: names inside functions have scopes. */
  #noteType(node: SyntaxNode): void {
    if (ancestor(node, 'compound_statement', 'field_declaration_list') !== undefined) return;
    const type = child(node, 'type');
    const isAlias = node.type === 'alias_declaration';
    for (const declarator of isAlias ? [child(node, 'name')!] : node.children.filter((each) => each.field === 'declarator')) {
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

  /** Values of other types are not known, though the names are. */
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
    const words = namedChildren(node).filter((each) => /^(?:type_qualifier|storage_class_specifier)$/.test(each.type)).map((each) => this.text(each));
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
      else if (words.includes('__constant__')) this.constantMemory.add(text);
      else if (struct === undefined) this.globals.add(text);
    }
  }

  #noteFunction(node: SyntaxNode): void {
    const body = child(node, 'body');
    const declarator = [...descend(node)].find((each) => each.type === 'function_declarator' && (body === undefined || each.end <= body.start));
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

  /** Whether conditional compilation surrounds a node. */
  isConditional(node: SyntaxNode): boolean {
    return ancestor(node, ...kConditional) !== undefined;
  }
}

/** `{4}` and `4` alike. */
function initialText(text: string): string {
  return /^\{[\s\S]*\}$/.test(text) ? text.slice(1, -1) : text;
}

function layoutOf(program: Program, node: SyntaxNode): Struct {
  const fields = new Map<string, Field>();
  const fail = (problem: 'constructor' | 'unknown-type'): Struct => ({ bytes: 0, alignment: 1, fields, problem });
  if (node.type === 'union_specifier' || node.children.some((each) => each.type === 'base_class_clause')) return fail('constructor');
  const name = child(node, 'name');
  let bytes = 0;
  let alignment = alignasOf(program, node) ?? 1;
  for (const each of namedChildren(child(node, 'body')!)) {
    if (each.type === 'access_specifier' || each.type === 'alias_declaration' || each.type === 'type_definition') continue;
    const isMethod = each.type === 'function_definition' || each.type === 'template_declaration'
      || [...descend(each)].some((node_) => node_.type === 'function_declarator');
    if (isMethod) {
      const head = program.text(each);
      const isSpecial = name !== undefined && new RegExp(`(?:^|[^\\w])~?${program.text(name)}\\s*\\(`).test(head.split('{')[0]!);
      // Operators that change their object hide what a statement reads and writes.
      const isOperator = /\boperator\s*\W/.test(head) && !/\)\s*const\b/.test(head.split('{')[0]!);
      if (/\bvirtual\b/.test(head) || isOperator || (isSpecial && !/=\s*default\s*;/.test(head))) return fail('constructor');
      continue;
    }
    if (each.type !== 'field_declaration') return fail('unknown-type');
    if (/^\s*static\b|\bstatic\b/.test(program.text(each))) continue;
    const type = child(each, 'type');
    if (type === undefined || each.children.some((part) => part.type === 'bitfield_clause')) return fail('unknown-type');
    if (child(each, 'default_value') !== undefined || each.children.some((part) => part.type === 'initializer_list')) return fail('constructor');
    const asked = alignasOf(program, each) ?? 1;
    for (const declarator of each.children.filter((part) => part.field === 'declarator')) {
      const field = fieldOf(program, type, declarator, name === undefined ? '' : program.text(name));
      if (field === undefined) return fail('unknown-type');
      const unit = Math.max(field.alignment, asked);
      bytes = Math.ceil(bytes / unit) * unit + field.bytes;
      alignment = Math.max(alignment, unit);
      fields.set(field.name, field);
    }
  }
  return { bytes: Math.max(alignment, Math.ceil(bytes / alignment) * alignment), alignment, fields };
}

function fieldOf(program: Program, type: SyntaxNode, declarator: SyntaxNode, owner: string): (Field & Size & { name: string }) | undefined {
  // Constants of the struct itself go by their own names.
  const meaning: Meaning = {
    value: (word) => program.value(`${owner}::${word}`) ?? program.value(word), macro: (word) => program.macro(word),
    sizeOf: (text_) => program.sizeOf(text_), alignOf: (text_) => program.alignOf(text_),
  };
  const name = declaredName(declarator);
  let part = declarator;
  let count = 1;
  let dimensions = 0;
  for (; part.type === 'array_declarator'; part = child(part, 'declarator')!) {
    const size = child(part, 'size');
    count *= (size === undefined ? undefined : evaluate(program.text(size), meaning)) ?? NaN;
    ++dimensions;
  }
  const pointer = part.type === 'pointer_declarator';
  if (name === undefined || (!pointer && part.type !== 'field_identifier')) return undefined;
  const text = program.text(type);
  const size = pointer ? { bytes: 8, alignment: 8 } : program.size(text);
  if (size === undefined || !Number.isSafeInteger(count * size.bytes) || count <= 0) return undefined;
  return { name: program.text(name), type: text, dimensions, pointer, bytes: count * size.bytes, alignment: size.alignment };
}

/** The strictest `alignas` of a declaration. */
export function alignasOf(program: Program, node: SyntaxNode): number | undefined {
  let strictest: number | undefined;
  for (const part of node.children) {
    const qualifier = part.type === 'alignas_qualifier' ? part : part.children.find((each) => each.type === 'alignas_qualifier');
    if (qualifier === undefined) continue;
    const text = program.text(qualifier).replace(/^[^(]*\(/, '').replace(/\)\s*$/, '');
    const value = evaluate(text, program) ?? program.alignOf(text);
    strictest = Math.max(strictest ?? 0, value ?? NaN);
  }
  return strictest;
}
