// The checker of options: what it takes, what it fills in, and how it refuses.
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { abortSignal, anything, callback, choice, either, number, positive, rule, text, truth, whole, type Check } from '../../lib/core/checks.ts';
import { ArgumentError } from '../../lib/core/errors.ts';
import { choices, parameters } from '../../lib/core/operations.gen.ts';
import { needed, nested, normally, optionsOf, parametersOf, rangesOf } from '../../lib/core/options.ts';

/** The refusal of a call, as [argument, expected, received]. */
function refused(call: () => unknown): [string, string, string] {
  try {
    call();
  } catch (error) {
    ok(error instanceof ArgumentError, String(error));
    strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
    ok(error.message.startsWith(`${error.argument}: `), error.message);
    return [error.argument, error.expected, error.received];
  }
  throw new Error('nothing was refused');
}

const blur = optionsOf('blur', {
  weight: normally(positive, 2), passes: needed(whole(1, 9)), mode: normally(choice(['fast', 'good'] as const), 'fast'), keep: truth,
  out: anything, onRow: callback,
});

describe('options', () => {
  it('are read with their defaults, into objects of their own', () => {
    const given = { passes: 3, keep: undefined };
    const read = blur.read(given);
    deepStrictEqual({ ...read }, { weight: 2, passes: 3, mode: 'fast', keep: undefined, out: undefined, onRow: undefined });
    deepStrictEqual(given, { passes: 3, keep: undefined });
    deepStrictEqual(Object.keys(blur.read({ passes: 1, weight: 4, keep: true })), Object.keys(read), 'one shape, whatever is given');
    strictEqual(blur.read({ passes: 1, weight: undefined }).weight, 2);
    strictEqual(blur.read<{ passes: number; weight?: number }>({ passes: 1 }).weight, 2, 'the read before changed no default');
  });

  it('are read once each, at the call', () => {
    let reads = 0;
    const tricky = { get passes() { reads += 1; return reads === 1 ? 3 : NaN; } };
    strictEqual(blur.read(tricky).passes, 3);
    strictEqual(reads, 1);
  });

  it('may be inherited, or getters of a class', () => {
    class Settings {
      #passes = 4;
      get passes(): number { return this.#passes; }
      set passes(value: number) { this.#passes = value; }
    }
    const settings = new Settings();
    strictEqual(blur.read(settings).passes, 4);
    settings.passes = 0;
    deepStrictEqual(refused(() => blur.read(settings)), ['passes', 'a whole number from 1 to 9', '0']);
    strictEqual(blur.read(Object.create({ passes: 2 }) as { passes: number }).passes, 2);
    strictEqual(blur.read(Object.assign(Object.create(null) as object, { passes: 2 })).passes, 2);
  });

  it('that do not exist are refused with the nearest that does', () => {
    throws(() => blur.read({ passes: 1, wieght: 3 }), { message: "wieght: blur has no such option; did you mean 'weight'? it takes "
      + 'weight, passes, mode, keep, out, onRow' });
    deepStrictEqual(refused(() => blur.read({ passes: 1, zzz: 3 })), ['zzz', 'one of weight, passes, mode, keep, out, onRow', "'zzz'"]);
    deepStrictEqual(refused(() => blur.read({ __proto__: null, constructor: 1 })), ['constructor', 'one of weight, passes, mode, keep, out, onRow', "'constructor'"]);
    deepStrictEqual(refused(() => optionsOf('f', {}).read({ a: 1 })), ['a', 'no options', "'a'"]);
  });

  it('of wrong values are refused by name', () => {
    for (const [name, value, expected, received] of [
      ['weight', 0, 'a finite number above 0', '0'], ['weight', NaN, 'a finite number above 0', 'NaN'],
      ['weight', Infinity, 'a finite number above 0', 'Infinity'], ['weight', '1', 'a finite number above 0', "'1'"],
      ['passes', 1.5, 'a whole number from 1 to 9', '1.5'], ['passes', 10, 'a whole number from 1 to 9', '10'],
      ['passes', null, 'a whole number from 1 to 9', 'null'], ['passes', 3n, 'a whole number from 1 to 9', 'a bigint'],
      ['mode', 'Fast', 'one of "fast", "good"', "'Fast'"], ['keep', 1, 'true or false', '1'], ['onRow', {}, 'a function', 'an object'],
    ] as const) deepStrictEqual(refused(() => blur.read({ passes: 1, [name]: value })), [name, expected, received]);
    deepStrictEqual(refused(() => blur.read({})), ['passes', 'a whole number from 1 to 9', 'undefined']);
  });

  it('must be an object with names', () => {
    for (const value of [undefined, null, 3, 'x', [], [1], new Float64Array(2), new Float64Array(0), Object.create(Float64Array.prototype), () => 1]) {
      const [argument, expected, received] = refused(() => blur.read(value as object));
      deepStrictEqual([argument, expected], ['options', 'an object of options of blur']);
      ok(received !== '' && received !== expected, received);
    }
  });

  it('inside of options are named by their way', () => {
    const outer = optionsOf('outer', { inner: nested(blur) });
    deepStrictEqual(refused(() => outer.read({ inner: { passes: 0 } })), ['inner.passes', 'a whole number from 1 to 9', '0']);
    deepStrictEqual(refused(() => outer.read({ inner: { pases: 1 } })).slice(0, 1), ['inner.pases']);
    deepStrictEqual(refused(() => outer.read({ inner: 3 })), ['inner', 'an object of blur', '3']);
    throws(() => outer.read({ inner: { pases: 1 } }), /inner\.pases: blur has no such field; did you mean 'passes'\?/);
  });

  it('that are parameters of an operation have its ranges, choices and defaults', () => {
    const { default: normal, least, most } = parameters['imaging.denoise'].checkEvery;
    const denoise = optionsOf('denoise', parametersOf('imaging.denoise', 'checkEvery', 'method', 'coupled', 'eps'));
    deepStrictEqual({ ...denoise.read({}) }, {
      checkEvery: normal, method: parameters['imaging.denoise'].method.default, coupled: true, eps: parameters['imaging.denoise'].eps.default,
    });
    for (const value of [least - 1, most + 1, 1.5]) {
      deepStrictEqual(refused(() => denoise.read({ checkEvery: value })), ['checkEvery', `a whole number from ${least} to ${most}`, String(value)]);
    }
    for (const method of choices['imaging.denoise'].method) strictEqual(denoise.read({ method }).method, method);
    deepStrictEqual(refused(() => denoise.read({ eps: 0 })), ['eps', 'a finite number from 1e-30 to 1e+30', '0']);
    strictEqual('eps' in { ...optionsOf('f', rangesOf('imaging.denoise', 'eps')).read({}) }, true);
    strictEqual((optionsOf('f', rangesOf('imaging.denoise', 'eps')).read({}) as { eps?: number }).eps, undefined);
  });
});

describe('rules', () => {
  const values = [0, -0, 1, -1, 0.5, 2 ** 31, 2 ** 53, Number.MAX_VALUE, Number.MIN_VALUE, NaN, Infinity, -Infinity, '1', '', null, true, false, 3n, {}, [], () => 1];

  it('say the same to the table as by themselves', () => {
    const rules: Readonly<Record<string, Check>> = {
      truth, positive, real: number(), atLeast: number({ least: 0 }), between: number({ least: -1, most: 1 }), above: number({ above: 1 }),
      below: number({ above: 0, below: 1 }), count: whole(0), few: whole(1, 3), any: whole(Number.MIN_SAFE_INTEGER), text: text(), callback,
      chosen: choice([1, 'x', true]), either: either(positive, choice(['estimate'])), signal: abortSignal, own: rule('odd', (value) => value === 1),
    };
    for (const [name, check] of Object.entries(rules)) {
      const table = optionsOf('f', { x: check });
      for (const value of values) {
        const alone = outcome(() => check(value, 'x'));
        strictEqual(outcome(() => table.read({ x: value })), alone, `${name} of ${String(value)}`);
      }
    }
  });

  it('say bounds in words', () => {
    const expected = (check: Check): string => refused(() => check(undefined, 'x'))[1];
    strictEqual(expected(number({ least: 0 })), 'a finite number of at least 0');
    strictEqual(expected(number({ most: 3 })), 'a finite number of at most 3');
    strictEqual(expected(number({ above: 0, most: 3 })), 'a finite number above 0 to 3');
    strictEqual(expected(number({ least: 0, below: 1 })), 'a finite number from 0 below 1');
    strictEqual(expected(whole(0)), 'a whole number of at least 0');
    strictEqual(expected(either(positive, choice(['estimate']))), 'a finite number above 0, or one of "estimate"');
  });
});

function outcome(call: () => unknown): string {
  try {
    call();
    return 'taken';
  } catch (error) {
    return (error as Error).message;
  }
}
