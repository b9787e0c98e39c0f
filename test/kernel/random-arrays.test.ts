// Random functions on arrays: the interpreter, WebAssembly, C++ and the kernels of devices give the same bits.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DeviceArray } from '../../lib/index.ts';
import { arithmeticHeader, cTypes } from '../../lib/kernel/print/c-family.ts';
import { printCpp } from '../../lib/kernel/print/cpp.ts';
import { deviceText } from '../../lib/kernel/call/device-text.ts';
import { mapLaunch } from '../../lib/kernel/call/device.ts';
import { HostKernel } from '../../lib/kernel/call/host.ts';
import { mapProgram, reduceProgram } from '../../lib/kernel/call/host-program.ts';
import type { View } from '../../lib/kernel/call/operands.ts';
import { elementNames, itemFunction, pointOf, scalarTypes, sourceOf, type Kind, type Point } from '../../lib/kernel/call/point.ts';
import { optimise } from '../../lib/kernel/passes/index.ts';
import type { ScalarType } from '../../lib/kernel/ir.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { eachBackend } from '../support/backends.ts';
import { canCompile, hasHostCompiler } from '../support/modules.ts';
import { Random } from '../support/random.ts';
import { command, inFolder } from './c-run.ts';
import { randomFunction } from './random-function.ts';

const functions = Number(process.env['WARPLOOM_RANDOM_FUNCTIONS'] ?? 120), together = 30, items = 77;
const special = [0, -0, 1, -1, 0.5, -2.5, 3, 1e-300, 1e9, -7.25, Infinity, -Infinity, NaN, 100, 4];
type Values = Float64Array | Float32Array | Int32Array;
const arrays = { f64: Float64Array, f32: Float32Array, i32: Int32Array };

interface Sample {
  readonly text: string;
  readonly point: Point;
  readonly results: readonly ScalarType[];
  readonly inputs: readonly (Values | number)[];
  readonly want: readonly Values[];
}

function sampleOf(seed: number): Sample {
  const random = new Random(seed);
  const draw = (): number => Math.floor(random.next() * 0x10000);
  const text = randomFunction(draw, seed % 2 === 0);
  const kinds = ([['float64', 'float64'], ['float32', 'float32'], ['int32', 'float32'], ['float64', 'number'], ['float32', 'number']] as const)[seed % 5]! as readonly Kind[];
  const point = pointOf(sourceOf(text), kinds);
  const results = point.f.results.map((type): ScalarType => (type === 'bool' ? 'i32' : seed % 7 === 3 ? 'i32' : type as ScalarType));
  const inputs = kinds.map((kind) => (kind === 'number' ? 2.5 : new arrays[scalarTypes[kind]](Array.from({ length: items }, (_, i) =>
    (i < special.length ? special[(i * (draw() % 7 + 1)) % special.length]! : Math.round((draw() / 256 - 128) * 8) / 8)))));
  verify(mapProgram(point, results).program);
  for (const how of ['sum', 'min'] as const) verify(reduceProgram(point, 'square', how).program);
  return { text, point, results, inputs, want: onHost(point, results, inputs, 'interpreter') };
}

function onHost(point: Point, results: readonly ScalarType[], inputs: readonly (Values | number)[], backend: 'wasm' | 'interpreter'): Values[] {
  const view = (data: Values): View => ({ name: '', type: 'float64', data, offset: 0, shape: [items], strides: [1] });
  const made = results.map((type) => new arrays[type](items));
  void new HostKernel(mapProgram(point, results), backend).map(
    inputs.map((input) => (typeof input === 'number' ? input : view(input))), made.map(view), [items], { count: items });
  return made;
}

function requireSame(made: readonly ArrayLike<number>[], { want, text }: Sample, where: string): void {
  want.forEach((values, r) => {
    values.forEach((value, i) => { assert.ok(Object.is(made[r]![i], value), `${where}, result ${r}, element ${i}: ${made[r]![i]} for ${value}\n${text}`); });
  });
}

