// Streams made in TypeScript as a syntax tree, to be checked and elaborated like any program.
import { refusal } from '../../core/errors.ts';
import { elementAt, lastOf, required } from '../../core/known.ts';
import type {
  CompositeDeclaration, Creator, Expression, Program, Span, SplitPolicy, Statement, StreamDeclaration, TypeNode,
} from '../ast.ts';
import type { Diagnostic } from '../diagnostics.ts';
import { parse } from '../front/parser.ts';
import type { AnyStream, Constant, Policy, TypedConstant } from './index.ts';

/** A program for check and elaborate, and what parsing the pieces of text found. */
export interface BuiltProgram {
  readonly program: Program;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * The program whose entry is the stream. Each filter's text is a separate file, named after the filter, so that diagnostics can
 * point into it. Throws ArgumentError for text that is not the body of exactly one filter.
 */
export function toProgram(root: AnyStream): BuiltProgram {
  const maker = new ProgramMaker();
  maker.collect(root);
  return maker.finish(root);
}

interface File {
  readonly name: string;
  readonly text: string;
}

class ProgramMaker {
  readonly #names = new Map<AnyStream, string>();
  readonly #used = new Set<string>();
  readonly #files: File[] = [];
  readonly #filters: { readonly node: AnyStream; readonly file: number }[] = [];
  readonly #composites: AnyStream[] = [];
  readonly #texts = new Set<string>();

