// Input and output types of anonymous filters that omit them: how they use the channels determines which ends they have, and their
// neighbours (or else what they push) determine the types.
import { required } from '../../core/known.ts';
import type { CompositeDeclaration, Creator, FilterDeclaration, Statement, StreamDeclaration } from '../ast.ts';
import type { Context } from './check-context.ts';
import type { Ends, Target, Type } from './checked.ts';
import { basic, common, constantOf, lengthOf } from './types.ts';
import { childrenOf, eachStatement, ownExpressions } from './walk.ts';

type Side = 'input' | 'output';

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

type Child = Extract<Statement, { kind: 'add' | 'body' | 'loop' }>;
const children = new WeakMap<CompositeDeclaration, readonly Child[]>();

/** What a composite adds, in the order of the source. */
function childrenIn(composite: CompositeDeclaration): readonly Child[] {
  let found = children.get(composite);
  if (found === undefined) {
    const list: Child[] = [];
    eachStatement(composite.body, (node) => { if (node.kind === 'add' || node.kind === 'body' || node.kind === 'loop') list.push(node); });
    children.set(composite, found = list);
  }
  return found;
}

/** The end of a stream as declared or inferred before, or else that of the streams inside. */
function inside(context: Context, stream: StreamDeclaration, side: Side): Type | undefined {
  const known = endsOfStream(context, stream)[side];
  if (known.kind !== 'unknown') return isPlain(known) ? known : undefined;
  if (stream.kind === 'filter') return undefined;
  const parts = childrenIn(stream);
  if (stream.kind !== 'pipeline') return firstOf(context, parts, side);
  const end = side === 'input' ? parts[0] : parts.at(-1);
  return end === undefined ? undefined : made(context, end.creator, side);
}

/** The end of what a creator makes. */
function made(context: Context, creator: Creator, side: Side): Type | undefined {
  if (creator.kind === 'anonymous') return inside(context, creator.stream, side);
  const [declared] = context.streams.get(creator.name) ?? [];
  if (declared !== undefined) return inside(context, declared, side);
  const isVoid = creator.name === (side === 'input' ? 'FileReader' : 'FileWriter');
  return isVoid ? basic.void : creator.type === undefined ? undefined : context.resolveType(creator.type);
}

/** Branches that are asked for a type: where so many leave it out, the others do as well. */
const kBranches = 100;

/** The first type that some of these have there. */
function firstOf(context: Context, parts: readonly Child[], side: Side, except?: Creator): Type | undefined {
  for (const { creator } of parts.slice(0, kBranches)) {
    if (creator === except) continue;
    const type = made(context, creator, side);
    if (type !== undefined && type.kind !== 'void') return type;
  }
  return undefined;
}

/** The type that the surroundings give the end of an anonymous stream: its neighbours, or those of the streams around it. */
function around(context: Context, stream: StreamDeclaration, side: Side): Type | undefined {
  const site = context.sites.get(stream);
  if (site === undefined) return undefined;
  const { owner, creator } = site;
  const own = (end: Side): Type | undefined => {
    const known = endsOfStream(context, owner)[end];
    return known.kind === 'unknown' ? around(context, owner, end) : isPlain(known) ? known : undefined;
  };
  const parts = childrenIn(owner);
  if (owner.kind === 'splitjoin') return notVoid(own(side)) ?? firstOf(context, parts, side, creator);
  const at = parts.findIndex((node) => node.creator === creator);
  if (owner.kind === 'pipeline') {
    const next = parts[at + (side === 'input' ? -1 : 1)];
    return next === undefined ? own(side) : made(context, next.creator, opposite(side));
  }
  // What goes round a loop has the type of the body's other end, which is that of the loop's own.
  return notVoid(own(parts[at]?.kind === 'loop' ? opposite(side) : side)) ?? firstOf(context, parts, opposite(side), creator);
}

const notVoid = (type: Type | undefined): Type | undefined => (type?.kind === 'void' ? undefined : type);

/** Gives an anonymous filter without types those that its surroundings tell. */
export function inferBefore(context: Context, filter: FilterDeclaration): void {
  const uses = usesOf(filter);
  const end = (side: Side): Type => {
    if (!uses[side]) return basic.void;
    const found = around(context, filter, side);
    return found === undefined || found.kind === 'void' ? basic.unknown : found;
  };
  context.inferred.set(filter, { input: end('input'), output: end('output') });
}

/** An output that nobody around it tells has the type of what is pushed. Returns whether both ends are known. */
export function inferAfter(context: Context, filter: FilterDeclaration): boolean {
  const ends = required(context.inferred.get(filter));
  const types = context.pushed.get(filter) ?? [];
  const pushed = types.reduce<Type | undefined>((all, one) => (all === undefined ? undefined : common(all, one)), types[0]);
  const output = ends.output.kind === 'unknown' && pushed !== undefined && isPlain(pushed) ? pushed : ends.output;
  context.inferred.set(filter, { input: ends.input, output });
  return ends.input.kind !== 'unknown' && output.kind !== 'unknown';
}
