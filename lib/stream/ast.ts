// The syntax tree of a StreamIt program, as the parser leaves it: names not yet resolved, types not yet known.

/** Place of a piece of source: offsets of its first character and after its last one, and the file's number in the program. */
export interface Span {
  readonly file: number;
  readonly start: number;
  readonly end: number;
}

export const primitiveNames = [
  'bit', 'boolean', 'int', 'float', 'double', 'complex', 'float2', 'float3', 'float4', 'void', 'string',
] as const;
export type PrimitiveName = (typeof primitiveNames)[number];

/** A type as written. `float[8][4]` is 8 rows of 4: an array of 8 whose element is an array of 4. */
export type TypeNode = { readonly span: Span } & (
  | { readonly kind: 'primitive'; readonly name: PrimitiveName }
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'array'; readonly element: TypeNode; /** Absent in `int[]`. */ readonly length: Expression | undefined }
  | { readonly kind: 'portal'; readonly receiver: string });

export const binaryOperators = [
  '+', '-', '*', '/', '%', '<<', '>>', '&', '|', '^', '==', '!=', '<', '<=', '>', '>=', '&&', '||',
] as const;
export type BinaryOperator = (typeof binaryOperators)[number];
export const unaryOperators = ['-', '+', '!', '~'] as const;
export type UnaryOperator = (typeof unaryOperators)[number];

/** Expressions. */
export type Expression = { readonly span: Span } & (
  | { readonly kind: 'int'; /** Wrapped to 32 bits. */ readonly value: number; /** As written in decimal,
    where an int cannot hold it. */ readonly wide?: number }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'imaginary'; readonly value: number }
  | { readonly kind: 'boolean'; readonly value: boolean }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'character'; readonly value: number }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'index'; readonly array: Expression; readonly index: Expression }
  | { readonly kind: 'field'; readonly object: Expression; readonly field: string }
  /** `name(args)`; `package.name` for functions of a native or helper package. */
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: 'peek'; readonly index: Expression }
  | { readonly kind: 'pop' }
  | { readonly kind: 'iter' }
  | { readonly kind: 'unary'; readonly operator: UnaryOperator; readonly operand: Expression }
  /** `x++` and its like inside an expression; as a statement of its own it is the statement `increment`. */
  | { readonly kind: 'increment'; readonly target: Expression; readonly by: 1 | -1; readonly position: 'prefix' | 'postfix' }
  | { readonly kind: 'binary'; readonly operator: BinaryOperator; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'conditional'; readonly condition: Expression; readonly then: Expression; readonly otherwise: Expression }
  | { readonly kind: 'cast'; readonly type: TypeNode; readonly operand: Expression }
  | { readonly kind: 'array-literal'; readonly elements: readonly Expression[] });

/** One declared variable of a declaration. */
export interface Declarator {
  readonly span: Span;
  readonly type: TypeNode;
  readonly name: string;
  readonly value: Expression | undefined;
}

export const assignmentOperators = ['=', '+=', '-=', '*=', '/=', '%=', '<<=', '>>=', '&=', '|=', '^='] as const;
export type AssignmentOperator = (typeof assignmentOperators)[number];

/** Latency of a message: bounds in firings, each absent where `*` or nothing stands. */
export interface MessageLatency {
  readonly low: Expression | undefined;
  readonly high: Expression | undefined;
}

export type SplitPolicy = { readonly span: Span } & (
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'roundrobin'; readonly weights: readonly Expression[] });

/** What `add`, `body` and `loop` make. `portals`: names after `to`. */
export type Creator = { readonly span: Span; readonly portals: readonly string[] } & (
  | { readonly kind: 'named'; readonly name: string; readonly type: TypeNode | undefined; readonly args: readonly Expression[] }
  | { readonly kind: 'anonymous'; readonly stream: StreamDeclaration });

