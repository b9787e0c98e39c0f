// The pass on PTX: the tables of the paper from compiled kernels, options, reports, and what its checker finds.
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { scratchpad } from '../../lib/index.ts';
import { check } from '../../lib/scratchpad/ptx/checker.ts';
import { analyse } from '../../lib/scratchpad/ptx/analysis.ts';
import { applyEdits, emit } from '../../lib/scratchpad/ptx/emit.ts';
import { layOut } from '../../lib/kernel/memory/layout.ts';
import { readModule } from '../../lib/kernel/ptx/module.ts';
import { Work } from '../../lib/kernel/memory/work.ts';
import { fixture, ptxHeader } from './launches.ts';

const folder = new URL('fixtures/', import.meta.url);
const names = readdirSync(folder).map((name) => name.replace('.ptx.gz', '')).sort();

/** A module with one kernel. */
const moduleOf = (body: string, header = '.visible .entry k(.param .u64 p)'): string =>
  `${ptxHeader}\n${header}\n{\n\t.reg .pred %p<9>;\n\t.reg .b32 %r<99>;\n\t.reg .b64 %rd<99>;\n${body}\n\tret;\n}\n`;

/** Two arrays, the second written after the first was read, with `between` in between. */
const pair = (between: string, declarations = ''): string => moduleOf(`\t.shared .align 4 .b8 a[256];\n\t.shared .align 4 .b8 b[256];\n${declarations}
\tmov.u32 %r1, %tid.x;\n\tshl.b32 %r2, %r1, 2;\n\tmov.u32 %r3, a;\n\tadd.s32 %r4, %r3, %r2;\n\tst.shared.u32 [%r4], %r1;\n\tbar.sync 0;
\tld.shared.u32 %r5, [a+8];\n${between}\n\tmov.u32 %r6, b;\n\tadd.s32 %r7, %r6, %r2;\n\tst.shared.u32 [%r7], %r5;\n\tbar.sync 0;
\tld.shared.u32 %r8, [b+4];\n\tld.param.u64 %rd1, [p];\n\tst.global.u32 [%rd1], %r8;`);

