// Random syntax trees that the grammar can make, and random soups of tokens, for property tests.
import fc from 'fast-check';
import type {
  BinaryOperator, Creator, Declarator, Expression, FunctionDeclaration, Parameter, Program, Rate, Rates, Statement, StreamDeclaration, TypeNode,
} from '../../../lib/stream/ast.ts';
import { assignmentOperators, binaryOperators, unaryOperators } from '../../../lib/stream/ast.ts';

const span = { file: 0, start: 0, end: 0 };
const of = <T>(value: T) => ({ ...value, span });
const name = fc.constantFrom('a', 'b1', 'count', '_x', 'Foo', 'helper', 'iterations', 'String2');
const capital = fc.constantFrom('A', 'Bank', 'Source', 'LowPass', 'identity', 'FileReader');
const whole = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }));
const real = fc.double({ min: 0, noNaN: true });
const text = fc.string({ unit: fc.constantFrom('a', ' ', '"', "'", '\\', '\n', '\t', '{', '//', 'é', '\u0000'), maxLength: 6 });
const times = <T>(item: fc.Arbitrary<T>, least: number, most: number) => fc.array(item, { minLength: least, maxLength: most });

/** Expressions without elements between braces. */
export const { expression } = fc.letrec<{ expression: Expression; place: Expression }>((tie) => ({
  expression: fc.oneof({ maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    whole.map((value) => of({ kind: 'int' as const, value })),
    real.map((value) => of({ kind: 'float' as const, value })),
    real.map((value) => of({ kind: 'imaginary' as const, value })),
    fc.boolean().map((value) => of({ kind: 'boolean' as const, value })),
    text.map((value) => of({ kind: 'string' as const, value })),
    fc.constantFrom(...'a"\'\\ \n').map((value) => of({ kind: 'character' as const, value: value.charCodeAt(0) })),
    name.map((value) => of({ kind: 'name' as const, name: value })),
    fc.constantFrom<Expression>(of({ kind: 'pop' as const }), of({ kind: 'iter' as const })),
    tie('expression').map((index) => of({ kind: 'peek' as const, index })),
    fc.record({ array: tie('expression'), index: tie('expression') }).map((node) => of({ kind: 'index' as const, ...node })),
    fc.record({ object: tie('expression'), field: name }).map((node) => of({ kind: 'field' as const, ...node })),
    fc.record({ name: fc.oneof(name, fc.constant('pack.sine')), args: times(tie('expression'), 0, 3) })
      .map((node) => of({ kind: 'call' as const, ...node })),
    fc.record({ operator: fc.constantFrom(...unaryOperators), operand: tie('expression') }).map((node) => of({ kind: 'unary' as const, ...node })),
    fc.record({ operator: fc.constantFrom<BinaryOperator>(...binaryOperators), left: tie('expression'), right: tie('expression') })
      .map((node) => of({ kind: 'binary' as const, ...node })),
    fc.record({ condition: tie('expression'), then: tie('expression'), otherwise: tie('expression') })
      .map((node) => of({ kind: 'conditional' as const, ...node })),
    fc.record({ name: fc.constantFrom('int' as const, 'float' as const, 'complex' as const), operand: tie('expression') })
      .map(({ name: type, operand }) => of({ kind: 'cast' as const, type: of({ kind: 'primitive' as const, name: type }), operand })),
    fc.record({ target: tie('place'), by: fc.constantFrom(1 as const, -1 as const), position: fc.constantFrom('prefix' as const, 'postfix' as const) })
      .map((node) => of({ kind: 'increment' as const, ...node })),
  ) as fc.Arbitrary<Expression>,
  place: fc.oneof({ maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    name.map((value) => of({ kind: 'name' as const, name: value })),
    fc.record({ array: tie('place'), index: tie('expression') }).map((node) => of({ kind: 'index' as const, ...node })),
    fc.record({ object: tie('place'), field: name }).map((node) => of({ kind: 'field' as const, ...node })),
  ) as fc.Arbitrary<Expression>,
}));

const place = fc.oneof(
  name.map((value): Expression => of({ kind: 'name' as const, name: value })),
  fc.record({ index: expression, base: name })
    .map(({ index, base }): Expression => of({ kind: 'index' as const, array: of({ kind: 'name' as const, name: base }), index })),
);

const element: fc.Arbitrary<TypeNode> = fc.oneof(
  fc.constantFrom('int', 'float', 'bit', 'boolean', 'complex', 'double', 'string', 'float4').map((value) =>
    of({ kind: 'primitive' as const, name: value as 'int' })),
  capital.map((value) => of({ kind: 'named' as const, name: value })),
  capital.map((receiver) => of({ kind: 'portal' as const, receiver })),
);
const lengths = fc.array(fc.option(expression, { nil: undefined, freq: 4 }), { maxLength: 2 });
const arrays = (type: TypeNode, list: readonly (Expression | undefined)[]): TypeNode =>
  list.reduceRight<TypeNode>((inner, length) => of({ kind: 'array' as const, element: inner, length }), type);
const type = fc.tuple(element, fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, lengths)).map(([inner, list]) => arrays(inner, list));
const end = fc.oneof(type.filter(({ kind }) => kind !== 'portal'), fc.constant<TypeNode>(of({ kind: 'primitive' as const, name: 'void' as const })));

const initialiser = fc.oneof({ weight: 4, arbitrary: expression },
  { weight: 1, arbitrary: times(expression, 0, 3).map((elements): Expression => of({ kind: 'array-literal' as const, elements })) });
const optional = <T>(item: fc.Arbitrary<T>) => fc.option(item, { nil: undefined });
/** Variables of one declaration share the innermost type. */
const declaration = fc.tuple(element, times(fc.record({ name, lengths, value: optional(initialiser) }), 1, 3)).map(([inner, items]): Declarator[] =>
  items.map(({ name: title, lengths: list, value }) => of({ type: arrays(inner, list), name: title, value })));
const block = (statements: readonly Statement[]) => of({ kind: 'block' as const, statements });

const simple: fc.Arbitrary<Statement> = fc.oneof(
  declaration.map((variables): Statement => of({ kind: 'declare' as const, variables })),
  fc.record({ target: place, operator: fc.constantFrom(...assignmentOperators), value: initialiser })
    .map((node): Statement => of({ kind: 'assign' as const, ...node })),
  fc.record({ target: place, by: fc.constantFrom(1 as const, -1 as const) }).map((node): Statement => of({ kind: 'increment' as const, ...node })),
  fc.record({ name, args: times(expression, 0, 2) })
    .map((node): Statement => of({ kind: 'expression' as const, value: of({ kind: 'call' as const, ...node }) })),
  expression.map((value): Statement => of({ kind: 'push' as const, value })),
  fc.constantFrom('break' as const, 'continue' as const, 'empty' as const).map((kind): Statement => of({ kind })),
  optional(expression).map((value): Statement => of({ kind: 'return' as const, value })),
  fc.record({ portal: name, handler: name, args: times(expression, 0, 2), latency: optional(fc.record({ low: optional(expression), high: optional(expression) })) })
    .map((node): Statement => of({ kind: 'message' as const, ...node })),
);
const nested = (inner: fc.Arbitrary<Statement>): fc.Arbitrary<Statement> => {
  const body = times(inner, 0, 3).map(block);
  return fc.oneof({ weight: 4, arbitrary: inner }, { weight: 1, arbitrary: body as fc.Arbitrary<Statement> },
    { weight: 1, arbitrary: fc.record({ condition: expression, then: body, otherwise: optional(body) }).map((node): Statement => of({ kind: 'if' as const, ...node })) },
    { weight: 1, arbitrary: fc.record({ condition: expression, body }).map((node): Statement => of({ kind: 'while' as const, ...node })) },
    { weight: 1, arbitrary: fc.record({ condition: expression, body }).map((node): Statement => of({ kind: 'do' as const, ...node })) },
    { weight: 1, arbitrary: fc.record({
      initial: optional(declaration.map((variables): Statement => of({ kind: 'declare' as const, variables }))), condition: optional(expression),
      step: optional(fc.record({ target: place, by: fc.constant(1 as const) }).map((node): Statement => of({ kind: 'increment' as const, ...node }))), body,
    }).map((node): Statement => of({ kind: 'for' as const, ...node })) });
};
const statement = nested(nested(simple));
const body = times(statement, 0, 4).map(block) as fc.Arbitrary<Extract<Statement, { kind: 'block' }>>;

const rate: fc.Arbitrary<Rate> = fc.oneof(expression.map((value): Rate => of({ kind: 'static' as const, value })),
  fc.record({ low: optional(expression), high: optional(expression) }).map((node): Rate => of({ kind: 'dynamic' as const, ...node })));
const rates: fc.Arbitrary<Rates> = fc.record({ push: optional(rate), pop: optional(rate), peek: optional(rate) });
const none: Rates = { push: undefined, pop: undefined, peek: undefined };
const parameters: fc.Arbitrary<Parameter[]> = times(fc.record({ type, name }).map((node) => of(node)), 0, 3);
const voidType: TypeNode = of({ kind: 'primitive' as const, name: 'void' as const });
const helper = fc.record({ name, parameters, rates, body, result: fc.oneof(type, fc.constant(voidType)) })
  .map((node): FunctionDeclaration => of({ kind: 'helper' as const, ...node }));
const handler = fc.record({ name, parameters, rates, body }).map((node): FunctionDeclaration => of({ kind: 'handler' as const, result: undefined, ...node }));
const plain = (kind: 'init' | 'work' | 'prework') => fc.record({ rates: kind === 'init' ? fc.constant(none) : rates, body })
  .map((node): FunctionDeclaration => of({ kind, name: '', result: undefined, parameters: [], ...node }));
const functions = fc.tuple(fc.array(plain('init'), { maxLength: 1 }), fc.array(plain('prework'), { maxLength: 1 }), fc.array(plain('work'), { maxLength: 1 }),
  times(fc.oneof(helper, handler), 0, 2)).map((lists) => lists.flat());

const filter = fc.record({
  input: end, output: end, stateful: fc.boolean(), fields: times(declaration, 0, 2).map((lists) => lists.flat()), functions,
});
const filterOf = (title: string, list: readonly Parameter[]) => filter.map((node): StreamDeclaration =>
  of({ kind: 'filter' as const, name: title, parameters: list, at: span, ...node }));
const policy = fc.oneof(fc.constant(of({ kind: 'duplicate' as const })), times(expression, 0, 3).map((weights) => of({ kind: 'roundrobin' as const, weights })));
const named: fc.Arbitrary<Creator> = fc.record({ name: capital, type: optional(type), args: times(expression, 0, 3), portals: times(name, 0, 2) })
  .map((node) => of({ kind: 'named' as const, ...node }));
const anonymous = fc.record({ stream: filterOf('', []), portals: times(name, 0, 1) }).map((node): Creator => of({ kind: 'anonymous' as const, ...node }));
const graph: fc.Arbitrary<Statement> = fc.oneof({ weight: 3, arbitrary: simple }, { weight: 1, arbitrary: fc.record({
  kind: fc.constantFrom('add' as const, 'body' as const, 'loop' as const), creator: fc.oneof({ weight: 4, arbitrary: named }, { weight: 1, arbitrary: anonymous }),
}).map((node): Statement => of(node)) }, { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('split' as const, 'join' as const), policy })
  .map((node): Statement => of(node)) }, { weight: 1, arbitrary: expression.map((value): Statement => of({ kind: 'enqueue' as const, value })) });
