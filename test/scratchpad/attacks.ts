// Attacks on the pass: PTX between the last use of array a and the first use of array b, after all of it, and whether a and b may share.
import { ptxHeader } from './launches.ts';

export interface Attack {
  readonly name: string;
  /** Whether a and b share bytes: `yes`, with this many new barriers; `no`; `either`, if both are right. */
  readonly shares: number | 'no' | 'either';
  /** Between the phase of a and the phase of b: %r1 tid, %r2 4 tid, %r3 a, %r4 &a[tid], %r5 a[2], %rd5 global memory, %r50 a parameter. */
  readonly between?: string;
  /** After the phase of b: %r6 b, %r7 &b[tid], %r8 b[1]. */
  readonly after?: string;
  /** Before everything. */
  readonly before?: string;
  /** Instead of `st.shared.u32 [%r4], %r1; bar.sync 0; ld.shared.u32 %r5, [a+8];`. */
  readonly first?: string;
  /** Instead of `st.shared.u32 [%r7], %r5; bar.sync 0; ld.shared.u32 %r8, [b+4];`. */
  readonly second?: string;
  readonly functions?: string;
  readonly declarations?: string;
}

/** The module of an attack. */
export function attackModule({ between = '', after = '', before = '', first, second, functions = '', declarations = '' }: Attack): string {
  return `${ptxHeader}${functions}
.visible .entry k(
\t.param .u64 p,
\t.param .u32 n
)
{
\t.reg .pred %p<50>;
\t.reg .b16 %rs<50>;
\t.reg .b32 %r<200>;
\t.reg .b64 %rd<100>;
\t.shared .align 4 .b8 a[512];
\t.shared .align 4 .b8 b[512];
${declarations}
\tld.param.u64 %rd4, [p];
\tcvta.to.global.u64 %rd5, %rd4;
\tld.param.u32 %r50, [n];
\tmov.u32 %r1, %tid.x;
\tshl.b32 %r2, %r1, 2;
\tmov.u32 %r3, a;
\tadd.s32 %r4, %r3, %r2;
\tmov.u32 %r6, b;
\tadd.s32 %r7, %r6, %r2;
${before}
${first ?? `\tst.shared.u32 [%r4], %r1;
\tbar.sync 0;
\tld.shared.u32 %r5, [a+8];`}
${between}
${second ?? `\tst.shared.u32 [%r7], %r5;
\tbar.sync 0;
\tld.shared.u32 %r8, [b+4];`}
${after}
\tst.global.u32 [%rd5], %r8;
DONE:
\tret;
}
`;
}

/** A branch over the phase of b on predicate %p9. */
const conditional = (predicate: string): Pick<Attack, 'between' | 'after'> => ({
  between: `${predicate}\n@%p9 bra SKIP;`, after: 'SKIP:\nmov.u32 %r8, 1;\nbar.sync 0;' });
const loop = (body: string): string => `WAIT:\n${body}\n@%p9 bra WAIT;`;

const predicates: [string, string, boolean][] = [
  ['tid', 'setp.gt.u32 %p9, %r1, 20;', false],
  ['laneid', 'mov.u32 %r60, %laneid; setp.gt.u32 %p9, %r60, 2;', false],
  ['warpid', 'mov.u32 %r60, %warpid; setp.gt.u32 %p9, %r60, 2;', false],
  ['clock', 'mov.u32 %r60, %clock; setp.gt.u32 %p9, %r60, 2;', false],
  ['tid through arithmetic', 'mad.lo.s32 %r60, %r1, 3, %r50; and.b32 %r61, %r60, 255; setp.eq.u32 %p9, %r61, 7;', false],
  ['a load at the thread\'s address', 'ld.shared.u32 %r60, [%r4]; setp.gt.u32 %p9, %r60, 2;', false],
  ['an atomic', 'atom.global.add.u32 %r60, [%rd5], 1; setp.gt.u32 %p9, %r60, 2;', false],
  ['a volatile load', 'ld.volatile.global.u32 %r60, [%rd5]; setp.gt.u32 %p9, %r60, 2;', false],
  ['a shuffle', 'shfl.sync.idx.b32 %r60, %r1, 0, 31, -1; setp.gt.u32 %p9, %r60, 2;', false],
  ['a vote', 'setp.gt.u32 %p8, %r1, 3; vote.sync.any.pred %p9, %p8, -1;', false],
  ['an elected thread', 'elect.sync %r60|%p9, -1;', false],
  ['a match', 'match.any.sync.b32 %r60, %r1, -1; setp.gt.u32 %p9, %r60, 2;', false],
  ['the active threads', 'activemask.b32 %r60; setp.gt.u32 %p9, %r60, 2;', false],
  ['a value of a branch', 'mov.u32 %r60, 0; setp.gt.u32 %p8, %r1, 3; @%p8 bra A1; mov.u32 %r60, 1; A1: setp.eq.u32 %p9, %r60, 1;', false],
  ['a guarded value', 'mov.u32 %r60, 0; setp.gt.u32 %p8, %r1, 3; @%p8 mov.u32 %r60, 1; setp.eq.u32 %p9, %r60, 1;', false],
  ['a count of a loop', 'mov.u32 %r60, 0; A1: add.u32 %r60, %r60, 1; setp.lt.u32 %p8, %r60, %r1; @%p8 bra A1; setp.eq.u32 %p9, %r60, 7;', false],
  ['a register that nothing writes', 'setp.eq.u32 %p9, %r199, 7;', false],
  ['a parameter', 'setp.gt.u32 %p9, %r50, 2;', true],
  ['a block number', 'mov.u32 %r60, %ctaid.x; setp.gt.u32 %p9, %r60, 2;', true],
  ['the block\'s size', 'mov.u32 %r60, %ntid.x; setp.gt.u32 %p9, %r60, 2;', true],
  ['constant memory', 'ld.global.nc.u32 %r60, [%rd5]; setp.gt.u32 %p9, %r60, 2;', true],
  ['a load that all threads make', 'ld.global.u32 %r60, [%rd5]; setp.gt.u32 %p9, %r60, 2;', true],
];

