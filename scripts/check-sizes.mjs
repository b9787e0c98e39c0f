// Keeps files and functions readable: files of at most 400 lines (warned from 300), functions of at most
// 60 (device agents 100), lines of at most 140 columns (100 is the aim). Longer ones need an entry with a reason in
// scripts/size-exceptions.json: { "path" or "path#function": "reason" }.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { listFiles, root } from './list-sources.mjs';

const kFileLimit = 400;
const kFileWarning = 300;
const kFunctionLimit = 60;
const kAgentLimit = 100;
const kColumns = 140;
/**
 * Maximum number of non-null assertions in lib/: they are for loops over many numbers, in the files that eslint.config.js names (hotLoops).
 */
const kAssertions = 200;
const kTestColumns = 180; // tables of cases read best with one case per line

/** Functions of a TypeScript file as { name, lines }; the callbacks of describe and eachBackend are lists of tests, not functions. */
export function typescriptFunctions(path, text) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position) => source.getLineAndCharacterOfPosition(position).line;
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const isSuite = ts.isCallExpression(node.parent) &&
        /^(describe|suite|eachBackend|each[A-Z]\w*)\b/.test(node.parent.expression.getText(source));
      const name = node.name?.getText(source) ?? node.parent.name?.getText?.(source) ?? 'anonymous';
      if (!isSuite) found.push({ name, lines: lineOf(node.end) - lineOf(node.getStart(source)) + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** How many non-null assertions (`value!`) a TypeScript file has. */
export function assertionsIn(path, text) {
  let count = 0;
  const visit = (node) => {
    if (ts.isNonNullExpression(node)) ++count;
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest));
  return count;
}

/** Blanks comments, strings and character literals, keeping the line structure. */
function blank(text) {
  const pattern = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'/g;
  return text.replace(pattern, (match) => match.replace(/[^\n]/g, ' '));
}

const kNotFunction = /^(?:if|for|while|switch|catch|do|else|try|namespace|class|struct|enum|union|extern)\b/;

/** Functions of a C++ file, found by their braces: a block after a parameter list outside any other function. */
export function cppFunctions(text) {
  const code = blank(text).replace(/^[ \t]*#(?:[^\n]*\\\n)*[^\n]*/gm, (line) => line.replace(/[^\n]/g, ' '));
  const found = [];
  let depth = 0, start = 0, line = 1, open;
  for (let at = 0; at < code.length; ++at) {
    const character = code[at];
    if (character === '\n') ++line;
    if (character === ';' && open === undefined) start = at + 1;
    if (character === '{') {
      const header = code.slice(start, at).trim().replace(/^template\s*<[^{]*?>\s*(?=[\w:])/s, '');
      const name = /([\w~:]+|operator\S+)\s*\(/.exec(header)?.[1];
      if (open === undefined && name && !kNotFunction.test(header) && !/=\s*$/.test(header)) {
        open = { name, depth, first: line };
      }
      ++depth;
      start = at + 1;
    } else if (character === '}') {
      --depth;
      start = at + 1;
      if (open !== undefined && depth === open.depth) {
        found.push({ name: open.name, lines: line - open.first + 1 });
        open = undefined;
      }
    }
  }
  return found;
}

function examine(path, text, exceptions) {
  const errors = [];
  const warnings = [];
  const lines = text.split('\n');
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length;
  if (count > kFileLimit && !(path in exceptions)) errors.push(`${path}: ${count} lines, at most ${kFileLimit}`);
  else if (count > kFileWarning) warnings.push(`${path}: ${count} lines`);
  lines.forEach((content, index) => {
    const columns = [...content].length;
    const most = path.startsWith('test/') ? kTestColumns : kColumns;
    if (columns > most) errors.push(`${path}:${index + 1}: ${columns} columns, at most ${most}`);
  });
  const functions = /\.(ts|mjs)$/.test(path) ? typescriptFunctions(path, text) : cppFunctions(text);
  const limit = /_agent\.cuh$/.test(path) ? kAgentLimit : kFunctionLimit;
  for (const { name, lines: length } of functions) {
    if (length > limit && !(`${path}#${name}` in exceptions)) {
      errors.push(`${path}: ${name} has ${length} lines, at most ${limit}`);
    }
  }
  return { errors, warnings, functions };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const exceptions = JSON.parse(readFileSync(join(root, 'scripts/size-exceptions.json'), 'utf8'));
  const files = ['cuda', 'native', 'lib', 'test', 'bench', 'scripts', 'examples']
    .flatMap((folder) => listFiles(folder, /\.(ts|mjs|cpp|h|cu|cuh)$/));
  let failures = 0;
  const lengths = [];
  for (const path of files) {
    const { errors, warnings, functions } = examine(path, readFileSync(join(root, path), 'utf8'), exceptions);
    for (const message of errors) console.error(message);
    for (const message of warnings) console.log(`long: ${message}`);
    failures += errors.length;
    lengths.push(...functions.map((f) => f.lines));
  }
  const assertions = listFiles('lib', /\.ts$/).reduce((sum, path) => sum + assertionsIn(path, readFileSync(join(root, path), 'utf8')), 0);
  if (assertions > kAssertions) {
    console.error(`${assertions} non-null assertions in lib, at most ${kAssertions} (lib/core/known.ts has what to write instead)`);
    ++failures;
  }
  lengths.sort((a, b) => a - b);
  const p90 = lengths[Math.floor(lengths.length * 0.9)] ?? 0;
  if (p90 > 40) {
    console.error(`the 90th percentile of function lengths is ${p90}, at most 40`);
    ++failures;
  }
  const summary = `${files.length} files, ${lengths.length} functions (90th percentile ${p90} lines), ${assertions} assertions in lib`;
  console.log(`sizes: ${summary}, ${failures} over the limits`);
  process.exitCode = failures > 0 ? 1 : 0;
}
