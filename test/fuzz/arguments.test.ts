// Misuse of every field of every operation, generated from the registry's metadata: each wrong value must be
// refused with ERR_WARPLOOM_INVALID_ARGUMENT (or DISPOSED) and the field's name, before any work.
import { inspect } from 'node:util';
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { addon, type FieldDescription } from '../../lib/core/binding.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { ArgumentError, DisposedError } from '../../lib/core/errors.ts';
import { coveredOperations, optionalViews, validParameters, type LooseParameters, type LooseView } from '../support/valid-parameters.ts';

/** A wrong value for a field, and the name the error must carry. */
interface Misuse {
  readonly what: string;
  readonly argument: string | readonly string[];
  readonly apply: (parameters: LooseParameters) => void;
}

const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
const Growable = SharedArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => SharedArrayBuffer;
type AnyArray = Float64Array | Int32Array | BigInt64Array | Uint8Array;
type ArrayConstructor = new (source: number | ArrayBufferLike, offset?: number, length?: number) => AnyArray;

const notArrays: readonly (readonly [string, unknown])[] = [
  ['null', null], ['a number', 3], ['a string', 'abc'], ['true', true], ['a plain array', [1, 2, 3]], ['an object', {}],
  ['an ArrayBuffer', new ArrayBuffer(120)], ['a DataView', new DataView(new ArrayBuffer(120))], ['a bigint', 7n],
  ['a function', () => 1], ['a symbol', Symbol('a')], ['a Float32Array', new Float32Array(15)],
  ['a Uint16Array', new Uint16Array(15)], ['a Uint8ClampedArray', new Uint8ClampedArray(15)],
];
const notIntegers: readonly unknown[] = [
  null, '3', '', true, {}, [], 3n, () => 3, Symbol('3'), NaN, Infinity, -Infinity, 1.5, -0.5, 1e-300, 2 ** 53, -(2 ** 53), 1e300,
];
const notReals: readonly unknown[] = [null, '3', true, {}, [], 3n, () => 3, Symbol('3'), NaN, Infinity, -Infinity];
const notChoices: readonly unknown[] = ['', 'NONE', 'Auto', ' auto', 'x'.repeat(1000), 0, 1, null, {}, [], true, NaN, 1n, () => 'auto'];
const notFlags: readonly unknown[] = [0, 1, 'true', '', null, {}, [], NaN, 1n, () => true];

function constructorOf(array: AnyArray): ArrayConstructor {
  return array.constructor as ArrayConstructor;
}

function detached(like: AnyArray): AnyArray {
  const victim = new (constructorOf(like))(like.length);
  structuredClone(victim.buffer, { transfer: [victim.buffer as ArrayBuffer] });
  return victim;
}

/** Wrong memory of the right kind. */
function wrongArrays(like: AnyArray): [string, AnyArray][] {
  const make = constructorOf(like);
  const bytes = like.byteLength;
  return [
    ['detached', detached(like)],
    ['resizable', new make(new Resizable(bytes, { maxByteLength: 2 * bytes }))],
    ['resizable, fixed length', new make(new Resizable(bytes, { maxByteLength: 2 * bytes }), 0, like.length)],
    ['growable shared', new make(new Growable(bytes, { maxByteLength: 2 * bytes }))],
  ];
}

const set = (name: string, value: unknown) => (parameters: LooseParameters): void => {
  parameters[name] = value;
};
const setPart = (name: string, part: keyof LooseView, value: unknown) => (parameters: LooseParameters): void => {
  (parameters[name] as LooseView)[part] = value as never;
};

function scalarMisuses({ name, kind, type, choices }: FieldDescription): Misuse[] {
  const wrong = kind === 'choice' ? notChoices : kind === 'real' ? notReals : kind === 'boolean' ? notFlags : notIntegers;
  const list = wrong.filter((value) => !choices?.includes(value as string));
  const more = kind !== 'integer' ? [] : [-1, ...(type === 'int32' ? [2 ** 31, -(2 ** 31) - 1] : [])];
  return [...list, ...more].map((value) => ({ what: String(typeof value === 'object' ? JSON.stringify(value) : String(value)),
    argument: name, apply: set(name, value) }));
}

/** Sizes that no longer fit the arrays: any of the arrays may be named. */
function sizeMisuses(name: string, arrays: readonly string[]): Misuse[] {
  return [0.5, 7, 100, 2 ** 31, 2 ** 40, 2 ** 52].map((value) =>
    ({ what: `${value}`, argument: [name, 'n', 'batch', 'rhsCount', ...arrays], apply: set(name, value) }));
}

