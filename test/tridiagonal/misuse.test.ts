// Wrong arguments: every option of every operation, each with every kind of wrong value. All are refused
// before any work, with the code and the name of the argument.
import { ok, rejects, strictEqual } from 'node:assert/strict';
import { ArgumentError } from '../../lib/core/errors.ts';
import { condition, multiply, plan, solve, tune, vjp, workspace } from '../../lib/tridiagonal/index.ts';
import { deviceOf } from '../support/backends.ts';

type Options = Record<string, unknown>;
type Operation = (options: never) => Promise<unknown>;

const n = 6;
const batch = 2;
const array = (length = n * batch) => new Float64Array(length).fill(3);
const matrix = (): Options => ({ lower: array(), diagonal: array(), upper: array(), n, batch });

const operations: Record<string, { call: Operation; good: () => Options; arrays: string[] }> = {
  solve: { call: solve as Operation, good: () => ({ ...matrix(), rhs: array() }), arrays: ['rhs', 'out'] },
  workspace: { call: workspace as Operation, good: () => ({ ...matrix(), rhs: array() }), arrays: ['rhs', 'out'] },
  plan: { call: plan as Operation, good: matrix, arrays: [] },
  multiply: { call: multiply as Operation, good: () => ({ ...matrix(), x: array() }), arrays: ['x', 'y'] },
  condition: { call: condition as Operation, good: () => ({ ...matrix(), rhs: array(), solution: array() }), arrays: ['rhs', 'solution'] },
  vjp: { call: vjp as Operation, good: () => ({ ...matrix(), solution: array(), cotangent: array() }), arrays: ['solution', 'cotangent'] },
};

const notNumbers: unknown[] = ['3', null, {}, [], true, 3n, () => 3, Symbol('3'), new Date(0)];
const notCounts: unknown[] = [...notNumbers, NaN, Infinity, -Infinity, -1, 1.5, -0.5, 2 ** 53, 1e300];
const notFlags: unknown[] = [0, 1, 'true', '', null, {}, [], NaN, 1n, () => true];
const notNames: unknown[] = ['', 'NONE', 'Auto', ' ', 0, 1, null, {}, [], true, NaN, () => 'auto'];
const notObjects: unknown[] = [0, 'cuda', null, true, [], {}, () => 1, 5n];

function detached(): Float64Array {
  const victim = array();
  structuredClone(victim.buffer, { transfer: [victim.buffer] });
  return victim;
}

function resizable(): Float64Array {
  const Resizable = ArrayBuffer as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
  return new Float64Array(new Resizable(8 * n * batch, { maxByteLength: 16 * n * batch }));
}

const notArrays = (): unknown[] => [
  null, 'abc', true, {}, [1, 2, 3], new Array(n * batch).fill(3), new Int32Array(n * batch), new Uint8Array(n * batch),
  new BigInt64Array(n * batch), new ArrayBuffer(8 * n * batch), new DataView(new ArrayBuffer(8 * n * batch)), 7n, Symbol('a'),
  () => array(), new Float32Array(n * batch), array(n * batch - 1), array(n * batch + 1), array(0), array(1), detached(),
  resizable(),
  { re: array() }, { re: array(), im: 3 }, { re: array(), im: array(3) }, { re: array(), im: new Float32Array(n * batch) },
  { re: [1], im: [1] }, { re: array(), im: null },
];

const notBands = (): unknown[] => [...notArrays(), NaN, Infinity, -Infinity, { re: NaN, im: 0 }, { re: 1, im: Infinity }, { re: 1, im: 1 }];

const notLayouts: unknown[] = [
  ...notNames, 'row-major', {}, { systemStride: 1 }, { rowStride: 1 }, { systemStride: -1, rowStride: 1 },
  { systemStride: 1.5, rowStride: 1 }, { systemStride: n, rowStride: 1, offset: -1 }, { systemStride: n, rowStride: 1, gap: 1 },
  { systemStride: n, rowStride: NaN }, { systemStride: '6', rowStride: 1 }, { systemStride: n, rowStride: 1, offset: 1 },
  { systemStride: n + 1, rowStride: 1 }, { systemStride: 2 ** 52, rowStride: 1 },
];

const notOffsets: unknown[] = [
  [], [0, 6], [1, 6, 12], [0, 12, 6], [0, -1, 12], [0, 6.5, 12], [0, NaN, 12], ['0', '6', '12'], [0, 6, 13], [0, 6, 11], 7, 'x', null, {},
  Float64Array.of(0, 6, 12), [0, 4, 12], Int32Array.of(0, 6, 5), BigInt64Array.of(0n, -6n, 12n), [0, 6, 2 ** 53],
];

