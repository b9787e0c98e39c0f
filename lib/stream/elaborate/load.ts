// Arrays that a program reads from a file during elaboration.
import { elementAt } from '../../core/known.ts';
import type { Expression } from '../ast.ts';
import { Fault } from '../interpret/fault.ts';
import { fromConstant, normalise, printed, scalar, type Value } from '../interpret/values.ts';
import type { ConstantData, IrType } from '../ir.ts';
import type { Translation } from './translation.ts';

/** Evaluates an expression in the body of a stream, with the current values of its variables. */
export type EvaluateNow = (e: Expression) => { readonly type: IrType; readonly value: Value };

/**
 * The text of an expression: a literal, a parameter or variable that holds one, or texts and values joined by `+`; undefined for other
 * expressions. `now` evaluates values; without it, only constants are known.
 */
export function textOf(translator: Translation, e: Expression, now?: EvaluateNow): string | undefined {
  if (e.kind === 'string') return e.value;
  if (e.kind === 'name') {
    const entity = translator.scope.find(translator.session.checked.symbolOf(e));
    return entity?.kind === 'text' ? entity.text : undefined;
  }
  if (e.kind !== 'binary' || e.operator !== '+' || translator.session.checked.typeOf(e).kind !== 'string') return undefined;
  const parts = [e.left, e.right].map((part) => textOf(translator, part, now) ?? valueText(translator, part, now));
  return parts.includes(undefined) ? undefined : parts.join('');
}

/** A value as `print` writes it. */
function valueText(translator: Translation, e: Expression, now: EvaluateNow | undefined): string | undefined {
  if (translator.session.checked.typeOf(e).kind === 'string') return undefined;
  if (e.kind === 'character') return String.fromCharCode(e.value);
  if (now !== undefined) {
    const { type, value } = now(e);
    return printed(type, value);
  }
  const mark = translator.before.length;
  const made = translator.expression(e);
  if (made.kind === 'constant' && translator.before.length === mark) return printed(made.type, fromConstant(made.value));
  // Its operands are built again where it is printed.
  translator.before.length = mark;
  return undefined;
}

/**
 * `init_array_1D_int(file, count)`: reads whitespace-separated numbers, or little-endian 32-bit words. Missing numbers are zeros. Without
 * the file, the program is elaborated with zeros but not run.
 */
export function loadArray(translator: Translation, e: Extract<Expression, { kind: 'call' }>, element: 'int' | 'float'): ConstantData {
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
  for (let i = 0; i < numbers.length && i < read.length; ++i) numbers[i] = normalise(element, elementAt(read, i));
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
