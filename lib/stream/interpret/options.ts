// Options of runs, whatever the back end: their kinds.
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { requireStop } from '../stop.ts';
import { requireFields, requireInteger, requireList } from '../require.ts';

/** Refuses options of wrong kinds. */
export function checkRun(options: object): void {
  requireFields('options', options, 'options');
  const { input, files, limits, signal, seed } = options as Readonly<Record<string, unknown>>;
  if (input !== undefined) {
    requireList('options.input', input, 'numbers');
    if (ArrayBuffer.isView(input) && !('length' in input)) throw refusal('options.input', 'numbers', describeValue(input));
    const strange = Array.isArray(input) ? input.findIndex((x) => typeof x !== 'number')
      : typeof (input as unknown as unknown[])[0] === 'bigint' ? 0 : -1;
    if (strange >= 0) throw refusal(`options.input[${strange}]`, 'a number', describeValue((input as unknown[])[strange]));
  }
  if (files !== undefined) {
    requireFields('options.files', files, 'contents by path');
    for (const [path, bytes] of Object.entries(files as object)) {
      if (!(bytes instanceof Uint8Array)) throw refusal(`options.files['${path}']`, 'a Uint8Array', describeValue(bytes));
    }
  }
  if (limits !== undefined) {
    requireFields('options.limits', limits, 'limits by name');
    for (const [name, value] of Object.entries(limits as object)) if (value !== Infinity) requireInteger(`options.limits.${name}`, value,
      0);
  }
  if (seed !== undefined) requireInteger('options.seed', seed, Number.MIN_SAFE_INTEGER);
  requireStop({ signal }, 'options.');
}
