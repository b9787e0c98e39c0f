// The proof: every kernel of the corpus, the kernels of Table I and random kernels, as written and as rewritten, on the SIMT shim
// under ThreadSanitizer. Both must run without a race, without reading what nobody wrote, in every order of threads, and leave
// the same bytes; every barrier that the pass inserted must be missed when it is taken away.
//
// WARPLOOM_PROOF_KERNELS=500 runs all random kernels (default 60); they have seeds 1, 2, …
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { join } from 'node:path';
import { Random } from '../support/random.ts';
import type { Pair } from './proof/batch.ts';
import { launchesOf, readKernels, testFolder, type KernelFile } from './proof/kernels.ts';
import { treat, type Treated } from './proof/pairs.ts';
import { randomKernel } from './proof/random-kernels.ts';
import { Bench, canProve, findProgram, ptxas, type Verdict } from './proof/toolchain.ts';

const orders = ['forward', 'reverse', 'random:3'];
const randomCount = Number(process.env['WARPLOOM_PROOF_KERNELS'] ?? 60);

/** What is wrong with verdicts; empty when nothing is. */
function complaints(verdicts: readonly Verdict[]): string[] {
  return verdicts.flatMap(({ name, original, rewritten, equal }) => [
    ...(original === '' ? [] : [`${name} as written: ${original}`]),
    ...(rewritten === '' ? [] : [`${name} rewritten: ${rewritten}`]),
    ...(equal ? [] : [`${name}: other bytes than before`]),
  ]);
}

/** Inserted barriers by kernel and line, and whether some launch misses them. */
function mutantsOf(verdicts: readonly Verdict[]): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const { name, mutants } of verdicts) {
    for (const { line, caught } of mutants) {
      const key = `${name.replace(/\.\d+$/, '')}, line ${line}`;
      found.set(key, caught || found.get(key) === true);
    }
  }
  return found;
}

