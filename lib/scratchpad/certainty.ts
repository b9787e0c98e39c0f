// Detects source whose meaning is uncertain without the compiler's own parser: words that may be macros, and declarations that may be
// something else. Every function is checked on entry, before anything is concluded from it.
import { normalType } from './c-types.ts';
import type { FunctionModel } from './model.ts';
import { blockBarriers } from './names.ts';
import { Refusal } from './refusal.ts';
import { type SyntaxNode, child, declaredName, descend, namedChildren } from './syntax.ts';

const kKeywords = /^(?:return|break|continue|goto|delete|new|throw|else|do|case|default|co_return|co_yield|co_await)$/;

/** What is known about the name of a type. */
function certaintyOf(model: FunctionModel, type: SyntaxNode): 'type' | 'macro' | 'unknown' {
  if (type.type !== 'type_identifier') return 'type';
  const { program, fn } = model;
  const name = model.text(type);
  if (model.use(type)?.kind === 'type' || fn.template.includes(name)) return 'type';
  if (program.macros.has(name) && !program.isDefined(name)) return program.size(name) === undefined ? 'macro' : 'type';
  return program.isType(name) || isEnumeration(model, name) ? 'type' : 'unknown';
}

/** Whether the source defines an enumeration of this name. */
export function isEnumeration({ program }: FunctionModel, name: string): boolean {
  return /^\w+$/.test(name) && new RegExp(`\\benum\\s+(?:class\\s+|struct\\s+)?${name}\\b`).test(program.syntax.masked);
}

function isVisible(model: FunctionModel, name: SyntaxNode): boolean {
  const { program } = model;
  const text = model.text(name);
  return kKeywords.test(text) || blockBarriers.has(text) || program.globals.has(text) || program.constantMemory.has(text)
    || program.isConstant(text) || program.functions.has(text) || program.macros.has(text)
    || model.scopes.syms.some((sym) => sym.name === text && sym.node.start < name.start);
}

function requireDeclaration(model: FunctionModel, node: SyntaxNode): void {
  const type = child(node, 'type');
  if (type === undefined) return;
  const known = certaintyOf(model, type);
  if (known === 'macro') {
    throw new Refusal('macro', node, `${model.text(type)} is a macro: it is not certain what it makes of this statement`);
  }
  for (const declarator of node.children.filter((each) => each.field === 'declarator')) {
    const name = declaredName(declarator);
    const isFunction = declarator.type === 'function_declarator';
    if (known === 'unknown' && (name === undefined || isFunction || isVisible(model, name))) {
      throw new Refusal('ambiguous-syntax', node, `${model.text(type)} is not a type of this text: this may be a statement behind a macro`);
    }
    if (isFunction) requirePrototype(model, node, declarator);
  }
}

/** If y is a variable, `T x(y);` defines x; a grammar without types parses it as a function declaration. */
function requirePrototype(model: FunctionModel, node: SyntaxNode, declarator: SyntaxNode): void {
  const list = child(declarator, 'parameters');
  for (const each of list === undefined ? [] : descend(list)) {
    if (!/identifier$/.test(each.type) || !isVisible(model, each)) continue;
    throw new Refusal('ambiguous-syntax', node, `this reads like the declaration of a function; ${model.text(each)} says it is a variable`);
  }
}

/** Refuses a function whose source may mean something other than its parse. */
export function requireCertain(model: FunctionModel): void {
  const { node, body } = model.fn;
  for (const each of node.broken ? descend(node) : []) {
    if (each.failed) throw new Refusal('parse-error', each, 'the grammar does not know this text');
  }
  for (const each of descend(body)) {
    if (each.type === 'declaration') requireDeclaration(model, each);
    if (each.type !== 'compound_literal_expression') continue;
    const type = child(each, 'type');
    if (type !== undefined && certaintyOf(model, type) !== 'type') {
      throw new Refusal('ambiguous-syntax', each, `${model.text(type)} is not a type of this text: this may be a block behind a macro`);
    }
  }
}

/**
 * Whether an object of this type that is initialised with a value of a shared array certainly copies it, because the type has neither
 * constructors nor references. For a template parameter this is unknown, so the emitted source must not compile if it is a class.
 */
export function plainness(model: FunctionModel, type: string): 'plain' | 'template' | 'object' {
  const name = normalType(type);
  const { program, fn } = model;
  if (name === 'auto' || name.endsWith('*') || program.isDefined(name)) return 'plain';
  if (fn.template.includes(name)) return 'template';
  const local = model.scopes.syms.find((sym) => sym.kind === 'type' && sym.name === name);
  if (local !== undefined) {
    const aliased = /^(?:alias_declaration|type_definition)$/.test(local.declaration.type) ? child(local.declaration, 'type') : undefined;
    return aliased === undefined || model.text(aliased) === name ? 'object' : plainness(model, model.text(aliased));
  }
  return program.size(name) !== undefined || isEnumeration(model, name.replace(/^enum /, '')) ? 'plain' : 'object';
}

/** The explicit template arguments of a call. */
export function templateArguments(callee: SyntaxNode): SyntaxNode[] {
  const list = [...descend(callee)].find((each) => each.type === 'template_argument_list');
  return list === undefined ? [] : namedChildren(list).filter((each) => each.type === 'type_descriptor');
}