const composite = fc.record({
  kind: fc.constantFrom('pipeline' as const, 'splitjoin' as const, 'feedbackloop' as const), name: capital, input: end, output: end, parameters,
  body: times(nested(graph), 0, 4).map(block) as typeof body,
}).map((node): StreamDeclaration => of({ at: span, ...node }));
const stream = fc.oneof(fc.tuple(capital, parameters).chain(([title, list]) => filterOf(title, list)), composite);

/** Trees that some source text has. */
export const program: fc.Arbitrary<Program> = fc.record({
  files: fc.constant([{ name: 'a', text: '' }]), streams: times(stream, 0, 2),
  structs: times(fc.record({ kind: fc.constant('struct' as const), name: capital, fields: parameters }).map((node) => of(node)), 0, 1),
  statics: times(fc.record({ kind: fc.constant('static' as const), fields: declaration, init: optional(plain('init')) }).map((node) => of(node)), 0, 1),
  // The call `pack.sine(…)` as a statement is one of a function, not a message, since the package is declared.
  natives: fc.constant([of({ kind: 'native' as const, name: 'pack', functions: [] })]),
  helpers: times(fc.record({ kind: fc.constant('helpers' as const), name: capital, functions: times(helper, 0, 2) }).map((node) => of(node)), 0, 1),
});

