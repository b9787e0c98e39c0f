// Workers of plans for cores and a device that keep to cores of their own while a run lasts.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { addon } from '../../../lib/core/binding.ts';
import { openDevice } from '../../../lib/core/device.ts';
import { hasBackend, skipCases } from '../../support/backends.ts';
import { randomInput } from '../emit/random-programs.ts';
import { graphOf } from '../support.ts';
import { hybridOf, inputFor, small, together } from './hybrid.ts';

/** The cores that a thread of this process may use, as the system writes them. */
function coresOf(thread: number | 'self'): string {
  const path = thread === 'self' ? '/proc/thread-self/status' : `/proc/self/task/${thread}/status`;
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(path, 'utf8'))![1]!;
}

describe('workers pinned to cores', function () {
  this.timeout(60_000);
  const own = addon();

  before(function () {
    if (own.pinThreads === undefined) {
      skipCases('the addon pins no threads', 3);
      this.skip();
    }
  });

  it('keep to one core each, and may use all of the process again', async () => {
    const worker = new Worker('const { parentPort: p } = require("node:worker_threads"); '
      + 'p.postMessage(require("node:fs").readlinkSync("/proc/thread-self")); p.once("message", () => p.close());', { eval: true });
    const [link] = await once(worker, 'message') as [string];
    const thread = Number(link.split('/').at(-1)), threads = Int32Array.of(thread), before = coresOf(thread);
    assert.equal(own.pinThreads!(threads, 0), true);
    assert.match(coresOf(thread), /^\d+$/);
    own.unpinThreads!(threads);
    assert.equal(coresOf(thread), before);
    assert.equal(own.pinThreads!(threads, 1024), false, 'there are not so many cores');
    assert.equal(coresOf(thread), before);
    worker.postMessage(0);
    await once(worker, 'exit');
  });

  it('are threads of this process', () => {
    const before = coresOf('self');
    for (const numbers of [[1], [0], [-1], [2 ** 31 - 1], [process.ppid]]) {
      if (numbers[0] === process.pid) continue;
      assert.equal(own.pinThreads!(Int32Array.from(numbers), 0), false, String(numbers));
      own.unpinThreads!(Int32Array.from(numbers));
    }
    assert.equal(own.pinThreads!([1] as never, 0), false);
    assert.equal(coresOf('self'), before);
  });

  it('are those of a run, until it ends', async function () {
    if (!hasBackend('simt')) {
      skipCases('simt: not in this build', 1);
      this.skip();
    }
    const calls: [string, number[]][] = [];
    const { pinThreads, unpinThreads } = own;
    await using device = await openDevice({ backend: 'simt' });
    const graph = graphOf(`float->float filter A { work pop 1 push 1 { push(pop() * 2); } }
      float->float filter B { float y; work pop 1 push 1 { y = 0.9 * y + 0.1 * pop(); push(y); } } float->float pipeline Main { add A; add B; }`);
    using made = await hybridOf(device, graph, { ...small, onDevice: (node) => graph.nodes[node]!.name.startsWith('A') });
    Object.assign(own, {
      pinThreads: (threads: Int32Array, spare: number) => {
        const mine = readdirSync('/proc/self/task').map(Number);
        assert.ok(spare >= 1 && threads.every((each) => mine.includes(each)), String(threads));
        calls.push(['pin', [...threads]]);
        return true;
      },
      unpinThreads: (threads: Int32Array) => { calls.push(['unpin', [...threads]]); },
    });
    try {
      assert.ok(await together(made, graph, randomInput(1, 'float', inputFor(made, 4))));
      assert.deepEqual(calls.map(([what]) => what), ['pin', 'unpin']);
      const [[, pinned], [, unpinned]] = calls as [[string, number[]], [string, number[]]];
      assert.equal(new Set(pinned).size, made.parts.launches.tasks.length);
      assert.deepEqual(unpinned, pinned);
      assert.ok(!pinned.includes(process.pid), 'the main thread has its own work');
    } finally {
      Object.assign(own, { pinThreads, unpinThreads });
    }
  });
});
