// Parses CUDA C++ to a plain syntax tree with tree-sitter's CUDA grammar (WebAssembly).
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Parser, Tree, TreeCursor } from 'web-tree-sitter';
import { FileError, refusal, WarploomError } from '../core/errors.ts';
import { isThere, readBytesSync } from '../core/files.ts';
import { elementAt, required } from '../core/known.ts';

/** A node of the syntax tree. Offsets count UTF-16 units of the source, like those of a string. */
export interface SyntaxNode {
  readonly type: string;
  readonly field: string;
  readonly named: boolean;
  readonly start: number;
  readonly end: number;
  readonly depth: number;
  readonly children: SyntaxNode[];
  readonly parent: SyntaxNode | undefined;
  /** Whether parsing failed at this very node: an ERROR, or a missing token. */
  readonly failed: boolean;
  /** Whether parsing failed here or below. */
  broken: boolean;
}

/** A source with its tree. */
export interface Syntax {
  /** The original source. */
  readonly source: string;
  /** The parsed source: words that the grammar does not know are blanked. Same offsets. */
  readonly masked: string;
  readonly root: SyntaxNode;
  /** Where each line begins. */
  readonly lines: readonly number[];
}

/** Longest source in characters. */
export const kLongestSource = 1 << 20;
/** Deepest nesting of brackets. */
export const kDeepestNesting = 200;
/** Deepest tree inside a kernel. */
export const kDeepestTree = 600;
/** Time limit in seconds: text that is not a program can take long to parse. */
const kParseSeconds = 20;

const kGrammar = 'tree-sitter-cuda.wasm';

let loading: Promise<Parser> | undefined;

/** The published package has the grammar next to the compiled code; in a checkout, it is in its own package. */
function grammarPath(): string {
  const beside = fileURLToPath(new URL(`./${kGrammar}`, import.meta.url));
  if (isThere(beside)) return beside;
  const manifest = createRequire(import.meta.url).resolve('tree-sitter-cuda/package.json');
  return join(dirname(manifest), kGrammar);
}

async function loadParser(): Promise<Parser> {
  // Imported here because nothing else needs these 200 KB, and so that the package can still be loaded by require().
  const { Language, Parser: TreeParser } = await import('web-tree-sitter');
  await TreeParser.init();
  const language = await Language.load(readBytesSync(grammarPath()));
  return new TreeParser().setLanguage(language);
}

function parser(): Promise<Parser> {
  loading ??= loadParser().catch((cause: unknown) => {
    loading = undefined;
    if (cause instanceof FileError && cause.systemCode !== 'ENOENT') throw cause;
    throw new WarploomError('ERR_WARPLOOM_UNAVAILABLE',
      `the CUDA grammar (${kGrammar}) could not be loaded; reinstall the package`, { cause });
  });
  return loading;
}

/** Offsets at which lines begin. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Line and column of an offset, both from 1. */
export function position(syntax: Pick<Syntax, 'lines'>, offset: number): { line: number; column: number } {
  const { lines } = syntax;
  let low = 0;
  let high = lines.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (elementAt(lines, middle) <= offset) low = middle;
    else high = middle;
  }
  return { line: low + 1, column: offset - elementAt(lines, low) + 1 };
}

/** Numbers come first: an apostrophe between digits is a separator, as in 1'000'000. */
const kComments = new RegExp([
  /\b[0-9][0-9a-fA-FxX]*(?:'[0-9a-fA-F]+)+/, /\/\*[\s\S]*?\*\//, /\/\/(?:\\\r?\n|[^\n])*/, /"(?:\\[\s\S]|[^"\\\n])*"/,
  /'(?:\\[\s\S]|[^'\\\n])+'/,
].map(({ source }) => source).join('|'), 'g');

/** The source with comments, strings and character literals blanked, but line breaks kept. */
export function withoutComments(text: string): string {
  return text.replace(kComments, (found) => /^[0-9]/.test(found) ? found : found.replace(/[^\n]/g, ' '));
}

/**
 * Blanks or replaces words that the grammar does not know, keeping the length: `__align__` (the grammar knows `alignas`), qualifiers after
 * a lambda's captures, and the caller's macros.
 */
