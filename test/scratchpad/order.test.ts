// Reordering of compiled kernels: Table III of the paper, what must keep its place, and what the checker of orders finds.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { scratchpad } from '../../lib/index.ts';
import { checkOrder } from '../../lib/scratchpad/ptx/checker-order.ts';
import { interpret } from './interpreter.ts';
import { fixture, ptxHeader } from './launches.ts';
import { globalBase } from './memory.ts';

/** Where text can be put into the module of two chains, a to c and b to d, which exchange nothing. */
interface Parts {
  readonly first?: string;
  readonly between?: string;
  readonly one?: string;
  readonly two?: string;
  readonly functions?: string;
}

const nc = 'ld.global.nc.u32';

/** All four arrays are needed at once, unless one chain goes first. %r1 tid, %r2 4 tid, %rd1 input, %rd2 output, both for this thread. */
function chains({ first = '', between = '', one = 'st.global.u32 [%rd2], %r20;', two = 'st.global.u32 [%rd2+512], %r30;', functions = '' }: Parts = {}): string {
  return `${ptxHeader}${functions}
.visible .entry k(
\t.param .u64 p,
\t.param .u64 q
)
{
\t.reg .pred %p<9>;
\t.reg .b32 %r<99>;
\t.reg .b64 %rd<19>;
${['a', 'b', 'c', 'd'].map((name) => `\t.shared .align 4 .b8 ${name}[256];`).join('\n')}
\tld.param.u64 %rd5, [p];
\tld.param.u64 %rd6, [q];
\tmov.u32 %r1, %tid.x;
\tshl.b32 %r2, %r1, 2;
\tmul.wide.u32 %rd7, %r1, 4;
\tadd.s64 %rd1, %rd5, %rd7;
\tadd.s64 %rd2, %rd6, %rd7;
\txor.b32 %r3, %r2, 4;
${first}
\t${nc} %r10, [%rd1];
\tmov.u32 %r11, a;
\tadd.s32 %r12, %r11, %r2;
\tst.shared.u32 [%r12], %r10;
\t${nc} %r13, [%rd1+256];
\tmov.u32 %r14, b;
\tadd.s32 %r15, %r14, %r2;
\tst.shared.u32 [%r15], %r13;
\tbar.sync 0;
${between}
\tadd.s32 %r16, %r11, %r3;
\tld.shared.u32 %r17, [%r16];
\tmov.u32 %r18, c;
\tadd.s32 %r19, %r18, %r2;
\tst.shared.u32 [%r19], %r17;
\tadd.s32 %r26, %r14, %r3;
\tld.shared.u32 %r27, [%r26];
\tmov.u32 %r28, d;
\tadd.s32 %r29, %r28, %r2;
\tst.shared.u32 [%r29], %r27;
\tbar.sync 0;
\tadd.s32 %r40, %r18, %r3;
\tld.shared.u32 %r41, [%r40];
\tld.shared.u32 %r42, [%r12];
\tadd.s32 %r20, %r41, %r42;
${one}
\tadd.s32 %r43, %r28, %r3;
\tld.shared.u32 %r44, [%r43];
\tld.shared.u32 %r45, [%r15];
\tadd.s32 %r30, %r44, %r45;
${two}
\tret;
}
`;
}

const run = async (text: string) => {
  const { report, ptx } = await scratchpad.optimize(text, { reorder: true, barriers: 'any' });
  return { kernel: report.kernels[0]!, ptx };
};

/** The output of a module of chains for two warps. */
function output(text: string): Uint8Array {
  const memory = new Uint8Array(4096).map((_, at) => at * 37 % 251);
  const run = { grid: [1, 1, 1], block: [64, 1, 1], parameters: [BigInt(globalBase), BigInt(globalBase + 1024)], memory };
  deepStrictEqual(interpret(text, 'k', { ...run, order: 3 }), []);
  return memory;
}

