// Checks of data that was kept: each refuses by the name of the part, with what was expected and what was received.
import { deepStrictEqual, doesNotThrow, strictEqual, throws } from 'node:assert/strict';
import { choice, number, text, whole, type Check } from '../../lib/core/checks.ts';
import { list, mapOf, oneOfRecords, optional, record } from '../../lib/core/shapes.ts';

const refused = (check: Check, value: unknown, argument: string, expected: string, received: string): void =>
  throws(() => check(value, 'file'), (error: { code: string; argument: string; expected: string; received: string }) => {
    strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
    deepStrictEqual([error.argument, error.expected, error.received], [argument, expected, received]);
    return true;
  });

describe('shapes', () => {
  const person = record({ name: text(), age: optional(whole(0, 150)) });

  it('records take their fields and no others, unless these are let be', () => {
    doesNotThrow(() => person({ name: 'a' }, ''));
    doesNotThrow(() => record({}, 'ignore')({ more: 1 }, ''));
    refused(person, { age: 3 }, 'file.name', 'a string', 'undefined');
    refused(person, { name: 'a', age: 1.5 }, 'file.age', 'a whole number from 0 to 150', '1.5');
    refused(person, { name: 'a', agee: 3 }, 'file.agee', 'no such field', '3');
    for (const [value, received] of [[null, 'null'], [[], 'an array of length 0'], [new Uint8Array(2), 'a Uint8Array of length 2'], ['a', "'a'"]] as const) {
      refused(person, value, 'file', 'an object', received);
    }
  });

  it('fields that an object only inherits are absent', () => {
    refused(person, Object.create({ name: 'a' }) as object, 'file.name', 'a string', 'undefined');
    refused(record({ constructor: text() }), {}, 'file.constructor', 'a string', 'undefined');
    refused(oneOfRecords('kind', { a: person }), { kind: 'toString' }, 'file.kind', 'one of "a"', "'toString'");
  });

  it('records that one field tells apart', () => {
    const shape = oneOfRecords('kind', { disc: record({ kind: choice(['disc']), radius: number({ above: 0 }) }), point: record({ kind: text() }) });
    doesNotThrow(() => shape({ kind: 'point' }, ''));
    refused(shape, { kind: 'disc', radius: 0 }, 'file.radius', 'a finite number above 0', '0');
    refused(shape, { kind: 'point', radius: 1 }, 'file.radius', 'no such field', '1');
    refused(shape, {}, 'file.kind', 'one of "disc", "point"', 'undefined');
  });

  it('lists and maps name the entry', () => {
    refused(list(whole(0)), [1, -1], 'file.1', 'a whole number of at least 0', '-1');
    refused(list(text(), { length: 2 }), ['a'], 'file', 'a list of 2', 'an array of length 1');
    refused(list(text()), { length: 1 }, 'file', 'a list', 'an object');
    refused(mapOf(number({ least: 0 })), { a: 1, b: NaN }, 'file.b', 'a finite number of at least 0', 'NaN');
    refused(mapOf(list(number())), { a: [1, Infinity] }, 'file.a.1', 'a finite number', 'Infinity');
  });

  it('numbers below a bound, and texts of a form', () => {
    const dx = number({ above: 1e-60, below: 1e60 });
    doesNotThrow(() => dx(1, ''));
    refused(dx, 1e60, 'file', 'a finite number above 1e-60 below 1e+60', '1e+60');
    refused(text(/^[0-9]+$/), 'x', 'file', 'a string like /^[0-9]+$/', "'x'");
  });
});
