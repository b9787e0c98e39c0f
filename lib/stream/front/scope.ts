// Names in scope for a piece of code.
import type { Parameter } from '../ast.ts';
import type { NameSymbol, Owner } from './checked.ts';

/** Parameters in an order in which lengths of arrays come before the arrays, wherever they stand: `(float[n] a, int n)`. */
export function byNeed(parameters: readonly Parameter[]): readonly Parameter[] {
  const isArray = ({ type }: Parameter): boolean => type.kind === 'array';
  return [...parameters.filter((one) => !isArray(one)), ...parameters.filter(isArray)];
}

/** Names of one block; what it does not have is looked up in what is around it. */
export class Scope {
  readonly parent: Scope | undefined;
  readonly owner: Owner;
  private readonly names = new Map<string, NameSymbol>();

  constructor(parent: Scope | undefined, owner: Owner) {
    this.parent = parent;
    this.owner = owner;
  }

  own(name: string): NameSymbol | undefined { return this.names.get(name); }

  lookup(name: string): NameSymbol | undefined {
    let symbol = this.names.get(name);
    for (let scope = this.parent; symbol === undefined && scope !== undefined; scope = scope.parent) symbol = scope.names.get(name);
    return symbol;
  }

  add(symbol: NameSymbol): void { this.names.set(symbol.name, symbol); }

  /** All names in reach. */
  * all(): Generator<string> {
    yield* this.names.keys();
    for (let scope = this.parent; scope !== undefined; scope = scope.parent) yield* scope.names.keys();
  }

  /** Symbols of this block alone. */
  symbols(): Iterable<NameSymbol> { return this.names.values(); }
}
