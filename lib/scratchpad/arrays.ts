// The shared arrays of a kernel: names, types, sizes, and places of declaration.
import { elementAt, required } from '../core/known.ts';
import { evaluate, type Meaning } from './constants.ts';
import { isBuiltinType, isIntegerType } from './c-types.ts';
import type { FunctionNode, Program } from './program.ts';
import { alignasOf, type Field } from './structs.ts';
import { Refusal } from './refusal.ts';
import type { Sym } from './symbols.ts';
import { child, namedChildren, partOf, type SyntaxNode } from './syntax.ts';
import type { FunctionModel } from './model.ts';

/** A shared array (or scalar) of a kernel. */
export interface SharedArray {
  readonly index: number;
  readonly sym: Sym;
  readonly name: string;
  /** Element type as written, followed by `*` if elements are pointers. */
  readonly type: string;
  readonly extents: readonly number[];
  readonly extentTexts: readonly string[];
  readonly elementBytes: number;
  readonly bytes: number;
  readonly alignment: number;
  /** Whether its size depends on template parameters; `bytes` then is the size for assumed parameters. */
  readonly symbolic: boolean;
  /** Whether its size depends on anything other than builtin types and literal numbers. */
  readonly derived: boolean;
  /** Offset in a pool, in source that this pass emitted. */
  readonly offset?: number;
  readonly declaration: SyntaxNode;
  readonly declarator: SyntaxNode;
  /** Fields of its elements, if they are structs. */
  readonly fields: ReadonlyMap<string, Field> | undefined;
}

/** Value assumed for unknown template parameters. It serves only to rank sizes; the emitted layout computes with the true values. */
const kNominalValue = 16;
const kNominalType = 'float';

/** The constants visible in a kernel: its template parameters and local constants, then those of the source file. */
export class KernelMeaning implements Meaning {
  readonly #program: Program;
  readonly #template: ReadonlyMap<string, string | number>;
  readonly #locals = new Map<string, SyntaxNode | undefined>();
  readonly #localTypes = new Set<string>();
  readonly #busy = new Set<string>();
  /** Whether a template parameter has been looked up since this was last reset. */
  symbolic = false;
  /** Whether any name has been looked up since this was last reset. */
  named = false;

  constructor(model: FunctionModel) {
    const { program, fn } = model;
    this.#program = program;
    this.#template = nominal(program, fn);
    for (const sym of model.scopes.syms) {
      if (sym.kind === 'type') this.#localTypes.add(sym.name);
      if (sym.kind !== 'variable') continue;
      const isConstant = sym.isConst && isIntegerType(sym.type) && sym.value !== undefined && !sym.pointer && !sym.reference
        && sym.dimensions === 0;
      this.#locals.set(sym.name, isConstant && !this.#locals.has(sym.name) ? sym.value : undefined);
    }
  }

  value(name: string): number | undefined {
    this.named = true;
    const parameter = this.#template.get(name);
    if (parameter !== undefined) {
      this.symbolic = true;
      return typeof parameter === 'number' ? parameter : undefined;
    }
    if (!this.#locals.has(name)) {
      const macro = this.#program.macros.get(name);
      const isValue = macro?.parameters === undefined && macro?.body !== undefined && !this.#program.isDefined(name);
      if (isValue) return this.#nested(name, macro.body);
      return this.#program.value(name);
    }
    const local = this.#locals.get(name);
    return local === undefined ? undefined : this.#nested(name, this.#program.text(local).replace(/^\{([\s\S]*)\}$/, '$1'));
  }

  #nested(name: string, text: string): number | undefined {
    if (this.#busy.has(name)) return undefined;
    this.#busy.add(name);
    const value = evaluate(text, this);
    this.#busy.delete(name);
    return value;
  }

  macro(name: string): { readonly parameters: readonly string[]; readonly body: string } | undefined {
    return this.#program.macro(name);
  }

  sizeOf(type: string): number | undefined {
    return this.#size(type)?.bytes;
  }

  alignOf(type: string): number | undefined {
    return this.#size(type)?.alignment;
  }

