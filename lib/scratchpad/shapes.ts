// Determines which part of which shared array an expression designates.
import type { KernelArrays, SharedArray } from './arrays.ts';
import type { Instance, Shape } from './effects.ts';
import type { Library } from './model.ts';
import { Refusal } from './refusal.ts';
import type { Sym } from './symbols.ts';
import { child, namedChildren, partOf, type SyntaxNode } from './syntax.ts';

function deeper(shape: Shape | undefined, by: number): Shape | undefined {
  if (shape === undefined || shape.dimensions + by < 0) return undefined;
  return { ...shape, dimensions: shape.dimensions + by };
}

/** Pointers and places in the shared arrays of one kernel. */
export class Shapes {
  readonly library: Library;
  readonly arrays: readonly SharedArray[];
  readonly #bySym: ReadonlyMap<Sym, SharedArray>;

  constructor(library: Library, { arrays, bySym }: KernelArrays) {
    this.library = library;
    this.arrays = arrays;
    this.#bySym = bySym;
  }

  /** Whether a name declares a shared array of the kernel. */
  isArray(sym: Sym): boolean {
    return this.#bySym.has(sym);
  }

  /** Whether a name denotes a shared array or a part of one. */
  isShared(sym: Sym, instance: Instance): boolean {
    return sym.kind === 'shared' || this.isArray(sym) || instance.bindings.has(sym) || this.alias(sym, instance) !== undefined;
  }

  /** The part of a shared array that an expression designates, if any. Records no effects. */
  peek(node: SyntaxNode, instance: Instance): Shape | undefined {
    switch (node.type) {
      case 'identifier': return this.named(node, instance);
      case 'parenthesized_expression': {
        const [inner, ...others] = namedChildren(node);
        return inner !== undefined && others.length === 0 ? this.peek(inner, instance) : undefined;
      }
      case 'subscript_expression': return deeper(this.peek(partOf(node, 'argument'), instance), -1);
      case 'pointer_expression':
        return deeper(this.peek(partOf(node, 'argument'), instance), instance.model.text(node).startsWith('&') ? 1 : -1);
      case 'field_expression': return this.#fieldShape(node, instance);
      case 'binary_expression': return this.#arithmetic(node, instance);
      default: return undefined;
    }
  }

  /** What a name denotes. */
  named(node: SyntaxNode, instance: Instance): Shape | undefined {
    const sym = instance.model.use(node);
    if (sym === undefined) return undefined;
    const array = this.#bySym.get(sym);
    if (array !== undefined) return { array: array.index, dimensions: array.extents.length, type: array.type, fields: array.fields };
    return instance.bindings.get(sym) ?? this.alias(sym, instance);
  }

  /** What a local pointer or reference denotes, according to its initial value. */
  alias(sym: Sym, instance: Instance): Shape | undefined {
    if (instance.aliases.has(sym)) return instance.aliases.get(sym);
    instance.aliases.set(sym, undefined);
    if (sym.kind !== 'variable' || sym.value === undefined || sym.dimensions > 1
      || sym.declaration.type === 'for_range_loop') return undefined;
    const shape = this.peek(sym.value, instance);
    if (shape === undefined || (shape.dimensions === 0 && !sym.reference)) return undefined;
    if (/\bvolatile\b/.test(instance.model.text(sym.declaration))) {
      throw new Refusal('volatile-shared', sym.node, `${sym.name} makes shared memory volatile`);
    }
    instance.aliases.set(sym, shape);
    return shape;
  }

  #fieldShape(node: SyntaxNode, instance: Instance): Shape | undefined {
    const object = this.peek(partOf(node, 'argument'), instance);
    const arrow = node.children.some((each) => each.type === '->');
    if (object === undefined || object.dimensions !== (arrow ? 1 : 0)) return undefined;
    if (!arrow && object.type.endsWith('*')) return undefined;
    const name = child(node, 'field');
    const field = name === undefined ? undefined : object.fields?.get(instance.model.text(name));
    if (field === undefined) return { ...object, dimensions: 0, type: 'element', fields: undefined };
    return {
      array: object.array, dimensions: field.dimensions, type: field.pointer ? `${field.type}*` : field.type,
      fields: this.library.program.struct(field.type)?.fields,
    };
  }

  #arithmetic(node: SyntaxNode, instance: Instance): Shape | undefined {
    const operator = child(node, 'operator')?.type;
    if (operator !== '+' && operator !== '-') return undefined;
    const left = this.peek(partOf(node, 'left'), instance);
    const right = this.peek(partOf(node, 'right'), instance);
    const isLeft = (left?.dimensions ?? 0) > 0;
    const isRight = (right?.dimensions ?? 0) > 0;
    if (isLeft && !isRight) return left;
    return isRight && !isLeft && operator === '+' ? right : undefined;
  }
}
