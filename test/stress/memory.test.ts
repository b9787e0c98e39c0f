// 100,000 calls: the process's memory stays where it was after the warm-up.
import { match, ok, strictEqual } from 'node:assert/strict';
import type { BackendName } from '../../lib/core/binding.ts';
import { drillBackends } from '../support/backends.ts';
import { preamble, runChild } from '../support/child.ts';

const megabyte = 2 ** 20;

/** Runs `call` (an async function's body with `device`, `i`) 100,000 times, 50 at once; prints the growth. */
const growth = (backend: BackendName, setup: string, call: string): string => `${preamble(backend, 100)}
import { readFileSync } from 'node:fs';
const resident = () => { gc(); return Number(/VmRSS:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024; };
const device = await open({ queueLimit: 256 });
${setup}
const one = async (i) => { ${call} };
const run = async (calls) => {
  for (let i = 0; i < calls; i += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => one(i + k)));
  gc(); await new Promise((resolve) => setTimeout(resolve, 50)); gc(); await device.trim();
};
await run(40000);
// The engine's heap settles in steps: what leaks grows in every window, so the flattest one decides.
let least = Infinity;
for (let window = 0; window < 3 && least >= ${5 * megabyte}; ++window) {
  const before = resident();
  await run(100000);
  least = Math.min(least, resident() - before);
}
console.log('growth', least, 'in use', device.memory().inUseBytes);
await device.close();
`;

async function requireFlat(backend: BackendName, setup: string, call: string, inUse = 0): Promise<void> {
  const end = await runChild(growth(backend, setup, call), { timeout: 170000, args: ['--max-semi-space-size=4'] });
  strictEqual(end.code, 0, end.err);
  const bytes = Number(/growth (-?\d+)/.exec(end.out)?.[1]);
  ok(bytes < 5 * megabyte, `grew by ${(bytes / megabyte).toFixed(1)} MB`);
  match(end.out, new RegExp(`in use ${inUse}$`, 'm'));
}

for (const backend of drillBackends(3, ['cpu', 'cuda'])) {
  describe(`memory of the ${backend} backend after 100,000 calls`, function () {
    this.timeout(180000);
    this.slow(60000);

    it('does not grow with calls on device arrays', () => requireFlat(backend,
      'const a = await device.array(new Float64Array(96).fill(1)); const b = await device.array("float64", 96);',
      "await device.run('tridiagonal.solve', solving(32, 3, a, b));", 2 * (backend === 'cuda' ? 1024 : 768))); // blocks of a GPU are powers of two

    it('does not grow with calls on plain arrays, refused and cancelled calls', () => requireFlat(backend,
      "const reason = new Error('enough');",
      `const x = new Float64Array(96).fill(1);
       if (i % 10 === 0) return device.run('tridiagonal.solve', { ...solving(32, 3, x, x), n: -1 }).catch(() => {});
       const stop = i % 10 === 1 ? new AbortController() : undefined;
       const onProgress = i % 10 === 2 ? () => {} : undefined;
       const call = device.run('tridiagonal.solve', solving(32, 3, x, x), { signal: stop?.signal, onProgress });
       stop?.abort(reason);
       await call.catch((error) => { if (error !== reason) throw error; });`));

    it('does not grow with device arrays made, filled, read and dropped', () => requireFlat(backend, '',
      `const array = await device.array(new Float64Array(64));
       if (i % 2) await array.read();
       array.dispose();`));
  });
}
