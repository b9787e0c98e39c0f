// A written program as JavaScript text.
import { arrayClass, jsDialect } from './dialect-js.ts';
import { countsOf } from './layout.ts';
import type { ProgramPlan } from './plan.ts';
import { writeProgram, type FunctionText, type ProgramText, type WriteOptions } from './program.ts';
import { kindsIn } from './value.ts';

/** Functions that generated code calls. The host gives `wl_fail(site, value)` and `wl_print(site, values)`, which do not return, or do. */
const prelude = `
const { imul, fround } = Math;
function wl_div(a, b, site) { if (b === 0) wl_fail(site, a); return (a / b) | 0; }
function wl_rem(a, b, site) { if (b === 0) wl_fail(site, a); return (a % b) | 0; }
function wl_at(i, n, site) { if (i < 0 || i >= n) wl_fail(site, i); return i; }
function wl_int(a) { return a >= 2147483647 ? 2147483647 : a <= -2147483648 ? -2147483648 : a | 0; }
function wl_rint(a) {
  const low = Math.floor(a), rest = a - low;
  return rest < 0.5 ? low : rest > 0.5 ? low + 1 : low % 2 === 0 ? low : low + 1;
}
function wl_mix(s) {
  let t = imul(s ^ (s >>> 15), 1 | s);
  t = (t + imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}
function wl_unit(bits) { return (bits >>> 8) / 16777216; }
function wl_range(bits, n, site) { if (n <= 0) wl_fail(site, n); return Math.floor(bits / 4294967296 * n); }
function wl_hypot(a, b) { return Math.hypot(a, b); }
function wl_half_root(a, b) { return Math.sqrt((Math.sqrt(a * a + b * b) + Math.abs(a)) / 2); }
function wl_csqrt_re(r, a, b) { return r === 0 ? 0 : a >= 0 ? r : Math.abs(b) / (2 * r); }
function wl_csqrt_im(r, a, b) { return r === 0 ? 0 : a >= 0 ? b / (2 * r) : b < 0 ? -r : r; }
function wl_room(c, need, capacity, i, f, d, ci, cf, cd) {
  const r = wl_ix[2 * c], w = wl_ix[2 * c + 1];
  if (w + need <= capacity) return;
  if (ci > 0) i.copyWithin(0, r * ci, w * ci);
  if (cf > 0) f.copyWithin(0, r * cf, w * cf);
  if (cd > 0) d.copyWithin(0, r * cd, w * cd);
  wl_ix[2 * c] = 0;
  wl_ix[2 * c + 1] = w - r;
  if (w - r + need > capacity) wl_fail(-1, c);
}`.trim();

/** Names of the arrays of external streams, in the order in which functions take them. */
export function externalArrayNames(plan: ProgramPlan): string[] {
  return plan.externals.flatMap(({ id, type }) => kindsIn(countsOf(type)).map((kind) => `x${id}${kind}`));
}

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Throws unless the name can stand in generated code. */
export function checkName(name: string): string {
  if (!plainName.test(name)) throw new Error(`${JSON.stringify(name)} is no name`);
  return name;
}

function functionText({ name, lines, locals }: FunctionText, parameters: string): string {
  const arrays = locals.map(({ name: own, kind, length }) =>
    `const ${checkName(own)}_${name} = new ${arrayClass(kind)}(${length});\n`).join('');
  const aliases = locals.map((local) => `  const ${local.name} = ${local.name}_${name};\n`).join('');
  return `${arrays}function ${checkName(name)}(n${parameters}) {\n${aliases}${lines.join('\n')}\n}\n`;
}

/** Moves what remains on channels after `n` steady states to their fronts. */
function settleText({ plan, arrays }: ProgramText): string {
  const lines = arrays.flatMap(({ name, role, channel, stride }) => {
    if (role !== 'channel' || plan.storage[channel!] !== 'block' || plan.steady.residual[channel!] === 0) return [];
    const [rate, rest] = [plan.rates[channel!]! * stride!, plan.steady.residual[channel!]! * stride!];
    return [`  ${name}.copyWithin(0, n * ${rate}, n * ${rate} + ${rest});`];
  });
  return `function settle(n) {\n${lines.join('\n')}\n}\n`;
}

export interface JsProgram {
  readonly text: ProgramText;
  /**
   * The body of a function of (wl_arrays, wl_ix, wl_it, wl_rs, wl_steps, wl_fail, wl_print) that returns { fire, first, groups, settle }.
   */
  readonly source: string;
}

/** Writes a planned program in JavaScript. */
export function emitJs(plan: ProgramPlan, options: Omit<WriteOptions, 'baseline'> = {}): JsProgram {
  const text = writeProgram(plan, jsDialect, options);
  const parameters = externalArrayNames(plan).map((name) => `, ${checkName(name)}`).join('');
  const all = [...text.fire, ...text.first, ...text.groups].filter((each) => each !== undefined);
  const list = (functions: readonly (FunctionText | undefined)[]) => `[${functions.map((each) => each?.name ?? 'undefined').join(', ')}]`;
  const source = [
    "'use strict';", prelude, ...text.arrays.map(({ name }) => `const ${checkName(name)} = wl_arrays.${name};`),
    ...all.map((each) => functionText(each, parameters)), settleText(text),
    `return { fire: ${list(text.fire)}, first: ${list(text.first)}, groups: ${list(text.groups)}, settle };`, '',
  ].join('\n');
  return { text, source };
}
