// Tracks the value of a shared array's element, which must be copied: an object initialised with it might keep a reference to it, and the
// array could then be accessed in ways that the source does not show.
import { normalType } from './c-types.ts';
import { plainness, templateArguments } from './certainty.ts';
import type { Instance } from './effects.ts';
import { calledName } from './model.ts';
import { Refusal } from './refusal.ts';
import { ancestor, child, namedChildren, partOf, type SyntaxNode } from './syntax.ts';
import type { Walker } from './walker.ts';

/** Expressions that pass on their operands unchanged. */
const kTransparent = new Set(['parenthesized_expression', 'initializer_list', 'argument_list', 'init_declarator', 'initializer_pair',
  'comma_expression', 'conditional_expression']);

/** Refuses an element whose value initialises, or is assigned to, an object that may keep a reference to it. */
export function requireCopied(visitor: Walker, element: SyntaxNode, instance: Instance): void {
  let below = element;
  let argument = element;
  for (let up = element.parent; up !== undefined; below = up, up = up.parent) {
    if (kTransparent.has(up.type)) {
      if (up.type === 'conditional_expression' && below.field === 'condition') return;
      if (up.type === 'argument_list') argument = below;
      continue;
    }
    const type = up.type === 'call_expression' ? typeCalled(visitor, up, argument, instance) : typeMade(up, below, instance);
    if (type !== undefined) requirePlain(visitor, type, element, instance);
    return;
  }
}

/** The type of the object that an expression creates from, or sets to, a contained value; undefined if the value is consumed. */
function typeMade(node: SyntaxNode, value: SyntaxNode, instance: Instance): string | undefined {
  const { model } = instance;
  const typeOf = (each: SyntaxNode | undefined): string | undefined => each === undefined ? undefined : model.text(each);
  switch (node.type) {
    case 'declaration': return typeOf(child(node, 'type'));
    case 'cast_expression': return typeOf(child(node, 'type'))?.replace(/\s*&+$/, '');
    case 'compound_literal_expression': return typeOf(child(node, 'type'));
    case 'return_statement': return ancestor(node, 'lambda_expression') === undefined ? typeOf(child(model.fn.node, 'type')) : undefined;
    case 'assignment_expression': return value.field === 'right' ? typeOfTarget(partOf(node, 'left'), instance) : undefined;
    case 'binary_expression': return typeOfTarget(partOf(node, value.field === 'left' ? 'right' : 'left'), instance);
    default: return undefined;
  }
}

/** The type of the variable that is an operator's other operand; undefined if that cannot be an object. */
function typeOfTarget(node: SyntaxNode, instance: Instance): string | undefined {
  const sym = node.type === 'identifier' ? instance.model.use(node) : undefined;
  if (sym === undefined || (sym.kind !== 'variable' && sym.kind !== 'parameter') || sym.pointer) return undefined;
  return instance.bindings.has(sym) ? undefined : sym.type;
}

/** What a call does with an argument: the type it constructs, the type of the parameter it initialises, or nothing. */
function typeCalled(visitor: Walker, call: SyntaxNode, argument: SyntaxNode, instance: Instance): string | undefined {
  const { model } = instance;
  const { program } = visitor.library;
  const name = calledName(program, call);
  const callee = partOf(call, 'function');
  if (callee.type === 'primitive_type' || program.isType(name) || model.fn.template.includes(name)) return name;
  if (/^(?:static|const|reinterpret|dynamic)_cast$/.test(name)) {
    const [type] = templateArguments(callee);
    return type === undefined ? undefined : model.text(type).replace(/\s*&+$/, '');
  }
  const [fn] = visitor.library.candidates(call);
  if (fn === undefined) return undefined;
  const spelled = templateArguments(callee).find((each) => plainness(model, model.text(each)) === 'object');
  if (spelled !== undefined) return model.text(spelled);
  const list = child(call, 'arguments');
  const parameter = list === undefined ? undefined : fn.parameters[namedChildren(list).indexOf(argument)];
  const type = parameter === undefined ? undefined : child(parameter, 'type');
  if (type === undefined) return undefined;
  const text = program.text(type);
  // Judged in the scope of the called function, whose template parameters are deduced.
  return plainness(visitor.library.model(fn), text) === 'object' ? text : undefined;
}

function requirePlain(visitor: Walker, type: string, element: SyntaxNode, instance: Instance): void {
  const bare = type.replace(/\s*&+$/, '').trim();
  const { model } = instance;
  const kind = plainness(model, bare);
  if (kind === 'plain') return;
  if (kind === 'template') {
    // A called template deduces its parameters from the arguments.
    const parameter = normalType(bare);
    if (instance.parent === undefined && !visitor.arrays.some((array) => normalType(array.type) === parameter)) {
      visitor.plainParameters.add(parameter);
    }
    return;
  }
  throw new Refusal('object-of-element', element,
    `${bare} is not known to copy its argument: it may keep a reference to ${model.text(element)}`);
}
