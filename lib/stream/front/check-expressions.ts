// Types of expressions, conversions, and what names in them stand for.
import type { Expression, Span, TypeNode } from '../ast.ts';
import { didYouMean } from '../../core/similar.ts';
import type { Rule } from '../diagnostics.ts';
import { checkCall, counted } from './check-calls.ts';
import type { Context, Place } from './check-context.ts';
import type { Expressions, Frame } from './check-frame.ts';
import { checkOperator, checkUnary } from './check-operators.ts';
import { endsOfStream } from './infer-ends.ts';
import { checkRules } from './check-rules.ts';
import type { NameSymbol, Type } from './checked.ts';
import {
  basic, castable, common, constantOf, converts, describe, fitsBit, isComplex, isNumeric, isScalar, isUnknown, isWhole, lengthOf, rankOf,
} from './types.ts';

type Of<K extends Expression['kind']> = Extract<Expression, { kind: K }>;

const kParts = ['x', 'y', 'z', 'w'];
const kRounding = new Set(['round', 'rint', 'floor', 'ceil']);

/** Words for a place in messages. */
export function placeName({ kind, function: inside, owner }: Place): string {
  if (kind === 'body') return `the body of a ${owner.kind}`;
  if (owner.kind === 'static') return 'a static section';
  if (owner.kind === 'helpers') return 'a helper package';
  if (kind === 'handler' || kind === 'helper') return `the ${kind === 'helper' ? 'function' : kind} '${inside?.name ?? ''}'`;
  return kind === 'rates' ? 'a rate' : kind;
}

/** Checks expressions and notes their types. */
export class ExpressionChecker implements Expressions {
  readonly context: Context;

  constructor(context: Context) {
    this.context = context;
  }

  /** The type of an expression, which may be void. */
  type(node: Expression, frame: Frame): Type {
    const type = this.compute(node, frame);
    this.context.types.set(node, type);
    return type;
  }

  /** The type of an expression that must have a value. */
  value(node: Expression, frame: Frame): Type {
    const type = this.type(node, frame);
    if (type.kind !== 'void') return type;
    this.context.report(checkRules.noValue, node.span);
    return basic.unknown;
  }

  /** Checks that an expression converts to a type by itself. */
  convert(node: Expression, to: Type, frame: Frame): void {
    if (node.kind === 'array-literal') {
      this.literal(node, to, frame);
      return;
    }
    this.requireConversion(node, this.value(node, frame), to);
  }

  /** Reports a value of type `from` that does not convert to `to` by itself. */
  requireConversion(node: Expression, from: Type, to: Type): void {
    this.meet(node, to);
    if (converts(from, to) || isUnknown(to)) return;
    if (isScalar(to, 'bit') && fitsBit(node, (part) => this.context.types.get(part) ?? basic.unknown)) return;
    const [found, expected] = [describe(from), describe(to)];
    if (isScalar(to, 'int') && node.kind === 'call' && kRounding.has(node.name) && rankOf(from) > 0) {
      this.context.report(checkRules.rounded, node.span, { name: node.name });
    } else if (isNumeric(from) && isNumeric(to)) {
      this.context.report(checkRules.narrow, node.span, { found, expected });
    } else if (from.kind === 'scalar' && to.kind === 'scalar') {
      this.context.report(checkRules.booleanNumber, node.span, { found, expected });
    } else {
      const hint = isComplex(from) && isNumeric(to) ? 'take its .real or .imag' : undefined;
      this.context.report(checkRules.mismatch, node.span, { found, expected }, hint);
    }
  }

  /** A literal has the value that is written where a type that holds it is wanted. */
  meet(node: Expression, to: Type): void {
    if (to.kind === 'vector' || isScalar(to, 'float') || isScalar(to, 'double')) {
      if (node.kind === 'int' && node.wide !== undefined) this.context.wide.set(node, true);
      else if (node.kind === 'unary' && node.operator !== '!' && node.operator !== '~') this.meet(node.operand, to);
    }
  }

  /** Elements between braces for a place of a type. */
  private literal(node: Of<'array-literal'>, to: Type, frame: Frame): Type {
    const element = to.kind === 'array' ? to.element : basic.unknown;
    if (to.kind !== 'array') {
      if (!isUnknown(to)) this.context.report(checkRules.literalPlace, node.span, { expected: describe(to) });
    } else {
      const length = lengthOf(to);
      if (length !== undefined && length !== node.elements.length) {
        const rule = length < node.elements.length ? checkRules.literalCount : checkRules.literalShort;
        this.context.report(rule, node.span, { found: counted(node.elements.length, 'element'), expected: length });
      }
    }
    for (const part of node.elements) this.convert(part, element, frame);
    const type: Type = { kind: 'array', element, length: undefined, count: node.elements.length };
    this.context.types.set(node, type);
    return type;
  }

