// Checks that documentation keeps to 120 columns, so that it reads well in editors and diffs. `--fix` wraps longer lines. Tables, code and
// lines that cannot be broken (a heading, one long link) are left alone.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listFiles, root } from './list-sources.mjs';

const kColumns = 120;
const width = (text) => [...text].length;

/** Marker and indentation of a list item or quotation; continuation lines are aligned with its text. */
const kStart = /^(\s*(?:(?:[-*+]|\d+\.)\s+|>\s+)?)(.*)$/;

/** Words of a text; a link or code span counts as one word even if it contains blanks. */
function wordsOf(text) {
  return text.match(/(?:`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\S)+/g) ?? [];
}

function wrap(line) {
  const [, lead, text] = kStart.exec(line);
  const indent = ' '.repeat(width(lead));
  const lines = [];
  let current = '';
  for (const word of wordsOf(text)) {
    const longer = current === '' ? word : `${current} ${word}`;
    // A line must not begin like a list item, heading or quotation.
    if (current !== '' && width(indent + longer) > kColumns && !/^(?:[-*+>#]|\d+[.)])/.test(word)) {
      lines.push(current);
      current = word;
    } else {
      current = longer;
    }
  }
  lines.push(current);
  return lines.map((each, i) => `${i === 0 ? lead : lead.includes('>') ? lead : indent}${each}`);
}

/** Lines that are never joined with others: tables, headings, indented code, link definitions, HTML, blank lines. */
const isAlone = (line) => /^\s*$|^\s*\||^#|^\[[^\]]+\]:|^\s*</.test(line);
const startsItem = (line) => /^\s*(?:[-*+]|\d+\.)\s|^\s*>/.test(line);

/** The numbers of lines of a Markdown text that are too long and could be shorter, and the text with their paragraphs wrapped. */
export function examineDocument(text) {
  const long = [];
  const result = [];
  let fence = false;
  let paragraph = [];
  const flush = () => {
    const isLong = paragraph.some((line) => width(line) > kColumns);
    const wrapped = isLong ? wrap([paragraph[0], ...paragraph.slice(1).map((line) => line.trim())].join(' ')) : paragraph;
    result.push(...wrapped);
    paragraph = [];
  };
  for (const [index, line] of text.split('\n').entries()) {
    const isFence = /^\s*(```|~~~)/.test(line);
    const isCode = paragraph.length === 0 && /^ {4,}\S/.test(line);
    if (isFence) fence = !fence;
    if (isFence || fence || isAlone(line) || isCode) {
      flush();
      result.push(line);
      continue;
    }
    if (startsItem(line)) flush();
    paragraph.push(line);
    if (width(line) > kColumns && wrap(line).length > 1) long.push(index + 1);
    if (/ {2}$|\\$/.test(line)) flush(); // a hard break
  }
  flush();
  return { long, wrapped: result.join('\n') };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const fix = process.argv.includes('--fix');
  const files = [...listFiles('docs', /\.md$/).filter((path) => !path.startsWith('docs/api/')),
    'README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];
  let breaches = 0;
  for (const path of files) {
    const { long, wrapped } = examineDocument(readFileSync(join(root, path), 'utf8'));
    if (long.length === 0) continue;
    if (fix) writeFileSync(join(root, path), wrapped);
    else for (const line of long) console.error(`${path}:${line}: more than ${kColumns} columns`);
    breaches += long.length;
  }
  const verdict = fix ? 'wrapped' : 'too long (npm run docs:lines -- --fix wraps them)';
  console.log(`documents: ${files.length} files, ${breaches} lines ${verdict}`);
  process.exitCode = breaches > 0 && !fix ? 1 : 0;
}
