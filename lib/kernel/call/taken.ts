// Copies of arrays, for calls that cannot read them at once.
import { typedCopy } from '../../core/arrays.ts';
import { hasFields } from '../../core/checks.ts';

/** Inputs with copies of the arrays in JavaScript's memory; what is no input stays as it is, for the checks. */
export function takenInputs(inputs: unknown): unknown {
  if (!Array.isArray(inputs)) return inputs;
  const copies = new Map<ArrayBufferView, ArrayBufferView>();
  const taken = (data: unknown): unknown => {
    if (!ArrayBuffer.isView(data) || data instanceof DataView) return data;
    const copy = copies.get(data) ?? typedCopy(data);
    copies.set(data, copy);
    return copy;
  };
  return inputs.map((input: unknown) => (hasFields(input) && 'data' in input && ArrayBuffer.isView(input.data)
    ? { ...input, data: taken(input.data) } : taken(input)));
}