describe('scratchpad proof', function () {
  this.timeout(1_800_000);
  this.slow(60_000);
  let bench: Bench;
  let corpus: Treated[];

  before(async function () {
    if (!canProve()) this.skip();
    bench = await Bench.open();
    const files = [...readKernels(join(testFolder, 'corpus')), ...readKernels(join(testFolder, '../../examples/kernels'))];
    corpus = await Promise.all(files.map((file) => treat(file, { reorder: file.name === 'registration' })));
  });
  after(() => bench?.close());

  it('the corpus: no kernel is refused, and nearly all are rewritten to fewer bytes', () => {
    const kernels = corpus.flatMap((own) => own.kernels);
    deepStrictEqual(corpus.flatMap((own) => own.refused.map(({ kernel, code, line }) => `${kernel}: ${code}, line ${line}`)), []);
    ok(kernels.length >= 50, `${kernels.length} kernels`);
    const kept = kernels.filter((kernel) => kernel.status === 'kept').map((kernel) => kernel.kernel);
    deepStrictEqual(kept.sort(), ['all_live', 'no_array', 'one_array', 'ping_pong', 'reduction', 'scan']);
    for (const kernel of kernels.filter((own) => own.status === 'rewritten')) {
      ok(kernel.bytesAfter < kernel.bytesBefore && kernel.bytesAfter >= kernel.lowerBound, kernel.kernel);
      if (!kernel.symbolic) ok(kernel.optimal, `${kernel.kernel} not proved optimal`);
    }
    ok(kernels.reduce((sum, kernel) => sum + kernel.barriersAdded.length, 0) >= 10);
  });

  it('the corpus: same bytes in every order, no race, every inserted barrier needed', async () => {
    const verdicts = await bench.prove(corpus, { orders, mutants: true });
    strictEqual(verdicts.length, corpus.reduce((sum, own) => sum + own.file.launches.length, 0));
    deepStrictEqual(complaints(verdicts), []);
    const mutants = mutantsOf(verdicts);
    deepStrictEqual([...mutants].filter(([, caught]) => !caught).map(([place]) => place), []);
    ok(mutants.size >= 10, `${mutants.size} inserted barriers`);
  });

  it('the corpus: nvcc finds the bytes that the report says', async function () {
    if (findProgram('nvcc') === undefined) this.skip();
    // Over 48 KB static shared memory does not compile: those kernels have a dynamic pool, of which ptxas knows nothing.
    const fitting = corpus.filter((own) => own.dynamicBytes === undefined);
    const rows = await ptxas(fitting);
    let compared = 0;
    fitting.forEach((own, pair) => {
      const bytes = (rewritten: boolean, kernel: string) => rows.filter((row) => row.pair === pair && row.rewritten === rewritten
        && row.symbol.includes(`${kernel.length}${kernel}`)).map((row) => row.sharedBytes);
      for (const kernel of own.kernels) {
        const [before, after] = [bytes(false, kernel.kernel), bytes(true, kernel.kernel)];
        ok(before.length > 0 && before.length === after.length, kernel.kernel);
        if (kernel.status === 'rewritten' && !kernel.symbolic) deepStrictEqual(after, [kernel.bytesAfter], kernel.kernel);
        after.forEach((size, i) => ok(kernel.status === 'rewritten' ? size < before[i]! : size === before[i], `${kernel.kernel}: ${before} to ${after}`));
        compared += after.length;
      }
    });
    strictEqual(compared, rows.filter((row) => row.rewritten).length);
  });

  it('every planner, and what a known block shape shows, gives correct kernels', async () => {
    const files = readKernels(join(testFolder, 'corpus')).filter(({ name }) => ['straight', 'types', 'algorithms'].includes(name));
    const pairs = await Promise.all(files.flatMap((file) => (['greedy', 'coloring', 'packing'] as const).map((planner) => treat(file, { planner }))));
    // What the promise of the block's shape shows to be written afresh, instead of the caller's word.
    for (const file of readKernels(join(testFolder, 'corpus')).filter(({ name }) => ['bodies', 'loops'].includes(name))) {
      pairs.push(await treat({ ...file, options: {} }, { blockThreads: [64] }));
    }
    deepStrictEqual(complaints(await bench.prove(pairs, { orders: ['random:5'], mutants: false })), []);
  });

  it(`${randomCount} random kernels: same bytes, no race, inserted barriers missed`, async () => {
    const treated: Treated[] = [];
    for (let seed = 1; seed <= randomCount; ++seed) treated.push(await treat(randomKernel(new Random(seed))));
    deepStrictEqual(treated.flatMap((own) => own.refused.map(({ kernel, code, reason }) => `${kernel}: ${code}, ${reason}`)), []);
    const rewritten = treated.filter((own) => own.kernels[0]!.status === 'rewritten');
    ok(rewritten.length >= 0.6 * randomCount, `${rewritten.length} of ${randomCount} rewritten`);
    const verdicts: Verdict[] = [];
    // A batch of 100 keeps the compiler's memory small.
    for (let at = 0; at < treated.length; at += 100) {
      verdicts.push(...await bench.prove(treated.slice(at, at + 100), { orders: ['forward', 'random:7'], mutants: true }));
    }
    deepStrictEqual(complaints(verdicts), []);
    const [before, after] = [treated, treated].map((list, i) => list.reduce((sum, own) => (
      sum + (i === 0 ? own.kernels[0]!.bytesBefore : own.kernels[0]!.status === 'rewritten' ? own.kernels[0]!.bytesAfter : own.kernels[0]!.bytesBefore)), 0));
    // Not missed: barriers in branches that no launch takes, before values that nobody reads, and between arrays of which the
    // threads happen to meet only their own bytes: the pass judges whole arrays.
    const mutants = [...mutantsOf(verdicts).values()];
    const missed = mutants.filter(Boolean).length;
    ok(missed >= 0.7 * mutants.length, `${missed} of ${mutants.length} inserted barriers missed`);
    console.log(`      ${rewritten.length} of ${randomCount} rewritten, ${before} to ${after} bytes, ${missed} of ${mutants.length} inserted barriers missed`);
  });

  it('finds what is wrong with kernels that are wrong', async () => {
    const kernel = (body: string) => `// run: wrong<<<1, 64>>>(in f32 64, out f32 64)\n__global__ void wrong(const float* in, float* out) {\n${body}\n}\n`;
    const load = 'const int t = threadIdx.x;\n  a[t] = in[t];\n  __syncthreads();\n';
    const right = kernel(`  __shared__ float a[64], b[64];\n  ${load}  const float x = a[63 - t];\n  __syncthreads();\n  b[t] = x;\n  __syncthreads();\n  out[t] = b[t ^ 1];`);
    const pool = '  __shared__ float pool[64];\n  float (&a)[64] = pool, (&b)[64] = pool;\n';
    const wrong: [string, RegExp | 'bytes', string][] = [
      ['no barrier at the reuse', /race/, `${pool}  ${load}  const float x = a[63 - t];\n  b[t] = x;\n  __syncthreads();\n  out[t] = b[t ^ 1];`],
      ['reuse of a live array', 'bytes', `${pool}  ${load}  b[t] = 0.0f;\n  __syncthreads();\n`
        + '  const float x = a[63 - t];\n  __syncthreads();\n  b[t] = x;\n  __syncthreads();\n  out[t] = b[t ^ 1];'],
      ['a barrier that not all threads reach', /deadlock|different barriers/, `${pool}  ${load}  if (t < 32) __syncthreads();\n  out[t] = a[t];`],
      ['memory that nobody wrote', /NaN/, `${pool}  const int t = threadIdx.x;\n  out[t] = a[t] + in[t];`],
      ['another result', 'bytes', `${pool}  ${load}  out[t] = a[t];`],
    ];
    const file: KernelFile = { name: 'wrong', text: right, launches: launchesOf(right), options: {} };
    const pairs: Pair[] = wrong.map(([, , body]) => ({ file, rewritten: kernel(body), inserted: [] }));
    pairs.push({ file, rewritten: right, inserted: [{ kernel: 'wrong', line: 7 }] });
    const verdicts = await bench.prove(pairs, { orders, mutants: true, batches: 1 });
    wrong.forEach(([what, found], i) => {
      const { original, rewritten, equal } = verdicts[i]!;
      strictEqual(original, '', what);
      if (found === 'bytes') ok(rewritten === '' && !equal, `${what}: ${rewritten}`);
      else ok(found.test(rewritten), `${what}: ${rewritten}`);
    });
    // A barrier that stood there before is not needed once the arrays are apart: the mutant is not caught.
    deepStrictEqual(verdicts.at(-1)!.mutants.map(({ caught }) => caught), [false]);
    for (const verdict of verdicts.slice(0, wrong.length)) ok(complaints([verdict]).length > 0, verdict.name);
  });
});
