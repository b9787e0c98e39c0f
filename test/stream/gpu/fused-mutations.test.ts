// Programs as one kernel, changed in every part that says where items are and who makes them: none may go unnoticed when bits are compared.
import assert from 'node:assert/strict';
import type { Device, DeviceModule } from '../../../lib/core/index.ts';
import { arithmeticHeader } from '../../../lib/kernel/print/c-family.ts';
import { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { fusedProgram, type FusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { deviceBackends, firstState, inputItems, renamed } from './support.ts';

const graph = graphOf(`int->int filter W { work pop 1 push 1 peek 70 { push(peek(69) * 5 + peek(0)); pop(); } }
  int->int filter A { work pop 3 push 2 { int a = pop(); int b = pop(); push(a * 3 + pop()); push(b - a); } }
  int->int pipeline Main { add W; add A; add W; }`);
/** The layout does not depend on the device. */
const layout = { threads: 32, sharedBytes: 4096 };

/** A change of the text, which must be one. */
const text = (from: RegExp, to: string) => (program: FusedProgram): FusedProgram => {
  const source = program.source.replace(from, to);
  assert.notEqual(source, program.source, `${from} is not in the text`);
  return { ...program, source };
};

const mutations: Readonly<Record<string, (program: FusedProgram) => FusedProgram>> = {
  'a halo that is not made': (program) => ({ ...program, warmRounds: 0 }),
  'a halo of the input that is an item short': text(/(states \* 3 \+ )69\)/, '$168)'),
  'a window of a channel that is an item short': text(/(settle_tiles<.*, 1, )70>/, '$169>'),
  'windows that stay behind': text(/fused::settle_tiles<.*;/, ''),
  'the predicate of the last round': text(/round\.states \* 1\)/, 'round.states * 1 - 1)'),
  'threads that make a firing twice': text(/(const int turn = )i;/, '$1i / 2;'),
  'a channel on top of the input': text(/block\.shared<int>\([1-9]\d*\), block\.shared<int>\(0\)\);/, 'block.shared<int>(64), block.shared<int>(0));'),
  'gaps at one end only': text(/((?:load|begin)_tile<kThreads, fused::Spread<)\d+>/, '$13>'),
  'items written one place off': text(/c1i\[at_1 \+ 1\] =/, 'c1i[at_1 + 2] ='),
  'an output that is an item short': text(/(store_tile.*, states \* 2)\)/, '$1 - 1)'),
  'an output that begins an item late': text(/(p\.first_output \+ state \* 2)\)/, '$1 + 1)'),
};

/** The unchanged program, and all changed ones, in one module. */
async function compiled(device: Device): Promise<{ module: DeviceModule; all: Map<string, CompiledGpu> }> {
  const plain = fusedProgram(graph, layout);
  const programs = [['unchanged', plain] as const, ...Object.entries(mutations).map(([name, change]) => [name, change(plain)] as const)]
    .map(([name, program], i) => [name, renamed(program, i)] as const);
  const module = await device.module({
    source: programs.map(([, { source }]) => source).join('\n'), kernels: programs.map(([, { kernel }]) => kernel),
    headers: { 'arithmetic.h': arithmeticHeader() },
  });
  return { module, all: new Map(programs.map(([name, program]) => [name, new CompiledGpu(graph, program, device, module)])) };
}

/** Whether a run gives what WebAssembly gives; an error of the shim counts as no. */
async function isRight(program: CompiledGpu): Promise<boolean> {
  // Several blocks, each with several rounds, and a last round that is not full.
  const items = inputItems(program, firstState(program) + 9 * program.program.states + 5);
  const input = Int32Array.from({ length: items }, (_, i) => Math.imul(i, 2654435761) >>> 20);
  try {
    const { output } = await program.run(input, {});
    const expected = compiledWasm(graph).run(input, {}).output;
    return expected.length === output.length && expected.every((each, i) => each === output[i]);
  } catch (error) {
    assert.match(String((error as { code?: unknown }).code), /^ERR_WARPLOOM_/);
    return false;
  }
}

describe('mutations of programs as one kernel', function () {
  this.timeout(120_000);

  eachBackend((_, opened) => {
    let made: Awaited<ReturnType<typeof compiled>> | undefined;
    const get = async () => made ??= await compiled(await opened());
    after(() => { made?.module.dispose(); });

    it('the unchanged program is right', async () => {
      assert.ok(await isRight((await get()).all.get('unchanged')!));
    });

    for (const name of Object.keys(mutations)) {
      it(name, async () => { assert.ok(!await isRight((await get()).all.get(name)!), 'nobody noticed'); });
    }
  }, { backends: deviceBackends, cases: Object.keys(mutations).length + 1 });
});
