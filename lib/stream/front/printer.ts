// Syntax trees back to source text.
import { elementAt, required } from '../../core/known.ts';
import type {
  Creator, Declarator, Expression, FunctionDeclaration, HelperDeclaration, MessageLatency, NativeDeclaration, Parameter, Program, Rate,
  Rates, SplitPolicy, Statement, StaticDeclaration, StreamDeclaration, StructDeclaration, TypeNode,
} from '../ast.ts';
import { precedenceOf } from './tokens.ts';

const kUnary = 8;
const kPostfix = 9;

const floatText = (value: number): string => {
  if (value === Math.PI) return 'pi';
  if (!Number.isFinite(value)) return '1e999';
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
};

const charText = (character: string, quote: string): string => {
  const escapes: Readonly<Record<string, string>> = {
    '\n': '\\n', '\t': '\\t', '\r': '\\r', '\0': '\\0', '\b': '\\b', '\f': '\\f', '\\': '\\\\',
  };
  return character === quote ? `\\${quote}` : escapes[character] ?? character;
};

/** Binding strength of an expression: operators 1 to 7, `?:` 0, prefixes 8, everything else 9. */
function strengthOf(node: Expression): number {
  switch (node.kind) {
    case 'conditional': return 0;
    case 'binary': return precedenceOf(node.operator);
    case 'unary': case 'cast': return kUnary;
    case 'increment': return node.position === 'prefix' ? kUnary : kPostfix;
    // A negative constant is no literal of the language.
    case 'int': case 'float': case 'imaginary': return node.value < 0 ? kUnary : kPostfix;
    default: return kPostfix;
  }
}

const enclosed = (node: Expression, strength: number): string =>
  (strengthOf(node) < strength ? `(${printExpression(node)})` : printExpression(node));

/** A prefix apart from an operand that begins with the same sign: `- -x`. */
const prefixed = (prefix: string, operand: string): string =>
  (operand.startsWith(prefix.charAt(0)) ? `${prefix} ${operand}` : prefix + operand);

const list = (args: readonly Expression[]): string => args.map(printExpression).join(', ');

/** What stands before `[` or `.`; `1.x` would be a number. */
const base = (node: Expression): string =>
  (['int', 'float', 'imaginary'].includes(node.kind) ? `(${printExpression(node)})` : enclosed(node, kPostfix));

/** Ints print as bit patterns where they are negative, so that one token is one token. */
const intText = (value: number): string => (value < 0 ? `0x${(value >>> 0).toString(16)}` : String(value));

/** Source text of an expression, with as few parentheses as it needs. */
export function printExpression(node: Expression): string {
  switch (node.kind) {
    case 'int': return node.wide === undefined || node.wide === Infinity ? intText(node.value) : BigInt(node.wide).toString();
    case 'float': return floatText(node.value);
    case 'imaginary': return `${floatText(node.value)}i`;
    case 'boolean': return String(node.value);
    case 'string': return `"${Array.from(node.value, (character) => charText(character, '"')).join('')}"`;
    case 'character': return `'${charText(String.fromCharCode(node.value), "'")}'`;
    case 'name': return node.name;
    case 'index': return `${base(node.array)}[${printExpression(node.index)}]`;
    case 'field': return `${base(node.object)}.${node.field}`;
    case 'call': return `${node.name}(${list(node.args)})`;
    case 'peek': return `peek(${printExpression(node.index)})`;
    case 'pop': return 'pop()';
    case 'iter': return 'iter()';
    case 'unary': return prefixed(node.operator, enclosed(node.operand, kUnary));
    case 'increment': {
      const sign = node.by === 1 ? '++' : '--';
      return node.position === 'prefix' ? prefixed(sign, enclosed(node.target, kPostfix)) : enclosed(node.target, kPostfix) + sign;
    }
    case 'binary': {
      const strength = precedenceOf(node.operator);
      return `${enclosed(node.left, strength)} ${node.operator} ${enclosed(node.right, strength + 1)}`;
    }
    case 'conditional':
      return `${enclosed(node.condition, 1)} ? ${printExpression(node.then)} : ${printExpression(node.otherwise)}`;
    case 'cast': return `(${printType(node.type)})${enclosed(node.operand, kUnary)}`;
    case 'array-literal': return `{${list(node.elements)}}`;
  }
}

