// Grammar of declarations: streams, structs, sections of constants, native and helper packages.
import type { IToken } from 'chevrotain';
import type {
  Declarator, Expression, FunctionDeclaration, HelperDeclaration, NativeDeclaration, Parameter, Rate, Rates, StaticDeclaration,
  StreamDeclaration, StreamKind, StructDeclaration, TypeNode,
} from '../ast.ts';
import { ParseStop, type ParseContext } from './parser-base.ts';
import { arrayOf } from './parser-expressions.ts';
import { StatementParser } from './parser-statements.ts';
import { syntaxRules } from './syntax-rules.ts';
import {
  Arrow, Comma, Identifier, LeftBrace, LeftBracket, LeftParen, Primitive, RateWord, RightBrace, RightBracket,
  RightParen, Semicolon, Star, StreamWord, WorkWord, word,
} from './tokens.ts';

/** Declarations of a program as they come. */
export interface Declarations {
  readonly streams: StreamDeclaration[];
  readonly structs: StructDeclaration[];
  readonly statics: StaticDeclaration[];
  readonly natives: NativeDeclaration[];
  readonly helpers: HelperDeclaration[];
}

type RateName = keyof Rates;
type Members = { fields: Declarator[]; functions: FunctionDeclaration[] };
type Ends = { readonly input: TypeNode | undefined; readonly output: TypeNode | undefined };
const kNoRates: Rates = { push: undefined, pop: undefined, peek: undefined };

/** The whole grammar. */
export class StreamParser extends StatementParser {
  private out: Declarations = { streams: [], structs: [], statics: [], natives: [], helpers: [] };

  readonly program = this.RULE('program', (): void => {
    const declarations = () => this.MANY(() => { this.attempt(() => { this.SUBRULE(this.topLevel); }); });
    declarations();
    while (!this.recording && Number.isFinite(this.LA(1).startOffset)) {
      this.attempt(() => this.fail(syntaxRules.declaration));
      if (this.LA(1).tokenType === RightBrace) this.SKIP_TOKEN();
      declarations();
    }
  });

  readonly topLevel = this.RULE('topLevel', (): void => this.OR([
    { ALT: () => this.out.structs.push(this.SUBRULE(this.struct)) },
    { ALT: () => this.out.statics.push(this.SUBRULE(this.static)) },
    { ALT: () => this.out.natives.push(this.SUBRULE(this.native)) },
    { GATE: () => this.atHelpers(), ALT: () => this.out.helpers.push(this.SUBRULE(this.helpers)) },
    { GATE: () => this.atConstants(), ALT: () => this.out.statics.push(this.SUBRULE(this.constants)) },
    { GATE: () => this.atFunction(), ALT: () => this.keepGlobal(this.SUBRULE(this.helper)) },
    { ALT: () => this.out.streams.push(this.SUBRULE(this.stream)) },
    { ALT: () => { this.CONSUME(Semicolon); } },
    { ALT: () => this.fail(syntaxRules.declaration) },
  ]) as void);

  readonly struct = this.RULE('struct', (): StructDeclaration => {
    const first = this.CONSUME(word.struct);
    const name = this.CONSUME(Identifier).image;
    const open = this.CONSUME(LeftBrace);
    const fields: Parameter[] = [];
    this.list(open, () => {
      this.MANY(() => { this.attempt(() => { this.SUBRULE(this.structField, { ARGS: [fields] }); }); });
    }, syntaxRules.type);
    this.CONSUME(RightBrace);
    return { kind: 'struct', name, fields, span: this.span(first) };
  });

  readonly structField = this.RULE('structField', (fields: Parameter[]): void => {
    const variables = this.SUBRULE(this.variables);
    if (!this.recording) {
      for (const { type, name, span, value } of variables) {
        if (value !== undefined) this.report(syntaxRules.structValue, value.span);
        fields.push({ type, name, span });
      }
    }
    this.semicolon();
  });

  readonly static = this.RULE('static', (): StaticDeclaration => {
    const first = this.CONSUME(word.static);
    const open = this.CONSUME(LeftBrace);
    const members: Members = { fields: [], functions: [] };
    this.list(open, () => {
      this.MANY(() => {
        this.attempt(() => this.OR([
          { ALT: () => { members.functions.push(this.SUBRULE(this.init)); } },
          { ALT: () => { this.SUBRULE(this.field, { ARGS: [members.fields] }); } },
        ]));
      });
    }, syntaxRules.type);
    this.CONSUME(RightBrace);
    this.once(members.functions);
    return { kind: 'static', fields: members.fields, init: members.functions[0], span: this.span(first) };
  });