  /** A boolean, or a number that is compared with 0. */
  condition(node: Expression, frame: Frame): void {
    const type = this.value(node, frame);
    if (isUnknown(type) || isScalar(type, 'boolean')) return;
    const rule = isNumeric(type) ? checkRules.intCondition : checkRules.condition;
    this.context.report(rule, node.span, { found: describe(type) });
  }

  /** An int where indices, rates, weights and latencies stand. */
  whole(node: Expression, frame: Frame, rule: Rule): void {
    const type = this.value(node, frame);
    if (!isUnknown(type) && !isWhole(type)) this.context.report(rule, node.span, { found: describe(type) });
  }

  /** A type as written, its lengths checked where it stands. */
  written(node: TypeNode, frame: Frame): Type {
    for (let part = node; part.kind === 'array'; part = part.element) {
      if (part.length === undefined) continue;
      const type = this.value(part.length, frame);
      const length = constantOf(part.length);
      if (!isUnknown(type) && !isWhole(type)) this.context.report(checkRules.length, part.length.span, { found: describe(type) });
      else if (length !== undefined && length < 1) this.context.report(checkRules.length, part.length.span, { found: length });
    }
    return this.context.resolveType(node);
  }

  /** The left side of an assignment. `reads`: its old value is used, too. */
  target(node: Expression, frame: Frame, reads: boolean): Type {
    let root = node;
    while (root.kind === 'index' || root.kind === 'field') root = root.kind === 'index' ? root.array : root.object;
    if (root.kind !== 'name') {
      this.value(node, frame);
      return basic.unknown;
    }
    const known = this.resolve(root, frame);
    const before = known !== undefined && this.context.read.has(known);
    const type = this.value(node, frame);
    if (known === undefined) return type;
    if (!before && !reads) this.context.read.delete(known);
    this.requireChangeable(known, root.span, frame.place);
    return type;
  }

  private requireChangeable(symbol: NameSymbol, span: Span, place: Place): void {
    const { name, kind, owner } = symbol;
    const tell = (what: string, hint: string) => this.context.report(checkRules.constant, span, { name, what, hint });
    if (symbol.type.kind === 'portal') tell('a portal', 'portals get their receivers by add … to');
    else if (kind === 'parameter' && owner !== place.owner) tell('a parameter of the enclosing stream', 'copy it to a variable');
    else if (kind === 'static' && owner !== place.owner) tell('a constant of the program', 'only the init of its static section sets it');
    else if (kind === 'local' && owner !== place.owner) tell('a variable of the enclosing stream', 'copy it to a field');
  }

  /** What a name stands for; reports one that is undefined. */
  resolve(node: Of<'name'>, { scope }: Frame): NameSymbol | undefined {
    const known = this.context.names.get(node);
    if (known !== undefined) return known;
    const symbol = scope.lookup(node.name) ?? this.context.staticField(node.name);
    if (symbol !== undefined) {
      this.context.names.set(node, symbol);
      return symbol;
    }
    const { name, span } = node;
    const what = this.context.streams.has(name) ? 'stream' : this.context.structs.has(name) ? 'struct' : undefined;
    if (what === undefined) {
      const hint = didYouMean(name, [...scope.all(), ...this.context.staticNames(), 'pi', 'true', 'false'], checkRules.name.hint);
      this.context.report(checkRules.name, span, { name }, hint);
    } else {
      const hint = what === 'stream' ? `write add ${name}(…)` : `write ${name} and a variable's name`;
      this.context.report(checkRules.notVariable, span, { name, what, hint });
    }
    return undefined;
  }

  private compute(node: Expression, frame: Frame): Type {
    switch (node.kind) {
      case 'int':
        if (node.wide !== undefined && !this.context.wide.has(node)) this.context.wide.set(node, false);
        return basic.int;
      case 'character': return basic.int;
      case 'float': return basic.float;
      case 'imaginary': return basic.complex;
      case 'boolean': return basic.boolean;
      case 'string': return basic.string;
      case 'name': return this.name(node, frame);
      case 'index': return this.index(node, frame);
      case 'field': return this.field(node, frame);
      case 'call': return checkCall(this, node, frame);
      case 'peek': return this.peek(node, frame);
      case 'pop': return this.tape('pop', node.span, frame);
      case 'iter': return this.iter(node.span, frame);
      case 'unary': return checkUnary(this, node, frame);
      case 'increment': return this.increment(node, frame, true);
      case 'binary': return checkOperator(this, node.operator, node, this.value(node.left, frame), this.value(node.right, frame));
      case 'conditional': return this.conditional(node, frame);
      case 'cast': return this.cast(node, frame);
      case 'array-literal': return this.literal(node, basic.void, frame);
    }
  }

  private name(node: Of<'name'>, frame: Frame): Type {
    const symbol = this.resolve(node, frame);
    if (symbol === undefined) return basic.unknown;
    this.context.read.add(symbol);
    return symbol.type;
  }

