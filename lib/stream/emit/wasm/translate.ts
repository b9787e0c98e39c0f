// Functions of generated JavaScript as functions of WebAssembly. The text is of few forms (see dialect-js.ts) whose types can be read off
// it, so that singles, which JavaScript computes in doubles and rounds, become singles: a sum, difference, product, quotient or root of
// singles, computed in double and rounded once, is the same to the bit.
import { parse, type Expression, type FunctionDeclaration, type Node, type Pattern, type Statement, type VariableDeclaration } from 'acorn';
import { Bytes, type LocalType, type Signature, type WasmFunction, type WasmType } from './binary.ts';
import { ExpressionWriter } from './expressions.ts';
import { QuadWriter } from './quad-writer.ts';
import { planQuads, type QuadLoop } from './quads.ts';
import { plainType, Types, unknown, type Names, type ValueType, type Variable } from './types.ts';

/** What acorn leaves out. */
type Maybe<T> = T | null | undefined;

/** Blocks around the instruction being written. */
interface Frame {
  /** What `break` (with this label, if any) leaves. */
  readonly breaks: 'loop' | 'label' | undefined;
  readonly label: string | undefined;
}

class FunctionTranslator {
  readonly code = new Bytes();
  readonly locals: LocalType[] = [];
  readonly #params: number;
  readonly #result: WasmType | undefined;
  readonly #variables = new Map<string, Variable>();
  readonly #frames: Frame[] = [];
  readonly #types: Types;
  readonly #write: ExpressionWriter;
  readonly #names: Names;
  /** Variables of four lanes. */
  readonly #quads = new Map<string, number>();
  readonly #writeQuad: QuadWriter;