function arrayMisuses(
  { name, role }: FieldDescription, value: AnyArray, others: readonly [string, AnyArray][], anyLength: boolean,
): Misuse[] {
  const make = constructorOf(value);
  const wrongKinds: Misuse[] = notArrays.map(([what, wrong]) => ({ what, argument: name, apply: set(name, wrong) }));
  const list = [...wrongKinds, ...wrongArrays(value).map(([what, wrong]) => ({ what, argument: name, apply: set(name, wrong) }))];
  const lengths = anyLength ? [0, value.length - 1] : [0, value.length - 1, value.length + 1, 2 * value.length];
  for (const length of lengths) list.push({ what: `length ${length}`, argument: name, apply: set(name, new make(length)) });
  if (role === 'input') return list;
  for (const [other, array] of others) {
    if (array.byteLength < 8) continue;
    list.push({ what: `overlapping ${other}`, argument: [name, other], apply(parameters) {
      const shared = new ArrayBuffer(Math.max(array.byteLength, value.byteLength) + 8);
      parameters[name] = new make(shared, 0, value.length);
      const copy = new (constructorOf(array))(shared, 0, array.length);
      const field = parameters[other] as LooseView | AnyArray;
      if (ArrayBuffer.isView(field)) parameters[other] = copy;
      else field.data = copy;
    } });
  }
  return list;
}

function viewMisuses({ name }: FieldDescription, value: LooseView): Misuse[] {
  const data = value.data as Float64Array;
  const list: Misuse[] = [null, 3, 'abc', true, 7n, () => 1, Symbol('v')].map((wrong) =>
    ({ what: String(wrong), argument: name, apply: set(name, wrong) }));
  const dataNames = [name, `${name}.data`];
  for (const [what, wrong] of [...notArrays, ...wrongArrays(data), ['undefined', undefined] as const]) {
    list.push({ what: `data: ${what}`, argument: dataNames, apply: setPart(name, 'data', wrong) });
  }
  for (const length of [0, 1, data.length - 1]) {
    list.push({ what: `data of ${length}`, argument: dataNames, apply: setPart(name, 'data', new Float64Array(length)) });
  }
  list.push({
    what: 'imaginary of a real call', argument: [name, `${name}.imaginary`],
    apply: setPart(name, 'imaginary', new Float64Array(data.length)),
  });
  list.push({ what: 'an unknown field', argument: `${name}.stride`, apply: setPart(name, 'stride' as never, 1) });
  list.push({ what: 'a view', argument: `${name}.length`, apply: setPart(name, 'length' as never, 1) });
  for (const wrong of notIntegers.filter((each) => each !== null)) {
    list.push({ what: `offset: ${String(wrong)}`, argument: `${name}.offset`, apply: setPart(name, 'offset', wrong) });
  }
  const elements = data.length;
  for (const far of [-1, 14, 2 ** 31, 2 ** 52, -(2 ** 52)]) {
    const apply = (parameters: LooseParameters): void => {
      parameters[name] = { ...value, offset: far, extents: value.extents ?? [elements] };
    };
    list.push({ what: `offset: ${far}`, argument: [name, `${name}.offset`], apply });
  }
  return [...list, ...dimensionMisuses(name, value, elements)];
}

/** Extents and strides that are none, that disagree, that lead backwards, out of the buffer or beyond all numbers. */
function dimensionMisuses(name: string, value: LooseView, elements: number): Misuse[] {
  const set = (what: string, part: string, extents: unknown, strides: unknown): Misuse => ({
    what: `${what}: ${inspect(extents)} by ${inspect(strides)}`, argument: [name, `${name}.${part}`],
    apply: (parameters) => {
      parameters[name] = { ...value, extents, strides };
    },
  });
  const huge = 2 ** 53 - 1;
  return [
    ...[null, 5, 'abc', {}, new Float64Array(2)].flatMap((wrong) => [
      set('no list', 'extents', wrong, undefined), set('no list', 'strides', [elements], wrong)]),
    ...notIntegers.filter((each) => each !== null).flatMap((wrong) => [
      set('no integer', 'extents[0]', [wrong], undefined), set('no integer', 'strides[1]', [1, elements], [elements, wrong])]),
    set('strides alone', 'strides', undefined, [1]), set('too few', 'strides', [1, elements], [1]),
    set('five dimensions', 'extents', [1, 1, 1, 1, elements], undefined), set('none of the shape', 'extents', [2, 2, 2, 2], undefined),
    set('negative', 'extents[0]', [-1, elements], [1, 1]), set('negative', 'strides[0]', [elements], [-1]),
    set('negative where it strides over one element', 'strides[0]', [1, elements], [-1, 1]),
    set('one too far', 'extents', [elements + 1], undefined), set('one too far', 'extents', [2, elements], [1, 1]),
    set('too far', 'extents', [huge], undefined), set('too far', 'extents', [huge, huge, huge, huge], undefined),
    set('too far', 'strides', [huge, huge, huge, huge], [huge, huge, huge, huge]), set('too far', 'strides', [2, elements], [huge, 1]),
  ];
}

