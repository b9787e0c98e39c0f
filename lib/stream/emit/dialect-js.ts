// JavaScript in a form whose types can be read off it: singles by Math.fround, integers by |0 and Math.imul. See wasm/ for what runs.
import type { IrBinary, MathName, ScalarName } from '../ir.ts';
import type { Dialect } from './dialect.ts';
import type { Kind } from './layout.ts';

/** Singles and doubles are told from each other, and from integers, by how they are written. */
function literal(kind: Kind, x: number): string {
  if (kind === 'i') return x < 0 ? `(${x})` : String(x);
  if (kind === 'f') return `fround(${literal('d', x)})`;
  if (Number.isNaN(x)) return 'NaN';
  if (Math.abs(x) === Infinity) return x < 0 ? '(-Infinity)' : 'Infinity';
  const digits = String(Math.abs(x));
  const text = /[.e]/.test(digits) ? digits : `${digits}.0`;
  return x < 0 || Object.is(x, -0) ? `(-${text})` : text;
}

const plain: Partial<Record<MathName, string>> = {
  abs: 'Math.abs', acos: 'Math.acos', asin: 'Math.asin', atan: 'Math.atan', atan2: 'Math.atan2', ceil: 'Math.ceil', cos: 'Math.cos',
  cosh: 'Math.cosh', exp: 'Math.exp', floor: 'Math.floor', log: 'Math.log', log10: 'Math.log10', max: 'Math.max', min: 'Math.min',
  pow: 'Math.pow', rint: 'wl_rint', sin: 'Math.sin', sinh: 'Math.sinh', sqrt: 'Math.sqrt', tan: 'Math.tan', tanh: 'Math.tanh',
};
/** Give a single when they are given singles. */
const exact = new Set<MathName>(['abs', 'ceil', 'floor', 'max', 'min', 'rint']);

function binary(operator: IrBinary, kind: Kind, a: string, b: string, site: number | undefined): string {
  if (kind !== 'i') {
    const text = `${a} ${operator} ${b}`;
    return kind === 'f' ? `fround(${text})` : `(${text})`;
  }
  switch (operator) {
    case '*': return `imul(${a}, ${b})`;
    case '/': return site === undefined ? `(${a} / ${b} | 0)` : `wl_div(${a}, ${b}, ${site})`;
    case '%': return site === undefined ? `(${a} % ${b} | 0)` : `wl_rem(${a}, ${b}, ${site})`;
    case '+': case '-': return `(${a} ${operator} ${b} | 0)`;
    default: return `(${a} ${operator} ${b})`;
  }
}

function convert(from: ScalarName, to: ScalarName, a: string): string {
  const isReal = from === 'float' || from === 'double';
  if (to === 'boolean') return `(${a} === ${literal(from === 'float' ? 'f' : from === 'double' ? 'd' : 'i', 0)} ? 0 : 1)`;
  if (to === 'float') return from === 'float' ? a : `fround(${a})`;
  if (to === 'double') return from === 'double' ? a : `(+${a})`;
  const whole = isReal ? `wl_int(${a})` : a;
  return to === 'int' || from === 'bit' || from === 'boolean' ? whole : `(${whole} & 1)`;
}

function math(name: MathName, kind: Kind, args: readonly string[]): string {
  if (kind === 'i' && name === 'abs') return `(Math.abs(${args[0]!}) | 0)`;
  const text = name === 'round' ? `Math.floor(${args[0]!} + 0.5)` : `${plain[name]!}(${args.join(', ')})`;
  return kind === 'f' && !exact.has(name) ? `fround(${text})` : text;
}

function copy(_kind: Kind, to: string, toAt: string, from: string, fromAt: string, count: number): string {
  if (count === 1) return `${to}[${toAt}] = ${from}[${fromAt}];`;
  return `for (let z = 0, x = ${toAt}, y = ${fromAt}; z < ${count}; ++z) ${to}[x + z] = ${from}[y + z];`;
}

export const jsDialect: Dialect = {
  name: 'js',
  literal,
  binary,
  compare: (operator, a, b) => `(${a} ${operator === '==' ? '===' : operator === '!=' ? '!==' : operator} ${b})`,
  negate: (kind, a) => (kind === 'i' ? `(-${a} | 0)` : `(-${a})`),
  fromCondition: (condition) => `(${condition} ? 1 : 0)`,
  convert,
  math,
  single: (a) => `fround(${a})`,
  offset: (a, b) => `(${a} + ${b})`,
  exact: (operator, a, b) => binary(operator, 'i', a, b, undefined),
  within: (index, length, site) => `wl_at(${index}, ${length}, ${site})`,
  mix: (state) => `wl_mix(${state})`,
  constant: (_kind, name, value) => `const ${name} = ${value};`,
  variable: (_kind, name, value) => `let ${name} = ${value};`,
  openLabel: (label) => `${label}: {`,
  closeLabel: () => '}',
  leave: (label) => `break ${label};`,
  fail: (site, value) => `wl_fail(${site}, ${value});`,
  copy,
  fill: (_kind, to, at, count) => (count === 1 ? `${to}[${at}] = 0;` : `${to}.fill(0, ${at}, ${at} + ${count});`),
  print: (site, values) => `wl_print(${site}, [${values.join(', ')}]);`,
  tick: (site) => `if (--wl_steps[0] < 0) wl_fail(${site}, 0);`,
};