const waits: [string, string, boolean][] = [
  ['a volatile load', 'ld.volatile.shared.u32 %r60, [flag]; setp.eq.u32 %p9, %r60, 0;', true],
  ['a plain load', 'ld.global.u32 %r60, [%rd5+64]; setp.eq.u32 %p9, %r60, 0;', true],
  ['an atomic', 'atom.global.cas.b32 %r60, [%rd5], 0, 1; setp.ne.u32 %p9, %r60, 0;', true],
  ['an atomic add', 'atom.add.u32 %r60, [%rd5], 0; setp.lt.u32 %p9, %r60, 64;', true],
  ['arithmetic on a load', 'ld.acquire.gpu.u32 %r60, [%rd5]; and.b32 %r61, %r60, 1; selp.b32 %r62, 1, 0, %p3; or.b32 %r63, %r61, %r62; setp.ne.u32 %p9, %r63, 1;', true],
  ['control', 'mov.u32 %r61, 1; ld.volatile.global.u32 %r60, [%rd5]; setp.eq.u32 %p8, %r60, 0; @%p8 bra A2; mov.u32 %r61, 0; A2: setp.ne.u32 %p9, %r61, 0;', true],
  ['sleep', 'nanosleep.u32 20; ld.relaxed.gpu.global.u32 %r60, [%rd5]; setp.eq.u32 %p9, %r60, 0;', true],
  ['a transaction barrier', 'mbarrier.try_wait.parity.shared.b64 %p8, [flag], 0; not.pred %p9, %p8;', true],
  ['nothing but a count', 'add.s32 %r60, %r60, 1; ld.global.u32 %r61, [%rd5]; setp.lt.s32 %p9, %r60, %r50;', false],
];