describe('scratchpad: reordering', () => {
  it('registration: 50 % less, as in the paper', async () => {
    const { kernel } = await run(fixture('registration'));
    deepStrictEqual([kernel.bytesBefore, kernel.bytesAfter, kernel.lowerBound, kernel.barriersExisting.length], [8224, 4112, 4112, 2]);
    deepStrictEqual(kernel.barriersAdded.map(({ cause, line }) => [cause, line]), [['order', 44], ['order', 37]]);
    ok(kernel.moved.length > 0 && kernel.moved.every(({ line, beforeLine }) => line > 20 && line < 60 && beforeLine !== undefined));
    match(scratchpad.explain((await scratchpad.optimize(fixture('registration'), { reorder: true, barriers: 'any' })).report).text, /moved: line/);
    // Barriers of the order are subject to the option.
    for (const barriers of ['gain', 'none'] as const) {
      strictEqual((await scratchpad.optimize(fixture('registration'), { reorder: true, barriers })).report.kernels[0]!.status, 'kept');
    }
    const gained = await scratchpad.optimize(fixture('registration'), { reorder: true, blockThreads: 96, arch: 'sm_86' });
    strictEqual(gained.report.kernels[0]!.bytesAfter, 4112);
  });

  it('one chain after the other, with the same result', async () => {
    const text = chains();
    strictEqual((await scratchpad.optimize(text, { barriers: 'any' })).report.kernels[0]!.status, 'kept');
    const { kernel, ptx } = await run(text);
    deepStrictEqual([kernel.bytesBefore, kernel.bytesAfter], [1024, 256]);
    deepStrictEqual(output(ptx), output(text));
  });

  it('what the dependences do not describe keeps its place', async () => {
    const loop = (body: string): string => `mov.u32 %r60, 0;\nL1:\n${body}\nadd.u32 %r60, %r60, 1;\nsetp.lt.u32 %p1, %r60, 4;\n@%p1 bra L1;`;
    const parts: [string, Parts, number][] = [
      ['an atomic', { between: 'atom.global.add.u32 %r50, [%rd2+1024], 1;' }, 512],
      ['a reduction', { between: 'red.global.add.u32 [%rd2+1024], 1;' }, 512],
      ['a fence', { between: 'membar.gl;' }, 512],
      ['a volatile load', { between: 'ld.volatile.global.u32 %r50, [%rd2+1024];' }, 512],
      ['a shuffle', { between: 'shfl.sync.idx.b32 %r50, %r1, 0, 31, -1;' }, 512],
      ['a clock', { between: 'mov.u32 %r50, %clock;' }, 512],
      ['a named barrier', { between: 'bar.sync 1, 64;' }, 1024],
      ['a barrier with a result', { between: 'setp.gt.u32 %p1, %r1, 3; bar.red.popc.u32 %r50, 0, %p1;' }, 512],
      ['a barrier in a loop', { between: loop('bar.sync 0;') }, 512],
      ['threads that leave', { first: 'setp.gt.u32 %p2, %r1, 999; @%p2 ret;' }, 1024],
      ['a loop that waits', { between: 'W:\nld.volatile.global.u32 %r50, [%rd1];\nsetp.eq.u32 %p1, %r50, 77;\n@%p1 bra W;' }, 1024],
      ['a call', { between: '{ call.uni h; }', functions: '.func h { .reg .b32 %r<3>; mov.u32 %r1, 1; ret; }' }, 1024],
      ['stores to one place', { one: 'st.global.u32 [%rd2], %r20;', two: 'st.global.u32 [%rd2], %r30;' }, 256],
      ['a load of what was stored', { two: 'ld.global.u32 %r70, [%rd2]; add.s32 %r30, %r30, %r70; st.global.u32 [%rd2+512], %r30;' }, 256],
      ['a loop', { between: loop('add.s32 %r3, %r3, 0;') }, 256],
      ['a branch around a store', { one: 'setp.gt.u32 %p1, %r1, 9; @%p1 bra E; st.global.u32 [%rd2], %r20;\nE:' }, 256],
      ['a guarded store', { one: 'setp.gt.u32 %p1, %r1, 9; @%p1 st.global.u32 [%rd2], %r20;' }, 256],
      ['a register used twice', { first: 'mov.u32 %r80, 5;', one: 'add.s32 %r20, %r20, %r80; mov.u32 %r80, 9; st.global.u32 [%rd2], %r20;',
        two: 'add.s32 %r30, %r30, %r80; st.global.u32 [%rd2+512], %r30;' }, 256],
      ['a register written by both, in turns', { between: 'mov.u32 %r80, 5;', one: 'add.s32 %r81, %r20, %r80; st.global.u32 [%rd2], %r81;',
        two: 'mov.u32 %r80, %r30; mov.u32 %r81, %r80; st.global.u32 [%rd2+512], %r81;' }, 256],
      ['instructions in braces', { one: '{ .reg .b32 %t; add.s32 %t, %r20, 1; st.global.u32 [%rd2], %t; }' }, 256],
    ];
    const wrong: string[] = [];
    for (const [name, each, bytes] of parts) {
      const text = chains(each);
      const { kernel, ptx } = await run(text);
      if (kernel.bytesAfter !== bytes) wrong.push(`${name}: ${kernel.bytesAfter} instead of ${bytes}`);
      if (!/call|clock|that waits/.test(name)) deepStrictEqual(output(ptx), output(text), name);
    }
    deepStrictEqual(wrong, []);
  });

  it('the checker of orders finds what is wrong', () => {
    const text = chains({ one: 'setp.gt.u32 %p1, %r1, 9; @%p1 bra E; st.global.u32 [%rd2], %r20;\nE:', two: 'mov.u32 %r50, %clock; st.global.u32 [%rd2], %r30;' });
    const moved = ['a', 'b', 'c', 'd'].map((name) => ({ name, bytes: 256, alignment: 4, offset: 0 }));
    const said = (after: string, from = text): string | undefined => checkOrder(from, after, { kernel: 'k', pool: '', poolBytes: 0, barriers: 0, kills: [], moved });
    /** Puts a line in front of another one. */
    const shifted = (line: string, before: string): string => {
      ok(text.includes(line) && text.includes(before), `${line} ${before}`);
      return text.replace(line, '').replace(before, `${line}\n${before}`);
    };
    strictEqual(said(text), undefined);
    strictEqual(said(text.replace('\tmov.u32 %r28, d;', '\tbar.sync 0;\n\tmov.u32 %r28, d;')), undefined);
    strictEqual(said(shifted('mov.u32 %r28, d;', 'mov.u32 %r11, a;')), undefined);
    const cases: [string, RegExp][] = [
      [text.replace('bar.sync 0;', ''), /a barrier between/],
      [text.replace('add.s32 %r20, %r41, %r42;', ''), /gone/],
      [text.replace('add.s32 %r20, %r41, %r42;', 'add.s32 %r20, %r41, %r42; add.s32 %r20, %r20, %r42;'), /new/],
      [text.replace('add.s32 %r20, %r41, %r42;', 'sub.s32 %r20, %r41, %r42;'), /gone/],
      [text.replace('ld.param.u64 %rd6, [q];', 'ld.param.u64 %rd6, [p];'), /gone/],
      [text.replace('.param .u64 q', '.param .u64 r'), /outside/],
      [shifted('add.s32 %r20, %r41, %r42;', 'ld.shared.u32 %r42, [%r12];'), /read before|written too early/],
      [shifted('ld.shared.u32 %r42, [%r12];', 'st.shared.u32 [%r12], %r10;'), /changed their order|a barrier between/],
      [shifted('st.shared.u32 [%r29], %r27;', 'add.s32 %r40, %r18, %r3;'), /a barrier between/],
      [shifted('st.global.u32 [%rd2], %r20;', 'add.s32 %r43, %r28, %r3;'), /torn/],
      [shifted('E:', 'ret;'), /torn/],
      [shifted('mov.u32 %r50, %clock;', 'setp.gt.u32 %p1, %r1, 9;'), /changed their order/],
      [shifted('ret;', 'add.s32 %r43, %r28, %r3;'), /end/],
    ];
    for (const [after, why] of cases) match(said(after) ?? 'nothing', why);
    match(said(chains({ first: 'setp.gt.u32 %p2, %r1, 999; @%p2 exit;' }), chains({ first: 'setp.gt.u32 %p2, %r1, 999; @%p2 exit;' })) ?? '', /leave/);
    const wait = chains({ between: 'W:\nld.global.u32 %r50, [%rd1];\nsetp.eq.u32 %p1, %r50, 77;\n@%p1 bra W;' });
    match(said(wait, wait) ?? '', /wait/);
    const partial = chains({ between: 'bar.sync 0, 64;' });
    match(said(partial, partial) ?? '', /barrier/);
  });
});
