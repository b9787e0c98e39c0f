// Layout of structs.
import { elementAt } from '../core/known.ts';
import type { Size } from './c-types.ts';
import { evaluate, type Meaning } from './constants.ts';
import { child, declaredName, descend, namedChildren, partOf, type SyntaxNode } from './syntax.ts';

/** What the source says about names and types. */
export interface Source extends Meaning {
  text(node: SyntaxNode): string;
  /** Size and alignment of a type in bytes, by its text. */
  size(type: string): Size | undefined;
}

/** A field of a struct. */
export interface Field {
  readonly type: string;
  /** Number of array dimensions. */
  readonly dimensions: number;
  readonly pointer: boolean;
}

/** A struct of the source. `problem` says why its size is unknown. */
export interface Struct {
  readonly bytes: number;
  readonly alignment: number;
  readonly fields: ReadonlyMap<string, Field>;
  readonly problem?: 'constructor' | 'unknown-type';
}

/** Bytes, alignment and fields of a struct. */
export function layoutOf(program: Source, node: SyntaxNode): Struct {
  const fields = new Map<string, Field>();
  const fail = (problem: 'constructor' | 'unknown-type'): Struct => ({ bytes: 0, alignment: 1, fields, problem });
  if (node.type === 'union_specifier' || node.children.some((each) => each.type === 'base_class_clause')) return fail('constructor');
  const name = child(node, 'name');
  let bytes = 0;
  let alignment = alignasOf(program, node) ?? 1;
  for (const each of namedChildren(partOf(node, 'body'))) {
    if (each.type === 'access_specifier' || each.type === 'alias_declaration' || each.type === 'type_definition') continue;
    const isMethod = each.type === 'function_definition' || each.type === 'template_declaration'
      || [...descend(each)].some((node_) => node_.type === 'function_declarator');
    if (isMethod) {
      const head = program.text(each);
      const isSpecial = name !== undefined && new RegExp(`(?:^|[^\\w])~?${program.text(name)}\\s*\\(`).test(elementAt(head.split('{'), 0));
      // Operators that modify their object hide what a statement reads and writes.
      const isOperator = /\boperator\s*\W/.test(head) && !/\)\s*const\b/.test(elementAt(head.split('{'), 0));
      if (/\bvirtual\b/.test(head) || isOperator || (isSpecial && !/=\s*default\s*;/.test(head))) return fail('constructor');
      continue;
    }
    if (each.type !== 'field_declaration') return fail('unknown-type');
    if (/^\s*static\b|\bstatic\b/.test(program.text(each))) continue;
    const type = child(each, 'type');
    if (type === undefined || each.children.some((part) => part.type === 'bitfield_clause')) return fail('unknown-type');
    if (child(each, 'default_value') !== undefined
      || each.children.some((part) => part.type === 'initializer_list')) return fail('constructor');
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

function fieldOf(program: Source, type: SyntaxNode, declarator: SyntaxNode, owner: string): (Field & Size & { name: string }) | undefined {
  // Constants of the struct are referred to without qualification.
  const meaning: Meaning = {
    value: (word) => program.value(`${owner}::${word}`) ?? program.value(word), macro: (word) => program.macro(word),
    sizeOf: (text_) => program.sizeOf(text_), alignOf: (text_) => program.alignOf(text_),
  };
  const name = declaredName(declarator);
  let part = declarator;
  let count = 1;
  let dimensions = 0;
  for (; part.type === 'array_declarator'; part = partOf(part, 'declarator')) {
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
export function alignasOf(program: Source, node: SyntaxNode): number | undefined {
  let strictest: number | undefined;
  for (const part of node.children) {
    const qualifier = part.type === 'alignas_qualifier' ? part : part.children.find((each) => each.type === 'alignas_qualifier');
    if (qualifier === undefined) continue;
    const text = program.text(qualifier).replace(/^[^(]*\(/, '').replace(/\)\s*$/, '');
    const value = evaluate(text, program) ?? program.alignOf(text);
    // NaN: there is an alignment, but it is unknown.
    strictest = Math.max(strictest ?? 0, value ?? NaN);
  }
  return strictest;
}