  /** Constants of the program outside of a section: a section of their own. */
  readonly constants = this.RULE('constants', (): StaticDeclaration => {
    const first = this.LA(1);
    const fields: Declarator[] = [];
    this.SUBRULE(this.field, { ARGS: [fields] });
    return { kind: 'static', fields, init: undefined, span: this.span(first) };
  });

  readonly field = this.RULE('field', (fields: Declarator[]): void => {
    const variables = this.SUBRULE(this.variables);
    this.semicolon();
    if (!this.recording) fields.push(...variables);
  });

  readonly native = this.RULE('native', (): NativeDeclaration => {
    const first = this.CONSUME(word.native);
    const name = this.CONSUME(Identifier).image;
    this.CONSUME(LeftBrace);
    const functions: NativeDeclaration['functions'][number][] = [];
    this.MANY(() => {
      const begin = this.LA(1);
      const result = this.SUBRULE(this.type);
      const functionName = this.CONSUME1(Identifier).image;
      const parameters = this.SUBRULE(this.parameters);
      functions.push({ name: functionName, result, parameters, span: this.span(begin) });
      this.semicolon();
    });
    this.CONSUME(RightBrace);
    return { kind: 'native', name, functions, span: this.span(first) };
  });

  /** `helper` is a word only here. */
  readonly helpers = this.RULE('helpers', (): HelperDeclaration => {
    const first = this.CONSUME(Identifier);
    const name = this.CONSUME1(Identifier).image;
    const open = this.CONSUME(LeftBrace);
    const functions: FunctionDeclaration[] = [];
    this.list(open, () => {
      this.MANY(() => {
        this.attempt(() => { functions.push(this.SUBRULE(this.helper)); });
      });
    }, syntaxRules.type);
    this.CONSUME(RightBrace);
    return { kind: 'helpers', name, functions, span: this.span(first) };
  });

  readonly stream = this.RULE('stream', (): StreamDeclaration => {
    const first = this.LA(1);
    const before = this.OPTION(() => this.CONSUME(word.stateful));
    const ends = this.SUBRULE(this.ends);
    const stateful = (this.OPTION2(() => this.CONSUME1(word.stateful)) ?? before) !== undefined;
    const kind = this.CONSUME(StreamWord).image as StreamKind;
    const name = this.CONSUME(Identifier);
    const parameters = this.OPTION1(() => this.SUBRULE(this.parameters)) ?? [];
    return this.SUBRULE(this.streamBody, { ARGS: [first, name, { kind, name: name.image, ends, stateful, parameters }] });
  });

  protected readonly anonymous = this.RULE('anonymous', (): StreamDeclaration => {
    const first = this.LA(1);
    const ends = this.OPTION(() => this.SUBRULE(this.ends)) ?? { input: undefined, output: undefined };
    const stateful = this.OPTION1(() => this.CONSUME(word.stateful)) !== undefined;
    const at = this.CONSUME(StreamWord);
    const kind = at.image as StreamKind;
    return this.SUBRULE(this.streamBody, { ARGS: [first, at, { kind, name: '', ends, stateful, parameters: [] }] });
  });

  readonly ends = this.RULE('ends', (): Ends => {
    const input = this.SUBRULE(this.type);
    this.CONSUME(Arrow);
    const output = this.SUBRULE1(this.type);
    return { input, output };
  });

  readonly streamBody = this.RULE('streamBody', (first: IToken, at: IToken, head: {
    kind: StreamKind; name: string; ends: Ends; stateful: boolean; parameters: readonly Parameter[];
  }): StreamDeclaration => {
    const filter = this.OR<Members | undefined>([
      { GATE: () => head.kind === 'filter', ALT: () => this.SUBRULE(this.filterBody) },
      { GATE: () => head.kind !== 'filter', ALT: () => undefined },
    ]);
    const body = filter === undefined || this.recording ? this.SUBRULE(this.block) : undefined;
    if (this.recording) return undefined!;
    const common = { name: head.name, ...head.ends, parameters: head.parameters, at: this.at(at), span: this.span(first) };
    if (head.kind !== 'filter') return { ...common, kind: head.kind, body: body! };
    return { ...common, kind: 'filter', stateful: head.stateful, ...filter! };
  });

