// Traverses statements and expressions and records their effects; rejects what it cannot follow.
import { elementAt, required } from '../core/known.ts';
import { callOf } from './calls.ts';
import { Effects, kAnyMemory, type Instance, type MemoryBase, type Mode, type Shape } from './effects.ts';
import { macroOf } from './macros.ts';
import { controlTypes, loopTypes, rootOf } from './model.ts';
import { builtinNames } from './names.ts';
import { Refusal } from './refusal.ts';
import { requireCopied } from './copies.ts';
import { requireReadable } from './waits.ts';
import type { Sym } from './symbols.ts';
import { ancestor, child, declaredName, descend, namedChildren, partOf, type SyntaxNode } from './syntax.ts';
import { requireAllowed, Walker } from './walker.ts';

const kIgnored = new Set(['comment', 'number_literal', 'char_literal', 'string_literal', 'concatenated_string', 'raw_string_literal',
  'true', 'false',
  'null', 'nullptr', 'break_statement', 'continue_statement', 'static_assert_declaration', 'using_declaration', 'alias_declaration',
  'type_definition', 'struct_specifier', 'enum_specifier', 'preproc_call', 'preproc_def', 'preproc_function_def', 'type_descriptor',
  'namespace_alias_definition', 'primitive_type', 'type_qualifier', 'storage_class_specifier', 'attribute_declaration',
    'sized_type_specifier',
  'attribute_specifier', 'ms_declspec_modifier', 'user_defined_literal', 'placeholder_type_specifier', 'alignof_expression']);
const kPlain = new Set(['expression_statement', 'parenthesized_expression', 'binary_expression', 'unary_expression', 'comma_expression',
  'initializer_list', 'condition_clause', 'argument_list', 'subscript_argument_list', 'compound_statement', 'else_clause', 'case_statement',
  'init_statement', 'initializer_pair', 'compound_literal_expression', 'attributed_statement', 'fold_expression', 'subscript_designator',
  'field_designator', 'template_argument_list']);

/** Preprocessor directives inside a kernel that change its code. */
const kConditionals = /^preproc_(?:if|ifdef|else|elif|elifdef|include)$/;

/** Records the effects of the statements of one kernel. */
export class Visitor extends Walker {
  /** The kernel itself as an instance. */
  root(model: Instance['model']): Instance {
    requireReadable(model);
    return { model, bindings: new Map(), bases: new Map(), parent: undefined, call: undefined, aliases: new Map(), visited: new Set() };
  }

  /** Effects of a statement or expression. */
  effects(node: SyntaxNode, instance: Instance): Effects {
    const effects = new Effects();
    this.visit(node, instance, effects, 'r');
    return effects;
  }

  override touch(node: SyntaxNode, instance: Instance, effects: Effects): void {
    switch (node.type) {
      case 'identifier': return this.#touchName(node, instance, effects);
      case 'subscript_expression':
        this.touch(partOf(node, 'argument'), instance, effects);
        return this.visit(partOf(node, 'indices'), instance, effects, 'r');
      case 'binary_expression':
        for (const side of [partOf(node, 'left'), partOf(node, 'right')]) {
          if ((this.peek(side, instance)?.dimensions ?? 0) > 0) this.touch(side, instance, effects);
          else this.visit(side, instance, effects, 'r');
        }
        return;
      case 'parenthesized_expression': return this.touch(elementAt(namedChildren(node), 0), instance, effects);
      default: return this.touch(partOf(node, 'argument'), instance, effects);
    }
  }

