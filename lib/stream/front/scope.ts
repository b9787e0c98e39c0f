// Names in reach of a piece of code.
import type { NameSymbol, Owner } from './checked.ts';

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
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.parent) { // eslint-disable-line @typescript-eslint/no-this-alias
      const symbol = scope.names.get(name);
      if (symbol !== undefined) return symbol;
    }
    return undefined;
  }

  add(symbol: NameSymbol): void { this.names.set(symbol.name, symbol); }

  /** All names in reach. */
  * all(): Generator<string> {
    for (let scope: Scope | undefined = this; scope !== undefined; scope = scope.parent) yield* scope.names.keys(); // eslint-disable-line @typescript-eslint/no-this-alias
  }

  /** Symbols of this block alone. */
  symbols(): Iterable<NameSymbol> { return this.names.values(); }
}
