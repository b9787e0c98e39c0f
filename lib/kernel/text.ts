// Prints programs as text that parse.ts reads: for golden files, and to inspect the result of a pass.
import {
  lanesOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Program, type Statement, type Type,
} from './ir.ts';
import { localsOf } from './visit.ts';

/** The shortest decimal that is read back as the same single. */
export function singleText(x: number): string {
  if (!Number.isFinite(x) || Number.isInteger(x)) return numberText(x);
  for (let digits = 1; digits < 9; ++digits) {
    const short = Number(x.toPrecision(digits));
    if (Math.fround(short) === x) return String(short);
  }
  return String(Number(x.toPrecision(9)));
}

function numberText(x: number): string {
  if (Number.isNaN(x)) return 'nan';
  if (!Number.isFinite(x)) return x < 0 ? '-inf' : 'inf';
  return Object.is(x, -0) ? '-0' : String(x);
}

function constantText(type: Type, value: number): string {
  switch (type) {
    case 'i32': return String(value);
    case 'bool': return value === 0 ? 'false' : 'true';
    case 'f32': return `f32(${singleText(value)})`;
    default: return `${type}(${numberText(value)})`;
  }
}

function elementText(buffer: Buffer, type: Type, index: Expression, offset: number): string {
  const name = lanesOf[type] > 1 ? `${buffer.name}.${type}` : buffer.name;
  return `${name}[${expressionText(index)}${offset === 0 ? '' : ` + ${offset}`}]`;
}

export function expressionText(e: Expression): string {
  const of = (...parts: readonly Expression[]): string => `(${parts.map(expressionText).join(', ')})`;
  switch (e.kind) {
    case 'constant': return constantText(e.type, e.value);
    case 'get': return e.local.name;
    case 'load': return elementText(e.buffer, e.type, e.index, e.offset);
    case 'unary': return `${e.op}${of(e.operand)}`;
    case 'binary': return `${e.op}${e.isExact === true ? '.exact' : ''}${of(e.left, e.right)}`;
    case 'compare': case 'logic': return `${e.op}${of(e.left, e.right)}`;
    case 'select': return `select${of(e.condition, e.then, e.otherwise)}`;
    case 'convert': return `convert.${e.type}${of(e.operand)}`;
    case 'math': return `${e.name}${of(...e.args)}`;
    case 'word': return `${e.part}${of(e.operand)}`;
    case 'words': return `words${of(e.high, e.low)}`;
    case 'splat': return `splat${of(e.operand)}`;
    case 'lanes': return `lanes${of(...e.parts)}`;
    case 'extract': return `extract(${expressionText(e.vector)}, ${e.lane})`;
  }
}

function lines(body: Body): string[] {
  return body.flatMap(statementLines).map((line) => `  ${line}`);
}

function statementLines(s: Statement): string[] {
  const text = expressionText;
  switch (s.kind) {
    case 'set': return [`${s.local.name} = ${text(s.value)}`];
    case 'store': return [`${elementText(s.buffer, s.value.type, s.index, s.offset)} = ${text(s.value)}`];
    case 'copy': return [`copy ${s.to.name}[${text(s.toIndex)}] = ${s.from.name}[${text(s.fromIndex)}] for ${text(s.count)}`];
    case 'fill': return [`fill ${s.buffer.name}[${text(s.index)}] for ${text(s.count)}`];
    case 'if': {
      const otherwise = s.otherwise.length === 0 ? [] : ['} else {', ...lines(s.otherwise)];
      return [`if ${text(s.condition)} {`, ...lines(s.then), ...otherwise, '}'];
    }
    case 'for': {
      const bounds = `${text(s.from)} to ${text(s.to)} step ${s.step}${s.most === undefined ? '' : ` most ${s.most}`}`;
      return [`for ${s.label.name}: ${s.counter.name} = ${bounds} {`, ...lines(s.body), '}'];
    }
    case 'while': return [`while ${s.label.name}: ${text(s.condition)} {`, ...lines(s.body), '}'];
    case 'block': return [`block ${s.label.name}: {`, ...lines(s.body), '}'];
    case 'break': case 'continue': return [`${s.kind} ${s.label.name}`];
    case 'call': {
      const results = s.results.length === 0 ? '' : `${s.results.map(({ name }) => name).join(', ')} = `;
      return [`call ${results}${s.callee}(${s.args.map(text).join(', ')})`];
    }
    case 'return': return [`return (${s.values.map(text).join(', ')})`];
    case 'trap': return [`trap ${text(s.site)} ${text(s.value)}`];
    case 'guard': return [`guard ${text(s.condition)} else ${text(s.site)} ${text(s.value)}`];
  }
}

/** The statements of a body, one or more lines each. */
export function bodyText(body: Body): string {
  return body.flatMap(statementLines).join('\n');
}

function localText({ name, type, range }: Local): string {
  return `${name}: ${type}${range === undefined ? '' : ` in ${range[0]}..${range[1]}`}`;
}

function bufferText({ name, element, role, length, initial, isReadOnly }: Buffer): string {
  const write = element === 'f32' ? singleText : numberText;
  const data = initial === undefined ? '' : ` = (${Array.from(initial, write).join(', ')})`;
  return `${role} ${name} ${element}[${length ?? ''}]${isReadOnly === true ? ' readonly' : ''}${data}`;
}

function resultsText(results: readonly Type[]): string {
  return results.length === 0 ? '' : ` -> (${results.join(', ')})`;
}

export function functionText(f: KernelFunction): string {
  const own = localsOf(f).filter((local) => !f.parameters.includes(local));
  return [
    `function ${f.name}(${f.parameters.map(localText).join(', ')})${resultsText(f.results)} {`,
    ...f.buffers.map((buffer) => `  ${bufferText(buffer)}`), ...own.map((local) => `  var ${localText(local)}`), ...lines(f.body), '}',
  ].join('\n');
}

export function programText({ buffers, imports, functions }: Program): string {
  return [
    ...buffers.map(bufferText),
    ...imports.map(({ name, parameters, results }) => `import ${name}(${parameters.join(', ')})${resultsText(results)}`),
    ...functions.map(functionText), '',
  ].join('\n');
}
