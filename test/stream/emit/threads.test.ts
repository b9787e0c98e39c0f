// Runs on worker threads: the same output as in one thread, and an end to whatever happens.
import assert from 'node:assert/strict';
import { WarploomError } from '../../../lib/core/errors.ts';
import { StreamRunError } from '../../../lib/stream/interpret/error.ts';
import { startMatters } from '../../../lib/stream/plan/start.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { intFilter } from '../interpret/cases.ts';
import { graphOf } from '../support.ts';
import { randomInput, randomProgram } from './random-programs.ts';

const peeking = `float->float filter Fir(int n) { work pop 1 push 1 peek n { float s = 0; for (int i = 0; i < n; i++) s += peek(i) * (i + 0.5); push(s); pop(); } }
  float->float filter Half { work pop 2 push 1 { push(pop() - pop()); } }
  float->float pipeline P { add Fir(9); add splitjoin { split duplicate; add Fir(4); add Fir(7); join roundrobin; } add Half; }`;

describe('WebAssembly on worker threads', function () {
  this.timeout(60_000);

  it('cuts a stateless program with windows into pieces that join without a seam', async () => {
    const graph = graphOf(peeking);
    const input = Float32Array.from({ length: 5003 }, (_, i) => Math.sin(i) * 10);
    const compiled = compileWasm(graph);
    assert.equal(startMatters(compiled.plan), -1);
    const reference = compileWasm(graph).run(input);
    for (const threads of [1, 2, 3]) {
      const found = await compiled.runAside(input, { threads });
      assert.deepEqual(found.output, reference.output);
      assert.equal(found.exhausted, true);
    }
    assert.deepEqual((await compiled.runAside(input, { threads: 3, items: 1234 })).output, reference.output.slice(0, 1234));
  });

  it('gives random programs the output they have in one thread', async () => {
    for (let seed = 2000; seed < 2010; ++seed) {
      const { source, type } = randomProgram(seed);
      const graph = graphOf(source);
      const input = randomInput(seed, type, 500);
      const found = await compileWasm(graph).runAside(input, { threads: 3 });
      assert.deepEqual([...found.output], [...compileWasm(graph).run(input).output], source);
    }
  });

  it('keeps a program with state in one piece', async () => {
    const graph = graphOf(intFilter('s += pop(); push(s);', 'int s;'));
    const compiled = compileWasm(graph);
    assert.equal(startMatters(compiled.plan), undefined);
    assert.deepEqual([...(await compiled.runAside([1, 2, 3, 4], { threads: 4 })).output], [1, 3, 6, 10]);
  });

  it('ends with an error where a worker faults, takes too long or is told to stop', async () => {
    const fault = compileWasm(graphOf(intFilter('push(1 / pop());')));
    await assert.rejects(fault.runAside([1, 0], { threads: 2 }), (error) => error instanceof StreamRunError && error.diagnostic.code === 'S5002');
    const both = graphOf(intFilter('int x = pop(); push(x == 7 ? x % (x - 7) : 1 / x);'));
    const ones = new Int32Array(1000).fill(1);
    ones[300] = 7;
    ones[700] = 0;
    await assert.rejects(compileWasm(both).runAside(ones, { threads: 4 }), (error) => error instanceof StreamRunError && /%/.test(error.message));
    const endless = compileWasm(graphOf(intFilter('int x = pop(); while (x != 0) x = x | 1; push(x);')));
    await assert.rejects(endless.runAside([1], { maxTurns: 1e15, timeout: 200 }), (error) => error instanceof WarploomError && /200 ms/.test(error.message));
    const controller = new AbortController();
    setTimeout(() => { controller.abort(new Error('enough')); }, 100);
    await assert.rejects(endless.runAside([1], { maxTurns: 1e15, signal: controller.signal }), /enough/);
    await assert.rejects(endless.runAside([1], { maxTurns: 1000 }), (error) => error instanceof StreamRunError && error.diagnostic.code === 'S4101');
  });

  it('uses many threads without a warning', async () => {
    const warnings: string[] = [];
    const listen = ({ message }: Error): void => { warnings.push(message); };
    process.on('warning', listen);
    const [cuttable, stateful] = [graphOf(peeking), graphOf(intFilter('s += pop(); push(s);', 'int s;'))];
    await compileWasm(cuttable).runAside(new Float32Array(5000), { threads: 16 });
    await compileWasm(stateful).runAside(new Int32Array(5000), { threads: 16, launchMicroseconds: 0 });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    assert.deepEqual(warnings, []);
  });
});
