// The addon's errors become the library's, with everything a caller needs to act on.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import {
  ArgumentError, DeviceLostError, DisposedError, OutOfMemoryError, QueueFullError, refusal, UnavailableError, WarploomError,
} from '../../lib/core/errors.ts';
import { fromNative } from '../../lib/core/native-error.ts';
import { describeValue } from '../../lib/core/arrays.ts';
import { openDevice } from '../../lib/core/device.ts';

const native = (code: string, fields: object = {}): Error => Object.assign(new Error('what happened'), { code, ...fields });

describe('errors', () => {
  it('have one base class, a stable code and the cause', () => {
    const classes: [string, new (...parameters: never[]) => WarploomError][] = [
      ['ERR_WARPLOOM_INVALID_ARGUMENT', ArgumentError], ['ERR_WARPLOOM_OUT_OF_MEMORY', OutOfMemoryError],
      ['ERR_WARPLOOM_DEVICE_LOST', DeviceLostError], ['ERR_WARPLOOM_NOT_COMPILED', UnavailableError],
      ['ERR_WARPLOOM_UNAVAILABLE', UnavailableError], ['ERR_WARPLOOM_UNSUPPORTED', WarploomError],
      ['ERR_WARPLOOM_INTERNAL', WarploomError], ['ERR_WARPLOOM_DISPOSED', DisposedError], ['ERR_WARPLOOM_QUEUE_FULL', QueueFullError],
    ];
    for (const [code, kind] of classes) {
      const cause = native(code);
      const error = fromNative(cause);
      ok(error instanceof kind && error instanceof WarploomError && error instanceof Error, code);
      strictEqual(error.code, code);
      strictEqual(error.cause, cause);
      strictEqual(error.name, kind.name);
      strictEqual(fromNative(error), error);
    }
    const foreign = new TypeError('other');
    strictEqual(fromNative(foreign), foreign);
    strictEqual(fromNative('text'), 'text');
  });

  it('name the argument, what was expected and what was received', () => {
    const cause = native('ERR_WARPLOOM_INVALID_ARGUMENT', { argument: 'rhs', expected: 'an array', received: '3' });
    const error = fromNative(cause) as ArgumentError;
    deepStrictEqual([error.argument, error.expected, error.received, error.message], ['rhs', 'an array', '3', 'rhs: what happened']);
    const own = refusal('n', 'an integer', 'NaN');
    deepStrictEqual([own.argument, own.expected, own.received, own.message],
      ['n', 'an integer', 'NaN', 'n: expected an integer, received NaN']);
  });

  it('of memory state requested, in use and limit, and a remedy', async () => {
    await using device = await openDevice({ backend: 'cpu', threads: 1, memoryLimit: 4096 });
    using first = await device.array('float64', 256);
    const error = await device.array('float64', 1000).catch((thrown: unknown) => thrown);
    ok(error instanceof OutOfMemoryError);
    deepStrictEqual([error.requestedBytes, error.inUseBytes, error.limitBytes], [8000, first.bytes, 4096]);
    for (const part of ['8000', '2048', '4096', 'dispose', 'memoryLimit']) ok(error.message.includes(part), error.message);
  });

  it('describe every kind of value', () => {
    const values: [unknown, string][] = [
      [undefined, 'undefined'], [null, 'null'], [true, 'true'], [NaN, 'NaN'], [-0, '-0'], [1.5, '1.5'], [Infinity, 'Infinity'],
      ['abc', "'abc'"], ['x'.repeat(50), `'${'x'.repeat(40)}…'`], [3n, 'a bigint'], [Symbol('s'), 'a symbol'], [() => 1, 'a function'],
      [[1, 2], 'an array of length 2'], [{}, 'an object'], [Object.create(null), 'an object'], [new Date(0), 'a Date'],
      [new Float64Array(3), 'a Float64Array of length 3'], [new ArrayBuffer(8), 'a ArrayBuffer'],
    ];
    for (const [value, text] of values) strictEqual(describeValue(value), text);
  });
});
