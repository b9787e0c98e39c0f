// Equation files: modules of the user's that export an equation and defaults for runs.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as acorn from 'acorn';
import { describeValue } from '../../core/arrays.ts';
import { hasFields } from '../../core/checks.ts';
import { ArgumentError, FunctionError, refusal } from '../../core/errors.ts';
import { readText } from '../../core/files.ts';
import { define, type Definition, type Equation } from '../../stencil/index.ts';

/** What an equation file holds. */
export interface EquationFile {
  /** As messages name it. */
  readonly path: string;
  readonly text: string;
  readonly equation: Equation;
  /** Its export `options`: defaults of the job's fields. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Fields of a job for which a file may have defaults. */
const optionNames: readonly string[] = [
  'shape', 'spacing', 'origin', 'dt', 'until', 'snapshots', 'initial', 'coefficients', 'boundary', 'parameters', 'precision', 'variant',
  'units', 'film', 'exact',
];

const endings: readonly string[] = ['.js', '.mjs', '.cjs', '.ts', '.mts', '.cts'];

/** The first place in the file that an error's stack names, as line:column. */
function placeIn(error: unknown, path: string): string {
  const stack = error instanceof Error ? error.stack ?? '' : '';
  const name = path.split(/[/\\]/).at(-1) ?? path;
  const at = stack.split('\n').find((line) => line.includes(name));
  const [, line, column] = /:(\d+)(?::(\d+))?\)?\s*$/.exec(at ?? '') ?? [];
  return line === undefined ? '' : `:${line}${column === undefined ? '' : `:${column}`}`;
}

/** Where the text is not JavaScript; Node.js only prints it. */
function syntaxPlace(text: string): string {
  try {
    (createRequire(import.meta.url)('acorn') as typeof acorn).parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
    return '';
  } catch (error) {
    const { loc } = error as { loc?: { line: number; column: number } };
    return loc === undefined ? '' : `:${loc.line}:${loc.column + 1}`;
  }
}

/** What to say of an error that stopped a module from being loaded. */
export function loadingError(error: unknown, path: string, text: string): ArgumentError {
  const code: unknown = (error as { code?: unknown } | undefined)?.code;
  const message = error instanceof Error ? error.message : String(error);
  const isTypes = code === 'ERR_UNKNOWN_FILE_EXTENSION' || code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX';
  if (isTypes && /\.[cm]?ts$/.test(path)) {
    return refusal('equation.file', 'a file that this version of Node.js can load',
      `${path}: Node.js ${process.versions.node} does not load this TypeScript file. Use Node.js 22.18 or later (and types that it can `
      + 'erase), or a loader (npm install tsx; NODE_OPTIONS=--import=tsx), or rename the file to .mjs and leave types out',
      { cause: error });
  }
  const isMissing = code === 'ERR_MODULE_NOT_FOUND' && /package 'warploom/.test(message);
  const way = '; install it there, or export the definition itself, { dimensions, fields, rate, … }, without stencil.define';
  const hint = isMissing ? way : '';
  const isSyntax = error instanceof SyntaxError && !/\.[cm]?ts$/.test(path);
  const place = isSyntax ? syntaxPlace(text) : placeIn(error, path);
  return refusal('equation.file', 'a module that can be loaded', `${path}${place}: ${message}${hint}`, { cause: error });
}

function equationIn(found: unknown, path: string): Equation {
  if (!hasFields(found)) {
    throw refusal('equation.file', 'a module whose default export is an equation (export default stencil.define({ … }))',
      `${path}, whose default export is ${describeValue(found)}`);
  }
  // An equation is defined again: the file may have its own copy of this package.
  const definition = hasFields(found['definition']) ? found['definition'] : found;
  const given = Object.fromEntries(Object.entries(definition).filter(([, value]) => value !== undefined));
  try {
    return define(given as unknown as Definition<string, string, string>);
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw new ArgumentError(`${path}, ${error.argument}`, `expected ${error.expected}, received ${error.received}`,
      { expected: error.expected, received: error.received, cause: error });
  }
}

/**
 * Loads an equation file; its code is run. A file that has changed since is loaded again.
 * @throws ArgumentError naming the file and, where it is known, the line; FileError
 */
export async function loadEquationFile(path: string): Promise<EquationFile> {
  if (!endings.includes(extname(path))) throw refusal('equation.file', `a file that ends with ${endings.join(', ')}`, path);
  const text = await readText(path);
  const url = pathToFileURL(resolve(path));
  url.search = `version=${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await import(url.href) as typeof module;
  } catch (error) {
    throw loadingError(error, path, text);
  }
  const options = module['options'] ?? {};
  if (!hasFields(options)) throw refusal('equation.file', 'an export options that is an object', `${path}: ${describeValue(options)}`);
  const other = Object.keys(options).find((name) => !optionNames.includes(name));
  if (other !== undefined) throw refusal('equation.file', `options of ${optionNames.join(', ')}`, `${path}: options.${other}`);
  return { path, text, equation: equationIn(module['default'] ?? module['equation'], path), options };
}

/** Where a function that cannot be compiled stands in the file: the error with the file's name and line. */
export function placed(error: unknown, { path, text, equation }: EquationFile): unknown {
  if (!(error instanceof FunctionError)) return error;
  const functions = Object.values(equation.definition as unknown as Readonly<Record<string, unknown>>).flat();
  const excerpt = error.excerpt.split('\n')[0]?.trim() ?? '';
  const starts = functions.filter((each) => typeof each === 'function').map((each) => Function.prototype.toString.call(each))
    .filter((own) => own.includes(excerpt)).map((own) => text.indexOf(own)).filter((at) => at >= 0);
  const lines = text.split('\n').flatMap((line, i) => (excerpt !== '' && line.includes(excerpt) ? [i + 1] : []));
  const [start] = starts;
  const line = starts.length === 1 && start !== undefined ? text.slice(0, start).split('\n').length + error.line - 1
    : lines.length === 1 ? lines[0] : undefined;
  const { argument, column, hint } = error;
  const where = line === undefined ? path : `${path}:${line}`;
  return new FunctionError(`${where}: ${error.message}`, {
    argument, line: line ?? error.line, column, excerpt: error.excerpt, hint, cause: error,
  });
}