  private index(node: Of<'index'>, frame: Frame): Type {
    const array = this.value(node.array, frame);
    this.whole(node.index, frame, checkRules.index);
    if (array.kind !== 'array') {
      if (!isUnknown(array)) this.context.report(checkRules.notArray, node.array.span, { found: describe(array) });
      return basic.unknown;
    }
    const length = lengthOf(array);
    const index = constantOf(node.index);
    if (index !== undefined && (index < 0 || (length !== undefined && length > 0 && index >= length))) {
      const last = length === undefined ? '…' : length - 1;
      this.context.report(checkRules.bounds, node.index.span, { index, length: length ?? 'any length', last });
    }
    return array.element;
  }

  private field(node: Of<'field'>, frame: Frame): Type {
    const object = this.value(node.object, frame);
    const span = { ...node.span, start: node.span.end - node.field.length };
    const missing = (names: readonly string[]) => {
      const otherwise = `its fields are ${names.join(', ')}`;
      this.context.report(checkRules.field, span, { type: describe(object), name: node.field }, didYouMean(node.field, names, otherwise));
      return basic.unknown;
    };
    if (object.kind === 'struct') {
      const found = object.declaration.fields.find(({ name }) => name === node.field);
      return found === undefined ? missing(object.declaration.fields.map(({ name }) => name)) : this.context.resolveType(found.type);
    }
    if (object.kind === 'vector') {
      const names = object.name === 'complex' ? ['real', 'imag'] : kParts.slice(0, Number(object.name.at(-1)));
      return names.includes(node.field) ? basic.float : missing(names);
    }
    if (!isUnknown(object)) this.context.report(checkRules.noFields, node.object.span, { found: describe(object) });
    return basic.unknown;
  }

  /** Reports a use of the channels where there is none; returns the type of their items. */
  tape(operation: 'push' | 'pop' | 'peek', span: Span, { place }: Frame): Type {
    const { owner, kind } = place;
    if (owner.kind !== 'filter') {
      if (kind === 'body') this.context.report(checkRules.outside, span, { operation });
      else this.context.report(checkRules.tapePlace, span, { operation, place: placeName(place) });
      return basic.unknown;
    }
    const ends = endsOfStream(this.context, owner);
    const type = operation === 'push' ? ends.output : ends.input;
    const misplaced = kind === 'init' || kind === 'handler' || kind === 'rates';
    if (misplaced) this.context.report(checkRules.tapePlace, span, { operation, place: placeName(place) });
    if (type.kind !== 'void') return type;
    if (misplaced) return basic.unknown;
    this.context.report(operation === 'push' ? checkRules.pushVoid : checkRules.popVoid, span, { operation });
    return basic.unknown;
  }

  private peek(node: Of<'peek'>, frame: Frame): Type {
    const type = this.tape('peek', node.span, frame);
    this.whole(node.index, frame, checkRules.index);
    const index = constantOf(node.index);
    if (index !== undefined && index < 0) this.context.report(checkRules.peekNegative, node.span, { index });
    return type;
  }

  private iter(span: Span, { place }: Frame): Type {
    if (place.kind !== 'work' && place.kind !== 'prework' && place.kind !== 'helper') {
      this.context.report(checkRules.tapePlace, span, { operation: 'iter()', place: placeName(place) });
    }
    return basic.int;
  }

  /** `x++`; `reads`: its value is used. */
  increment(node: { readonly target: Expression; readonly span: Span; readonly by: 1 | -1 }, frame: Frame, reads: boolean): Type {
    const type = this.target(node.target, frame, reads);
    if (isUnknown(type) || (isNumeric(type) && !isScalar(type, 'bit'))) return type;
    const hint = 'it counts int, float and double variables';
    this.context.report(checkRules.operator, node.span, { operator: node.by === 1 ? '++' : '--', types: describe(type), hint });
    return basic.unknown;
  }

  private conditional(node: Of<'conditional'>, frame: Frame): Type {
    this.condition(node.condition, frame);
    const then = this.value(node.then, frame);
    const otherwise = this.value(node.otherwise, frame);
    const type = common(then, otherwise);
    if (type !== undefined) {
      for (const branch of [node.then, node.otherwise]) this.meet(branch, type);
      return type;
    }
    this.context.report(checkRules.incomplete, node.span, { types: `${describe(then)} and ${describe(otherwise)}` });
    return basic.unknown;
  }

  private cast(node: Of<'cast'>, frame: Frame): Type {
    const type = this.written(node.type, frame);
    const from = this.value(node.operand, frame);
    this.meet(node.operand, type);
    if (!isUnknown(from) && !isUnknown(type) && !castable(from, type)) {
      this.context.report(checkRules.cast, node.span, { found: describe(from), expected: describe(type) });
    }
    return type;
  }
}