/** Statements of functions and, those of graphs among them, of bodies of composites. */
export type Statement = { readonly span: Span } & (
  | { readonly kind: 'block'; readonly statements: readonly Statement[] }
  | { readonly kind: 'declare'; readonly variables: readonly Declarator[] }
  | { readonly kind: 'assign'; readonly target: Expression; readonly operator: AssignmentOperator; readonly value: Expression }
  | { readonly kind: 'increment'; readonly target: Expression; readonly by: 1 | -1 }
  | { readonly kind: 'expression'; readonly value: Expression }
  | { readonly kind: 'push'; readonly value: Expression }
  | { readonly kind: 'if'; readonly condition: Expression; readonly then: Statement; readonly otherwise: Statement | undefined }
  | { readonly kind: 'while'; readonly condition: Expression; readonly body: Statement }
  | { readonly kind: 'do'; readonly condition: Expression; readonly body: Statement }
  | {
    readonly kind: 'for'; readonly initial: Statement | undefined; readonly condition: Expression | undefined;
    readonly step: Statement | undefined; readonly body: Statement;
  }
  | { readonly kind: 'break' }
  | { readonly kind: 'continue' }
  | { readonly kind: 'return'; readonly value: Expression | undefined }
  | { readonly kind: 'empty' }
  | { readonly kind: 'add' | 'body' | 'loop'; readonly creator: Creator }
  | { readonly kind: 'split' | 'join'; readonly policy: SplitPolicy }
  | { readonly kind: 'enqueue'; readonly value: Expression }
  | {
    readonly kind: 'message'; readonly portal: string; readonly handler: string; readonly args: readonly Expression[];
    readonly latency: MessageLatency | undefined;
  });

/** A declared rate: constant, or bounds of a dynamic one (absent: `*`). */
export type Rate = { readonly span: Span } & (
  | { readonly kind: 'static'; readonly value: Expression }
  | { readonly kind: 'dynamic'; readonly low: Expression | undefined; readonly high: Expression | undefined });

export interface Rates {
  readonly push: Rate | undefined;
  readonly pop: Rate | undefined;
  readonly peek: Rate | undefined;
}

export interface Parameter {
  readonly span: Span;
  readonly type: TypeNode;
  readonly name: string;
}

/** A function of a filter: `init`, `work`, `prework`, a helper, or a handler of messages. */
export interface FunctionDeclaration {
  readonly kind: 'init' | 'work' | 'prework' | 'helper' | 'handler';
  readonly span: Span;
  /** '' for init, work and prework. */
  readonly name: string;
  readonly result: TypeNode | undefined;
  readonly parameters: readonly Parameter[];
  readonly rates: Rates;
  readonly body: Extract<Statement, { kind: 'block' }>;
}

export type StreamKind = 'filter' | 'pipeline' | 'splitjoin' | 'feedbackloop';

interface StreamHead {
  readonly span: Span;
  /** Span of the name, or of the keyword of an anonymous stream; for messages. */
  readonly at: Span;
  /** '' for anonymous streams. */
  readonly name: string;
  /** Absent for an anonymous composite without types. */
  readonly input: TypeNode | undefined;
  readonly output: TypeNode | undefined;
  readonly parameters: readonly Parameter[];
}

export interface FilterDeclaration extends StreamHead {
  readonly kind: 'filter';
  /** The word `stateful` stood before; only a comment. */
  readonly stateful: boolean;
  readonly fields: readonly Declarator[];
  readonly functions: readonly FunctionDeclaration[];
}

export interface CompositeDeclaration extends StreamHead {
  readonly kind: 'pipeline' | 'splitjoin' | 'feedbackloop';
  readonly body: Extract<Statement, { kind: 'block' }>;
}

export type StreamDeclaration = FilterDeclaration | CompositeDeclaration;

export interface StructDeclaration {
  readonly kind: 'struct';
  readonly span: Span;
  readonly name: string;
  readonly fields: readonly Parameter[];
}

/** `static { … }`: constants of the whole program. */
export interface StaticDeclaration {
  readonly kind: 'static';
  readonly span: Span;
  readonly fields: readonly Declarator[];
  readonly init: FunctionDeclaration | undefined;
}

/** `native name { functions }`: declared signatures of foreign functions. */
export interface NativeDeclaration {
  readonly kind: 'native';
  readonly span: Span;
  readonly name: string;
  readonly functions: readonly {
    readonly span: Span; readonly name: string; readonly result: TypeNode; readonly parameters: readonly Parameter[];
  }[];
}

/** `helper name { functions }`, called `name.function(...)` or `function(...)`; without a name those outside all streams */
export interface HelperDeclaration {
  readonly kind: 'helpers';
  readonly span: Span;
  readonly name: string;
  readonly functions: readonly FunctionDeclaration[];
}

/** All files of a program together. */
export interface Program {
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly streams: readonly StreamDeclaration[];
  readonly structs: readonly StructDeclaration[];
  readonly statics: readonly StaticDeclaration[];
  readonly natives: readonly NativeDeclaration[];
  readonly helpers: readonly HelperDeclaration[];
}
