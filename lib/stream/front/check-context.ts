// What all parts of the checker share: tables of declarations, the maps that become `Checked`, and reports.
import { required } from '../../core/known.ts';
import type {
  CompositeDeclaration, Creator, Declarator, Expression, FilterDeclaration, FunctionDeclaration, HelperDeclaration, NativeDeclaration,
  Parameter, Program, Span, Statement, StaticDeclaration, StreamDeclaration, StructDeclaration, TypeNode,
} from '../ast.ts';
import { didYouMean } from '../../core/similar.ts';
import type { Reporter, Rule } from '../diagnostics.ts';
import { preludeProgram } from './builtins.ts';
import { checkRules } from './check-rules.ts';
import type { Callee, Ends, NameSymbol, Target, Type } from './checked.ts';
import type { Scope } from './scope.ts';
import { basic, constantOf, describe } from './types.ts';

/** Where an anonymous stream stands. */
export interface Site {
  readonly owner: CompositeDeclaration;
  readonly creator: Creator;
}

/** Where code stands; decides what it may do. */
export interface Place {
  /** 'work', 'init', …; 'body' for the body of a composite. */
  readonly kind: FunctionDeclaration['kind'] | 'static' | 'body' | 'rates';
  /** The filter, composite, section or package around. */
  readonly owner: StreamDeclaration | StaticDeclaration | HelperDeclaration;
  readonly function: FunctionDeclaration | undefined;
  /** Loops around, and whether a `break` leaves each. */
  readonly loops: { broken: boolean }[];
}

export interface StaticField {
  readonly symbol: NameSymbol;
  readonly owner: StaticDeclaration;
}

/** Structs in each other; back ends walk them recursively. */
const kStructLevels = 50;

type Values = Readonly<Record<string, string | number>>;

const groupBy = <T extends { readonly name: string }>(items: readonly T[]): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.name);
    if (group === undefined) groups.set(item.name, [item]);
    else group.push(item);
  }
  return groups;
};

/** State of one run of the checker. */
export class Context {
  readonly program: Program;
  readonly reporter: Reporter;
  readonly prelude = preludeProgram();
  readonly streams: ReadonlyMap<string, readonly StreamDeclaration[]>;
  readonly structs: ReadonlyMap<string, readonly StructDeclaration[]>;
  /** Functions of packages, by `name` and by `package.name`; those of the program come before the library's. */
  readonly packaged = new Map<string, { readonly declaration: FunctionDeclaration; readonly owner: HelperDeclaration }>();
  /** The second function of one name in a package, by the first. */
  readonly twice = new Map<FunctionDeclaration, FunctionDeclaration>();
  readonly natives = new Map<string, NativeDeclaration['functions'][number]>();
  /** Set by the checker of sections of constants; looks a name up there. */
  staticField: (name: string) => NameSymbol | undefined = () => undefined;
  staticNames: () => Iterable<string> = () => [];
  /** Set by the checker of expressions: the length of an array in a struct, which sees constants of the program only. */
  checkLength: (length: Expression) => void = () => {};
  /** Set by the checker of streams: a named stream is used. */
  reach: (stream: StreamDeclaration) => void = () => {};
  /** Set by the checker of functions: a packaged function is called. */
  reachFunction: (declaration: FunctionDeclaration, owner: HelperDeclaration) => void = () => {};

  readonly types = new Map<Expression, Type>();
  readonly nodeTypes = new Map<TypeNode, Type>();
  readonly names = new Map<Expression, NameSymbol>();
  readonly declared = new Map<Declarator | Parameter, NameSymbol>();
  readonly callees = new Map<Expression, Callee>();
  readonly targets = new Map<Creator, Target>();
  readonly messages = new Map<Statement, { readonly portal: NameSymbol; readonly handler: FunctionDeclaration }>();
  readonly portals = new Map<Creator, readonly NameSymbol[]>();
  /** Where anonymous streams stand, types of their ends where those are not declared, and what such a filter pushes. */
  readonly sites = new Map<StreamDeclaration, Site>();
  readonly inferred = new Map<StreamDeclaration, Ends>();
  readonly pushed = new Map<FilterDeclaration, readonly Type[]>();
  readonly read = new Set<NameSymbol>();
  /** Literals that no int can hold, and whether something that is no int takes them. */
  readonly wide = new Map<Extract<Expression, { kind: 'int' }>, boolean>();
  readonly fallsOff = new Set<FunctionDeclaration>();
  /** Which functions a function calls, for recursion and for what it does to the channels. */
  readonly calls = new Map<FunctionDeclaration, Map<FunctionDeclaration, Span>>();
  /** Functions that lengths and first values of fields call. */
  readonly calledOutside = new Set<FunctionDeclaration>();
  private readonly checkedStructs = new Set<StructDeclaration>();
  private readonly structQueue: StructDeclaration[] = [];
  /** 0: being measured. */
  private readonly heights = new Map<StructDeclaration, number>();
  private readonly functionsOf = new Map<FilterDeclaration | HelperDeclaration, Map<string, FunctionDeclaration>>();
  private readonly told = new Set<object>();

