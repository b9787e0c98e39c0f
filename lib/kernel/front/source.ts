// The text of a user's function: found, parsed by acorn, and quoted in messages.
import { createRequire } from 'node:module';
import type * as acorn from 'acorn';
import { FunctionError } from '../../core/errors.ts';

export type Node = acorn.Node;

/** The syntax tree of one function. */
export type FunctionNode = acorn.ArrowFunctionExpression | acorn.FunctionExpression | acorn.FunctionDeclaration;

/** The maximum length of a function's text in characters. */
const mostCharacters = 1_000_000;
/** What stands before the text of a method, `name(x) { … }`, to make it an expression. */
const wrappers = [['(', ')'], ['({', '})']] as const;

/** A function whose text has been parsed. */
export class FunctionSource {
  /** The argument that held the function, such as 'rate'. */
  readonly argument: string;
  readonly node: FunctionNode;
  readonly #text: string;

  /**
   * @param argument the argument's name, for messages
   * @param given the function or its text
   * @throws FunctionError if there is no text, or it is not that of one function
   */
  constructor(argument: string, given: unknown) {
    this.argument = argument;
    this.#text = textOf(argument, given);
    this.node = this.#parse();
  }

  /** An error that shows where a node stands, and says what to do. */
  error(node: Pick<Node, 'start'>, what: string, hint: string, options?: ErrorOptions): FunctionError {
    const before = this.#text.slice(0, node.start).split('\n');
    const line = before.length;
    const column = (before.at(-1)?.length ?? 0) + 1;
    const excerpt = excerptOf(this.#text.split('\n')[line - 1] ?? '', column);
    return new FunctionError(`${this.argument}, line ${line}, column ${column}: ${what}; ${hint}\n${excerpt}`,
      { ...options, argument: this.argument, line, column, excerpt, hint });
  }

  /** The error for functions on which the compiler runs out of stack. */
  tooDeep(cause: unknown): FunctionError {
    return this.error({ start: 0 }, 'the function is nested too deeply', 'split long expressions into several statements', { cause });
  }

  #parse(): FunctionNode {
    const { parse } = createRequire(import.meta.url)('acorn') as typeof acorn;
    let failure: unknown;
    for (const [open, close] of wrappers) {
      try {
        // On a line of its own: the text may end with a comment.
        const { body: [statement, ...others] } = parse(`${open}${this.#text}\n${close}`, { ecmaVersion: 2022, sourceType: 'module' });
        if (statement?.type === 'ExpressionStatement' && others.length === 0) {
          moveBy(statement, -open.length);
          const found = functionIn(statement.expression);
          if (found !== undefined) return found;
        }
        failure = undefined;
        break;
      } catch (error) {
        failure ??= error; // the first is about the text as it stands
      }
    }
    if (failure === undefined) {
      throw this.error({ start: 0 }, 'this is not one function', 'give an arrow function or a function expression');
    }
    const { pos = 1, message = String(failure) } = failure as { pos?: number; message?: string };
    if (failure instanceof RangeError || /^not enough stack space/i.test(message)) throw this.tooDeep(failure);
    throw this.error({ start: Math.max(0, pos - 1) }, message.replace(/ \(\d+:\d+\)$/, '').toLowerCase(),
      'give the text of a JavaScript function, without types', { cause: failure });
  }
}

function textOf(argument: string, given: unknown): string {
  const text = typeof given === 'function' ? Function.prototype.toString.call(given) : given;
  const wrong = (what: string, hint: string): FunctionError =>
    new FunctionError(`${argument}: ${what}; ${hint}`, { argument, line: 1, column: 1, excerpt: '', hint });
  if (typeof text !== 'string') throw wrong(`expected a function or its text, received ${text === null ? 'null' : typeof text}`,
    'give an arrow function');
  if (text.length > mostCharacters) throw wrong(`the text has ${text.length} characters, at most ${mostCharacters} are read`, 'split it');
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) {
    throw wrong('the function has no text', 'bound and built-in functions cannot be compiled: write (x) => Math.sin(x) for Math.sin');
  }
  return text;
}

/** A line of the text, shortened to 100 characters around the column, with a mark below it. */
function excerptOf(line: string, column: number): string {
  const from = Math.max(0, column - 60);
  return `  ${line.slice(from, from + 100)}\n  ${' '.repeat(column - 1 - from)}^`;
}

function functionIn(node: Node): FunctionNode | undefined {
  const { type } = node;
  if (type === 'ArrowFunctionExpression' || type === 'FunctionExpression') return node as FunctionNode;
  if (type !== 'ObjectExpression') return undefined;
  const [method, ...others] = (node as acorn.ObjectExpression).properties;
  const isMethod = others.length === 0 && method?.type === 'Property' && method.kind === 'init' && method.method;
  return isMethod ? method.value as FunctionNode : undefined;
}

/** Moves the positions of a tree. */
function moveBy(root: Node, offset: number): void {
  const left: unknown[] = [root];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (Array.isArray(node)) left.push(...node as unknown[]);
    else if (typeof node === 'object' && node !== null && 'type' in node) {
      const at = node as Node;
      at.start += offset;
      at.end += offset;
      left.push(...Object.values(node).filter((part) => typeof part === 'object' && part !== null));
    }
  }
}