  constructor(names: Names, params: readonly (readonly [string, ValueType])[], result: WasmType | undefined) {
    this.#names = names;
    this.#params = params.length;
    this.#result = result;
    params.forEach(([name, type], local) => this.#variables.set(name, { local, type }));
    this.#types = new Types(names, (name) => this.#variables.get(name)?.type);
    this.#write = new ExpressionWriter({
      names, code: this.code, types: this.#types, variable: (name) => this.#variables.get(name),
      local: (type, name) => this.#declare(name, type).local,
    });
    this.#writeQuad = new QuadWriter({
      code: this.code, write: this.#write, variable: (name) => this.#variables.get(name)!, local: (name) => this.#quad(name),
    });
  }

  #quad(name: string): number {
    let local = this.#quads.get(name);
    if (local === undefined) {
      this.#quads.set(name, local = this.#params + this.locals.length);
      this.locals.push('v');
    }
    return local;
  }

  /** A variable; one of the same name and type, declared in a block before, is taken again. */
  #declare(name: string, type: ValueType): Variable {
    const known = this.#variables.get(name);
    if (known !== undefined && known.type === type && known.local >= this.#params) return known;
    const made = { local: this.#params + this.locals.length, type };
    this.locals.push(plainType(type));
    this.#variables.set(name, made);
    return made;
  }

  body(declaration: FunctionDeclaration, externals: readonly string[]): void {
    for (const name of externals) {
      this.#write.elements.load(`wl_${name}`);
      this.code.set(this.#declare(name, 'i').local);
    }
    this.#all(declaration.body.body);
    // Every path of a function with a result has returned.
    if (this.#result !== undefined) this.code.push(0x00);
  }

  #all(list: readonly Statement[]): void {
    for (const each of list) this.#statement(each);
  }

  #inside(frame: Frame, write: () => void): void {
    this.#frames.push(frame);
    write();
    this.#frames.pop();
    this.code.op('end');
  }

  #statement(s: Statement): void {
    switch (s.type) {
      case 'VariableDeclaration': this.#variable(s); break;
      case 'ExpressionStatement': this.#write.effect(s.expression); break;
      case 'BlockStatement': this.#all(s.body); break;
      case 'EmptyStatement': break;
      case 'IfStatement': this.#branch(s.test, s.consequent, s.alternate); break;
      case 'ForStatement':
        if (s.init?.type === 'VariableDeclaration') this.#variable(s.init);
        this.#loop(s.test, s.body, s.update);
        break;
      case 'LabeledStatement':
        this.code.begin('block');
        this.#inside({ breaks: 'label', label: s.label.name }, () => { this.#statement(s.body); });
        break;
      case 'BreakStatement': this.code.op('br').unsigned(this.#depth(s, s.label?.name)); break;
      case 'ReturnStatement':
        if (s.argument) this.#write.as(s.argument, this.#result!);
        this.code.op('return');
        break;
      default: unknown(s);
    }
  }

  /** How many blocks lie between here and what a break leaves. */
  #depth(s: Node, label: string | undefined): number {
    const at = this.#frames.findLastIndex((frame) =>
      (label === undefined ? frame.breaks === 'loop' : frame.breaks === 'label' && frame.label === label));
    return at < 0 ? unknown(s) : this.#frames.length - 1 - at;
  }

  #variable({ declarations }: VariableDeclaration): void {
    for (const { id, init } of declarations) {
      const type = this.#types.of(init!);
      this.#write.as(init!, type);
      this.code.set(this.#declare(nameOf(id), type).local);
    }
  }

  #branch(test: Expression, then: Statement, otherwise: Maybe<Statement>): void {
    if (then.type === 'BreakStatement' && !otherwise) {
      this.#write.condition(test);
      this.code.op('br_if').unsigned(this.#depth(then, then.label?.name));
      return;
    }
    this.#write.condition(test);
    this.code.begin('if');
    this.#inside({ breaks: undefined, label: undefined }, () => {
      this.#statement(then);
      if (!otherwise) return;
      this.code.op('else');
      this.#statement(otherwise);
    });
  }

  /** A loop that tests at the end of each turn whether there is another. */
  #loop(test: Maybe<Expression>, body: Statement, update: Maybe<Expression>): void {
    const { code } = this;
    const whole = body.type === 'BlockStatement' ? body.body : [body];
    // `for (;;) { if (!c) break; …` is a loop with the condition c.
    const leaves = test ? undefined : conditionToStay(whole[0]);
    const stays = test ?? leaves;
    const statements = leaves === undefined ? whole : whole.slice(1);
    const others = [stays, update].filter((e): e is Expression => Boolean(e));
    const quads = stays ? planQuads(statements, others, this.#names, (name) => this.#variables.get(name)?.type) : undefined;
    if (quads !== undefined) this.#writeQuad.enter(quads);
    code.begin('block');
    this.#inside({ breaks: 'loop', label: undefined }, () => {
      if (stays) {
        this.#write.condition(stays);
        code.op('i32_eqz').op('br_if').unsigned(0);
      }
      code.begin('loop');
      this.#inside({ breaks: undefined, label: undefined }, () => {
        if (quads === undefined) this.#all(statements);
        else this.#quadBody(quads);
        if (update) this.#write.effect(update);
        if (stays) this.#write.condition(stays);
        code.op(stays ? 'br_if' : 'br').unsigned(0);
      });
    });
    if (quads !== undefined) this.#writeQuad.leave(quads);
  }

  #quadBody({ body }: QuadLoop): void {
    for (const each of body) {
      if (each.kind === 'alike') this.#statement(each.statement);
      else this.#writeQuad.set(each.pack, each.value);
    }
  }
}

function conditionToStay(s: Statement | undefined): Expression | undefined {
  if (s?.type !== 'IfStatement' || s.consequent.type !== 'BreakStatement' || s.consequent.label || s.alternate) return undefined;
  return s.test.type === 'UnaryExpression' && s.test.operator === '!' ? s.test.argument : undefined;
}

function nameOf(id: Pattern): string {
  return id.type === 'Identifier' ? id.name : unknown(id);
}

/** The text of a function, and types of its parameters. */
export interface FunctionSource {
  readonly name: string;
  readonly text: string;
  readonly params: readonly ValueType[];
  readonly result?: ValueType;
  /** Arrays of external streams whose places are found when the function begins; further parameters in the text. */
  readonly externals?: readonly string[];
}

export function signatureOf({ params, result }: Pick<FunctionSource, 'params' | 'result'>): Signature {
  return { params: params.map(plainType), result: result === undefined ? undefined : plainType(result) };
}

/** Translates a function. */
export function translate(source: FunctionSource, names: Names): WasmFunction {
  const [declaration] = parse(source.text, { ecmaVersion: 2022 }).body;
  if (declaration?.type !== 'FunctionDeclaration') throw new Error(`${source.name} is no function`);
  const signature = signatureOf(source);
  const params = source.params.map((type, i) => [nameOf(declaration.params[i]!), type] as const);
  const translator = new FunctionTranslator(names, params, signature.result);
  translator.body(declaration as FunctionDeclaration, source.externals ?? []);
  return { name: source.name, signature, locals: translator.locals, code: translator.code };
}