describe('scratchpad: tables and options', () => {
  for (const [name, before, after, percent] of [['curvature3d', 6192, 3888, '37.2'], ['curvature2d', 5920, 2448, '58.6']] as const) {
    it(`${name}: ${percent} % less, as in the paper`, async () => {
      const { report, ptx } = await scratchpad.optimize(fixture(name), { barriers: 'any' });
      const [kernel] = report.kernels;
      deepStrictEqual([kernel!.bytesBefore, kernel!.bytesAfter, kernel!.lowerBound, kernel!.optimal], [before, after, after, true]);
      strictEqual(kernel!.kernel, name);
      ok(ptx.includes(`.b8 warploom_pool_`) && !ptx.includes('.shared .align 4 .b8 _ZZ'));
      ok(scratchpad.explain(report).text.includes(`${percent} % less`));
    });
  }

  it('large tiles: fewer bytes without a new barrier, and one more block', async () => {
    const found = await scratchpad.optimize(fixture('curvature2d_tiles'));
    const [kernel] = found.report.kernels;
    deepStrictEqual([kernel!.bytesBefore, kernel!.bytesAfter, found.dynamicBytes, kernel!.barriersAdded.length], [85_024, 67_600, 67_600, 0]);
    deepStrictEqual([kernel!.residency!.before.blocks, kernel!.residency!.after.blocks], [2, 3]);
    const blocks = kernel!.residencies.map(({ architecture, before, after }) => [architecture, before.blocks, after.blocks]);
    deepStrictEqual(blocks.map(([name]) => name), ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_100', 'sm_120']);
    for (const [name, before, after] of blocks) {
      const { threads, registers } = kernel!.residency!;
      const own = (sharedBytes: number): number => scratchpad.occupancy({ threads, registers, sharedBytes }, name as scratchpad.Architecture).blocks;
      deepStrictEqual([before, after], [own(kernel!.bytesBefore), own(kernel!.bytesAfter)]);
    }
    match(scratchpad.explain(found.report).text, /blocks per multiprocessor: sm_75 .*sm_120/);
  });

  it('adds barriers only where the option allows it', async () => {
    const text = fixture('curvature3d');
    const bytes = async (options: scratchpad.OptimizeOptions) => (await scratchpad.optimize(text, options)).report.kernels[0]!;
    strictEqual((await bytes({})).status, 'kept');
    strictEqual((await scratchpad.optimize(text)).ptx, text);
    strictEqual((await bytes({ barriers: 'none' })).bytesAfter, 6192);
    strictEqual((await bytes({ blockThreads: 256 })).status, 'kept'); // eight blocks fit either way
    const gained = await bytes({ blockThreads: 96, arch: 'sm_86' });
    deepStrictEqual([gained.status, gained.barriersAdded.length, gained.barriersAdded[0]!.line], ['rewritten', 1, 61]);
    ok(gained.residency!.after.blocks > gained.residency!.before.blocks);
  });

  it('reads every byte of a module', () => {
    for (const name of names) {
      const text = fixture(name);
      const { functions, masked } = readModule(text);
      for (const fn of functions) {
        // Between the instructions there is nothing but labels, declarations, comments, braces and line information.
        let at = fn.bodyStart;
        for (const each of fn.instructions) {
          const gap = masked.slice(at, each.start);
          ok(/^(?:\s|[{}]|[\w$]+:|\.(?:loc|file)[^\n]*\n|\.[^;]*;)*$/.test(gap), `${name}: ${gap}`);
          at = each.end;
        }
      }
    }
  });

  it('pins what it cannot follow, and treats the rest', async () => {
    const { report } = await scratchpad.optimize(fixture('many'), { barriers: 'any' });
    deepStrictEqual(report.kernels.map(({ kernel, bytesBefore, bytesAfter, pinned }) =>
      [kernel, bytesBefore, bytesAfter, pinned!.map((each) => `${each.name} ${each.code}`).join()]), [
      ['tk', 512, 256, ''], ['tk', 1024, 512, ''], ['kf', 256, 128, 'g1 function,a function,dyn dynamic'], ['sw', 256, 256, ''],
    ]);
  });

  it('keeps the event loop free, and ends with the reason of its signal', async () => {
    const text = fixture('random');
    let turns = 0;
    const count = setInterval(() => { turns += 1; }, 5);
    const controller = new AbortController();
    const running = scratchpad.optimize(text, { signal: controller.signal });
    while (turns < 2) await new Promise((resolve) => { setTimeout(resolve, 5); }); // while it runs
    clearInterval(count);
    controller.abort(new Error('enough'));
    await rejects(running, /enough/);
    await rejects(scratchpad.optimize(`${text}\n.visible .entry k()\n{`), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'input' });
  });

  it('follows addresses that may be of several arrays', async () => {
    const text = fixture('corpus-borders');
    const bytes = async (options: scratchpad.OptimizeOptions) => (await scratchpad.optimize(text, options)).report.kernels[0]!;
    const [plain, ordered] = [await bytes({ barriers: 'any' }), await bytes({ barriers: 'any', reorder: true })];
    deepStrictEqual([plain.bytesBefore, plain.bytesAfter, ordered.bytesAfter, plain.pinned.length], [5120, 4096, 3072, 0]);
    deepStrictEqual((await bytes({})).possible, { bytes: 4096, barrierLines: plain.barriersAdded.map(({ line }) => line) });
  });

  it('a hundred arrays', async () => {
    const each = Array.from({ length: 100 }, (_, i) => i);
    const bytes = (i: number): number => 4 * (32 + i * 37 % 97);
    const text = moduleOf(`${each.map((i) => `\t.shared .align 4 .b8 a${i}[${bytes(i)}];`).join('\n')}\n\tmov.u32 %r1, %tid.x;\n\tshl.b32 %r2, %r1, 2;
${each.map((i) => `\tmov.u32 %r3, a${i};\n\tadd.s32 %r4, %r3, %r2;`.replaceAll(/%r([34])/g, `%r${i}0$1`)
      + `\n\tst.shared.u32 [%r${i}04], %r1;\n\tbar.sync 0;\n\tld.shared.u32 %r5, [a${i}+8];`).join('\n')}`);
    const [kernel] = (await scratchpad.optimize(text, { barriers: 'any' })).report.kernels;
    deepStrictEqual([kernel!.bytesAfter, kernel!.optimal], [Math.max(...each.map(bytes)), true]);
    const few = await scratchpad.optimize(text, { barriers: 'any', budget: 1 });
    ok(few.report.kernels[0]!.bytesAfter >= kernel!.bytesAfter);
  });

  it('takes little time for a kernel of 1900 lines', async () => {
    const text = fixture('curvature3d_tiles');
    await scratchpad.optimize(text);
    const before = process.cpuUsage();
    await scratchpad.optimize(text);
    const { user } = process.cpuUsage(before);
    ok(user < 1e7, `${user / 1000} ms`); // 80 to 230 ms on the machine of the tests
  });

  it('refuses what is not PTX, wrong options and unknown kernels', async () => {
    for (const text of ['', 'int main() {}', '.version 8.0\n.target sm_90\n.visible .entry k()\n{\n ret;']) {
      await rejects(scratchpad.optimize(text), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'input' });
    }
    await rejects(scratchpad.optimize(7 as never), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'input' });
    await rejects(scratchpad.optimize(pair(''), { compilerOptions: ['-I.'] }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'compilerOptions' });
    await rejects(scratchpad.optimize(pair(''), { kernel: 'none' }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'kernel' });
    await rejects(scratchpad.optimize(pair(''), { barriers: 'many' as never }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    await rejects(scratchpad.optimize(pair(''), { architectures: ['sm_1'] as never }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'architectures' });
    await rejects(scratchpad.optimize(fixture('registration'), { signal: AbortSignal.abort(new Error('stop')) }), /stop/);
  });

  it('the checker finds what is wrong', async () => {
    const text = pair('');
    const module = readModule(text);
    const analysis = analyse(module, module.functions[0]!);
    const layout = await layOut(analysis, 'exact', true, new Work());
    strictEqual(layout.barriers.length, 1);
    const claim = emit(module, analysis, layout, 0);
    const right = applyEdits(text, claim.edits);
    strictEqual(check(text, right, [claim]), undefined);
    const wrong: [string, RegExp, string?][] = [
      [right.replace('bar.sync \t0;\n\t', ''), /number of new barriers/],
      [right.replace('+8]', '+12]'), /a use of a/],
      [right.replace('st.global.u32', 'st.global.f32'), /st\.global\.u32 became/],
      [right.replace('mov.u32 %r6, warploom_pool_k', 'mov.u32 %r6, other'), /a use of b/],
    ];
    for (const [each, why] of wrong) ok(why.test(check(text, each, [claim]) ?? ''), String(why));
    // A barrier in the wrong place: between the read of b and the end.
    const misplaced = right.replace('bar.sync \t0;\n\t', '').replace('ld.param.u64', 'bar.sync 0; ld.param.u64');
    ok(/no barrier after an access/.test(check(text, misplaced, [claim]) ?? ''));
    const shifted = { ...claim, moved: claim.moved.map((each) => ({ ...each, offset: each.offset + 2 })) };
    ok(/place of|a use of/.test(check(text, right, [shifted]) ?? ''));
  });
});