/** Wrong values by option; each may also be blamed on one of `also`. */
function wrongValues(arrays: readonly string[]): Record<string, { values: unknown[]; also?: string[] }> {
  const sizes = [...arrays, 'diagonal', 'lower', 'upper'];
  return {
    n: { values: [...notCounts, n + 1, 0, 2 ** 31], also: sizes },
    batch: { values: [...notCounts, batch + 1, 0], also: sizes },
    rhsCount: { values: [...notCounts, 2, 0], also: sizes },
    lower: { values: [...notBands(), undefined], also: ['diagonal', 'upper', ...arrays] },
    diagonal: { values: [...notBands(), undefined], also: ['lower', 'upper', ...arrays] },
    upper: { values: [...notBands(), undefined], also: ['diagonal', 'lower', ...arrays] },
    ...Object.fromEntries(arrays.map((name) => [name, { values: notArrays(), also: [...sizes, 'solution'] }])),
    periodic: { values: notFlags },
    complex: { values: notFlags },
    stable: { values: notFlags },
    check: { values: notFlags },
    refine: { values: notFlags },
    transpose: { values: notNames },
    structure: { values: [...notNames, 'positive-definite'], also: ['upper'] },
    algorithm: { values: notNames },
    factorisation: { values: [...notNames, 'cholesky'] },
    depth: { values: [...notCounts, 1, 3, 64, 4] },
    tolerance: { values: [...notNumbers, NaN, Infinity, -1, 1e-10] },
    alpha: { values: [...notNumbers, NaN, Infinity, -Infinity] },
    beta: { values: [...notNumbers, NaN, Infinity, -Infinity, 1], also: ['y'] },
    layout: { values: notLayouts, also: [...sizes, 'solution'] },
    layouts: {
      values: [
        ...notObjects.filter((value) => !isEmptyObject(value)), { band: 'contiguous' }, { diagonal: 'rows' },
        { diagonal: null }, { diagonal: { systemStride: 9, rowStride: 1 } },
      ],
      also: sizes,
    },
    offsets: { values: notOffsets, also: [...sizes, 'n', 'batch'] },
    device: { values: notObjects },
    signal: { values: notObjects },
    onProgress: { values: notObjects.filter((value) => typeof value !== 'function') },
    unknownOption: { values: [1, undefined] },
  };
}

const isEmptyObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;

/** Options an operation does not have; giving them is itself the mistake. */
let refused = 0;

async function expectRefusal(call: Operation, options: Options, names: readonly string[], label: string): Promise<void> {
  await rejects(call(options as never), (error: unknown) => {
    ok(error instanceof ArgumentError, `${label}: ${String(error)}`);
    strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT', label);
    const blamed = error.argument.split('.')[0]!;
    ok(names.includes(blamed), `${label}: blamed "${error.argument}": ${error.message}`);
    ok(error.message.startsWith(`${error.argument}: `) && error.message.length > error.argument.length + 10, `${label}: ${error.message}`);
    return true;
  }, label);
  refused += 1;
}

function show(value: unknown): string {
  if (typeof value !== 'object' && typeof value !== 'string') return String(value);
  const text = JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v));
  return `${value?.constructor?.name} ${text?.slice(0, 80)}`;
}

describe('misuse', function () {
  this.timeout(60_000);
  for (const [operation, { call, good, arrays }] of Object.entries(operations)) {
    for (const [name, { values, also = [] }] of Object.entries(wrongValues(arrays))) {
      it(`of ${name} in ${operation} is refused`, async () => {
        const device = await deviceOf('cpu');
        for (const value of values) {
          const options: Options = { device, ...good(), [name]: value };
          await expectRefusal(call, options, [name, ...also], `${operation}({ ${name}: ${show(value)} })`);
        }
      });
    }

    it(`of the whole options object of ${operation} is refused`, async () => {
      for (const options of [undefined, null, 3, 'options', true, 5n, [], () => 1]) {
        await rejects(call(options as never), ArgumentError);
        refused += 1;
      }
    });
  }

  it('by overlapping arrays is refused', async () => {
    const device = await deviceOf('cpu');
    const buffer = array(3 * n * batch);
    const window = (at: number) => buffer.subarray(at, at + n * batch);
    for (const shift of [1, -1, n, n * batch - 1]) {
      const rhs = window(n * batch);
      const options = { ...matrix(), device, rhs, out: window(n * batch + shift) };
      await expectRefusal(solve as Operation, options, ['out', 'solution'], `out shifted by ${shift}`);
      const bands = { ...matrix(), device, rhs: array(), diagonal: rhs, out: window(n * batch + shift) };
      await expectRefusal(solve as Operation, bands, ['out', 'solution'], `out over diagonal, shifted by ${shift}`);
    }
    const shared = { systemStride: 0, rowStride: 1 };
    await expectRefusal(solve as Operation, { ...matrix(), device, rhs: array(), out: array(), layouts: { solution: shared } },
      ['out', 'solution'], 'all systems in one place');
  });

  it('of tune is refused', async () => {
    const device = await deviceOf('cpu');
    const wrong: Record<string, unknown[]> = {
      sizes: [[], [0], [1.5], 'x', null, [NaN]], types: [[], ['float16'], 'float32', null], depths: [[], [3], [0], 4],
      unknowns: notCounts, repeats: notCounts, onRow: [1, null, {}], signal: notObjects, device: notObjects,
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) await expectRefusal(tune as Operation, { device, [name]: value }, [name], `tune ${name}`);
    }
  });

  it('works once the mistake is mended', async () => {
    const { status } = await solve({ ...(operations.solve!.good() as unknown as Parameters<typeof solve>[0]), device: await deviceOf('cpu'), stable: true });
    strictEqual(status.length, batch);
  });

  after(() => {
    ok(refused >= 2000, `${refused} generated misuse calls, at least 2000 wanted`);
    console.log(`      ${refused} wrong calls refused`);
  });
});
