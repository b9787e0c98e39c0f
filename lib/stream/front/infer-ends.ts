// Types of the ends of anonymous filters that leave them out: what they do with the channels says which ends they have, their neighbours
// (or else what they push) of which type.
import type { CompositeDeclaration, Creator, FilterDeclaration, Statement, StreamDeclaration } from '../ast.ts';
import type { Context } from './check-context.ts';
import type { Ends, Target, Type } from './checked.ts';
import { basic, common, constantOf, lengthOf } from './types.ts';
import { childrenOf, eachStatement, ownExpressions } from './walk.ts';

type Side = 'input' | 'output';

/** Where an anonymous stream stands. */
export interface Site {
  readonly owner: CompositeDeclaration;
  readonly creator: Creator;
}

/** Types of a stream's ends: as declared, or as far as they have been inferred. */
export function endsOfStream(context: Context, stream: StreamDeclaration): Ends {
  const { input, output } = stream;
  if (input !== undefined && output !== undefined) return { input: context.resolveType(input), output: context.resolveType(output) };
  return context.inferred.get(stream) ?? { input: basic.unknown, output: basic.unknown };
}

/** Types of the ends of what a creator makes. */
export function endsOfTarget(context: Context, target: Target | undefined): Ends {
  if (target === undefined) return { input: basic.unknown, output: basic.unknown };
  if (target.kind === 'stream') return endsOfStream(context, target.declaration);
  return {
    input: target.kind === 'reader' ? basic.void : target.element, output: target.kind === 'writer' ? basic.void : target.element,
  };
}

/** Which ends a filter has: those that a rate is declared for or that its code uses. */
function usesOf({ functions }: FilterDeclaration): { input: boolean; output: boolean } {
  const uses = { input: false, output: false };
  const visit = (node: Parameters<typeof childrenOf>[0]): void => {
    if (node.kind === 'pop' || node.kind === 'peek') uses.input = true;
    childrenOf(node).forEach(visit);
  };
  for (const { rates, body } of functions) {
    for (const name of ['push', 'pop', 'peek'] as const) {
      const rate = rates[name];
      if (rate === undefined || (rate.kind === 'static' && constantOf(rate.value) === 0)) continue;
      uses[name === 'push' ? 'output' : 'input'] = true;
    }
    eachStatement(body, (statement) => {
      if (statement.kind === 'push') uses.output = true;
      ownExpressions(statement).forEach(visit);
    });
  }
  return uses;
}

const opposite = (side: Side): Side => (side === 'input' ? 'output' : 'input');

/** A type that means the same wherever it stands: lengths are literal numbers. */
const isPlain = (type: Type): boolean =>
  (type.kind === 'array' ? lengthOf(type) !== undefined && isPlain(type.element) : type.kind !== 'unknown');

function childrenIn(composite: CompositeDeclaration): Extract<Statement, { kind: 'add' | 'body' | 'loop' }>[] {
  const found: Extract<Statement, { kind: 'add' | 'body' | 'loop' }>[] = [];
  eachStatement(composite.body, (node) => { if (node.kind === 'add' || node.kind === 'body' || node.kind === 'loop') found.push(node); });
  return found;
}

/** Looks at the surroundings of anonymous streams. */
class Surroundings {
  private readonly context: Context;
  /** Streams that are being looked at. */
  private readonly active = new Set<StreamDeclaration>();

  constructor(context: Context) {
    this.context = context;
  }

  /** The type that the neighbours of an anonymous stream give its end. */
  around(stream: StreamDeclaration, side: Side): Type | undefined {
    const site = this.context.sites.get(stream);
    if (site === undefined) return undefined;
    const { owner, creator } = site;
    const children = childrenIn(owner);
    const at = children.findIndex((node) => node.creator === creator);
    if (owner.kind === 'pipeline') {
      const next = children[at + (side === 'input' ? -1 : 1)];
      return next === undefined ? this.of(owner, side) : this.made(next.creator, opposite(side));
    }
    if (children[at]?.kind === 'loop') return this.of(owner, opposite(side)) ?? this.beside(children, at, opposite(side));
    const own = this.of(owner, side);
    return own !== undefined && own.kind !== 'void' ? own : this.beside(children, at, owner.kind === 'splitjoin' ? side : opposite(side));
  }

  /** What the other branches of a splitjoin, or the other part of a loop, have there. */
  private beside(children: readonly { creator: Creator }[], at: number, side: Side): Type | undefined {
    const types = children.filter((_, index) => index !== at).map(({ creator }) => this.made(creator, side));
    return types.find((type) => type !== undefined && type.kind !== 'void');
  }

  /** The end of what a creator makes. */
  private made(creator: Creator, side: Side): Type | undefined {
    if (creator.kind === 'anonymous') return this.of(creator.stream, side);
    const [declared] = this.context.streams.get(creator.name) ?? [];
    if (declared !== undefined) return this.of(declared, side);
    const isVoid = creator.name === (side === 'input' ? 'FileReader' : 'FileWriter');
    return isVoid ? basic.void : creator.type === undefined ? undefined : this.context.resolveType(creator.type);
  }

  /** The end of a stream: declared, inferred before, or that of the streams inside. */
  private of(stream: StreamDeclaration, side: Side): Type | undefined {
    const known = endsOfStream(this.context, stream)[side];
    if (known.kind !== 'unknown') return isPlain(known) ? known : undefined;
    if (stream.kind === 'filter' || this.active.has(stream)) return undefined;
    this.active.add(stream);
    const children = childrenIn(stream);
    const [first, last] = [children.at(0)?.creator, children.at(-1)?.creator];
    const end = side === 'input' ? first : last;
    const inside = stream.kind === 'pipeline' ? (end === undefined ? undefined : this.made(end, side)) : this.beside(children, -1, side);
    const found = inside ?? this.around(stream, side);
    this.active.delete(stream);
    return found;
  }
}

/** Gives an anonymous filter without types those that its surroundings tell. */
export function inferBefore(context: Context, filter: FilterDeclaration): void {
  const uses = usesOf(filter);
  const surroundings = new Surroundings(context);
  const end = (side: Side): Type => {
    if (!uses[side]) return basic.void;
    const found = surroundings.around(filter, side);
    return found === undefined || found.kind === 'void' ? basic.unknown : found;
  };
  context.inferred.set(filter, { input: end('input'), output: end('output') });
}

/** An output that nobody around it tells has the type of what is pushed. Returns whether both ends are known. */
export function inferAfter(context: Context, filter: FilterDeclaration): boolean {
  const ends = context.inferred.get(filter)!;
  const types = context.pushed.get(filter) ?? [];
  const pushed = types.reduce<Type | undefined>((all, one) => (all === undefined ? undefined : common(all, one)), types[0]);
  const output = ends.output.kind === 'unknown' && pushed !== undefined && isPlain(pushed) ? pushed : ends.output;
  context.inferred.set(filter, { input: ends.input, output });
  return ends.input.kind !== 'unknown' && output.kind !== 'unknown';
}
