// Functions of rows in vectors of 64 bytes. Where a row is read at several columns, its vectors are loaded once, and those between them
// are made of two in registers: loads that are not aligned take twice as long, because they cross lines of the cache.
import { required } from '../../core/known.ts';
import { valueOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type StatementOf } from '../../kernel/ir.ts';
import { cLiteral, cName, cTypes } from '../../kernel/print/c-family.ts';
import { expressionsOf, walkExpression } from '../../kernel/visit.ts';

type Load = Extract<Expression, { kind: 'load' }>;
const infix: Readonly<Record<string, string>> = { add: '+', sub: '-', mul: '*', div: '/' };
/** Vectors that are kept from one iteration to the next. */
const mostKept = 20;
const bytes = 64;

/** The loop over the columns, if it is all that a function has, and only does arithmetic. */
function columnsOf({ body: [loop, ...rest] }: KernelFunction): StatementOf<'for'> | undefined {
  if (loop?.kind !== 'for' || rest.length > 0 || loop.step !== 1 || valueOf(loop.from) !== 0) return undefined;
  const isPlain = (e: Expression): boolean => {
    let [isGood] = [true];
    walkExpression(e, (part) => {
      isGood &&= part.kind === 'get' || part.kind === 'constant' || (part.kind === 'load' && isColumn(part.index, loop.counter))
        || (part.kind === 'unary' && part.op === 'neg') || (part.kind === 'binary' && infix[part.op] !== undefined);
    });
    return isGood && (e.type === 'f64' || e.type === 'f32');
  };
  const isGood = loop.body.every((s) => (s.kind === 'set' && isPlain(s.value))
    || (s.kind === 'store' && isColumn(s.index, loop.counter) && isPlain(s.value)));
  return isGood ? loop : undefined;
}

const isColumn = (e: Expression, counter: Local): boolean => e.kind === 'get' && e.local === counter;

function loadsIn(body: Body): readonly Load[] {
  const found: Load[] = [];
  for (const s of body) for (const e of expressionsOf(s)) walkExpression(e, (part) => { if (part.kind === 'load') found.push(part); });
  return found;
}

/** A row that is read at several columns: the one whose vectors are loaded, and whether those before and behind are needed. */
interface Window {
  readonly name: string;
  readonly centre: number;
  readonly before: boolean;
  readonly behind: boolean;
}

/** Rows of the state that are read at several columns. `centre`: where the vectors of a buffer are aligned, if it is such a row. */
function windowsOf(loads: readonly Load[], centreOf: (buffer: Buffer) => number | undefined): ReadonlyMap<Buffer, Window> {
  const offsets = new Map<Buffer, Set<number>>();
  for (const { buffer, offset } of loads) offsets.set(buffer, (offsets.get(buffer) ?? new Set()).add(offset));
  return new Map([...offsets].flatMap(([buffer, of]) => {
    const centre = centreOf(buffer);
    if (centre === undefined || of.size < 2) return [];
    return [[buffer, { name: cName(buffer.name), centre, before: Math.min(...of) < centre, behind: Math.max(...of) > centre }]];
  }));
}

/** Prints the body of the loop: values in which a row is read are vectors, others numbers. Undefined if a stored value is a number. */
function bodyText(body: Body, real: string, loadText: (load: Load) => string): readonly string[] | undefined {
  const wide = new Set<Local>(), declared = new Set<Local>();
  const isWide = (e: Expression): boolean => {
    let [found] = [false];
    walkExpression(e, (part) => { found ||= part.kind === 'load' || (part.kind === 'get' && wide.has(part.local)); });
    return found;
  };
  const text = (e: Expression): string => {
    switch (e.kind) {
      case 'load': return loadText(e);
      case 'constant': return cLiteral(e.type as 'f64' | 'f32', e.value);
      case 'get': return cName(e.local.name);
      case 'unary': return `(-${text(e.operand)})`;
      case 'binary': return `(${text(e.left)} ${required(infix[e.op])} ${text(e.right)})`;
      default: throw new TypeError(`${e.kind} is not plain`);
    }
  };
  const lines: string[] = [];
  for (const s of body) {
    if (s.kind === 'set') {
      const already = declared.has(s.local), becomes = isWide(s.value);
      if (already && wide.has(s.local) !== becomes) return undefined;
      declared.add(s.local);
      if (becomes) wide.add(s.local);
      lines.push(`${already ? '' : becomes ? 'wl_wide ' : `${real} `}${cName(s.local.name)} = ${text(s.value)};`);
    } else if (s.kind === 'store') {
      if (!isWide(s.value)) return undefined;
      lines.push(`*(wl_wide_at*)(${cName(s.buffer.name)} + j + ${s.offset}) = ${text(s.value)};`);
    }
  }
  return lines;
}

