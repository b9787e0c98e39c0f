// A written program as JavaScript text.
import { jsDialect } from './dialect-js.ts';
import type { Kind } from './layout.ts';
import { streamArrays, type ProgramPlan } from './plan.ts';
import { writeProgram, type FunctionText, type ProgramText, type WriteOptions } from './program.ts';

const plainName = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Throws unless the name can stand in generated code. */
export function checkName(name: string): string {
  if (!plainName.test(name)) throw new Error(`${JSON.stringify(name)} is no name`);
  return name;
}

const arrayClass: Readonly<Record<Kind, string>> = { i: 'Int32Array', f: 'Float32Array', d: 'Float64Array' };

function arrayText({ name, kind, length }: { readonly name: string; readonly kind: Kind; readonly length: number }): string {
  return `const ${checkName(name)} = new ${arrayClass[kind]}(${length});`;
}

/** Moves what remains on channels after `n` steady states to their fronts. */
function settleText({ plan, arrays }: ProgramText): string {
  const lines = arrays.flatMap(({ name, role, channel, stride }) => {
    if (role !== 'channel' || plan.storage[channel!] !== 'block' || plan.steady.residual[channel!] === 0) return [];
    const [rate, rest] = [plan.rates[channel!]! * stride!, plan.steady.residual[channel!]! * stride!];
    return [`  ${name}.copyWithin(0, n * ${rate}, n * ${rate} + ${rest});`];
  });
  return `function settle(n) {\n${lines.join('\n')}\n}`;
}

/** So many whole steady states. */
function steadyText({ plan, groups }: ProgramText, parameters: string): string {
  const lines = groups.map(({ name }, i) => `  ${name}(n * ${plan.groups[i]!.iterations}${parameters});`);
  return `function steady(n${parameters}) {\n${lines.join('\n')}\n  settle(n);\n}`;
}

export interface JsProgram {
  readonly text: ProgramText;
  /** Functions of the number of firings or iterations, and of the arrays of the program's ends: {@link streamArrays}. */
  readonly functions: readonly (FunctionText & { readonly source: string })[];
  /** All of it, to be read; what runs is what toWasm makes of the functions. */
  readonly source: string;
}

/** Writes a planned program in JavaScript. */
export function emitJs(plan: ProgramPlan, options: Omit<WriteOptions, 'baseline'> = {}): JsProgram {
  const text = writeProgram(plan, jsDialect, options);
  const parameters = streamArrays(plan).map(({ name }) => `, ${checkName(name)}`).join('');
  const made = [...text.fire, ...text.first, ...text.groups].filter((each) => each !== undefined)
    .map((each) => ({ ...each, source: `function ${checkName(each.name)}(n${parameters}) {\n${each.lines.join('\n')}\n}` }));
  const whole = (name: string, source: string) => ({ name, lines: [], locals: [], source });
  const functions = [...made, whole('settle', settleText(text)), whole('steady', steadyText(text, parameters))];
  const source = [
    ...text.arrays.map(arrayText), ...functions.flatMap((each) => ['', ...each.locals.map(arrayText), each.source]), '',
  ].join('\n');
  return { text, functions, source };
}