  readonly filterBody = this.RULE('filterBody', (): Members => {
    const open = this.CONSUME(LeftBrace);
    const members: Members = { fields: [], functions: [] };
    this.list(open, () => {
      this.MANY(() => { this.attempt(() => { this.SUBRULE(this.member, { ARGS: [members] }); }); });
    }, syntaxRules.member);
    this.CONSUME(RightBrace);
    this.once(members.functions);
    return members;
  });

  readonly member = this.RULE('member', (members: Members): void => this.OR([
    { ALT: () => this.keep(members, this.SUBRULE(this.init)) },
    { ALT: () => this.keep(members, this.SUBRULE(this.work)) },
    { ALT: () => this.keep(members, this.SUBRULE(this.handler)) },
    { GATE: () => this.atFunction(), ALT: () => this.keep(members, this.SUBRULE(this.helper)) },
    { ALT: () => { this.SUBRULE(this.field, { ARGS: [members?.fields] }); } },
    { ALT: () => { this.CONSUME(Semicolon); } },
  ]) as void);

  readonly init = this.RULE('init', (): FunctionDeclaration => {
    const first = this.CONSUME(word.init);
    this.OPTION(() => { this.SUBRULE(this.noParameters); });
    const body = this.SUBRULE(this.block);
    return { kind: 'init', name: '', result: undefined, parameters: [], rates: kNoRates, body, span: this.span(first) };
  });

  readonly work = this.RULE('work', (): FunctionDeclaration => {
    const first = this.CONSUME(WorkWord);
    const kind = first.image as 'work' | 'prework';
    this.OPTION(() => { this.SUBRULE(this.noParameters); });
    const rates = this.SUBRULE(this.rates);
    const body = this.SUBRULE(this.block);
    return { kind, name: '', result: undefined, parameters: [], rates, body, span: this.span(first) };
  });

  /** `()` or `(void)` behind `init`, `work` and `prework`, which take nothing. */
  readonly noParameters = this.RULE('noParameters', (): void => {
    this.CONSUME(LeftParen);
    this.OPTION({ GATE: () => this.LA(1).image === 'void', DEF: () => { this.CONSUME(Primitive); } });
    this.CONSUME(RightParen);
  });

  /** A function with the type of its result. */
  readonly helper = this.RULE('helper', (): FunctionDeclaration => {
    const first = this.LA(1);
    const type = this.SUBRULE(this.type);
    const name = this.CONSUME(Identifier).image;
    return this.SUBRULE(this.functionRest, { ARGS: ['helper', first, name, type] });
  });

  readonly handler = this.RULE('handler', (): FunctionDeclaration => {
    const first = this.CONSUME(word.handler);
    const result = this.OPTION(() => this.primitiveVoid(this.CONSUME(Primitive)));
    const name = this.CONSUME(Identifier).image;
    return this.SUBRULE(this.functionRest, { ARGS: ['handler', first, name, result] });
  });

  readonly functionRest = this.RULE('functionRest', (
    kind: 'helper' | 'handler', first: IToken, name: string, result: TypeNode | undefined,
  ): FunctionDeclaration => {
    const parameters = this.SUBRULE(this.parameters);
    const rates = this.SUBRULE(this.rates);
    const body = this.SUBRULE(this.block);
    return { kind, name, result, parameters, rates, body, span: this.recording ? undefined! : this.span(first) };
  });

  readonly parameters = this.RULE('parameters', (): Parameter[] => {
    const list: Parameter[] = [];
    this.CONSUME(LeftParen);
    const isNothing = () => this.LA(1).image === 'void' && this.LA(2).tokenType === RightParen;
    this.OPTION({ GATE: isNothing, DEF: () => { this.CONSUME(Primitive); } });
    this.MANY_SEP({
      SEP: Comma,
      DEF: () => {
        const first = this.LA(1);
        const written = this.SUBRULE(this.type);
        const name = this.CONSUME(Identifier).image;
        const lengths = this.SUBRULE(this.dimensions);
        const type = this.recording || lengths.length === 0 ? written : arrayOf(written, lengths, this.span(first));
        list.push({ type, name, span: this.span(first) });
      },
    });
    this.CONSUME(RightParen);
    return list;
  });

