// Exact diagnostics of small sources, their form for people, and the list in the documentation.
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { checkRules } from '../../../lib/stream/front/check-rules.ts';
import { check } from '../../../lib/stream/front/check.ts';
import { parse } from '../../../lib/stream/front/parser.ts';
import { syntaxRules } from '../../../lib/stream/front/syntax-rules.ts';
import { nearest } from '../../../lib/core/similar.ts';
import { formatDiagnostic, ProgramError, Reporter, requireNoErrors, type Rule } from '../../../lib/stream/diagnostics.ts';
import { diagnose, folder, goldenNames, goldenText } from './golden.ts';

const rules: Rule[] = [...Object.values(syntaxRules), ...Object.values(checkRules)];
/** Rules of limits, which have tests of their own. */
const limits = new Set(['S0128', 'S0100', 'S0115', 'S0116', 'S0117', 'S0123']);

describe('diagnostics of small sources', () => {
  for (const name of goldenNames()) {
    it(name, () => {
      ok(existsSync(`${folder}${name}.txt`), 'no expected text');
      strictEqual(goldenText(name), readFileSync(`${folder}${name}.txt`, 'utf8'));
    });
  }

  it('cover every code but those of limits, at least 60 places', () => {
    const all = goldenNames().flatMap((name) => [...diagnose(name, readFileSync(`${folder}${name}.str`, 'utf8'))]);
    const seen = new Set(all.map(({ code }) => code));
    deepStrictEqual(rules.map(({ code }) => code).filter((code) => !seen.has(code) && !limits.has(code)), []);
    ok(all.length >= 60, `${all.length}`);
  });

  it('have codes of their own', () => {
    strictEqual(new Set(rules.map(({ code }) => code)).size, rules.length);
    for (const { code } of rules) ok(/^S0\d{3}$/.test(code), code);
  });

  it('have hints', () => {
    deepStrictEqual(rules.filter(({ hint }) => hint === '').map(({ code }) => code), []);
    for (const name of goldenNames()) ok(goldenText(name).split('\n').every((line) => line === '' || line.includes(' | ')), name);
  });
});

describe('the list of diagnostics in docs/stream-diagnostics.md', () => {
  it('has every code of the front end with its message and hint', () => {
    const text = readFileSync(new URL('../../../docs/stream-diagnostics.md', import.meta.url), 'utf8');
    const lines = text.split('\n').filter((line) => /^\| S0/.test(line));
    const expected = [...rules].sort((a, b) => (a.code < b.code ? -1 : 1)).map(({ code, severity, message, hint }) =>
      `| ${code} | ${severity} | ${message} | ${hint === '{hint}' ? '(depends)' : hint} |`.replaceAll(/(?<!^) \|\|/g, ' \\|\\|'));
    deepStrictEqual(lines, expected);
  });
});

describe('the codes of elaboration and of runs in docs/stream-diagnostics.md', () => {
  it('are those that the code gives', () => {
    const folders = ['elaborate', 'interpret', 'run'].map((name) => new URL(`../../../lib/stream/${name}/`, import.meta.url));
    const sources = folders.flatMap((each) => readdirSync(each).map((name) => readFileSync(new URL(name, each), 'utf8')));
    const given = new Set(sources.flatMap((text) => [...text.matchAll(/'(S[45]\d{3})'/g)].map((match) => match[1]!)));
    const text = readFileSync(new URL('../../../docs/stream-diagnostics.md', import.meta.url), 'utf8');
    deepStrictEqual([...text.matchAll(/^\| (S[45]\d{3}) \|/gm)].map((match) => match[1]!), [...given].sort());
  });
});

describe('formatDiagnostic', () => {
  const show = (text: string) => {
    const { program, diagnostics } = parse([{ name: 'a.str', text }]);
    return formatDiagnostic(diagnostics[0]!, program);
  };

  it('shows the line and marks the place', () => {
    strictEqual(show('void->void filter F {\n\twork { int x = (3; }\n}\n'), [
      "a.str:2:19: error S0107: expected ')' but found ';'", ' 2 | \twork { int x = (3; }', '   | \t                 ^',
      '   hint: add what is missing here, or correct it',
    ].join('\n'));
  });

  it('adds the hint', () => {
    strictEqual(show('/* open'), [
      'a.str:1:1: error S0104: comment without an end', ' 1 | /* open', '   | ^^', '   hint: close it with */',
    ].join('\n'));
  });

  it('cuts long lines around the place', () => {
    const lines = show(`static { int x = ${' '.repeat(500)}#; }`).split('\n');
    ok(lines.every((line) => line.length < 140));
    strictEqual(lines[1]![lines[2]!.indexOf('^')], '#');
  });

  it('replaces control characters and halves of surrogate pairs', () => {
    const text = show('\u0000 \ud800 #');
    ok(!/[\u0000\ud800]/.test(text)); // eslint-disable-line no-control-regex
  });

  it('counts lines ended by \\n, \\r\\n and \\r', () => {
    const { diagnostics } = parse([{ name: 'a', text: '\n\r\n\r #' }]);
    deepStrictEqual([diagnostics[0]!.line, diagnostics[0]!.column], [4, 2]);
  });
});

describe('requireNoErrors', () => {
  it('throws the errors with their source, at most ten of them', () => {
    const text = `void->void pipeline P { ${Array.from({ length: 15 }, (_, index) => `add A${index}();`).join('\n')} }`;
    const { program } = parse([{ name: 'a.str', text }]);
    const { diagnostics } = check(program);
    throws(() => requireNoErrors(diagnostics, program), (error: unknown) => {
      ok(error instanceof ProgramError);
      strictEqual(error.code, 'ERR_WARPLOOM_INVALID_PROGRAM');
      strictEqual(error.diagnostics.length, 15);
      ok(error.message.startsWith('the stream program has 15 errors\na.str:1:29: error S0202'));
      ok(error.message.endsWith('and 5 errors more'));
      return true;
    });
  });

  it('does nothing for warnings', () => {
    const { program } = parse([{ name: 'a', text: 'void->void filter F { int x; work { } }' }]);
    const { diagnostics } = check(program);
    deepStrictEqual(diagnostics.map(({ code }) => code), ['S0803']);
    requireNoErrors(diagnostics, program);
  });
});

describe('Reporter', () => {
  it('keeps the order of the source, one diagnostic of a code at a place, and a limit', () => {
    const reporter = new Reporter([{ name: 'a', text: 'abcdef' }, { name: 'b', text: 'abc' }], 3);
    const at = (file: number, start: number) => reporter.report(syntaxRules.statement, { file, start, end: start + 1 }, { found: 'x' });
    for (const [file, start] of [[1, 0], [0, 4], [0, 4], [0, 1], [0, 2], [0, 3]] as const) at(file, start);
    deepStrictEqual(reporter.finish().map(({ code, file, column }) => [code, file, column]),
      [['S0111', 'a', 2], ['S0100', 'a', 3], ['S0111', 'a', 5], ['S0111', 'b', 1]]);
    strictEqual(reporter.errors, 5);
  });
});

describe('nearest', () => {
  it('finds misspelt names and no others', () => {
    const known = ['count', 'LowPass', 'sin', 'n', 'roundrobin'];
    deepStrictEqual(['conut', 'lowpass', 'sni', 'm', 'roundrobbin', 'abc', 'counter', 'N', ''].map((name) => nearest(name, known)),
      ['count', 'LowPass', 'sin', undefined, 'roundrobin', undefined, 'count', 'n', undefined]);
  });
});
