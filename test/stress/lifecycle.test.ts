// Ends of processes and workers at every moment of a call: no crash, no hang, no lost error.
import { match, ok, strictEqual } from 'node:assert/strict';
import { preamble, runChild, type ChildEnd } from '../support/child.ts';
import { drillBackends } from '../support/backends.ts';
import type { BackendName } from '../../lib/core/binding.ts';
import { casesOf } from '../support/thorough.ts';

/** Workers that are terminated, four at a time. */
const workers = casesOf(40, 100);
/** From start to end, on a machine that runs other things. */
const patience = 60_000;

function requireEnd(end: ChildEnd, code: number): void {
  strictEqual(end.signal, null, `died by ${end.signal}: ${end.err}`);
  strictEqual(end.code, code, end.err);
  ok(end.milliseconds < patience, `took ${Math.round(end.milliseconds)} ms`);
}

const scenarios: Record<string, { code: number; script: string; out?: RegExp; err?: RegExp }> = {
  'an end with everything closed': {
    code: 0, out: /0\.4999/,
    script: 'const d = await open(); const x = await small(d); await d.close(); console.log(x[16]);',
  },
  'an end with a device and arrays left open': {
    code: 0, out: /left/,
    script: `const d = await open(); globalThis.kept = [await d.array("float64", 1000), await d.pinned("float64", 1000), d];
      await small(d); console.log("left");`,
  },
  'an end that waits for a pending call': {
    code: 0, out: /settled/,
    script: 'const d = await open(); small(d).then(() => console.log("settled"));',
  },
  'an open device does not keep the process alive': {
    code: 0, script: 'globalThis.kept = await open();',
  },
  'process.exit with an idle device': {
    code: 3,
    script: `const d = await open(); globalThis.kept = await d.array("float64", 1000);
      await small(d); process.exit(3);`,
  },
  'process.exit during calls': {
    code: 4,
    script: `const d = await open(); const calls = await startLong(d);
      setTimeout(() => process.exit(4), 30); await calls[5];`,
  },
  'process.exit during calls on device arrays': {
    code: 4,
    script: `const d = await open(); const calls = await startLong(d, "device");
      setTimeout(() => process.exit(4), 30); await calls[5];`,
  },
  'process.exit during calls on shared memory': {
    code: 4,
    script: `const d = await open(); const calls = await startLong(d, "shared");
      setTimeout(() => process.exit(4), 30); await calls[5];`,
  },
  'process.exit while a device opens': {
    code: 5, script: 'void open(); process.exit(5);',
  },
  'process.exit while a device closes': {
    code: 6,
    script: `const d = await open(); const calls = await startLong(d);
      void d.close(); setTimeout(() => process.exit(6), 10); await calls[5];`,
  },
  'an uncaught error during calls': {
    code: 1, err: /on purpose/,
    script: `const d = await open(); const calls = await startLong(d);
      setTimeout(() => { throw new Error("on purpose"); }, 20); await calls[5];`,
  },
  'an unhandled rejection of a call': {
    code: 1, err: /ERR_WARPLOOM_INVALID_ARGUMENT/,
    script: `const d = await open();
      void d.run("tridiagonal.solve", { n: -1 }); await new Promise((r) => setTimeout(r, 1000));`,
  },
  'an error thrown by a progress callback': {
    code: 0, out: /caught on purpose/,
    script: `const d = await open(); const x = new Float64Array(size);
      const onProgress = () => { throw new Error("on purpose"); };
      await d.run("tridiagonal.solve", { ...solving(64, size / 64, x, x), algorithm: 'pivoting' }, { onProgress })
        .catch((error) => console.log("caught", error.message));`,
  },
  'collections during calls': {
    code: 0, out: /collected/,
    script: `for (let i = 0; i < 10; i += 1) {
      let d = await open(); let arrays = [await d.array("float64", 5000), await d.pinned("float64", 5000)];
      const pending = small(d); d = undefined; arrays = undefined; gc(); await pending; gc();
      await new Promise((r) => setImmediate(r)); gc();
    } console.log("collected");`,
  },
  'two loads of the addon in one thread': {
    code: 0, out: /same true/,
    script: `const d = await open(); const again = await import(import.meta.resolve('node:module'));
      await small(d); const e = await open(); await small(e); console.log("same", addon() === addon(), again !== undefined);`,
  },
};

for (const backend of drillBackends(Object.keys(scenarios).length)) {
  describe(`life of a process with the ${backend} backend`, function () {
    this.timeout(300_000);
    this.slow(10000);
    for (const [name, { code, script, out, err }] of Object.entries(scenarios)) {
      it(`survives ${name}`, async () => {
        for (let round = 0; round < (backend === 'cpu' ? 2 : 1); round += 1) {
          const end = await runChild(preamble(backend) + script, { timeout: 2 * patience });
          requireEnd(end, code);
          if (out !== undefined) match(end.out, out);
          if (err !== undefined) match(end.err, err);
        }
      });
    }
  });
}