const at = (name: string, offset: number): string => `*(const wl_wide_at*)(${name} + ${offset < 0 ? `(${offset})` : offset}`;

/**
 * The text of a function `<name>_wide` that does the same as a printed function, with the same parameters; undefined if it is not
 * possible, or no faster. `centre`: the offset at which rows of the state are aligned.
 */
export function wideText(
  f: KernelFunction, pointers: readonly Buffer[], centreOf: (buffer: Buffer) => number | undefined,
): string | undefined {
  const loop = columnsOf(f);
  const element = pointers[0]?.element;
  if (loop === undefined || (element !== 'f64' && element !== 'f32')) return undefined;
  const windows = windowsOf(loadsIn(loop.body), centreOf), real = cTypes[element];
  const kept = [...windows.values()].reduce((sum, { before, behind }) => sum + 1 + Number(before) + Number(behind), 0);
  if (kept === 0 || kept > mostKept) return undefined;
  const lanes = bytes / (element === 'f64' ? 8 : 4);
  const shifted = ({ buffer, offset }: Load): string => {
    const window = windows.get(buffer);
    if (window === undefined) return `${at(cName(buffer.name), offset)} + j)`;
    const { name, centre } = window, by = offset - centre;
    if (by === 0) return `${name}_1`;
    const indices = Array.from({ length: lanes }, (_, i) => i + (by < 0 ? lanes + by : by));
    return `__builtin_shuffle(${name}_${by < 0 ? '0' : '1'}, ${name}_${by < 0 ? '1' : '2'}, wl_lanes{${indices.join(', ')}})`;
  };
  const main = bodyText(loop.body, real, shifted);
  const last = bodyText(loop.body, real, ({ buffer, offset }) => `${at(cName(buffer.name), offset)} + j)`);
  if (main === undefined || last === undefined) return undefined;
  const all = [...windows.values()];
  const count = cName(required(f.parameters[0]).name);
  const names = [...f.parameters, ...pointers].map(({ name }) => cName(name));
  const heads = [...f.parameters.map((local) => `${cTypes[local.type]} ${cName(local.name)}`),
    ...pointers.map(({ name, isReadOnly }) => `${isReadOnly === true ? 'const ' : ''}${real}* __restrict ${cName(name)}`)];
  return [
    `WL_WIDE static void ${cName(f.name)}_wide(${heads.join(', ')}) {`,
    `  if (${count} < ${lanes}) return ${cName(f.name)}(${names.join(', ')});`, '  int j = 0;',
    ...all.flatMap(({ name, centre, before, behind }) => [
      ...(before ? [`  wl_wide ${name}_0 = ${at(name, centre - lanes)});`] : []),
      ...(behind ? [`  wl_wide ${name}_2 = ${at(name, centre)});`] : []), `  wl_wide ${name}_1;`]),
    `  for (; j + ${lanes} <= ${count}; j += ${lanes}) {`,
    ...all.flatMap(({ name, centre, behind }) => (behind
      ? [`    ${name}_1 = ${name}_2;`, `    ${name}_2 = ${at(name, centre + lanes)} + j);`]
      : [`    ${name}_1 = ${at(name, centre)} + j);`])),
    ...main.map((line) => `    ${line}`),
    ...all.flatMap(({ name, before }) => (before ? [`    ${name}_0 = ${name}_1;`] : [])), '  }',
    `  if (j == ${count}) return;`, `  j = ${count} - ${lanes};`, ...last.map((line) => `  ${line}`), '}', '',
  ].join('\n');
}
