// Ends of processes and workers, and collections, while modules are compiled, loaded and launched: no crash, no hang, nothing left.
import { match, ok, strictEqual } from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BackendName } from '../../lib/core/binding.ts';
import { drillBackends } from '../support/backends.ts';
import { libraryModule, runChild } from '../support/child.ts';
import { canCompile, moduleText } from '../support/modules.ts';

/** Iterations of a kernel that takes a while. */
const rounds: Readonly<Record<BackendName, number>> = { cpu: 0, simt: 20_000, cuda: 20_000_000 };
const slow = { parameters: 'float* data; int rounds;', body: 'float x = p.data[i]; for (int k = 0; k < p.rounds; ++k) x = x * 0.5f + 1.0f; p.data[i] = x;' };
const wild = { parameters: 'int64_t address;', body: '*reinterpret_cast<int*>(p.address + i) = 1;' };
const source = moduleText({ slow, wild });

/** The library, and a module with launches. `text`: something new is compiled anew. */
const preamble = (backend: BackendName, cacheFolder: string): string => `
import { openDevice, addon } from '${libraryModule()}';
const open = () => openDevice({ backend: '${backend}' });
const options = (more = '') => ({ source: ${JSON.stringify(source)} + more, kernels: ['slow'], cacheFolder: '${cacheFolder}' });
const given = (data, rounds) => ({ blocks: 1, threads: 64, arguments: [data, { i32: rounds }] });
const right = async (device, module) => {
  const data = await device.array('float32', 64);
  await module.launch('slow', given(data, 100));
  if ((await data.read())[63] !== 2) throw new Error('wrong');
  data.dispose();
};
const startLong = async (device, module) => {
  const data = await device.array('float32', 64);
  const launches = [];
  for (let i = 0; i < 6; i += 1) launches.push(module.launchAll(Array.from({ length: 20 }, () => ({ kernel: 'slow', ...given(data, ${rounds[backend]}) }))));
  return launches;
};
`;

const scenarios: Readonly<Record<string, { readonly code: number; readonly script: string; readonly out?: RegExp }>> = {
  'an end with a module left open': {
    code: 0, out: /left/, script: `const d = await open(); const m = await d.module(options()); await right(d, m); globalThis.kept = [d, m]; console.log('left');`,
  },
  'an end that waits for a module': {
    code: 0, out: /settled/, script: `const d = await open(); d.module(options('// waited')).then((m) => right(d, m)).then(() => console.log('settled'));`,
  },
  'process.exit while a module is compiled': {
    code: 3,
    script: `const d = await open(); const made = d.module(options('// ' + Math.random()));
      setTimeout(() => process.exit(3), 60); await made; await new Promise(() => {});`,
  },
  'process.exit while a module is loaded': {
    code: 4,
    script: `const d = await open(); await d.module(options()); void d.module(options());
      setTimeout(() => process.exit(4), 1); await new Promise((r) => setTimeout(r, 5000));`,
  },
  'process.exit during launches': {
    code: 5,
    script: `const d = await open(); const m = await d.module(options()); const calls = await startLong(d, m);
      setTimeout(() => process.exit(5), 30); await calls[5]; await new Promise(() => {});`,
  },
  'a device that closes while modules load and run': {
    code: 0, out: /closed 1/,
    script: `const d = await open(); const m = await d.module(options()); const calls = await startLong(d, m); let refused = 0;
      const late = d.module(options()).catch(() => { refused += 1; });
      await d.close(); await Promise.all(calls); await late; console.log('closed', refused);`,
  },
  'modules that nobody holds any more': {
    code: 0, out: /collected true/,
    script: `import { readFileSync } from 'node:fs';
      const mapped = () => readFileSync('/proc/self/maps', 'utf8').split('\\n').filter((line) => line.includes('memfd:warploom-module')).length;
      const d = await open();
      const make = async () => { const m = await d.module(options()); await right(d, m); };
      for (let i = 0; i < 20; i += 1) await make();
      const most = mapped();
      for (let i = 0; i < 50 && mapped() > 0; i += 1) { gc(); await new Promise((r) => setTimeout(r, 20)); await d.trim(); }
      console.log('collected', d.backend === 'cuda' || (most > 0 && mapped() === 0));`,
  },
};

for (const backend of drillBackends(Object.keys(scenarios).length + 2, ['simt', 'cuda'])) {
  describe(`modules in the life of a process with the ${backend} backend`, function () {
    this.timeout(120_000);
    this.slow(10_000);
    let cache = '';
    before(async function () {
      if (!await canCompile(backend, Object.keys(scenarios).length + 2)) this.skip();
      cache = mkdtempSync(join(tmpdir(), 'warploom-modules-'));
    });
    after(() => { if (cache !== '') rmSync(cache, { recursive: true, force: true }); });

    for (const [name, { code, script, out }] of Object.entries(scenarios)) {
      it(`survives ${name}`, async () => {
        const end = await runChild(preamble(backend, cache) + script, { timeout: 110_000 });
        strictEqual(end.signal, null, `died by ${end.signal}: ${end.err}`);
        strictEqual(end.code, code, end.err);
        if (out !== undefined) match(end.out, out);
      });
    }

    if (backend === 'cuda') {
      it('survives a kernel that faults: the device is lost, and nothing else', async () => {
        const end = await runChild(`${preamble(backend, cache)}
          const d = await open(); const m = await d.module({ ...options(), kernels: ['slow', 'wild'] });
          const data = await d.array('float32', 64); const codes = [];
          const note = (call) => call.then(() => codes.push('ok'), (error) => codes.push(error.code.slice(13)));
          await note(m.launch('slow', given(data, 1)));
          const calls = [m.launch('wild', { blocks: 1, threads: 32, arguments: [{ i64: 8 }] }), m.launch('slow', given(data, 1)), data.read()];
          for (const call of calls) await note(call);
          await note(d.module(options())); m.dispose(); await d.close(); console.log(codes.join());`, { timeout: 110_000 });
        strictEqual(end.signal, null, end.err);
        strictEqual(end.code, 0, end.err);
        match(end.out, /^ok,DEVICE_LOST,DEVICE_LOST,DEVICE_LOST,DEVICE_LOST$/m);
      });
    }

    it('survives workers terminated while they compile and launch, with the main thread going on', async () => {
      const worker = JSON.stringify(`import { parentPort, workerData } from 'node:worker_threads';\n${preamble(backend, cache)}
        const d = await open(); if (workerData % 2 === 0) { parentPort.postMessage('compiling'); await d.module(options('// worker ' + workerData)); }
        const m = await d.module(options()); const calls = await startLong(d, m); parentPort.postMessage('running'); await Promise.all(calls);`);
      const end = await runChild(`import { Worker } from 'node:worker_threads';\n${preamble(backend, cache)}
        const source = new URL('data:text/javascript,' + encodeURIComponent(${worker}));
        const d = await open(); const m = await d.module(options()); let terminated = 0;
        for (let round = 0; round < 4; round += 1) {
          await Promise.all([0, 1, 2, 3].map(async (i) => {
            const worker = new Worker(source, { workerData: 4 * round + i });
            await new Promise((resolve, reject) => { worker.once('message', resolve); worker.once('error', reject); });
            await new Promise((resolve) => setTimeout(resolve, 7 * round));
            await worker.terminate(); terminated += 1;
          }));
          await right(d, m);
        }
        console.log('terminated', terminated);`, { timeout: 110_000 });
      strictEqual(end.signal, null, end.err);
      strictEqual(end.code, 0, end.err);
      match(end.out, /terminated 16/);
      ok(readdirSync(cache).length > 0);
    });
  });
}