  #size(type: string): { bytes: number; alignment: number } | undefined {
    // A type declared in the kernel hides a global one.
    if (this.#localTypes.has(type.trim())) return undefined;
    if (!isBuiltinType(type)) this.named = true;
    const parameter = this.#template.get(type.replace(/\b(?:const|typename)\b/g, '').trim());
    if (typeof parameter !== 'string') return this.#program.size(type);
    this.symbolic = true;
    return this.#program.size(parameter);
  }
}

/** Values of a kernel's template parameters: from an instantiation in the source, or assumed. */
function nominal(program: Program, fn: FunctionNode): Map<string, string | number> {
  const values = new Map<string, string | number>();
  const elsewhere = program.syntax.masked.slice(0, fn.node.start) + program.syntax.masked.slice(fn.node.end);
  const found = new RegExp(`\\b${fn.name}\\s*<([^<>;{}]*)>\\s*(?:<<<|\\()`).exec(elsewhere);
  const given = found?.[1]?.split(',').map((text) => text.trim()) ?? [];
  for (const [at, name] of fn.template.entries()) {
    const text = given[at];
    const head = program.text(required(fn.node.parent)).slice(0, fn.node.start - required(fn.node.parent).start);
    const isType = new RegExp(`\\b(?:typename|class)\\s+${name}\\b`).test(head);
    const value = text === undefined ? undefined : evaluate(text, program);
    values.set(name, isType ? (text !== undefined && program.size(text) !== undefined ? text : kNominalType) : value ?? kNominalValue);
  }
  return values;
}

const kBarrierTypes = /\b(?:cuda::(?:barrier|pipeline\w*)|barrier<|pipeline_shared_state|mbarrier\w*|__mbarrier_t)/;

function requirePlain(model: FunctionModel, sym: Sym): void {
  const { declaration } = sym;
  const words = declaration.children.filter((each) => each.field !== 'declarator').map((each) => model.text(each));
  if (words.includes('volatile')) {
    throw new Refusal('volatile-shared', declaration, `${sym.name} is volatile: its accesses rely on the order of a warp`);
  }
  if (sym.value !== undefined) throw new Refusal('initializer', sym.node, `${sym.name} has an initial value`);
  const type = child(declaration, 'type');
  if (type !== undefined && child(type, 'body') !== undefined) {
    throw new Refusal('inline-type', type, `the type of ${sym.name} is defined in its declaration`);
  }
  if (kBarrierTypes.test(sym.type)) throw new Refusal('barrier-object', declaration, `${sym.name} is a barrier object`);
  if (declaration.parent?.type !== 'compound_statement') {
    throw new Refusal('unsupported-statement', declaration, `${sym.name} is not declared in a block`);
  }
}

/** Extents, and the number of pointer levels of the elements. */
function declaratorParts(sym: Sym): { sizes: SyntaxNode[]; stars: number } {
  const sizes: SyntaxNode[] = [];
  let part = sym.declarator;
  let stars = 0;
  for (; part.type === 'pointer_declarator' && namedChildren(part).length === 1; part = partOf(part, 'declarator')) ++stars;
  for (; part.type === 'array_declarator'; part = partOf(part, 'declarator')) {
    const size = child(part, 'size');
    if (size === undefined) throw new Refusal('unknown-extent', part, `${sym.name} has an extent that is not given`);
    sizes.unshift(size);
  }
  if (part.type !== 'identifier') throw new Refusal('unsupported-statement', sym.node, `the declarator of ${sym.name} is not plain`);
  return { sizes, stars };
}