describe('random functions on arrays', function () {
  this.timeout(120_000);
  const samples: Sample[] = [];
  before(() => { for (let seed = 1; seed <= functions; ++seed) samples.push(sampleOf(seed)); });

  it('as WebAssembly', () => {
    for (const sample of samples) requireSame(onHost(sample.point, sample.results, sample.inputs, 'wasm'), sample, 'wasm');
  });

  it('as C++', function () {
    if (!hasHostCompiler) this.skip();
    const text = samples.map(({ point, results, inputs }, k) => {
      const program = optimise({ buffers: [], imports: [], functions: [point.f, itemFunction(point, results)] }, { roots: new Set(['item']), vectors: false });
      const input = (i: number): string => (typeof inputs[i] === 'number' ? String(inputs[i]) : `in${i}[k]`);
      const reads = inputs.map((each, i) => (typeof each === 'number' ? ''
        : `static ${cTypes[scalarTypes[point.kinds[i] as 'int32']]} in${i}[${items}];
fread(in${i}, sizeof(in${i}), 1, stdin);`));
      const outs = results.map((type, r) => `static ${cTypes[type]} out${r}[${items}];`);
      return `namespace k${k} {\n${printCpp(program)}\nstatic void run() {\n${[...reads, ...outs].join('\n')}
for (int k = 0; k < ${items}; ++k) item(${[...inputs.map((_, i) => input(i)), ...results.map((_, r) => `out${r}[k]`)].join(', ')});
${results.map((_, r) => `fwrite(out${r}, sizeof(out${r}), 1, stdout);`).join('\n')}\n}\n}`;
    });
    const main = `int main() {\n${text.map((_, k) => `k${k}::run();`).join('\n')}\n}`;
    const source = ['#include <cstdio>', arithmeticHeader(), '[[noreturn]] void wl_trap(int, double);', ...text, main].join('\n');
    const bytes = Buffer.concat(samples.flatMap(({ inputs }) => inputs.flatMap((each) => (typeof each === 'number' ? [] : [Buffer.from(each.buffer)]))));
    const found = inFolder((folder) => {
      const [from, to, given, made] = ['all.cpp', 'all', 'in', 'out'].map((name) => join(folder, name)) as [string, string, string, string];
      writeFileSync(from, source);
      writeFileSync(given, bytes);
      command('g++', ['-std=c++17', '-O1', '-ffp-contract=off', '-w', '-Wno-psabi', '-o', to, from]);
      command('sh', ['-c', `'${to}' < '${given}' > '${made}'`]);
      return new Uint8Array(Buffer.from(command('base64', [made]), 'base64'));
    });
    let at = 0;
    for (const sample of samples) {
      requireSame(sample.results.map((type) => {
        const bytesEach = items * (type === 'f64' ? 8 : 4);
        return new arrays[type](found.slice(at, at += bytesEach).buffer);
      }), sample, 'C++');
    }
    assert.equal(at, found.length);
  });

  eachBackend((backend, opened) => {
    it('in kernels, several to a module', async function () {
      if (!await canCompile(backend, 1)) this.skip();
      const device = await opened();
      for (let first = 0; first < functions; first += together) {
        const batch = samples.slice(first, first + together);
        const texts = batch.map(({ point, results }) => deviceText({ point, results, rank: 0 }));
        const source = texts.map(({ source: own }, k) => own.replace('namespace {', `namespace k${k} {`)
          .replace(/WARPLOOM_KERNEL\(wl_map, kernel::Map<Point>\)/, `WARPLOOM_KERNEL(wl_map${k}, k${k}::kernel::Map<k${k}::Point>)`)).join('\n');
        using module = await device.module({ source, kernels: texts.map((_, k) => `wl_map${k}`), headers: { 'arithmetic.h': arithmeticHeader() } });
        for (const [k, sample] of batch.entries()) {
          const view = (data: DeviceArray): View => ({ name: '', type: data.type as 'float64', data, offset: 0, shape: [items], strides: [1] });
          const inputs = await Promise.all(sample.inputs.map(async (each) => (typeof each === 'number' ? each : view(await device.array(each)))));
          const outputs = await Promise.all(sample.results.map(async (type) => view(await device.array(elementNames[type], items))));
          const launch = mapLaunch({ text: texts[k]!, module }, inputs, outputs, [items], [0, items]);
          await module.launchAll([{ ...launch, kernel: `wl_map${k}` }]);
          requireSame(await Promise.all(outputs.map(({ data }) => (data as DeviceArray).read())) as Float64Array[], sample, backend);
          for (const each of [...inputs, ...outputs]) if (typeof each !== 'number') (each.data as DeviceArray).dispose();
        }
      }
    });
  }, { backends: ['simt', 'cuda'], cases: 1 });
});
