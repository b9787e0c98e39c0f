// Help texts, with lines that fit into the terminal.
import { wrapText } from './table.ts';

/** The widest that lines are. */
const widest = 100;
/** The narrowest that the texts beside options become. */
const narrowest = 24;

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** The column at which the text beside an option or a name begins; undefined for lines without one. */
function columnOf(line: string): number | undefined {
  const [, before] = /^( {2,}\S.*? {2,})\S/.exec(line) ?? /^( {4,}--[\w-]+ [A-Z=]+ )\S/.exec(line) ?? [];
  return before?.length;
}

/** Lines that are one text: that beside an option, a paragraph, or a line by itself. */
interface Block {
  readonly lines: string[];
  /** Where its lines begin, but for what stands before the first. */
  readonly column: number;
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let isOpen = false;
  for (const line of text.split('\n')) {
    const last = blocks.at(-1);
    const [column, indent] = [columnOf(line), indentOf(line)];
    const goesOn = isOpen && last !== undefined && line !== '' && !line.startsWith('- ') && indent === last.column
      && (column === undefined || indent >= 8);
    if (goesOn) {
      last.lines.push(line);
      continue;
    }
    const isParagraph = indent === 0 && line !== '' && !/^(Usage|- |[a-z]+: )/.test(line) && !line.endsWith(':');
    isOpen = column !== undefined || isParagraph;
    blocks.push({ lines: [line], column: column ?? (isParagraph ? 0 : indent + 2) });
  }
  return blocks;
}

/** An example of a command is cut between its words; with quotes, and in code, it is left as it is. */
function fitCommand(line: string, width: number): string[] {
  if (/['"{}]|=>/.test(line)) return [line];
  const [first = '', ...rest] = wrapText(line.trim(), width - indentOf(line) - 4);
  const before = ' '.repeat(indentOf(line));
  return [before + first, ...rest.map((part) => `${before}  ${part}`)].map((part, i) => (i === rest.length ? part : `${part} \\`));
}

/**
 * A help text whose lines have at most `columns` characters, and 100 at most. Texts with longer lines are wrapped anew, within the column
 * that they stand in.
 */
export function fitHelp(text: string, columns = Infinity): string {
  const width = Math.min(widest, columns);
  return blocksOf(text).flatMap(({ lines, column }) => {
    if (lines.every((line) => line.length <= width)) return lines;
    const [first = '', ...rest] = lines;
    if (/^ +(warploom |.*(['"{}]|=>))/.test(first) && columnOf(first) === undefined) return fitCommand(first, width);
    const before = first.slice(0, columnOf(first) ?? indentOf(first));
    const words = [first.slice(before.length), ...rest.map((line) => line.trim())].join(' ');
    const hang = Math.max(0, Math.min(column, width - narrowest));
    const wrapped = wrapText(words, width - hang).map((line) => ' '.repeat(hang) + line);
    if (before.length > hang) return [before.trimEnd(), ...wrapped];
    return wrapped.map((line, i) => (i === 0 ? before + line.slice(hang) : line));
  }).join('\n');
}