/** Source text of a type. */
export function printType(node: TypeNode): string {
  let lengths = '';
  let element = node;
  for (; element.kind === 'array'; element = element.element) {
    lengths += `[${element.length === undefined ? '' : printExpression(element.length)}]`;
  }
  return (element.kind === 'portal' ? `portal<${element.receiver}>` : element.name) + lengths;
}

/** Variables of one declaration; where their types differ, lengths stand behind the names. */
function printDeclaration(variables: readonly Declarator[]): string {
  const types = variables.map(({ type }) => printType(type));
  const first = elementAt(types, 0);
  const alike = types.every((type) => type === first);
  const bracket = first.indexOf('[');
  const base = alike || bracket < 0 ? first : first.slice(0, bracket);
  const items = variables.map(({ name, value }, index) => {
    const text = alike ? name : name + elementAt(types, index).slice(base.length);
    return value === undefined ? text : `${text} = ${printExpression(value)}`;
  });
  return `${base} ${items.join(', ')}`;
}

/** Fields: neighbours of one type go into one declaration. */
function printFields(variables: readonly Declarator[]): string[] {
  const lines: string[] = [];
  let last: string | undefined;
  for (const { type, name, value } of variables) {
    const text = value === undefined ? name : `${name} = ${printExpression(value)}`;
    const typeText = printType(type);
    if (typeText === last) lines.push(`${required(lines.pop())}, ${text}`);
    else lines.push(`${typeText} ${text}`);
    last = typeText;
  }
  return lines;
}

const parameters = (items: readonly Parameter[]): string => `(${items.map(({ type, name }) => `${printType(type)} ${name}`).join(', ')})`;

function rateText(rate: Rate): string {
  if (rate.kind === 'static') return printExpression(rate.value);
  const bound = (value: Expression | undefined) => (value === undefined ? '*' : printExpression(value));
  return rate.low === undefined && rate.high === undefined ? '*' : `[${bound(rate.low)}, ${bound(rate.high)}]`;
}

function ratesText(rates: Rates): string {
  return (['push', 'pop', 'peek'] as const).map((name) => (rates[name] === undefined ? '' : ` ${name} ${rateText(rates[name])}`)).join('');
}

const policyText = (policy: SplitPolicy): string =>
  (policy.kind === 'duplicate' ? 'duplicate' : policy.weights.length === 0 ? 'roundrobin' : `roundrobin(${list(policy.weights)})`);

function latencyText(latency: MessageLatency | undefined): string {
  if (latency === undefined) return '';
  const bound = (value: Expression | undefined) => (value === undefined ? '*' : printExpression(value));
  return ` [${bound(latency.low)} : ${bound(latency.high)}]`;
}

/** Writes lines with the indentation of their block. */
class Printer {
  readonly lines: string[] = [];
  private depth = 0;

  line(text: string): void { this.lines.push('  '.repeat(this.depth) + text); }

  inside(open: string, close: string, body: () => void): void {
    this.line(`${open} {`);
    ++this.depth;
    body();
    --this.depth;
    this.line(`}${close}`);
  }

  /** A statement under a head such as `if (x)`. Blocks stay blocks and others stay without braces. */
  under(head: string, statement: Statement): void {
    if (statement.kind === 'block') {
      this.inside(head, '', () => statement.statements.forEach((part) => this.statement(part)));
      return;
    }
    this.line(head);
    ++this.depth;
    this.statement(statement);
    --this.depth;
  }

  statement(node: Statement): void {
    switch (node.kind) {
      case 'block': return this.inside('', '', () => node.statements.forEach((part) => this.statement(part)));
      case 'if': return this.if(node);
      case 'while': return this.under(`while (${printExpression(node.condition)})`, node.body);
      case 'do':
        this.under('do', node.body);
        return this.line(`while (${printExpression(node.condition)});`);
      case 'for': {
        const parts = [node.initial, node.step].map((part) => (part === undefined ? '' : simpleText(part)));
        const condition = node.condition === undefined ? '' : printExpression(node.condition);
        return this.under(`for (${parts[0]}; ${condition}; ${parts[1]})`, node.body);
      }
      case 'add': case 'body': case 'loop': return this.creator(node.kind, node.creator);
      default: return this.line(`${simpleText(node)};`);
    }
  }