  readonly rates = this.RULE('rates', (): Rates => {
    const rates: { -readonly [K in RateName]: Rate | undefined } = { ...kNoRates };
    this.MANY(() => {
      const token = this.CONSUME(RateWord);
      const rate = this.SUBRULE(this.rate);
      if (this.recording) return;
      const name = token.image as RateName;
      if (rates[name] !== undefined) this.report(syntaxRules.rateTwice, this.at(token), { rate: name });
      rates[name] = rate;
    });
    return rates;
  });

  /** A number, `*` for any, or `[low, high]` or `[low, average, high]`. */
  readonly rate = this.RULE('rate', (): Rate => {
    const first = this.LA(1);
    return this.OR<Rate>([
      { ALT: () => ({ kind: 'dynamic', low: undefined, high: undefined, span: this.at(this.CONSUME(Star)) }) },
      {
        ALT: () => {
          this.CONSUME(LeftBracket);
          const bounds: (Expression | undefined)[] = [this.SUBRULE(this.bound)];
          this.AT_LEAST_ONE(() => {
            this.CONSUME(Comma);
            bounds.push(this.SUBRULE1(this.bound));
          });
          this.CONSUME(RightBracket);
          return { kind: 'dynamic', low: bounds[0], high: bounds.at(-1), span: this.span(first) };
        },
      },
      { ALT: () => ({ kind: 'static', value: this.SUBRULE(this.expression), span: this.span(first) }) },
    ]);
  });

  constructor() {
    super();
    this.performSelfAnalysis();
  }

  /** Parses a file whose tokens are `context.tokens`, adding its declarations to `out`. All errors go to the reporter. */
  parseFile(context: ParseContext, out: Declarations): void {
    this.begin(context);
    this.out = out;
    this.input = [...context.tokens];
    try {
      this.program();
    } catch (error) {
      if (!(error instanceof ParseStop)) throw error;
    } finally {
      this.input = [];
    }
  }

  /** Functions outside of streams are one package without a name. */
  private keepGlobal(declaration: FunctionDeclaration): void {
    if (this.recording) return;
    const found = this.out.helpers.find(({ name }) => name === '');
    if (found !== undefined) (found.functions as FunctionDeclaration[]).push(declaration);
    else this.out.helpers.push({ kind: 'helpers', name: '', functions: [declaration], span: declaration.span });
  }

  private keep(members: Members, declaration: FunctionDeclaration): void {
    if (!this.recording) members.functions.push(declaration);
  }

  /** A filter has one init, one work and at most one prework. */
  private once(functions: readonly FunctionDeclaration[]): void {
    const seen = new Set<string>();
    for (const { kind, span } of this.recording ? [] : functions) {
      if (kind === 'helper' || kind === 'handler') continue;
      if (seen.has(kind)) this.report(syntaxRules.workTwice, { ...span, end: span.start + kind.length }, { name: kind });
      seen.add(kind);
    }
  }

  private primitiveVoid(token: IToken): TypeNode { return { kind: 'primitive', name: 'void', span: this.at(token) }; }

  private atHelpers(): boolean {
    return this.LA(1).image === 'helper' && this.LA(2).tokenType === Identifier && this.LA(3).tokenType === LeftBrace;
  }

  /** A type, a name and what can follow the name of a variable. */
  private atConstants(): boolean {
    const from = this.LA(1).image === 'const' ? 2 : 1;
    const { tokenType } = this.LA(from);
    const name = tokenType === Primitive || tokenType === Identifier ? this.behindBrackets(from + 1) : undefined;
    if (name === undefined || this.LA(name).tokenType !== Identifier) return false;
    const { image } = this.LA(name + 1);
    return ['=', ';', ',', '['].includes(image);
  }

  /** A type, a name and a parenthesis follow. */
  private atFunction(): boolean {
    const name = this.behindBrackets(this.LA(1).tokenType === word.portal ? 5 : 2);
    return name !== undefined && this.LA(name).tokenType === Identifier && this.LA(name + 1).tokenType === LeftParen;
  }
}