  constructor(program: Program, reporter: Reporter) {
    this.program = program;
    this.reporter = reporter;
    this.streams = groupBy(program.streams);
    this.structs = groupBy(program.structs);
    for (const owner of [...program.helpers, ...this.prelude.helpers]) {
      for (const declaration of owner.functions) {
        for (const name of [declaration.name, `${owner.name}.${declaration.name}`]) {
          const first = this.packaged.get(name);
          if (first === undefined) this.packaged.set(name, { declaration, owner });
          else if (first.owner === owner && first.declaration !== declaration) this.twice.set(first.declaration, declaration);
        }
      }
    }
    for (const { name: owner, functions } of program.natives) {
      for (const declaration of functions) {
        this.natives.set(declaration.name, declaration);
        this.natives.set(`${owner}.${declaration.name}`, declaration);
      }
    }
  }

  /** Functions of a filter or package that can be called, by name: helpers, and handlers of messages; of two of one name the first. */
  ownFunctions(owner: FilterDeclaration | HelperDeclaration): ReadonlyMap<string, FunctionDeclaration> {
    let own = this.functionsOf.get(owner);
    if (own === undefined) {
      own = new Map();
      for (const declaration of owner.functions) {
        if ((declaration.kind === 'helper' || declaration.kind === 'handler') && !own.has(declaration.name)) own.set(declaration.name,
          declaration);
      }
      this.functionsOf.set(owner, own);
    }
    return own;
  }

  report(rule: Rule, span: Span, values: Values = {}, hint?: string): void {
    this.reporter.report(rule, span, values, hint);
  }

  /** Reports once for an object, such as a declaration. */
  reportOnce(about: object, rule: Rule, span: Span, values: Values = {}, hint?: string): void {
    if (this.told.has(about)) return;
    this.told.add(about);
    this.report(rule, span, values, hint);
  }

  lineOf(span: Span): number { return this.reporter.position(span.file, span.start).line; }

  /** The only stream of that name; reports one that is missing or declared twice. */
  findStream(name: string, span: Span): StreamDeclaration | undefined {
    const [first, second] = this.streams.get(name) ?? [];
    if (first === undefined) {
      this.report(checkRules.stream, span, { name },
        didYouMean(name, [...this.streams.keys(), 'Identity', 'FileReader', 'FileWriter'], checkRules.stream.hint));
    } else if (second !== undefined) {
      const file = this.program.files[first.span.file]?.name ?? '';
      const rule = this.words(first) === this.words(second) ? checkRules.sameStream : checkRules.duplicateStream;
      this.reportOnce(second, rule, second.at, { name, file, line: this.lineOf(first.at) });
    }
    return first;
  }

  /** The text of a declaration with blanks of one kind, to see whether two are the same. */
  private words({ span }: StreamDeclaration): string {
    return (this.program.files[span.file]?.text.slice(span.start, span.end) ?? '').replaceAll(/\s+/g, ' ');
  }

  /** The type that a node of the tree stands for. Lengths are checked by the caller, who knows their scope. */
  resolveType(node: TypeNode): Type {
    const known = this.nodeTypes.get(node);
    if (known !== undefined) return known;
    const type = this.makeType(node);
    this.nodeTypes.set(node, type);
    return type;
  }

  private makeType(node: TypeNode): Type {
    switch (node.kind) {
      case 'primitive': return basic[node.name];
      case 'array': return { kind: 'array', element: this.resolveType(node.element), length: node.length };
      case 'portal': return { kind: 'portal', receiver: this.receiver(node.receiver, node.span) };
      case 'named': {
        const [declaration] = this.structs.get(node.name) ?? [];
        if (declaration !== undefined) {
          this.checkStruct(declaration);
          return { kind: 'struct', declaration };
        }
        const known = ['int', 'float', 'double', 'bit', 'boolean', 'complex', 'void', ...this.structs.keys()];
        this.report(checkRules.type, node.span, { name: node.name }, didYouMean(node.name, known, checkRules.type.hint));
        return basic.unknown;
      }
    }
  }