function mask(source: string, macros: readonly string[]): string {
  let text = source.replace(/\b__align__\b/g, 'alignas  ');
  text = text.replace(/\](\s*)((?:__(?:device|host)__\s*)+)(?=[({])/g, (_all, gap: string, words: string) =>
    `]${gap}${words.replace(/[^\n]/g, ' ')}`);
  for (const word of macros) {
    text = text.replace(new RegExp(`\\b${word}\\b`, 'g'), ' '.repeat(word.length));
  }
  return text;
}

function requireShallow(text: string, lines: readonly number[]): void {
  const plain = withoutComments(text);
  let depth = 0;
  for (let at = 0; at < plain.length; ++at) {
    const code = plain.charCodeAt(at);
    if (code === 0x28 || code === 0x5b || code === 0x7b) ++depth;
    else if (code === 0x29 || code === 0x5d || code === 0x7d) depth = Math.max(0, depth - 1);
    if (depth > kDeepestNesting) {
      throw refusal('source', `brackets nested at most ${kDeepestNesting} deep`, `more at line ${position({ lines }, at).line}`);
    }
  }
}

/** Copies the tree out of WebAssembly without recursion. */
function copyTree(cursor: TreeCursor): SyntaxNode {
  const make = (parent: SyntaxNode | undefined): SyntaxNode => {
    const failed = cursor.nodeType === 'ERROR' || cursor.nodeIsMissing;
    const node: SyntaxNode = {
      type: cursor.nodeType, field: cursor.currentFieldName ?? '', named: cursor.nodeIsNamed, start: cursor.startIndex,
        end: cursor.endIndex,
      depth: parent === undefined ? 0 : parent.depth + 1, children: [], parent, failed, broken: failed,
    };
    parent?.children.push(node);
    if (failed) for (let up = parent; up !== undefined && !up.broken; up = up.parent) up.broken = true;
    return node;
  };
  const root = make(undefined);
  if (!cursor.gotoFirstChild()) return root;
  let node = make(root);
  for (;;) {
    if (cursor.gotoFirstChild()) {
      node = make(node);
      continue;
    }
    while (!cursor.gotoNextSibling()) {
      if (!cursor.gotoParent()) return root;
      node = required(node.parent);
      if (node === root) return root;
    }
    node = make(node.parent);
  }
}

/** Parses a source. Throws ArgumentError if it is too long, nested too deeply, or takes too long. */
export async function parse(source: string, macros: readonly string[] = []): Promise<Syntax> {
  if (source.length > kLongestSource) {
    throw refusal('source', `at most ${kLongestSource} characters`, String(source.length));
  }
  const lines = lineStarts(source);
  requireShallow(source, lines);
  const masked = mask(source, macros);
  const worker = await parser();
  const until = performance.now() + kParseSeconds * 1000;
  let tree: Tree | null = null;
  try {
    worker.reset();
    // The type declaration says void, but returning true aborts parsing.
    tree = worker.parse(masked, null, { progressCallback: (() => performance.now() > until) });
    if (tree === null) throw refusal('source', 'CUDA C++', `a text that could not be parsed within ${kParseSeconds} s`);
    const cursor = tree.walk();
    try {
      return { source, masked, root: copyTree(cursor), lines };
    } finally {
      cursor.delete();
    }
  } finally {
    tree?.delete();
  }
}

/** The first child in a field. */
export function child(node: SyntaxNode, field: string): SyntaxNode | undefined {
  return node.children.find((each) => each.field === field);
}

/** The child in a field that the grammar always fills. */
export function partOf(node: SyntaxNode, field: string): SyntaxNode {
  return required(child(node, field));
}

/** Named children except comments. */
export function namedChildren(node: SyntaxNode): SyntaxNode[] {
  return node.children.filter((each) => each.named && each.type !== 'comment');
}

/** Source text of a node. */
export function textOf(syntax: Syntax, node: SyntaxNode): string {
  return syntax.masked.slice(node.start, node.end);
}

/** A node and all nodes below it, in source order, without recursion. */
export function* descend(node: SyntaxNode): Generator<SyntaxNode> {
  const stack = [node];
  while (stack.length > 0) {
    const top = required(stack.pop());
    yield top;
    for (let at = top.children.length; at-- > 0;) stack.push(elementAt(top.children, at));
  }
}

/** The nearest ancestor of one of these types. */
export function ancestor(node: SyntaxNode, ...types: string[]): SyntaxNode | undefined {
  let up = node.parent;
  while (up !== undefined && !types.includes(up.type)) up = up.parent;
  return up;
}

/** The name that a declarator declares, inside pointers, references, arrays and parentheses. */
export function declaredName(declarator: SyntaxNode): SyntaxNode | undefined {
  for (const node of descend(declarator)) {
    if (node.field === 'size' || node.field === 'value' || node.type === 'parameter_list') continue;
    if (node.type === 'identifier' || node.type === 'field_identifier' || node.type === 'type_identifier') return node;
  }
  return undefined;
}