  private if(node: Extract<Statement, { kind: 'if' }>): void {
    let head = '';
    let rest: Statement | undefined = node;
    for (; rest?.kind === 'if'; rest = rest.otherwise) {
      // An `if` without `else` under an `if` with one needs braces to keep its own `else`; the parser never makes such a tree.
      this.under(`${head}if (${printExpression(rest.condition)})`, rest.then);
      head = 'else ';
    }
    if (rest !== undefined) this.under('else', rest);
  }

  private creator(word: string, creator: Creator): void {
    const portals = creator.portals.length === 0 ? '' : ` to ${creator.portals.join(', ')}`;
    if (creator.kind === 'anonymous') {
      this.stream(creator.stream, `${word} `, `${portals};`);
      return;
    }
    const type = creator.type === undefined ? '' : `<${printType(creator.type)} >`.replace(/([^>]) >$/, '$1>');
    this.line(`${word} ${creator.name}${type}(${list(creator.args)})${portals};`);
  }

  stream(stream: StreamDeclaration, before = '', after = ''): void {
    const { input, output, kind, name } = stream;
    const types = input === undefined || output === undefined ? '' : `${printType(input)}->${printType(output)} `;
    const stateful = kind === 'filter' && stream.stateful ? 'stateful ' : '';
    const title = name === '' ? '' : ` ${name}${stream.parameters.length === 0 ? '' : parameters(stream.parameters)}`;
    this.inside(`${before}${types}${stateful}${kind}${title}`, after, () => {
      if (stream.kind !== 'filter') {
        for (const statement of stream.body.statements) this.statement(statement);
        return;
      }
      for (const line of printFields(stream.fields)) this.line(`${line};`);
      for (const declaration of stream.functions) this.function(declaration);
    });
  }

  function({ kind, name, result, parameters: items, rates, body }: FunctionDeclaration): void {
    const rate = ratesText(rates);
    const heads = {
      init: 'init', work: `work${rate}`, prework: `prework${rate}`,
      helper: `${result === undefined ? 'void' : printType(result)} ${name}${parameters(items)}${rate}`,
      handler: `handler ${result === undefined ? '' : 'void '}${name}${parameters(items)}${rate}`,
    };
    this.under(heads[kind], body);
  }

  struct({ name, fields }: StructDeclaration): void {
    this.inside(`struct ${name}`, '', () => { for (const field of fields) this.line(`${printType(field.type)} ${field.name};`); });
  }

  static({ fields, init }: StaticDeclaration): void {
    this.inside('static', '', () => {
      for (const line of printFields(fields)) this.line(`${line};`);
      if (init !== undefined) this.function(init);
    });
  }

  native({ name, functions }: NativeDeclaration): void {
    this.inside(`native ${name}`, '', () => {
      for (const { name: title, result, parameters: items } of functions) this.line(`${printType(result)} ${title}${parameters(items)};`);
    });
  }

  helpers({ name, functions }: HelperDeclaration): void {
    const all = () => { for (const declaration of functions) this.function(declaration); };
    if (name === '') all();
    else this.inside(`helper ${name}`, '', all);
  }
}

/** A statement on one line, without its semicolon. */
function simpleText(node: Statement): string {
  switch (node.kind) {
    // The head of a `for` may hold several.
    case 'block': return node.statements.map(simpleText).join(', ');
    case 'declare': return printDeclaration(node.variables);
    case 'assign': return `${printExpression(node.target)} ${node.operator} ${printExpression(node.value)}`;
    case 'increment': return printExpression(node.target) + (node.by === 1 ? '++' : '--');
    case 'expression': return printExpression(node.value);
    case 'push': return `push(${printExpression(node.value)})`;
    case 'enqueue': return `enqueue ${printExpression(node.value)}`;
    case 'split': case 'join': return `${node.kind} ${policyText(node.policy)}`;
    case 'break': case 'continue': return node.kind;
    case 'return': return node.value === undefined ? 'return' : `return ${printExpression(node.value)}`;
    case 'message': return `${node.portal}.${node.handler}(${list(node.args)})${latencyText(node.latency)}`;
    default: return '';
  }
}

/**
 * Source text of a program, its files put together: structs, static sections, native and helper packages, then streams. Parsing it gives
 * the same tree but for spans.
 */
export function print(program: Program): string {
  const printer = new Printer();
  for (const item of program.structs) printer.struct(item);
  for (const item of program.statics) printer.static(item);
  for (const item of program.natives) printer.native(item);
  for (const item of program.helpers) printer.helpers(item);
  for (const item of program.streams) printer.stream(item);
  return `${printer.lines.join('\n')}\n`;
}
