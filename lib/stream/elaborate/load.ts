// Arrays that a program reads from a file while it is elaborated.
import type { Expression } from '../ast.ts';
import { Fault } from '../interpret/fault.ts';
import { normalise, scalar } from '../interpret/values.ts';
import type { ConstantData } from '../ir.ts';
import type { Translator } from './translate.ts';

/** The text that an expression gives: a literal, or a parameter or variable that holds one; undefined for other expressions. */
export function textOf(translator: Translator, e: Expression): string | undefined {
  if (e.kind === 'string') return e.value;
  if (e.kind === 'name') {
    const entity = translator.scope.find(translator.session.checked.symbolOf(e));
    return entity?.kind === 'text' ? entity.text : undefined;
  }
  return undefined;
}

/** `init_array_1D_int(file, count)`: numbers as text between blanks, or 32-bit words, little end first; missing ones are zeros. Without
 * the file the program is elaborated with zeros, but not run. */
export function loadArray(translator: Translator, e: Extract<Expression, { kind: 'call' }>, element: 'int' | 'float'): ConstantData {
  const { session } = translator;
  const [pathArg, countArg] = e.args;
  const path = pathArg === undefined ? undefined : textOf(translator, pathArg);
  if (path === undefined || countArg === undefined) throw new Fault('S4020', `${e.name} takes the name of a file and a count`, e.span);
  const type = session.arrayOf(scalar(element), translator.constantInt(countArg, 'the count'),
    e.span) as ConstantData['type'] & { kind: 'array' };
  const bytes = session.file(path);
  const numbers = new Float64Array(type.length);
  if (bytes === undefined) {
    session.missing.add(path);
    const hint = 'the program cannot run without it: give it under `files`';
    session.report(new Fault('S4021', `there is no file '${path}'`, e.span, { hint }), 'warning');
    return { type, numbers };
  }
  const read = isText(bytes) ? fromText(bytes) : fromWords(bytes, element);
  for (let i = 0; i < numbers.length && i < read.length; ++i) numbers[i] = normalise(element, read[i]!);
  return { type, numbers };
}

function isText(bytes: Uint8Array): boolean {
  return bytes.every((byte) => (byte >= 32 && byte < 127) || byte === 9 || byte === 10 || byte === 13);
}

function fromText(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  for (const word of new TextDecoder().decode(bytes).split(/[\s,]+/)) if (word !== '') numbers.push(Number(word) || 0);
  return numbers;
}

function fromWords(bytes: Uint8Array, element: 'int' | 'float'): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const numbers: number[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) numbers.push(element === 'int' ? view.getInt32(at, true) : view.getFloat32(at, true));
  return numbers;
}
