// Checks a rewritten module against the original without anything of the pass: its own reader, which only knows tokens; its own notion of
// what touches an array; and conditions on paths instead of live ranges. What passes here is right whatever the pass believed.
//
// 1. The texts are equal, token by token, but for declarations of arrays and pools, `array` -> `pool+offset`, and new `bar.sync 0`.
// 2. Arrays lie inside their pool, aligned.
// 3. For arrays that share bytes: no way without a barrier from an access of one to an access of the other; no access of one between a
//    write and a read of the other, unless all of it is written anew in between; threads that part do not access one each.
// 4. All threads take the branches that decide on a new barrier together, and those that decide between barriers of the kernel.
import { Kernel } from './checker-kernel.ts';
import { Kills } from './checker-kills.ts';
import { compare, fail, Objection, type Claim } from './checker-text.ts';

/** Pairs of moved arrays with common bytes. */
function sharing({ moved }: Claim): [number, number][] {
  return moved.flatMap((a, i) => moved.flatMap((b, j): [number, number][] =>
    i < j && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes ? [[i, j]] : []));
}

function checkPairs(kernel: Kernel): void {
  const { claim, statements } = kernel;
  const all = statements.map((_, at) => at);
  const name = (at: number): string => claim.moved[at]?.name ?? '';
  const partners = new Map<number, bigint>();
  for (const [a, b] of sharing(claim)) {
    partners.set(a, (partners.get(a) ?? 0n) | 1n << BigInt(b));
    partners.set(b, (partners.get(b) ?? 0n) | 1n << BigInt(a));
  }
  const kills = claim.kills.length > 0 ? new Kills(kernel) : undefined;
  for (const [array, others] of partners) {
    const bit = 1n << BigInt(array);
    const fetches = all.filter((at) => /^cp\.async\.c[ag]\b/.test(kernel.opcode(at)) && (kernel.writes[at] ?? 0n) === bit);
    const flying = kernel.forward(fetches, (at) => kernel.landsAll(at));
    const landing = [...flying].filter((at) => /^cp\.async\.wait/.test(kernel.opcode(at)));
    const own = [...all.filter((at) => (kernel.touches(at) & bit) !== 0n), ...landing];
    const near = new Set([...own, ...kernel.forward(own, (at) => kernel.isBarrier(at))]);
    for (const at of near) if ((kernel.touches(at) & others) !== 0n) fail(`no barrier after an access to ${name(array)}`);
    const written = kernel.forward(all.filter((at) => ((kernel.writes[at] ?? 0n) & bit) !== 0n), () => false);
    const needed = kernel.backward(all.filter((at) => ((kernel.reads[at] ?? 0n) & bit) !== 0n), kills?.of(array));
    for (const at of all) {
      const isLive = flying.has(at) || (written.has(at) && needed.has(at));
      if (!isLive || (kernel.touches(at) & others) === 0n) continue;
      fail(`${name(array)} is needed after another array takes its bytes`);
    }
  }
}

function checkThreads(kernel: Kernel): void {
  const { claim, statements } = kernel;
  const pairs = sharing(claim);
  const barriers = statements.flatMap((_, at) => kernel.isBarrier(at) ? [at] : []);
  const number = new Map(barriers.map((at, index) => [at, index]));
  const firsts = kernel.met((at) => number.has(at) ? 1n << BigInt(number.get(at) ?? 0) : 0n);
  const arrays = kernel.met((at) => kernel.touches(at));
  statements.forEach(({ next, isNew }, at) => {
    if (isNew && ![...kernel.controls(at)].every((branch) => kernel.isUniform(branch, false))) {
      fail('not all threads reach a new barrier');
    }
    for (const [i, one] of next.entries()) {
      for (const other of next.slice(i + 1)) {
        const [p, q] = [firsts[one] ?? 0n, firsts[other] ?? 0n];
        if (p !== q && p !== 0n && q !== 0n) {
          if (!kernel.isUniform(at, true)) fail('threads may wait at different barriers');
          continue;
        }
        const [f, g] = [arrays[one] ?? 0n, arrays[other] ?? 0n];
        const meets = pairs.some(([a, b]) => {
          const [x, y] = [1n << BigInt(a), 1n << BigInt(b)];
          const parted = (s: bigint, t: bigint): boolean => (f & s) !== 0n && (g & t) !== 0n && !((f & t) !== 0n && (g & s) !== 0n);
          return parted(x, y) || parted(y, x);
        });
        if (meets && !kernel.isUniform(at, false)) fail('threads that part access arrays with common bytes');
      }
    }
  });
}

/** What is wrong with the claimed kernels; undefined if nothing is. */
export function check(before: string, after: string, claims: readonly Claim[]): string | undefined {
  try {
    requireRight(before, after, claims);
    return undefined;
  } catch (error) {
    if (error instanceof Objection) return error.message;
    throw error;
  }
}

function requireRight(before: string, after: string, claims: readonly Claim[]): void {
  const bodies = compare(before, after, claims);
  for (const claim of claims) {
    const statements = bodies.get(claim.kernel);
    if (statements === undefined) fail('it is not found');
    if (statements.filter((each) => each.isNew).length !== claim.barriers) fail('another number of new barriers');
    for (const { name, bytes, alignment, offset } of claim.moved) {
      if (offset < 0 || offset + bytes > claim.poolBytes || offset % alignment !== 0) fail(`the place of ${name}`);
    }
    const header = new RegExp(`\\.entry\\s+${claim.kernel.replace(/\$/g, '\\$')}\\s*\\(([^)]*)\\)`).exec(before)?.[1] ?? '';
    const kernel = new Kernel(claim, statements, header);
    checkPairs(kernel);
    checkThreads(kernel);
  }
}
