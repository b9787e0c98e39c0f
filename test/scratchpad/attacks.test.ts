// Attacks on the pass: each is refused for its array, or right. And mutations: an analysis that overlooks something is found out by the
// checker, which shares no code with it.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { scratchpad } from '../../lib/index.ts';
import { layOut } from '../../lib/kernel/memory/layout.ts';
import { analyse } from '../../lib/scratchpad/ptx/analysis.ts';
import { check } from '../../lib/scratchpad/ptx/checker.ts';
import { applyEdits, emit } from '../../lib/scratchpad/ptx/emit.ts';
import { readModule } from '../../lib/kernel/ptx/module.ts';
import { Work } from '../../lib/kernel/memory/work.ts';
import { attackModule, attacks, kills } from './attacks.ts';

/** What the pass does with a and b: the number of new barriers if they share bytes, otherwise `no`. */
async function outcome(text: string): Promise<number | 'no' | string> {
  const { report } = await scratchpad.optimize(text, { barriers: 'any' });
  const kernel = report.kernels[0]!;
  if (kernel.reason.startsWith('not confirmed')) return kernel.reason;
  const [a, b] = ['a', 'b'].map((name) => kernel.arrays.find((array) => array.name === name));
  if (kernel.status !== 'rewritten' || a === undefined || b === undefined) return 'no';
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes ? kernel.barriersAdded.length : 'no';
}

/** Lets the pass plan on another text of the same length than the one that it rewrites; returns what the checker says. */
async function misled(text: string, instead: string): Promise<string | undefined> {
  ok(text.length === instead.length && text !== instead);
  const module = readModule(instead);
  const analysis = analyse(module, module.functions.find((fn) => fn.isEntry)!);
  const layout = await layOut(analysis, 'exact', true, new Work());
  if (layout.plan.bytes >= layout.plan.bytesBefore) return undefined; // the mutation has no effect
  const claim = emit(module, analysis, layout, 0);
  return check(text, applyEdits(text, claim.edits), [claim]);
}