const pieces = [
  'void', 'int', 'float', '->', 'filter', 'pipeline', 'splitjoin', 'feedbackloop', 'work', 'init', 'prework', 'push', 'pop', 'peek', '(', ')', '{', '}', '[', ']',
  ';', ',', '=', '+', '-', '*', '<', '>', '<<', '++', '?', ':', '.', '!', 'add', 'split', 'join', 'duplicate', 'roundrobin', 'body', 'loop', 'enqueue', 'for',
  'while', 'do', 'if', 'else', 'return', 'break', 'static', 'struct', 'native', 'helper', 'handler', 'portal', 'to', 'stateful', 'x', 'Foo', '1', '2.5', '3i',
  '0xff', '"s"', "'c'", 'true', 'pi', 'void->void filter F { work { ', '} }', 'int->int pipeline P { ', '/*', '//', '\n', '"', '@',
];

/** Tokens in any order. */
export const soup = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((list) => list.join(' '));

/** Any text: ASCII, other planes, halves of surrogate pairs, control characters. */
export const bytes = fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 }).map((codes) => String.fromCharCode(...codes)));

/** Source text with one piece taken out, doubled, swapped or replaced. */
export const broken = (source: string) => fc.tuple(fc.nat(source.length), fc.nat(20), fc.constantFrom('cut', 'double', 'replace', 'reverse'), fc.constantFrom(...pieces))
  .map(([at, length, how, piece]) => {
    const part = source.slice(at, at + length);
    const middle = { cut: '', double: part + part, replace: piece, reverse: [...part].reverse().join('') }[how]!;
    return source.slice(0, at) + middle + source.slice(at + length);
  });