/** A script that runs `body` in workers; `main` decides their fate. */
function withWorkers(backend: BackendName, body: string, main: string): string {
  const worker = JSON.stringify(`import { parentPort, workerData } from 'node:worker_threads';\n${preamble(backend, backend === 'cpu' ? 6000 : undefined)}\n${body}`);
  return `import { Worker } from 'node:worker_threads';
const source = new URL('data:text/javascript,' + encodeURIComponent(${worker}));
const start = (workerData) => new Worker(source, { workerData });
const ended = (worker) => new Promise((resolve, reject) => { worker.on('exit', resolve); worker.on('error', reject); });
const message = (worker) => new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
${main}`;
}

for (const backend of drillBackends(3, ['cpu', 'cuda'])) {
  describe(`life of workers with the ${backend} backend`, function () {
    this.timeout(180000);
    this.slow(30000);

    it(`survives ${workers} workers terminated during calls, with the main thread going on`, async () => {
      const end = await runChild(withWorkers(backend,
        `const device = await open(); const kinds = ['plain', 'device', 'shared', 'pinned'];
         globalThis.kept = [await device.array('float64', 100), await device.pinned('float64', 100)];
         const calls = await startLong(device, kinds[workerData % 4]); parentPort.postMessage('running'); await Promise.all(calls);`,
        `${preamble(backend)}
         const device = await open(); let terminated = 0;
         for (let round = 0; round < ${workers / 4}; round += 1) {
           await Promise.all([0, 1, 2, 3].map(async (i) => {
             const worker = start(4 * round + i); await message(worker);
             if (round % 3 !== 0) await new Promise((resolve) => setTimeout(resolve, round % 7));
             await worker.terminate(); terminated += 1;
           }));
           const x = await small(device); if (Math.abs(x[16] - 0.5) > 1e-6) throw new Error('wrong');
         }
         console.log('terminated', terminated);`), { timeout: 150000 });
      strictEqual(end.signal, null, end.err);
      strictEqual(end.code, 0, end.err);
      match(end.out, new RegExp(`terminated ${workers}`));
    });

    it('runs 8 workers of 200 calls each, all right', async () => {
      const end = await runChild(withWorkers(backend,
        `const device = await open(); let right = 0;
         for (let i = 0; i < 200; i += 1) { const x = await small(device); if (Math.abs(x[16] - 0.5) < 1e-6) right += 1; }
         parentPort.postMessage(right); if (workerData % 2) await device.close();`,
        `const workers = Array.from({ length: 8 }, (_, i) => start(i));
         const ends = workers.map(ended);
         const counts = await Promise.all(workers.map(message));
         console.log('right', counts.reduce((a, b) => a + b, 0), 'codes', (await Promise.all(ends)).join());`), { timeout: 150000 });
      strictEqual(end.signal, null, end.err);
      strictEqual(end.code, 0, end.err);
      match(end.out, /right 1600 codes 0,0,0,0,0,0,0,0/);
    });

    it('survives process.exit of a worker and of the main thread while workers work', async () => {
      for (let round = 0; round < 3; round += 1) {
        const end = await runChild(withWorkers(backend,
          `const device = await open(); const calls = await startLong(device, 'shared'); parentPort.postMessage('running');
           if (workerData === 0) setTimeout(() => process.exit(9), 5); await Promise.all(calls);`,
          `const workers = [start(0), start(1), start(2)]; const first = ended(workers[0]);
           await Promise.all(workers.map(message)); console.log('worker', await first); process.exit(7);`));
        strictEqual(end.signal, null, end.err);
        strictEqual(end.code, 7, end.err);
        match(end.out, /worker 9/);
      }
    });
  });
}

describe('two copies of the addon', function () {
  this.timeout(180000);

  it('stay apart in one process', async () => {
    const end = await runChild(`${preamble()}
      import { copyFileSync, mkdtempSync } from 'node:fs'; import { tmpdir } from 'node:os'; import { join } from 'node:path';
      import { createRequire } from 'node:module';
      const require = createRequire(import.meta.url); const before = new Set(Object.keys(require.cache));
      const device = await open(); await small(device);
      const file = [...process.report.getReport().sharedObjects].find((name) => name.endsWith('.node'));
      const copy = join(mkdtempSync(join(tmpdir(), 'warploom-')), 'copy.node'); copyFileSync(file, copy);
      const second = require(copy); const target = {}; const [other] = second.open(target, 'cpu', 0, {});
      const [array] = second.allocate(other, {}, 1, 10, undefined, 0);
      let refused = 0; await second.download(array + 1000, new Float64Array(10), 0, 0).catch(() => { refused += 1; });
      await second.close(other); await small(device); await device.close(); console.log('apart', refused, before.size);`);
    requireEnd(end, 0);
    match(end.out, /apart 1/);
  });
});