function misuses(operation: string, fields: readonly FieldDescription[]): Misuse[] {
  const valid = validParameters(operation);
  const arrays = fields.filter((field) => field.kind === 'array' || field.kind === 'view');
  const given = arrays.filter((field) => valid[field.name] !== undefined);
  const memoryOf = (name: string): AnyArray => {
    const value = valid[name] as AnyArray | LooseView;
    return (ArrayBuffer.isView(value) ? value : value.data) as AnyArray;
  };
  const list: Misuse[] = [
    { what: 'an unknown field', argument: 'bogus', apply: set('bogus', 1) },
    { what: 'another unknown field', argument: '__proto', apply: set('__proto', undefined) },
  ];
  for (const field of fields) {
    const { name, kind } = field;
    if (kind === 'view') {
      list.push(...viewMisuses(field, valid[name] as LooseView));
      const optional = name === 'upper' || optionalViews.has(`${operation} ${name}`);
      if (!optional) list.push({ what: 'missing', argument: name, apply: (parameters) => delete parameters[name] });
    } else if (kind === 'array') {
      const others = given.filter((other) => other.name !== name).map((other) => [other.name, memoryOf(other.name)] as [string, AnyArray]);
      const like = (valid[name] as AnyArray | undefined) ?? new BigInt64Array(4);
      list.push(...arrayMisuses(field, like, valid[name] === undefined ? [] : others, ['factors', operation === 'imaging.curvature' ? 'used' : ''].includes(name)));
    } else {
      list.push(...scalarMisuses(field));
      if (['n', 'batch', 'rhsCount'].includes(name)) list.push(...sizeMisuses(name, given.map((each) => each.name)));
    }
  }
  return list;
}

describe('generated misuse of operations', function () {
  this.timeout(60000);
  let device: Device;
  let total = 0;

  before(async () => {
    device = await openDevice({ backend: 'cpu', threads: 1 });
  });
  after(async () => {
    await device.close();
  });

  it('knows a valid call of every operation', () => {
    deepStrictEqual(Object.keys(addon().operations()), coveredOperations);
  });

  for (const operation of coveredOperations) {
    it(`refuses every misuse of ${operation} by name`, async () => {
      const { fields } = addon().operations()[operation]!;
      const wrong: string[] = [];
      for (const { what, argument, apply } of misuses(operation, fields)) {
        const parameters = validParameters(operation);
        apply(parameters);
        const error = await device.run(operation, parameters).then(() => undefined, (thrown: unknown) => thrown);
        const good = error instanceof ArgumentError && error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT'
          && [argument].flat().includes(error.argument) && error.message.startsWith(`${error.argument}: `);
        if (!good) wrong.push(`${String(argument)} = ${what}: ${error === undefined ? 'accepted' : String(error)}`);
        total += 1;
      }
      deepStrictEqual(wrong, []);
      strictEqual(device.memory().inUseBytes, 0);
    });
  }

  it('refuses disposed device arrays and those of another device by name', async () => {
    const other = await openDevice({ backend: 'cpu', threads: 1 });
    for (const operation of coveredOperations) {
      for (const { name, kind, type } of addon().operations()[operation]!.fields) {
        if ((kind !== 'view' && kind !== 'array') || type === 'int64') continue;
        const valid = validParameters(operation)[name] as AnyArray | LooseView | undefined;
        if (valid === undefined) continue;
        const memory = (ArrayBuffer.isView(valid) ? valid : valid.data) as AnyArray;
        const put = (array: unknown): LooseParameters => {
          const parameters = validParameters(operation);
          if (kind === 'array') parameters[name] = array;
          else (parameters[name] as LooseView).data = array;
          return parameters;
        };
        const foreign = await other.array(memory);
        const error = await device.run(operation, put(foreign)).catch((thrown: unknown) => thrown);
        ok(error instanceof ArgumentError && error.argument === name, `${operation} ${name}: ${String(error)}`);
        const gone = await device.array(memory);
        gone.dispose();
        const late = await device.run(operation, put(gone)).catch((thrown: unknown) => thrown);
        ok(late instanceof DisposedError && late.argument.startsWith(name), `${operation} ${name}: ${String(late)}`);
        total += 2;
        foreign.dispose();
      }
    }
    await other.close();
  });

  it('made at least 2,000 calls', function () {
    ok(total >= 2000, `only ${total}`);
    this.test!.title = `made ${total} calls`;
  });
});