function makeArray(model: FunctionModel, meaning: KernelMeaning, sym: Sym, index: number): SharedArray {
  requirePlain(model, sym);
  meaning.symbolic = false;
  meaning.named = false;
  const { sizes: nodes, stars } = declaratorParts(sym);
  const extents = nodes.map((node) => {
    const value = evaluate(model.text(node), meaning);
    if (value !== undefined && value > 0) return value;
    throw new Refusal('unknown-extent', node, `the extent ${model.text(node)} of ${sym.name} has no known value`);
  });
  const type = sym.type + '*'.repeat(stars);
  const bytes = meaning.sizeOf(type);
  if (bytes === undefined) {
    const struct = model.program.struct(type);
    const code = struct?.problem ?? 'unknown-type';
    throw new Refusal(code, sym.declaration, code === 'constructor'
      ? `elements of ${sym.name} are constructed, or of a type with bases or a union` : `the size of ${type} is not known`);
  }
  if (!isBuiltinType(type) && model.program.mutatingOperators) {
    throw new Refusal('constructor', sym.declaration, `${type} may have operators that modify their operands`);
  }
  const total = extents.reduce((product, extent) => product * extent, bytes);
  const asked = alignasOf(model.program, sym.declaration) ?? 1;
  const alignment = Math.max(required(meaning.alignOf(type)), asked);
  if (!Number.isSafeInteger(total) || total > 2 ** 30 || !Number.isInteger(Math.log2(alignment))) {
    throw new Refusal('unknown-extent', sym.node, `${sym.name} has no sensible size`);
  }
  return {
    index, sym, name: sym.name, type, extents, extentTexts: nodes.map((node) => model.text(node)), elementBytes: bytes, bytes: total,
    alignment,
    symbolic: meaning.symbolic, derived: meaning.named, declaration: sym.declaration, declarator: sym.declarator,
    fields: model.program.struct(type)?.fields,
  };
}

/** An array that this pass placed in a pool: `auto& A = *reinterpret_cast<T(*)[n]>(pool + offset)`. */
function pooledArray(model: FunctionModel, meaning: KernelMeaning, sym: Sym, index: number): SharedArray | undefined {
  const value = sym.value === undefined ? '' : model.text(sym.value);
  const match = /^\*reinterpret_cast<([\s\S]*)>\((warploom_pool_\w+) \+ (\w+)\)$/.exec(value);
  if (match === null || !sym.reference) return undefined;
  const parts = /^([\s\S]*?)\s*\(\*\)((?:\[[^\]]*\])+)$/.exec(elementAt(match, 1));
  const type = parts?.[1] ?? elementAt(match, 1).replace(/\s*\*$/, '');
  const extentTexts = [...(parts?.[2] ?? '').matchAll(/\[([^\]]*)\]/g)].map((each) => elementAt(each, 1));
  const extents = extentTexts.map((text) => evaluate(text, meaning) ?? NaN);
  const elementBytes = meaning.sizeOf(type) ?? NaN;
  const bytes = extents.reduce((product, extent) => product * extent, elementBytes);
  return {
    index, sym, name: sym.name, type, extents, extentTexts, elementBytes, bytes, alignment: meaning.alignOf(type) ?? 1, symbolic: false,
    derived: true, offset: evaluate(elementAt(match, 3), meaning) ?? NaN, declaration: sym.declaration, declarator: sym.declarator,
    fields: model.program.struct(type)?.fields,
  };
}

/** The shared memory that a kernel declares. */
export interface KernelArrays {
  readonly arrays: readonly SharedArray[];
  readonly bySym: ReadonlyMap<Sym, SharedArray>;
  /** Declarations of dynamic shared memory, which are left unchanged. */
  readonly dynamic: readonly Sym[];
}

/**
 * Collects the shared arrays of a kernel.
 * @param emitted whether this pass emitted the source: arrays are then found in its pools
 */
export function collectArrays(model: FunctionModel, emitted = false): KernelArrays {
  const meaning = new KernelMeaning(model);
  const arrays: SharedArray[] = [];
  const bySym = new Map<Sym, SharedArray>();
  for (const sym of model.scopes.syms) {
    let array: SharedArray | undefined;
    if (sym.kind === 'shared' && !(emitted && sym.name.startsWith('warploom_pool_'))) array = makeArray(model, meaning, sym, arrays.length);
    else if (emitted && sym.kind === 'variable') array = pooledArray(model, meaning, sym, arrays.length);
    if (array === undefined) continue;
    arrays.push(array);
    bySym.set(sym, array);
  }
  return { arrays, bySym, dynamic: model.scopes.syms.filter((sym) => sym.kind === 'dynamic') };
}

/** The declarators of a declaration, all of which are shared arrays, because in C++ the qualifiers apply to every declarator. */
export function declaratorsOf(declaration: SyntaxNode): SyntaxNode[] {
  return namedChildren(declaration).filter((each) => each.field === 'declarator');
}
