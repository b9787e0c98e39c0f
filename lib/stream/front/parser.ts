// Source files to one syntax tree.
import type { IToken } from 'chevrotain';
import type { Program } from '../ast.ts';
import { Reporter, type Diagnostic, type SourceFile } from '../diagnostics.ts';
import { defaultSyntaxLimits, tokenize, unquote, type SyntaxLimits } from './lexer.ts';
import { StreamParser, type Declarations } from './parser-declarations.ts';
import { withinStack } from './stack.ts';
import { syntaxRules } from './syntax-rules.ts';
import { Identifier, StringLiteral, word } from './tokens.ts';

let parser: StreamParser | undefined;

/** Names of the native and helper packages that the tokens declare. */
function packagesOf(files: readonly (readonly IToken[])[]): Set<string> {
  const names = new Set<string>();
  for (const tokens of files) {
    tokens.forEach(({ tokenType, image }, index) => {
      const next = tokens[index + 1];
      const begins = tokenType === word.native || (tokenType === Identifier && image === 'helper');
      if (begins && next?.tokenType === Identifier) names.add(next.image);
    });
  }
  return names;
}

/**
 * Parses the files of one program. Always yields a program, which holds whatever could be understood; it is whole exactly if there is no
 * error among the diagnostics. Diagnostics come in the order of the source. Never throws on any text.
 */
export function parse(sources: readonly SourceFile[], limits: Partial<SyntaxLimits> = {}): {
  readonly program: Program; readonly diagnostics: readonly Diagnostic[];
} {
  const all: SyntaxLimits = { ...defaultSyntaxLimits, ...limits };
  const files = sources.map(({ name, text }) => ({ name, text }));
  const reporter = new Reporter(files);
  const out: Declarations = { streams: [], structs: [], statics: [], natives: [], helpers: [] };
  const program: Program = { files, ...out };
  const size = files.reduce((sum, { text }) => sum + text.length, 0);
  if (size > all.characters) {
    reporter.report(syntaxRules.sourceSize, { file: 0, start: 0, end: 0 }, { size, limit: all.characters });
    return { program, diagnostics: reporter.finish() };
  }
  const tokens: (readonly IToken[])[] = [];
  let left = all.tokens;
  for (const [file, { text }] of files.entries()) {
    const some = tokenize(file, text, reporter, left);
    if (some === undefined) return { program, diagnostics: reporter.finish() };
    left -= some.length;
    tokens.push(some);
  }
  const packages = packagesOf(tokens);
  parser ??= new StreamParser();
  for (const [file, { text }] of files.entries()) {
    const own = tokens[file]!;
    const broken = own.find(({ tokenType, image }) => tokenType === StringLiteral && unquote(image) === undefined)?.startOffset ?? Infinity;
    withinStack(reporter, { file, start: 0, end: 0 }, () =>
      parser!.parseFile({ file, text, tokens: own, broken, reporter, limits: all, packages }, out));
  }
  return { program, diagnostics: reporter.finish() };
}