  private receiver(name: string, span: Span): StreamDeclaration | undefined {
    const stream = this.findStream(name, span);
    if (stream === undefined || stream.kind === 'filter') return stream;
    this.report(checkRules.receiverKind, span, { name });
    return undefined;
  }

  /** Checks a struct where it is first used: its fields, and that it does not hold itself. Structs in it wait for their turn. */
  private checkStruct(first: StructDeclaration): void {
    if (this.checkedStructs.has(first)) return;
    this.checkedStructs.add(first);
    this.structQueue.push(first);
    if (this.structQueue.length > 1) return;
    for (let declaration = this.structQueue[0]; declaration !== undefined; declaration = this.structQueue[0]) {
      this.checkFields(declaration);
      this.heightOf(declaration, 1);
      this.structQueue.shift();
    }
  }

  private checkFields(declaration: StructDeclaration): void {
    const [, second] = required(this.structs.get(declaration.name));
    if (second !== undefined) this.reportOnce(second, checkRules.duplicateType, second.span, { name: declaration.name });
    const names = new Map<string, Parameter>();
    for (const field of declaration.fields) {
      const first = names.get(field.name);
      if (first !== undefined) this.report(checkRules.duplicateName, field.span, { name: field.name, line: this.lineOf(first.span) });
      names.set(field.name, field);
      this.checkFieldType(field);
    }
  }

  /** Levels of structs in a struct, itself included; reports one that holds itself and too many levels. */
  private heightOf(declaration: StructDeclaration, level: number): number {
    const known = this.heights.get(declaration);
    if (known !== undefined) return known;
    this.heights.set(declaration, 0);
    let height = 1;
    for (const { type, span } of declaration.fields) {
      let node = type;
      while (node.kind === 'array') node = node.element;
      const [inner] = node.kind === 'named' ? this.structs.get(node.name) ?? [] : [];
      if (inner === undefined) continue;
      if (this.heights.get(inner) === 0) {
        this.report(checkRules.recursiveStruct, span, { name: inner.name });
        continue;
      }
      height = Math.max(height, level > kStructLevels ? kStructLevels + 1 : this.heightOf(inner, level + 1) + 1);
      if (height > kStructLevels) this.reportOnce(this.heights, checkRules.deepStruct, span, { limit: kStructLevels });
    }
    this.heights.set(declaration, height);
    return height;
  }

  private checkFieldType(field: Parameter): void {
    let node = field.type;
    for (; node.kind === 'array'; node = node.element) {
      const length = node.length === undefined ? undefined : constantOf(node.length);
      if (node.length === undefined) this.report(checkRules.lengthMissing, field.span, { name: field.name });
      else if (length !== undefined && length < 1) this.report(checkRules.length, node.length.span, { found: length });
      else this.checkLength(node.length);
    }
    const type = this.resolveType(node);
    if (type.kind === 'void' || type.kind === 'portal' || type.kind === 'string') {
      const hint = 'fields hold numbers, arrays and structs';
      this.report(checkRules.typeUse, field.span, { type: describe(type), what: 'a field', hint });
    }
    this.resolveType(field.type);
  }

  /** Adds a name to a block; reports it if it is there already or hides another of the same function. */
  declare(scope: Scope, symbol: NameSymbol, visible: NameSymbol | undefined): void {
    const { name, declaration } = symbol;
    const first = scope.own(name);
    this.declared.set(declaration, symbol);
    if (first !== undefined) {
      // A local one may be declared again: the names after it mean the new one.
      const rule = symbol.kind === 'local' && first.kind === 'local' ? checkRules.declaredAgain : checkRules.duplicateName;
      this.report(rule, declaration.span, { name, line: this.lineOf(first.declaration.span) });
      if (rule === checkRules.declaredAgain) scope.add(symbol);
      return;
    }
    if (visible !== undefined && visible.kind !== 'static' && visible.owner === symbol.owner) {
      const what = { local: 'variable', argument: 'parameter', parameter: 'parameter', field: 'field' }[visible.kind];
      this.report(checkRules.hides, declaration.span, { name, what, line: this.lineOf(visible.declaration.span) });
    }
    scope.add(symbol);
  }
}

/** 'the filter Name' or 'an anonymous filter' for messages. */
export const title = (stream: StreamDeclaration): string =>
  (stream.name === '' ? `anonymous ${stream.kind}` : `${stream.kind} '${stream.name}'`);

/** ` 'Name'`, or nothing for an anonymous stream. */
export const quoted = (stream: StreamDeclaration): string => (stream.name === '' ? '' : ` '${stream.name}'`);

export type Filter = FilterDeclaration;