  #touchName(node: SyntaxNode, instance: Instance, effects: Effects): void {
    instance.visited.add(node);
    const sym = instance.model.use(node);
    // A local pointer is also a variable.
    if (sym !== undefined && !this.isArray(sym) && !instance.bindings.has(sym)) effects.variable(sym, 'r');
  }

  override visit(node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode): void {
    const shape = this.peek(node, instance);
    if (shape !== undefined) {
      this.touch(node, instance, effects);
      if (shape.dimensions > 0) throw this.#escape(node, shape, instance);
      effects.accesses.push({ array: shape.array, mode, node, order: effects.order++ });
      if (mode !== 'w') requireCopied(this, node, instance);
      return;
    }
    if (kPlain.has(node.type)) {
      for (const each of namedChildren(node)) if (each.field !== 'type') this.visit(each, instance, effects, mode);
      return;
    }
    if (!kIgnored.has(node.type)) this.#visitOther(node, instance, effects, mode);
  }

  #visitOther(node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode): void {
    if (node.failed) throw new Refusal('parse-error', node, 'the grammar does not know this text');
    switch (node.type) {
      case 'identifier': case 'qualified_identifier': case 'type_identifier': return this.#name(node, instance, effects, mode);
      case 'declaration': return this.#declaration(node, instance, effects);
      case 'assignment_expression': return this.#assignment(node, instance, effects);
      case 'update_expression': return this.#update(node, instance, effects);
      case 'subscript_expression': case 'pointer_expression': return this.#memory(node, instance, effects, mode);
      case 'field_expression': return this.#field(node, instance, effects, mode);
      case 'call_expression': return callOf(this, node, instance, effects);
      case 'cast_expression': return this.#cast(node, instance, effects, mode);
      case 'sizeof_expression': return this.#unevaluated(node, instance);
      case 'return_statement': return this.#return(node, instance, effects);
      case 'lambda_expression': return this.#lambda(node, instance, effects);
      case 'for_range_loop': return this.#rangeLoop(node, instance, effects);
      case 'gnu_asm_expression': throw new Refusal('inline-assembly', node, 'inline assembly can touch any memory');
      case 'goto_statement': case 'labeled_statement': throw new Refusal('goto', node, 'jumps hide the order of statements');
    }
    if (controlTypes.has(node.type)) {
      effects.loops ||= loopTypes.has(node.type);
      for (const each of namedChildren(node)) this.visit(each, instance, effects, mode);
      return;
    }
    if (kConditionals.test(node.type)) throw new Refusal('preprocessor', node, 'conditional compilation inside the kernel');
    throw new Refusal('unsupported-statement', node, `${node.type.replaceAll('_', ' ')} is not followed`);
  }

  #escape(node: SyntaxNode, shape: Shape, instance: Instance): Refusal {
    const { name } = elementAt(this.arrays, shape.array);
    if (node.type === 'pointer_expression') return new Refusal('address-of', node,
      `the address of ${name} is taken where it cannot be followed`);
    const up = node.parent;
    const isChoice = up?.type === 'conditional_expression' || up?.type === 'initializer_list';
    if (isChoice) return new Refusal('pointer-alias', node, `a pointer may point to ${name} or for something else`);
    if (up?.type === 'init_declarator' || up?.type === 'assignment_expression') {
      return new Refusal('pointer-alias', node, `a pointer to ${name} is kept where it cannot be followed`);
    }
    return new Refusal('escaping-pointer', node, `a pointer to ${name} is used as a value: ${instance.model.text(node)}`);
  }

  #name(node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode): void {
    const sym = instance.model.use(node);
    if (sym !== undefined) {
      if (sym.kind === 'dynamic') effects.memory.push({ base: sym, mode: 'r' });
      else if (sym.reference && sym.kind === 'parameter' && instance.parent === undefined) effects.memory.push({ base: kAnyMemory, mode });
      // Naming a whole array in registers passes a pointer to it.
      else effects.variable(sym, sym.dimensions > 0 && sym.kind === 'variable' ? 'rw' : mode);
      return;
    }
    const { program } = this.library;
    const name = instance.model.text(node).replace(/\s/g, '');
    requireAllowed(name, node);
    if (program.macros.has(name)) return macroOf(this, node, name, instance, effects);
    if (program.globals.has(name)) {
      effects.memory.push({ base: `global ${name}`, mode });
      return;
    }
    const known = program.isConstant(name) || program.constantMemory.has(name) || instance.model.fn.template.includes(name)
      || builtinNames.has(name) || program.isType(name) || program.functions.has(name) || name.includes('::');
    if (!known) throw new Refusal('unknown-name', node, `${name} is not declared in this text`);
  }

  #declaration(node: SyntaxNode, instance: Instance, effects: Effects): void {
    const isStatic = node.children.some((each) => each.type === 'storage_class_specifier' && instance.model.text(each) === 'static');
    const type = child(node, 'type');
    if (type?.type === 'decltype') this.#unevaluated(type, instance);
    for (const each of type === undefined ? [] : descend(type)) {
      if (/identifier$/.test(each.type)) requireAllowed(instance.model.text(each), each);
    }
    for (const declarator of node.children.filter((each) => each.field === 'declarator')) {
      const name = declaredName(declarator);
      const sym = name === undefined ? undefined : instance.model.use(name);
      if (sym === undefined) throw new Refusal('unsupported-statement', declarator, 'this declaration is not followed');
      if (sym.kind === 'dynamic' || this.isArray(sym)) continue;
      if (sym.kind === 'shared') {
        // In the kernel itself: the pool in source that this pass emitted.
        if (instance.parent === undefined) continue;
        throw new Refusal('shared-in-callee', node, `${sym.name} is a shared array of a called function`);
      }
      if (isStatic && !sym.isConst) throw new Refusal('unsupported-statement', node, 'a static variable is shared by all blocks');
      this.#declared(sym, instance, effects);
    }
  }

  #declared(sym: Sym, instance: Instance, effects: Effects): void {
    effects.variable(sym, 'w');
    if (sym.value === undefined) return;
    if (this.alias(sym, instance) !== undefined) {
      this.touch(sym.value, instance, effects);
      return;
    }
    const { type } = sym.value;
    if (sym.reference && (/^(?:conditional|comma|assignment|update|call)_expression$/.test(type) || type === 'parenthesized_expression')) {
      const mention = this.#mention(sym.value, instance);
      if (mention !== undefined) throw new Refusal('pointer-alias', mention, `${sym.name} may refer to a shared array`);
    }
    this.visit(sym.value, instance, effects, 'r');
  }

  /** The first mention of a shared array or alias below a node. */
  #mention(node: SyntaxNode, instance: Instance): SyntaxNode | undefined {
    for (const each of descend(node)) if (each.type === 'identifier' && this.named(each, instance) !== undefined) return each;
    return undefined;
  }

  #assignment(node: SyntaxNode, instance: Instance, effects: Effects): void {
    const left = partOf(node, 'left');
    const right = partOf(node, 'right');
    const plain = child(node, 'operator')?.type === '=';
    const target = this.peek(left, instance);
    if (target !== undefined && target.dimensions > 0) {
      this.touch(left, instance, effects);
      const pointer = left.type === 'identifier' ? instance.model.use(left) : undefined;
      if (pointer !== undefined) effects.variable(pointer, plain ? 'w' : 'rw');
      const source = this.peek(right, instance);
      if (!plain) return this.visit(right, instance, effects, 'r');
      if (source?.array !== target.array || source.dimensions !== target.dimensions || left.type !== 'identifier') {
        throw new Refusal('pointer-alias', node, 'a pointer to one array is set to something else');
      }
      return this.touch(right, instance, effects);
    }
    this.visit(right, instance, effects, 'r');
    this.visit(left, instance, effects, plain ? 'w' : 'rw');
    this.#requireNoHiddenPlace(left, instance);
  }

  #update(node: SyntaxNode, instance: Instance, effects: Effects): void {
    const argument = partOf(node, 'argument');
    const shape = this.peek(argument, instance);
    if (shape !== undefined && shape.dimensions > 0 && argument.type === 'identifier') {
      const sym = required(instance.model.use(argument));
      effects.variable(sym, 'rw');
      this.touch(argument, instance, effects);
      return;
    }
    this.#requireNoHiddenPlace(argument, instance);
    this.visit(argument, instance, effects, 'rw');
  }

  /** A call that returns a place may return a shared array that was passed to it. */
  #requireNoHiddenPlace(node: SyntaxNode, instance: Instance): void {
    for (const each of descend(node)) {
      const mention = each.type === 'call_expression' ? this.#mention(each, instance) : undefined;
      const isIndex = ancestor(each, 'subscript_argument_list');
      if (mention === undefined || (isIndex !== undefined && isIndex.start >= node.start)) continue;
      throw new Refusal('unrecognised-use', mention, 'a value is assigned to the result of a call');
    }
  }

  /** Loads, stores and addresses of everything except shared arrays. */
  #memory(node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode): void {
    const argument = partOf(node, 'argument');
    if (node.type === 'pointer_expression' && instance.model.text(node).startsWith('&')) {
      return this.visit(argument, instance, effects, argument.type === 'identifier' ? 'rw' : 'r');
    }
    const indices = child(node, 'indices');
    if (indices !== undefined) this.visit(indices, instance, effects, 'r');
    const root = rootOf(argument);
    const sym = root === undefined ? undefined : instance.model.use(root);
    if (sym?.kind === 'variable' && sym.dimensions > 0 && !sym.pointer) return this.#localArray(argument, sym, instance, effects, mode);
    this.visit(argument, instance, effects, 'r');
    const base = this.base(argument, instance);
    if (base !== undefined) effects.memory.push({ base, mode });
  }

  /** Elements of an array in registers: a write changes only a part of it. */
  #localArray(argument: SyntaxNode, sym: Sym, instance: Instance, effects: Effects, mode: Mode): void {
    effects.variable(sym, mode === 'r' ? 'r' : 'rw');
    for (const each of descend(argument)) {
      const indices = each.type === 'subscript_expression' ? child(each, 'indices') : undefined;
      if (indices !== undefined) this.visit(indices, instance, effects, 'r');
    }
  }

  override base(node: SyntaxNode, instance: Instance, depth = 0): MemoryBase | undefined {
    const root = rootOf(node);
    if (root === undefined || depth > 8) return kAnyMemory;
    const sym = instance.model.use(root);
    if (sym === undefined) {
      const name = instance.model.text(root);
      if (this.library.program.constantMemory.has(name)) return undefined;
      return this.library.program.globals.has(name) ? `global ${name}` : kAnyMemory;
    }
    // A loaded pointer may point anywhere.
    if (root !== node && node.type !== 'binary_expression' && node.type !== 'parenthesized_expression') return kAnyMemory;
    if (sym.kind === 'dynamic') return sym;
    if (sym.kind === 'parameter') return instance.parent === undefined ? (sym.pointer ? sym : kAnyMemory)
      : instance.bases.get(sym) ?? kAnyMemory;
    if (sym.kind !== 'variable' || (!sym.pointer && sym.type !== 'auto')) return kAnyMemory;
    const sources = new Set(instance.model.assignments.filter((each) => each.sym === sym
      && each.node.type !== 'update_expression').map((each) =>
      each.value === undefined ? kAnyMemory : this.base(each.value, instance, depth + 1) ?? 'constant'));
    const [only] = sources;
    return sources.size === 1 && only !== undefined ? (only === 'constant' ? undefined : only) : kAnyMemory;
  }

  #field(node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode): void {
    const object = partOf(node, 'argument');
    const arrow = node.children.some((each) => each.type === '->');
    this.visit(object, instance, effects, arrow || mode === 'r' ? 'r' : 'rw');
    if (!arrow) return;
    const base = this.base(object, instance);
    if (base !== undefined) effects.memory.push({ base, mode });
  }

  #cast(node: SyntaxNode, instance: Instance, effects: Effects, mode: Mode): void {
    const value = partOf(node, 'value');
    const type = partOf(node, 'type');
    // A grammar without types parses (n) * x and (n) & x as casts.
    const variable = [...descend(type)].find((each) => /identifier$/.test(each.type));
    const sym = variable === undefined ? undefined : instance.model.scopes.syms.find((each) => each.name === instance.model.text(variable));
    if (sym !== undefined && sym.kind !== 'type') {
      throw new Refusal('ambiguous-syntax', node, `(${sym.name}) before an operator reads like a cast`);
    }
    if ((this.peek(value, instance)?.dimensions ?? 0) > 0) {
      throw new Refusal('reinterpret-cast', node, `a pointer to a shared array is cast to ${instance.model.text(type)}`);
    }
    this.visit(value, instance, effects, mode);
  }

  #unevaluated(node: SyntaxNode, instance: Instance): void {
    for (const each of descend(node)) {
      if (each.type !== 'identifier' || this.named(each, instance) === undefined) continue;
      if (node.type !== 'sizeof_expression') throw new Refusal('decltype', node, 'the type of a shared array is queried');
      instance.visited.add(each);
    }
  }

  #return(node: SyntaxNode, instance: Instance, effects: Effects): void {
    for (const each of namedChildren(node)) this.visit(each, instance, effects, 'r');
    effects.returns.push(node);
  }

  #lambda(node: SyntaxNode, instance: Instance, effects: Effects): void {
    for (const each of descend(node)) {
      const text = each.children.length === 0 ? instance.model.text(each) : '';
      if (each.type === 'identifier' && this.named(each, instance) !== undefined) {
        throw new Refusal('lambda', each, `the shared array ${text} is used inside a lambda`);
      }
      if (/^__sync|^sync$/.test(text)) throw new Refusal('lambda', each, 'a barrier inside a lambda');
      if (each.type === 'gnu_asm_expression') throw new Refusal('inline-assembly', each, 'inline assembly can touch any memory');
    }
    effects.opaque = true;
    effects.memory.push({ base: kAnyMemory, mode: 'rw' });
  }

  #rangeLoop(node: SyntaxNode, instance: Instance, effects: Effects): void {
    const range = child(node, 'right');
    if (range !== undefined && this.peek(range, instance) !== undefined) {
      throw new Refusal('range-for', node, 'a loop over the elements of a shared array');
    }
    effects.loops = true;
    for (const field of ['right', 'body']) {
      const part = child(node, field);
      if (part !== undefined) this.visit(part, instance, effects, 'r');
    }
  }

  override requireAllSeen(instance: Instance): void {
    const names = new Set(this.arrays.map((array) => array.name));
    for (const node of descend(instance.model.fn.body)) {
      if (!/identifier$/.test(node.type) || node.children.length > 0 || node.type === 'field_identifier') continue;
      const sym = instance.model.use(node);
      if (sym !== undefined && sym.node === node) continue;
      const isShared = sym === undefined ? instance.parent === undefined && names.has(instance.model.text(node))
        : this.named(node, instance) !== undefined;
      if (isShared && !instance.visited.has(node) && ancestor(node, 'static_assert_declaration') === undefined) {
        throw new Refusal('unrecognised-use', node, `this use of ${instance.model.text(node)} is not followed`);
      }
    }
  }
}