describe('scratchpad: attacks', () => {
  it(`${attacks.length} attacks`, async () => {
    const wrong: string[] = [];
    for (const attack of attacks) {
      const found = await outcome(attackModule(attack));
      if (attack.shares !== 'either' && found !== attack.shares) wrong.push(`${attack.name}: ${attack.shares} expected, ${found} found`);
    }
    deepStrictEqual(wrong, []);
    ok(attacks.length >= 150, `${attacks.length}`);
  });

  it('the analysis alone ends live ranges exactly where all is written anew', () => {
    const wrong = kills.filter((attack) => {
      const module = readModule(attackModule(attack));
      const found = analyse(module, module.functions.find((fn) => fn.isEntry)!);
      const [a = [], b = []] = found.liveness.ranges;
      const isFree = found.arrays.length === 2 && a.every((one) => b.every((other) => one.end <= other.begin || other.end <= one.begin));
      return isFree !== (attack.shares !== 'no');
    });
    deepStrictEqual(wrong.map((attack) => attack.name), []);
  });

  it('mutations of the analysis are found out', async () => {
    // In a loop in which a is written anew: what is there, and what the analysis is made to see instead.
    const store = 'st.shared.u32 [%r4], %r80;';
    const loops: [string, string, string, string][] = [
      ['an address of the iteration', `add.s32 %r96, %r4, %r80; ${store.replace('%r4', '%r96')}`, '%r4, %r80;', '%r4, %r50;'],
      ['an address from memory', `ld.global.u32 %r95, [%rd5]; add.s32 %r96, %r4, %r95; ${store.replace('%r4', '%r96')}`, '%r4, %r95', '%r4, %r50'],
      ['a condition of the iteration', `setp.eq.u32 %p20, %r80, 1; @%p20 bra C1; ${store} C1:`, '%r80, 1', ' %r1, 1'],
      ['a guard', `setp.eq.u32 %p20, %r80, 1; @%p20 ${store}`, '%r80, 1', '%r50, 1'],
      ['the length of a loop', `mov.u32 %r90, 0; C1: add.s32 %r92, %r4, %r90; ${store.replace('%r4', '%r92')} add.s32 %r90, %r90, 4; `
        + 'setp.lt.u32 %p20, %r90, %r80; @%p20 bra C1;', '%r90, %r80', '%r90,  %r1'],
      ['where a loop starts', `mov.u32 %r90, %r80; C1: add.s32 %r92, %r4, %r90; ${store.replace('%r4', '%r92')} add.s32 %r90, %r90, 4; `
        + 'setp.lt.u32 %p20, %r90, 99; @%p20 bra C1;', '%r90, %r80', '%r90,  %r1'],
      ['a read before the barrier', `${store} ld.shared.u32 %r60, [%r4+4];`, 'ld.shared.u32 %r60, [%r4+4];', 'ld.global.u32 %r60, [    4];'],
      ['an atomic', 'atom.shared.exch.b32 %r60, [%r4], %r80;', 'atom.shared.exch.b32 %r60, [%r4], %r80;', '     st.shared.u32         [%r4], %r80;'],
      ['a part only', `${store} st.shared.u32 [%r4+260], %r1; setp.eq.u32 %p20, %r80, 7; @%p20 st.shared.u32 [%r4+128], %r1;`, '%r80, 7', '%r50, 7'],
      ['threads that leave', `setp.gt.u32 %p22, %r1, 9; @%p22 bra DONE; ${store}`, '%p22, %r1, ', '%p22, 100, '],
    ];
    // What is there, and what the analysis is made to see instead.
    const cases: [string, Parameters<typeof attackModule>[0], string, string][] = [
      ['a kind of barrier', { name: '', shares: 'no', between: 'bar.sync 1;' }, 'bar.sync 1;', 'bar.sync 0;'],
      ['a partial barrier', { name: '', shares: 'no', between: 'barrier.sync 2, 64;' }, 'barrier.sync 2, 64;', 'barrier.sync 0    ;'],
      ['a barrier of the warp', { name: '', shares: 'no', between: 'bar.warp.sync -1;' }, 'bar.warp.sync -1;', 'bar.sync 0      ;'],
      ['a guard', { name: '', shares: 'no', between: 'setp.gt.u32 %p1, %r50, 3; @%p1 bar.sync 0;' }, '@%p1 bar.sync 0;', '     bar.sync 0;'],
      ['a late read', { name: '', shares: 'no', after: 'ld.shared.u32 %r60, [%r4];' }, 'ld.shared.u32 %r60, [%r4];', 'ld.global.u32 %r60, [ 64];'],
      ['a late read under a guard', { name: '', shares: 'no', after: 'setp.gt.u32 %p1, %r1, 3; @%p1 ld.shared.u32 %r60, [%r4];' },
        '@%p1 ld.shared.u32 %r60, [%r4];', 'ld.global.u32       %r60, [64];'],
      ['an edge', { name: '', shares: 'no', between: 'bra E3;\nE2: ld.shared.u32 %r60, [%r4]; bra DONE;\nE3:', after: 'setp.gt.u32 %p1, %r50, 3; @%p1 bra E2;' },
        '@%p1 bra E2;', 'mov.u32 1,1;'],
      ['the way back of a loop', { name: '', shares: 'no', before: 'L1:', after: 'ld.shared.u32 %r8, [b]; setp.gt.u32 %p1, %r50, 3; @%p1 bra L1;' },
        '@%p1 bra L1;', 'mov.u32 1,1;'],
      ['an alias by selection', { name: '', shares: 'no', between: 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r60, %r4, %r7, %p5;', after: 'ld.shared.u32 %r61, [%r60];' },
        'selp.b32 %r60, %r4, %r7, %p5;', 'mov.b32  %r60, %r7          ;'],
      ['an alias by a move', { name: '', shares: 'no', between: 'mov.u32 %r60, %r4;', after: 'ld.shared.u32 %r61, [%r60];' }, 'mov.u32 %r60, %r4;', 'mov.u32 %r60, 816;'],
      ['an alias by an addition', { name: '', shares: 'no', between: 'add.s32 %r60, %r4, 8;', after: 'ld.shared.u32 %r61, [%r60];' },
        'add.s32 %r60, %r4, 8;', 'add.s32 %r60, %r1, 8;'],
      ['bits of an address', { name: '', shares: 'no', between: 'and.b32 %r60, %r4, 127;' }, 'and.b32 %r60, %r4, 127;', 'mov.b32 %r60, 12345678;'],
      ['a comparison', { name: '', shares: 'no', between: 'setp.eq.u32 %p5, %r3, 0;' }, 'setp.eq.u32 %p5, %r3, 0;', 'setp.eq.u32 %p5, 123, 0;'],
      ['a part of an address', { name: '', shares: 'no', between: 'cvt.u16.u32 %rs1, %r3;' }, 'cvt.u16.u32 %rs1, %r3;', 'cvt.u16.u32 %rs1, 456;'],
      ['the lesser of two', { name: '', shares: 'no', between: 'min.u32 %r60, %r4, %r7;' }, 'min.u32 %r60, %r4, %r7;', 'min.u32 %r60, 123, 456;'],
      ['a stored address', { name: '', shares: 'no', between: 'st.global.u32 [%rd5+8], %r3;' }, 'st.global.u32 [%rd5+8], %r3;', 'st.global.u32 [%rd5+8], %r1;'],
      ['a copy under way', { name: '', shares: 'no', between: 'cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.wait_group 1;' },
        'cp.async.wait_group 1;', 'cp.async.wait_group 0;'],
      ['a branch of the thread', { name: '', shares: 'no', between: 'setp.gt.u32 %p1, %r1, 31; @%p1 bra E1; bar.sync 0; bra E2; E1: bar.sync 0; E2:' },
        'setp.gt.u32 %p1, %r1, 31;', 'setp.gt.u32 %p1, 123, 31;'],
      ['threads that have left', { name: '', shares: 'no', before: 'setp.gt.u32 %p1, %r1, 31; @%p1 bra DONE;' }, 'setp.gt.u32 %p1, %r1, 31;', 'setp.gt.u32 %p1, 123, 31;'],
      ['two arms', { name: '', shares: 'no',
    between: 'bar.sync 0; setp.gt.u32 %p1, %r1, 31; @%p1 bra E1; st.shared.u32 [%r4], %r1; bra E2; E1: st.shared.u32 [%r7], %r1; E2: bar.sync 0;' },
        'setp.gt.u32 %p1, %r1, 31;', 'setp.gt.u32 %p1, 123, 31;'],
      ...loops.map(([name, first, real, seen]): (typeof cases)[number] => [name, { name: '', shares: 'no', before: 'mov.u32 %r80, 0; L1:',
        first: `${first}\nbar.sync 0;\nld.shared.u32 %r5, [a+8];\nbar.sync 0;`,
        after: 'bar.sync 0; add.s32 %r80, %r80, 1; setp.lt.s32 %p10, %r80, %r50; @%p10 bra L1;' }, real, seen]),
    ];
    const missed: string[] = [];
    for (const [name, attack, real, seen] of cases) {
      const text = attackModule(attack);
      const said = await misled(text, text.replace(real, seen));
      if (said === undefined || / became /.test(said)) missed.push(`${name}: ${said}`);
    }
    deepStrictEqual(missed, []);
  });
});