/** Ways by which the address of a gets out of view; then a keeps its bytes. */
const escapes: [string, string][] = [
  ['stored in global memory', 'st.global.u32 [%rd5+8], %r3;'],
  ['an element\'s address stored', 'st.global.u32 [%rd5+8], %r4;'],
  ['stored in shared memory', 'st.shared.u32 [flag], %r3;'],
  ['stored in local memory', 'st.local.u32 [local], %r3;'],
  ['stored in its own array', 'st.shared.u32 [%r4], %r3;'],
  ['stored in a vector', 'st.global.v2.u32 [%rd5+8], {%r1, %r4};'],
  ['stored as generic address', 'cvt.u64.u32 %rd9, %r3; cvta.shared.u64 %rd10, %rd9; st.global.u64 [%rd5+8], %rd10;'],
  ['exchanged', 'atom.global.exch.b32 %r60, [%rd5], %r3;'],
  ['reduced', 'red.global.add.u32 [%rd5], %r3;'],
  ['compared and swapped', 'atom.global.cas.b32 %r60, [%rd5], 0, %r4;'],
  ['selected with b', 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r60, %r4, %r7, %p5; ld.shared.u32 %r61, [%r60];'],
  ['moved into a register of b', 'setp.eq.u32 %p5, %r50, 1; mov.u32 %r60, %r7; @%p5 mov.u32 %r60, %r4; ld.shared.u32 %r61, [%r60];'],
  ['joined with b', 'setp.eq.u32 %p5, %r50, 1; mov.u32 %r60, %r7; @%p5 bra A3; mov.u32 %r60, %r4; A3: ld.shared.u32 %r61, [%r60];'],
  ['the lesser of a and b', 'min.u32 %r60, %r4, %r7; ld.shared.u32 %r61, [%r60];'],
  ['selected with b, then compared', 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r60, %r4, %r7, %p5; setp.lt.u32 %p6, %r60, %r4;'],
  ['selected with b, then subtracted', 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r60, %r4, %r7, %p5; sub.s32 %r61, %r60, %r3;'],
  ['selected with b, then stored', 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r60, %r4, %r7, %p5; st.global.u32 [%rd5+8], %r60;'],
  ['added to b', 'sub.s32 %r60, %r4, %r7; add.s32 %r61, %r6, %r60; ld.shared.u32 %r62, [%r61];'],
  ['selected with a number', 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r60, %r4, 0, %p5; ld.shared.u32 %r61, [%r60];'],
  ['compared with zero', 'setp.eq.u32 %p5, %r3, 0;'],
  ['compared with b', 'setp.lt.u32 %p5, %r4, %r7;'],
  ['masked', 'and.b32 %r60, %r4, 127;'],
  ['swizzled', 'xor.b32 %r60, %r4, 16; ld.shared.u32 %r61, [%r60];'],
  ['or', 'or.b32 %r60, %r4, 4; ld.shared.u32 %r61, [%r60];'],
  ['lop3', 'lop3.b32 %r60, %r4, %r1, 0, 0x3c; ld.shared.u32 %r61, [%r60];'],
  ['shifted into a descriptor', 'shr.u32 %r60, %r3, 4;'],
  ['multiplied', 'mul.lo.u32 %r60, %r3, 2;'],
  ['multiplied and added', 'mad.lo.u32 %r60, %r3, 2, %r1;'],
  ['subtracted from a number', 'sub.s32 %r60, 512, %r3;'],
  ['taken twice', 'add.s32 %r60, %r3, %r4;'],
  ['narrowed', 'cvt.u16.u32 %rs1, %r3;'],
  ['packed', 'mov.b64 %rd9, {%r3, %r1};'],
  ['unpacked', 'cvt.u64.u32 %rd9, %r3; mov.b64 {%r60, %r61}, %rd9; ld.shared.u32 %r62, [%r60];'],
  ['permuted', 'prmt.b32 %r60, %r3, 0, 0x3210;'],
  ['extracted', 'bfe.u32 %r60, %r3, 0, 16;'],
  ['converted to a float', 'cvt.rn.f32.u32 %r60, %r3;'],
  ['mapped to another block of the cluster', 'mapa.shared::cluster.u32 %r60, %r4, 1; ld.shared::cluster.u32 %r61, [%r60];'],
  ['read through the cluster', 'ld.shared::cluster.u32 %r61, [%r4];'],
  ['given to an unknown instruction', 'frobnicate.u32 %r60, %r3;'],
  ['the place of a bulk copy', 'cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd5], 256, [flag];'],
  ['a transaction barrier', 'mbarrier.init.shared.b64 [a], 32;'],
  ['used by an asynchronous store', 'st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], %r1, [flag];'],
  ['prefetched', 'prefetch.L1 [%r4];'],
  ['passed to a function', '{ .param .b32 q; st.param.b32 [q], %r3; call.uni f, (q); }'],
  ['passed in a register', 'call.uni g, (%r3);'],
];

const uses: Attack[] = [
  { name: 'nothing in between', shares: 1 },
  { name: 'a barrier', between: 'bar.sync 0;', shares: 0 },
  { name: 'barrier.sync', between: 'barrier.sync 0;', shares: 0 },
  { name: 'barrier.cta.sync.aligned', between: 'barrier.cta.sync.aligned 0;', shares: 0 },
  { name: 'bar.red', between: 'setp.gt.u32 %p1, %r1, 3; bar.red.popc.u32 %r20, 0, %p1;', shares: 0 },
  { name: 'a named barrier', between: 'bar.sync 1;', shares: 1 },
  { name: 'a barrier of some warps', between: 'bar.sync 1, 64;', shares: 1 },
  { name: 'arriving only', between: 'bar.arrive 1, 64;', shares: 1 },
  { name: 'number 0 with a count', between: 'bar.sync 0, 64;', shares: 'no' },
  { name: 'arriving at number 0', between: 'bar.arrive 0, 64;', shares: 'no' },
  { name: 'a barrier of unknown number', between: 'bar.sync %r50;', shares: 'no' },
  { name: 'a barrier of the warp', between: 'bar.warp.sync 0xffffffff;', shares: 1 },
  { name: 'a fence', between: 'membar.cta;', shares: 1 },
  { name: 'a barrier of the cluster', between: 'barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;', shares: 1 },
  { name: 'a barrier with a guard of the thread', between: 'setp.gt.u32 %p1, %r1, 31; @%p1 bar.sync 0;', shares: 'no' },
  { name: 'a barrier with a guard of the block', between: 'setp.gt.u32 %p1, %r50, 31; @%p1 bar.sync 0;', shares: 1 },
  { name: 'barriers in both arms', between: 'setp.gt.u32 %p1, %r1, 31; @%p1 bra E1; bar.sync 0; bra E2; E1: bar.sync 0; E2:', shares: 'no' },
  { name: 'a barrier in one arm', between: 'setp.gt.u32 %p1, %r1, 31; @%p1 bra E1; bar.sync 0; E1:', shares: 'no' },
  { name: 'a barrier in one arm of the block', between: 'setp.gt.u32 %p1, %r50, 31; @%p1 bra E1; bar.sync 0; E1:', shares: 1 },
  { name: 'barriers in both arms of the block', between: 'setp.gt.u32 %p1, %r50, 31; @%p1 bra E1; bar.sync 0; bra E2; E1: bar.sync 0; E2:', shares: 0 },
  { name: 'a barrier in a loop of the thread',
    between: 'mov.u32 %r60, 0; E1: bar.sync 0; add.u32 %r60, %r60, 1; setp.lt.u32 %p1, %r60, %r1; @%p1 bra E1;', shares: 'no' },
  { name: 'threads may leave', between: 'setp.gt.u32 %p1, %r1, 20; @%p1 bra DONE;', shares: 1 },
  { name: 'threads may have left', before: 'setp.gt.u32 %p1, %r1, 20; @%p1 bra DONE;', shares: 'no' },
  { name: 'threads may have left by exit', before: 'setp.gt.u32 %p1, %r1, 20; @%p1 exit;', shares: 'no' },
  { name: 'threads may have left by ret', before: 'setp.gt.u32 %p1, %r1, 20; @%p1 ret;', shares: 'no' },
  { name: 'threads may have trapped', before: 'setp.gt.u32 %p1, %r1, 20; @%p1 trap;', shares: 'no' },
  { name: 'the block may have left', before: 'setp.gt.u32 %p1, %r50, 20; @%p1 bra DONE;', shares: 1 },
  { name: 'threads left, and there is a barrier', before: 'setp.gt.u32 %p1, %r1, 20; @%p1 bra DONE;', between: 'bar.sync 0;', shares: 0 },
  { name: 'threads leave in a branch',
    before: 'setp.gt.u32 %p1, %r1, 20; @%p1 bra E1; ld.global.u32 %r70, [%rd5]; setp.eq.u32 %p2, %r70, 1; @%p2 bra DONE; E1:', shares: 'no' },
  { name: 'a is read at the end', after: 'ld.shared.u32 %r60, [%r4];', shares: 'no' },
  { name: 'a is read at the end by its name', after: 'ld.shared.u32 %r60, [a+16];', shares: 'no' },
  { name: 'a is read at the end by a generic address', between: 'cvt.u64.u32 %rd9, %r4; cvta.shared.u64 %rd10, %rd9;', after: 'ld.u32 %r60, [%rd10];', shares: 'no' },
  { name: 'a is read at the end by a moved address', between: 'mov.u32 %r70, %r4; add.s32 %r71, %r70, 4; mov.u32 %r72, %r71;',
    after: 'ld.shared.u32 %r60, [%r72];', shares: 'no' },
  { name: 'a is read at the end by a shuffled address', between: 'shfl.sync.bfly.b32 %r70, %r4, 1, 31, -1;', after: 'ld.shared.u32 %r60, [%r70];', shares: 'no' },
  { name: 'a is read by an address chosen among its own', between: 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r70, %r3, %r4, %p5;',
    after: 'ld.shared.u32 %r60, [%r70];', shares: 'no' },
  { name: 'an address chosen among a\'s own', between: 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r70, %r3, %r4, %p5; ld.shared.u32 %r60, [%r70];', shares: 1 },
  { name: 'pointers to a compared', between: 'add.s32 %r70, %r3, 256; setp.lt.u32 %p5, %r4, %r70; @!%p5 bra E1; ld.shared.u32 %r60, [%r4]; E1:', shares: 1 },
  { name: 'a is read at the end by an address that may be of b', between: 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r70, %r6, %r4, %p5;',
    after: 'ld.shared.u32 %r60, [%r70];', shares: 'no' },
  { name: 'a or b is written at the end, for nobody', between: 'setp.eq.u32 %p5, %r50, 1; selp.b32 %r70, %r6, %r4, %p5;',
    after: 'st.shared.u32 [%r70], %r1;', shares: 'no' },
  { name: 'a walking pointer',
    between: 'mov.u32 %r70, %r3; add.s32 %r71, %r3, 64; E1: ld.shared.u32 %r60, [%r70]; add.s32 %r70, %r70, 4; setp.ne.u32 %p5, %r70, %r71; @%p5 bra E1;',
    shares: 1 },
  { name: 'a is written at the end, for nobody', after: 'st.shared.u32 [%r4], %r1;', shares: 2 },
  { name: 'a is written while b is needed',
    second: 'st.shared.u32 [%r7], %r5; bar.sync 0; st.shared.u32 [%r4], %r5; bar.sync 0; ld.shared.u32 %r8, [b+4];', shares: 'no' },
  { name: 'an atomic on a while b is needed',
    second: 'st.shared.u32 [%r7], %r5; bar.sync 0; atom.shared.add.u32 %r60, [a], 1; bar.sync 0; ld.shared.u32 %r8, [b+4];', shares: 'no' },
  { name: 'a and b in one loop', before: 'mov.u32 %r80, 0; L1:', after: 'bar.sync 0; add.s32 %r80, %r80, 1; setp.lt.s32 %p10, %r80, %r50; @%p10 bra L1;', shares: 1 },
  { name: 'a in a vector load', between: 'ld.shared.v2.u32 {%r60, %r61}, [%r3];', shares: 1 },
  { name: 'a is read by ldmatrix at the end', after: 'ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r60}, [%r3];', shares: 'no' },
  { name: 'a is read by ldmatrix', between: 'ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r60}, [%r3];', shares: 1 },
  { name: 'a is read by wmma', after: 'wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r60}, [%r3], 16;', shares: 'no' },
  { name: 'a copy into a is under way', between: 'cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group;', shares: 'no' },
  { name: 'a copy into a is waited for', between: 'cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.wait_all;', shares: 1 },
  { name: 'a copy into a is waited for by group', between: 'cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group; cp.async.wait_group 0;', shares: 1 },
  { name: 'a copy into a, and another group is waited for',
    between: 'cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.commit_group; cp.async.wait_group 1;', shares: 'no' },
  { name: 'a copy into a is waited for by some', between: 'cp.async.ca.shared.global [%r4], [%rd5], 4; setp.gt.u32 %p1, %r1, 9; @%p1 cp.async.wait_all;', shares: 'no' },
  { name: 'a copy into a lands after the barrier', between: 'cp.async.ca.shared.global [%r4], [%rd5], 4; bar.sync 0; cp.async.wait_all;', shares: 1 },
  { name: 'a copy into a in a loop',
    between:
      'mov.u32 %r60, 0; E1: cp.async.cg.shared.global [%r4], [%rd5], 16; cp.async.commit_group; cp.async.wait_group 1; '
      + 'add.s32 %r60, %r60, 1; setp.lt.s32 %p1, %r60, %r50; @%p1 bra E1;',
    shares: 'no' },
  { name: 'names in inner braces', between: '{ .reg .b32 %r3; mov.u32 %r3, b; st.shared.u32 [%r3], 1; }', shares: 'no' },
  { name: 'an inner variable of the same name', between: '{ .reg .b32 a; mov.u32 a, 1; }', shares: 'no' },
  { name: 'a table of branches', between: 'brx.idx %r50, T; T: .branchtargets B1, B2; B1: bar.sync 0; bra B3; B2: ld.shared.u32 %r5, [%r4]; B3:', shares: 1 },
  { name: 'a table of branches of the thread',
    between: 'brx.idx %r1, T; T: .branchtargets B1, B2; B1: bar.sync 0; bra B3; B2: ld.shared.u32 %r5, [%r4]; B3:', shares: 'no' },
  { name: 'a in one arm, b in the other',
    between: 'setp.gt.u32 %p1, %r1, 31; @%p1 bra E1; ld.shared.u32 %r60, [%r4]; bra E2; E1: st.shared.u32 [%r7], %r1; E2:', shares: 'no' },
  { name: 'an unknown function', between: 'call.uni h;', functions: '.extern .func h;', shares: 'no' },
  { name: 'a function with a barrier', between: 'call.uni h;', functions: '.func h { bar.sync 0; ret; }', shares: 'no' },
  { name: 'a function that leaves', before: 'call.uni h;', functions: '.func h { exit; }', shares: 'no' },
  { name: 'a harmless function', between: 'call.uni h;', functions: '.func h { .reg .b32 %r<3>; mov.u32 %r1, 1; ret; }', shares: 1 },
  { name: 'a function that waits', before: 'call.uni h;',
    functions: '.func h { .reg .pred %p<3>; .reg .b32 %r<3>; W: ld.volatile.global.u32 %r1, [0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W; ret; }',
    shares: 1 },
  { name: 'a function that waits, after a', between: 'ld.shared.u32 %r5, [a+4]; call.uni h; ld.shared.u32 %r5, [a+4];',
    functions: '.func h { .reg .pred %p<3>; .reg .b32 %r<3>; W: ld.volatile.global.u32 %r1, [0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra W; ret; }',
    shares: 'no' },
  { name: 'a function that uses a', between: 'call.uni h;',
    functions: '.shared .align 4 .b8 c[4]; .func h { .reg .b32 %r<3>; ld.shared.u32 %r1, [c]; ret; }', shares: 1 },
  { name: 'a reduction into a at the end', after: 'red.shared.add.u32 [%r4], 1;', shares: 'no' },
  { name: 'a volatile read of a at the end', after: 'ld.volatile.shared.u32 %r60, [%r4+4];', shares: 'no' },
  { name: 'a is written by stmatrix while b is needed',
    second: 'st.shared.u32 [%r7], %r5; bar.sync 0; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r3], {%r5}; bar.sync 0; ld.shared.u32 %r8, [b+4];',
    shares: 'no' },
  { name: 'b comes by a copy', second: 'cp.async.ca.shared.global [%r7], [%rd5], 4; cp.async.wait_all; bar.sync 0; ld.shared.u32 %r8, [b+4];', shares: 1 },
  { name: 'a copy into b begins early', before: 'cp.async.ca.shared.global [%r7], [%rd5], 4;',
    second: 'cp.async.wait_all; bar.sync 0; ld.shared.u32 %r8, [b+4];', shares: 'no' },
  { name: 'labels of the same name in braces',
    between: '{ W: setp.lt.u32 %p9, %r50, 3; @%p9 bra W; }\n{ W: setp.lt.u32 %p9, %r1, 3; @%p9 bra X; bar.sync 0; X: }', shares: 'no' },
  { name: 'an endless loop of the block', between: 'setp.eq.u32 %p1, %r50, 7; @!%p1 bra E2; E1: bra E1; E2:', shares: 1 },
  { name: 'debugging information names a', functions: '.section .debug_info\n{\n.b64 a\n}', shares: 'no' },
  { name: 'comments that look like code', between: '// bar.sync 0;\n/* bar.sync 0; */', shares: 1 },
];

/** In a loop in which a is written, read, then b: they share if all of a is written anew in every iteration. */
const again = (name: string, shares: Attack['shares'], write: string, more: Pick<Attack, 'declarations' | 'functions' | 'before' | 'second' | 'after'> = {}): Attack => ({
  name: `in a loop: ${name}`, shares, ...more, before: `mov.u32 %r80, 0; mov.u32 %r98, %r1; ${more.before ?? ''}\nL1:`,
  first: `${write}\nbar.sync 0;\nld.shared.u32 %r5, [a+8];\nbar.sync 0;`,
  after: `${more.after ?? ''}\nbar.sync 0; add.s32 %r80, %r80, 1; setp.lt.s32 %p10, %r80, %r50; @%p10 bra L1;`,
});
const fill = (start: string, step: string, bound: string): string => `${start}\nC1: shl.b32 %r91, %r90, 2; add.s32 %r92, %r3, %r91;\n`
  + `st.shared.u32 [%r92], %r1; add.s32 %r90, %r90, ${step}; setp.lt.u32 %p20, %r90, ${bound}; @%p20 bra C1;`;
const own = 'st.shared.u32 [%r4], %r80;';
const loaded = 'ld.global.u32 %r95, [%rd5];';

/** What may and what must not count as writing all of a anew. */
export const kills: readonly Attack[] = [
  again('all is written anew', 0, own),
  again('by two stores', 0, 'st.shared.u32 [%r4], %r80; st.shared.u32 [%r4+256], %r80;'),
  again('by a vector', 0, 'shl.b32 %r90, %r1, 4; add.s32 %r91, %r3, %r90; st.shared.v4.u32 [%r91], {%r80, %r1, %r80, %r1};'),
  again('by a generic address', 0, 'cvt.u64.u32 %rd9, %r4; cvta.shared.u64 %rd10, %rd9; st.u32 [%rd10], %r80;'),
  again('under a condition of the thread', 0, 'setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; st.shared.u32 [%r4], %r80; C1:'),
  again('under conditions in two arms', 0,
    'setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; st.shared.u32 [%r4], %r80; bra C2; C1: st.shared.u32 [%r4+4], %r80; C2:'),
  again('under a guard', 0, 'setp.gt.u32 %p20, %r1, 20; @%p20 st.shared.u32 [%r4], %r80;'),
  again('with a border', 0, `${own} setp.gt.u32 %p20, %r1, 2; @%p20 bra C1; st.shared.u32 [%r4+64], %r80; C1:`),
  again('with what is loaded under conditions', 0, `${loaded} mov.u32 %r96, 0; setp.eq.u32 %p20, %r95, 1; @%p20 bra C1; mov.u32 %r96, 5; C1: st.shared.u32 [%r4], %r96;`),
  again('by a loop of the threads', 0, fill('mov.u32 %r90, %r1;', '%ntid.x', '128')),
  again('by a loop under a condition', 0, `setp.gt.u32 %p21, %r1, 127; @%p21 bra C2; ${fill('mov.u32 %r90, %r1;', '%ntid.x', '%r50')}\nC2:`),
  again('also before the loop', 0, own, { before: 'st.shared.u32 [%r4], %r1; bar.sync 0;' }),
  again('a part also before the loop', 0, own, { before: 'st.shared.u16 [%r4+2], %rs1; bar.sync 0;' }),
  again('a condition of the block around it all', 0, own, { before: 'setp.gt.u32 %p22, %r50, 9; @%p22 bra DONE;' }),
  again('threads have left before', 0, own, { before: 'setp.gt.u32 %p22, %r1, 9; @%p22 bra DONE;' }),
  again('at an address from memory', 'no', `${loaded} add.s32 %r96, %r4, %r95; st.shared.u32 [%r96], %r80;`),
  again('at an address of the iteration', 'no', 'shl.b32 %r95, %r80, 2; add.s32 %r96, %r4, %r95; st.shared.u32 [%r96], %r1;'),
  again('at an address that moves', 'no', 'st.shared.u32 [%r97], %r1; add.s32 %r97, %r97, 4;', { before: 'mov.u32 %r97, %r4;' }),
  again('at one of two addresses', 'no', 'mov.u32 %r97, %r4; setp.eq.u32 %p20, %r80, 2; @%p20 mov.u32 %r97, %r3; st.shared.u32 [%r97], %r1;'),
  again('at an address chosen by a branch', 'no', 'mov.u32 %r97, %r4; setp.eq.u32 %p20, %r80, 2; @%p20 bra C1; add.s32 %r97, %r3, 16; C1: st.shared.u32 [%r97], %r1;'),
  again('under a condition from memory', 'no', `${loaded} setp.eq.u32 %p20, %r95, 1; @%p20 bra C1; ${own} C1:`),
  again('under a condition of the iteration', 'no', `setp.eq.u32 %p20, %r80, 1; @%p20 bra C1; ${own} C1:`),
  again('under a guard from memory', 'no', `${loaded} setp.eq.u32 %p20, %r95, 1; @%p20 ${own}`),
  again('in one of two arms', 'no', `${loaded} setp.eq.u32 %p20, %r95, 1; @%p20 bra C1; ${own} bra C2; C1: st.shared.u32 [%r4+4], %r80; C2:`),
  again('by a loop of unknown length', 'no', `${loaded} ${fill('mov.u32 %r90, %r1;', '%ntid.x', '%r95')}`),
  again('by a loop of unknown start', 'no', `${loaded} ${fill('add.s32 %r90, %r1, %r95;', '%ntid.x', '128')}`),
  again('by a loop of unknown step', 'no', `${loaded} ${fill('mov.u32 %r90, %r1;', '%r95', '128')}`),
  again('by a loop that goes on where it was', 'no', fill('', '1', '100'), { before: 'mov.u32 %r90, %r1;' }),
  again('by a loop with a way out', 'no', `${loaded} setp.eq.u32 %p21, %r95, 3; `
    + `${fill('mov.u32 %r90, %r1;', '%ntid.x', '128').replace('add.s32 %r90', '@%p21 bra C2; add.s32 %r90')}\nC2:`),
  again('and another part before the loop', 'no', own, { before: 'st.shared.u32 [%r4+4], %r1; bar.sync 0;' }),
  again('more before the loop', 'no', own, { before: 'st.shared.v2.u32 [%r3], {%r1, %r1}; bar.sync 0;' }),
  again('and a byte elsewhere', 'no', own, { after: 'st.shared.u8 [a+3], %rs1;' }),
  again('half of it', 'no', 'st.shared.u16 [%r4], %rs1;', { before: 'st.shared.u32 [%r4], %r1; bar.sync 0;' }),
  again('and it is read before the barrier', 'no', `${own} ld.shared.u32 %r60, [%r4+4];`),
  again('and some read it before the barrier', 'no', `${own} setp.gt.u32 %p20, %r1, 9; @%p20 ld.shared.u32 %r60, [%r4];`),
  again('by an atomic', 'no', 'atom.shared.exch.b32 %r60, [%r4], %r80;'),
  again('by a copy', 'no', 'cp.async.ca.shared.global [%r4], [%rd5], 4; cp.async.wait_all;'),
  again('by a matrix store', 'no', 'stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%r5};'),
  again('and added to', 'no', own, { after: 'red.shared.add.u32 [a+64], 1;' }),
  again('in a or in b', 'no', 'selp.b32 %r97, %r4, %r7, %p3; st.shared.u32 [%r97], %r80;'),
  again('after a call', 'no', `${own} call.uni h;`, { functions: '.func h { bar.sync 0; ret; }' }),
  again('threads leave in the loop', 'no', own, { after: 'ld.global.u32 %r99, [%rd5]; setp.eq.u32 %p22, %r99, %r1; @%p22 bra DONE;' }),
  again('threads leave before it is written again', 'no', `setp.gt.u32 %p22, %r1, %r80; @%p22 exit; ${own}`),
  again('a loop into the middle', 'no', `setp.eq.u32 %p23, %r80, 3; @%p23 bra C1; ${own} C1: st.shared.u32 [%r4+256], %r1;`),
  again('by another register of the name', 'no', `{ .reg .b32 %r4; ${loaded} add.s32 %r4, %r3, %r95; st.shared.u32 [%r4], %r80; }`),
  again('its address is defined inside braces', 'no', `${own} { .reg .b32 %r4; ${loaded} add.s32 %r4, %r3, %r95; }`),
  again('by a carried sum', 'no', 'add.cc.u32 %r96, %r1, %r80; addc.u32 %r97, %r4, 0; st.shared.u32 [%r97], %r80;'),
  again('under a guard, and before the loop by all', 'no', `setp.gt.u32 %p20, %r1, 20; @%p20 ${own}`, { before: 'st.shared.u32 [%r4], %r1; bar.sync 0;' }),
  again('under a condition, and before the loop by all', 'no', `setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; ${own} C1:`,
    { before: 'st.shared.u32 [%r4], %r1; bar.sync 0;' }),
  again('under a condition, and before the loop under the same', 0, `setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; ${own} C1:`,
    { before: 'setp.gt.u32 %p24, %r1, 20; @%p24 bra C9; st.shared.u32 [%r4], %r1; C9: bar.sync 0;' }),
  again('under a condition, and before the loop under the opposite', 'no', `setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; ${own} C1:`,
    { before: 'setp.gt.u32 %p24, %r1, 20; @!%p24 bra C9; st.shared.u32 [%r4], %r1; C9: bar.sync 0;' }),
  again('under a condition, and before the loop in the other arm', 'no', `setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; ${own} C1:`,
    { before: 'setp.gt.u32 %p24, %r1, 20; @%p24 bra C8; bra C9; C8: st.shared.u32 [%r4], %r1; C9: bar.sync 0;' }),
  again('under a condition, and before the loop under another', 'no', `setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; ${own} C1:`,
    { before: 'setp.gt.u32 %p24, %r1, 21; @%p24 bra C9; st.shared.u32 [%r4], %r1; C9: bar.sync 0;' }),
  again('under a condition, and before the loop by a way around it', 'no', `setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; ${own} C1:`,
    { before: 'setp.gt.u32 %p25, %r1, 9; @%p25 bra C8; setp.gt.u32 %p24, %r1, 20; @%p24 bra C9; C8: st.shared.u32 [%r4], %r1; C9: bar.sync 0;' }),
  again('under two conditions, and before the loop under one', 'no',
    `setp.gt.u32 %p26, %r1, 99; @%p26 bra C1; setp.gt.u32 %p20, %r1, 20; @%p20 bra C1; ${own} C1:`,
    { before: 'setp.gt.u32 %p24, %r1, 20; @%p24 bra C9; st.shared.u32 [%r4], %r1; C9: bar.sync 0;' }),
  again('under a condition that changes, and before the loop under the same', 'no', `setp.gt.u32 %p20, %r1, %r80; @%p20 bra C1; ${own} C1:`,
    { before: 'setp.gt.u32 %p24, %r1, %r80; @%p24 bra C9; st.shared.u32 [%r4], %r1; C9: bar.sync 0;' }),
  again('at an address of the active threads', 'no', `activemask.b32 %r95; and.b32 %r94, %r95, 64; add.s32 %r96, %r4, %r94; ${own.replace('%r4', '%r96')}`),
  again('at an address of the time', 'no', `mov.u32 %r95, %clock; and.b32 %r94, %r95, 64; add.s32 %r96, %r4, %r94; ${own.replace('%r4', '%r96')}`),
  again('the first time in the middle', 'no', 'st.shared.u32 [%r4+64], %r1; C1: st.shared.u32 [%r97], %r1;',
    { before: 'add.s32 %r97, %r4, 16; bra C1;', after: 'mov.u32 %r97, %r4;' }),
  { name: 'a written anew at the end', shares: 1, after: `bar.sync 0; ${own} bar.sync 0; ld.shared.u32 %r60, [a+4];` },
  { name: 'a written anew at the end, and threads leave meanwhile', shares: 'no', first: `${own} st.shared.u32 [%r4+256], %r1; bar.sync 0; ld.shared.u32 %r5, [a+8];`,
    after: `bar.sync 0; ${own} setp.gt.u32 %p20, %r1, 9; @%p20 exit; st.shared.u32 [%r4+256], %r1; bar.sync 0; ld.shared.u32 %r60, [a+4];` },
  { name: 'a written anew at the end, and a part not', shares: 'no', first: `${own} st.shared.u32 [%r4+256], %r1; bar.sync 0; ld.shared.u32 %r5, [a+8];`,
    after: `bar.sync 0; ${own} bar.sync 0; ld.shared.u32 %r60, [a+4];` },
  again('by a barrier of some', 'no', `${own} bar.sync 1, 64; ld.shared.u32 %r60, [%r4+4];`),
];

/** All of them. */
export const attacks: readonly Attack[] = [
  ...uses, ...kills,
  ...predicates.map(([name, text, isUniform]): Attack => ({ name: `b under a condition on ${name}`, shares: isUniform ? 1 : 'no', ...conditional(text) })),
  ...waits.map(([name, text, isWait]): Attack => ({ name: `a loop that waits for ${name}`, shares: isWait ? 'no' : 1,
    between: `${loop(text)}\nld.shared.u32 %r5, [a+12];`, declarations: '.shared .align 8 .b8 flag[8];' })),
  ...waits.map(([name, text]): Attack => ({ name: `a loop that waits for ${name}, then a barrier`, shares: 0,
    between: `${loop(text)}\nbar.sync 0;`, declarations: '.shared .align 8 .b8 flag[8];' })),
  ...escapes.map(([name, text]): Attack => ({ name: `the address of a: ${name}`, shares: 'no', between: text,
    declarations: '.shared .align 8 .b8 flag[8];\n.local .align 8 .b8 local[8];', functions: '.func f(.param .b32 x) { ret; }\n.func g(.reg .b32 x) { ret; }' })),
];
