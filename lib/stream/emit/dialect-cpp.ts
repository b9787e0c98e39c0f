// C++17: 32-bit integers that wrap (by way of unsigned ones; indices, which do not, are plain), singles and doubles as they are.
import type { IrBinary, MathName, ScalarName } from '../ir.ts';
import type { Dialect } from './dialect.ts';
import type { Kind } from '../plan/layout.ts';

export const cppType: Readonly<Record<Kind, string>> = { i: 'int', f: 'float', d: 'double' };

/** A number as C++ writes it: reads back as the same. */
export function cppLiteral(kind: Kind, x: number): string {
  if (kind === 'i') return x === -2147483648 ? '(-2147483647 - 1)' : x < 0 ? `(${x})` : String(x);
  const end = kind === 'f' ? 'f' : '';
  if (Number.isNaN(x)) return `__builtin_nan${end}("")`;
  if (Math.abs(x) === Infinity) return `${x < 0 ? '(-' : '('}__builtin_inf${end}())`;
  const digits = Object.is(x, -0) ? '-0' : String(x);
  const text = `${/[.e]/.test(digits) ? digits : `${digits}.0`}${end}`;
  return digits.startsWith('-') ? `(${text})` : text;
}

/** The number of a site, so that it is found again: see {@link plainSites}. */
function siteText(site: number | undefined): string {
  return site === undefined ? '-1' : `wl_site_${site}`;
}

/** Sites as mere numbers. */
export function plainSites(line: string): string {
  return line.includes('wl_site_') ? line.replace(/\bwl_site_(\d+)\b/g, '$1') : line;
}

function binary(operator: IrBinary, kind: Kind, a: string, b: string, site: number | undefined): string {
  if (operator === '%' && kind !== 'i') return kind === 'f' ? `fmodf(${a}, ${b})` : `fmod(${a}, ${b})`;
  if (kind !== 'i') return `(${a} ${operator} ${b})`;
  switch (operator) {
    case '/': return `wl_div(${a}, ${b}, ${siteText(site)})`;
    case '%': return `wl_rem(${a}, ${b}, ${siteText(site)})`;
    case '+': return `wl_add(${a}, ${b})`;
    case '-': return `wl_sub(${a}, ${b})`;
    case '*': return `wl_mul(${a}, ${b})`;
    case '<<': return `wl_shl(${a}, ${b})`;
    case '>>': return `(${a} >> (${b} & 31))`;
    default: return `(${a} ${operator} ${b})`;
  }
}

function convert(from: ScalarName, to: ScalarName, a: string): string {
  const isReal = from === 'float' || from === 'double';
  if (to === 'boolean') return `(${a} == 0 ? 0 : 1)`;
  if (to === 'float' || to === 'double') return from === to ? a : isReal ? `((${to})${a})` : `((${to})(${a} ^ wl_nil))`;
  const whole = isReal ? `wl_int(${a})` : a;
  return to === 'int' || from === 'bit' || from === 'boolean' ? whole : `(${whole} & 1)`;
}

function math(name: MathName, kind: Kind, args: readonly string[]): string {
  if (kind === 'i') return name === 'abs' ? `wl_abs(${args[0]!})` : `wl_${name}(${args.join(', ')})`;
  if (name === 'max' || name === 'min') return `wl_${name}(${args.join(', ')})`;
  const isSame = name === 'abs' || name === 'floor' || name === 'ceil' || name === 'sqrt';
  if (name === 'rint' || name === 'pow') {
    const made = `wl_${name}(${args.map((arg) => (kind === 'f' && name === 'pow' ? `(double)${arg}` : arg)).join(', ')})`;
    return kind === 'f' && name === 'pow' ? `((float)${made})` : made;
  }
  const known = name === 'abs' ? 'fabs' : name;
  if (kind === 'f' && isSame) return `${known}f(${args[0]!})`;
  const wide = args.map((arg) => (kind === 'f' ? `(double)${arg}` : arg));
  const text = name === 'round' ? `floor(${wide[0]!} + 0.5)` : `${known}(${wide.join(', ')})`;
  return kind === 'f' ? `((float)${text})` : text;
}

function copy(_kind: Kind, to: string, toAt: string, from: string, fromAt: string, count: number): string {
  if (count === 1) return `${to}[${toAt}] = ${from}[${fromAt}];`;
  return `for (int z = 0, x = ${toAt}, y = ${fromAt}; z < ${count}; ++z) ${to}[x + z] = ${from}[y + z];`;
}

export const cppDialect: Dialect = {
  literal: cppLiteral,
  binary,
  compare: (operator, a, b) => `(${a} ${operator} ${b})`,
  negate: (kind, a) => (kind === 'i' ? `wl_sub(0, ${a})` : `(-${a})`),
  fromCondition: (condition) => `(${condition} ? 1 : 0)`,
  convert,
  math,
  single: (a) => `((float)${a})`,
  offset: (a, b) => `(${a} + ${b})`,
  exact: (operator, a, b) => `(${a} ${operator} ${b})`,
  within: (index, length, site) => `wl_at(${index}, ${length}, ${siteText(site)})`,
  mix: (state) => `wl_mix(${state})`,
  constant: (kind, name, value) => `const ${cppType[kind]} ${name} = ${value};`,
  variable: (kind, name, value) => `${cppType[kind]} ${name} = ${value};`,
  openLabel: () => '{',
  closeLabel: (label) => `} ${label}:;`,
  leave: (label) => `goto ${label};`,
  fail: (site, value) => `wl_fail(${siteText(site)}, ${value});`,
  copy,
  fill: (_kind, to, at, count) => `for (int z = 0; z < ${count}; ++z) ${to}[${at} + z] = 0;`,
  print: (site, values, lines) =>
    `wl_print(${siteText(site)}, {${values.map((value) => `(double)${value}`).join(', ')}});${lines === 0 ? '' : ` wl_lines += ${lines};`}`,
  tick: (site) => `if (--wl_steps < 0) wl_fail(${siteText(site)}, 0);`,
};