  /** Names every stream and collects the texts. */
  collect(node: AnyStream): void {
    if (this.#names.has(node)) return;
    const { parts } = node;
    if (parts.kind === 'declared') {
      this.#names.set(node, parts.stream);
      this.#text(parts.source, `${parts.stream} (source)`);
      return;
    }
    this.#names.set(node, this.#unique(node.name));
    if (parts.kind === 'filter') {
      if (parts.declarations !== '') this.#text(parts.declarations, `${node.name} (declarations)`);
      const parameters = Object.entries(parts.constants).map(([name, { type }]) => `${type} ${name}`).join(', ');
      const head = `${node.input}->${node.output} filter ${this.#names.get(node)}(${parameters}) {`;
      this.#filters.push({ node, file: this.#files.length });
      this.#files.push({ name: required(this.#names.get(node)), text: `${head}\n${parts.code}\n}\n` });
      return;
    }
    this.#composites.push(node);
    const children = parts.kind === 'feedbackloop' ? [parts.body, ...(parts.loop === undefined ? [] : [parts.loop])] : parts.children;
    for (const child of children) this.collect(child);
  }

  #text(text: string, name: string): void {
    if (this.#texts.has(text)) return;
    this.#texts.add(text);
    this.#files.push({ name, text });
    for (const [, declared] of text.matchAll(/(?:filter|pipeline|splitjoin|feedbackloop)\s+([A-Za-z_]\w*)/g)) {
      this.#used.add(required(declared));
    }
  }

  #unique(name: string): string {
    let unique = name;
    for (let number = 2; this.#used.has(unique); ++number) unique = `${name}_${number}`;
    this.#used.add(unique);
    return unique;
  }

  finish(root: AnyStream): BuiltProgram {
    const { program, diagnostics } = parse(this.#files);
    const files = [...this.#files];
    if (!diagnostics.some(({ severity }) => severity === 'error')) {
      for (const { node, file } of this.#filters) this.#checkFilter(program, node, file);
    }
    const made: StreamDeclaration[] = [...program.streams];
    for (const node of this.#composites) {
      const text = `${node.input}->${node.output} ${node.parts.kind} ${this.#names.get(node)}`;
      files.push({ name: required(this.#names.get(node)), text });
      made.push(this.#composite(node, { file: files.length - 1, start: 0, end: text.length }));
    }
    // A stream with arguments cannot be the entry itself.
    if (root.parts.kind === 'filter' || root.parts.kind === 'declared') {
      const text = `${root.input}->${root.output} pipeline ${this.#unique('Main')}`;
      files.push({ name: 'Main', text });
      const span = { file: files.length - 1, start: 0, end: text.length };
      const body: Statement = { kind: 'add', creator: this.#creator(root, span), span };
      made.push(composite('pipeline', { name: lastOf(text.split(' ')), input: root.input, output: root.output }, [body], span));
    }
    return { program: { ...program, files, streams: made }, diagnostics };
  }

  /** The text between the braces must not have closed them. */
  #checkFilter(program: Program, node: AnyStream, file: number): void {
    const inside = [...program.streams, ...program.structs, ...program.statics, ...program.natives, ...program.helpers].filter(
      ({ span }) => span.file === file);
    if (inside.length !== 1 || elementAt(inside, 0).kind !== 'filter') {
      throw refusal('code', `the inside of the filter ${node.name} alone`, 'other declarations too', {});
    }
  }

  #composite(node: AnyStream, span: Span): StreamDeclaration {
    const { parts } = node;
    const head = { name: required(this.#names.get(node)), input: node.input, output: node.output };
    const add = (kind: 'add' | 'body' | 'loop', child: AnyStream): Statement => ({ kind, creator: this.#creator(child, span), span });
    const policy = (kind: 'split' | 'join', given: Policy): Statement => ({ kind, policy: policyNode(given, span), span });
    switch (parts.kind) {
      case 'pipeline': return composite('pipeline', head, parts.children.map((child) => add('add', child)), span);
      case 'splitjoin': return composite('splitjoin', head, [
        policy('split', parts.split), ...parts.children.map((child) => add('add', child)), policy('join', parts.join)], span);
      case 'feedbackloop': return composite('feedbackloop', head, [
        policy('join', parts.join), add('body', parts.body), parts.loop === undefined ? identity(parts.body.output, span) : add('loop',
          parts.loop),
        policy('split', parts.split),
        ...parts.enqueue.map((value): Statement => ({ kind: 'enqueue', value: literal(value, parts.body.input, span), span }))], span);
      default: throw new Error('not a composite');
    }
  }

  #creator(node: AnyStream, span: Span): Creator {
    const { parts } = node;
    const constants = parts.kind === 'filter' ? Object.values(parts.constants) : parts.kind === 'declared' ? parts.args : [];
    return {
      kind: 'named', name: required(this.#names.get(node)), type: undefined, portals: [], span,
      args: constants.map(({ type, value }: TypedConstant) => literal(value, type, span)),
    };
  }
}

/** `loop Identity<type>`. */
function identity(type: string, span: Span): Statement {
  return { kind: 'loop', creator: { kind: 'named', name: 'Identity', type: typeNode(type, span), args: [], portals: [], span }, span };
}

function composite(
  kind: CompositeDeclaration['kind'], head: { name: string; input: string; output: string }, statements: readonly Statement[], span: Span,
): StreamDeclaration {
  return {
    kind, span, at: span, name: head.name, input: typeNode(head.input, span), output: typeNode(head.output, span), parameters: [],
    body: { kind: 'block', statements, span },
  };
}

const primitives = new Set(['bit', 'boolean', 'int', 'float', 'double', 'complex', 'float2', 'float3', 'float4', 'void']);

/** `float[4][2]` as a tree. */
function typeNode(text: string, span: Span): TypeNode {
  const match = /^\s*([A-Za-z_]\w*)((?:\s*\[\s*\d+\s*\])*)\s*$/.exec(text);
  if (match === null) throw refusal('type', "a type such as 'float' or 'int[4]'", `'${text}'`);
  const name = elementAt(match, 1);
  let node = (primitives.has(name) ? { kind: 'primitive', name, span } : { kind: 'named', name, span }) as TypeNode;
  for (const [, length] of [...elementAt(match, 2).matchAll(/(\d+)/g)].reverse()) {
    node = { kind: 'array', element: node, length: { kind: 'int', value: Number(length), span }, span };
  }
  return node;
}

function literal(value: Constant, type: string, span: Span): Expression {
  if (typeof value === 'boolean') return { kind: 'boolean', value, span };
  if (typeof value === 'object') {
    const elementType = type.replace(/\[\d+\]/, '');
    return { kind: 'array-literal', elements: Array.from(value as ArrayLike<Constant>, (each) => literal(each, elementType, span)), span };
  }
  const isWhole = /^(int|bit|boolean)/.test(type);
  if (isWhole && value !== (value | 0)) throw refusal('value', `a value of ${type}`, String(value));
  return { kind: isWhole ? 'int' : 'float', value, span };
}

function policyNode(given: Policy, span: Span): SplitPolicy {
  if (given.kind === 'duplicate') return { kind: 'duplicate', span };
  return { kind: 'roundrobin', weights: given.weights.map((value) => ({ kind: 'int', value, span })), span };
}
