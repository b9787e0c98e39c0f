// Programs that read and write files, by every back end: small ones, with files worked out in plain JavaScript.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { compileCppTogether } from '../../../lib/stream/run/cpp.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { graphOf, hasCompiler } from '../support.ts';

type Numbers = Int32Array | Float32Array;
const bytes = ({ buffer }: Numbers): Uint8Array => new Uint8Array(buffer);
const ints = Int32Array.of(5, -3, 8, 1, 0, 7);
const floats = Float32Array.of(1, 2.5, 4, -0.25);

/** `out`: what is in the files, by name, when `items` are written. */
interface FileProgram { readonly name: string; readonly source: string; readonly items: number; readonly out: Readonly<Record<string, Numbers>> }

const plain = (type: string, adds: string): string => `void->void pipeline P { add FileReader<${type}>("a"); ${adds} add FileWriter<${type}>("out"); }`;
const again = (count: number, from: Numbers = ints): number[] => Array.from({ length: count }, (_, i) => from[i % from.length]!);

const programs: readonly FileProgram[] = [
  { name: 'copies ints', source: plain('int', ''), items: 6, out: { out: ints } },
  { name: 'copies floats', source: plain('float', '').replace('"a"', '"f"'), items: 4, out: { out: floats } },
  { name: 'begins again at the end', source: plain('int', ''), items: 15, out: { out: Int32Array.from(again(15)) } },
  { name: 'stops before the end', source: plain('int', ''), items: 2, out: { out: ints.slice(0, 2) } },
  { name: 'changes what it reads', source: plain('int', 'add int->int filter { work pop 1 push 1 { push(2 * pop() + 1); } };'), items: 8, out: {
    out: Int32Array.from(again(8), (x) => 2 * x + 1) } },
  { name: 'reads pairs', source: plain('int', 'add int->int filter { work pop 2 push 1 { push(pop() - pop()); } };'), items: 3,
    out: { out: Int32Array.of(8, 7, -7) } },
  { name: 'looks ahead, over the end too', source: plain('int', 'add int->int filter { work pop 1 push 1 peek 3 { push(peek(2) - peek(0)); pop(); } };'),
    items: 10, out: { out: Int32Array.from({ length: 10 }, (_, i) => again(12)[i + 2]! - again(12)[i]!) } },
  { name: 'keeps state', source: plain('int', 'add int->int filter { int s; work pop 1 push 1 { s += pop(); push(s); } };'), items: 9, out: {
    out: Int32Array.from({ length: 9 }, (_, i) => again(i + 1).reduce((sum, x) => sum + x, 0)) } },
  { name: 'reads in two places', source: `void->void pipeline P {
    add void->int splitjoin { split roundrobin(0); add FileReader<int>("a"); add FileReader<int>("b"); join roundrobin; };
    add FileWriter<int>("out"); }`, items: 8, out: { out: Int32Array.of(5, 100, -3, 200, 8, 300, 1, 100) } },
  { name: 'writes in two places', source: `void->void pipeline P { add FileReader<int>("a"); add int->void splitjoin { split roundrobin;
    add FileWriter<int>("even"); add FileWriter<int>("odd"); join roundrobin(0); }; }`, items: 6,
    out: { even: Int32Array.of(5, 8, 0), odd: Int32Array.of(-3, 1, 7) } },
  { name: 'joins names from texts and numbers', source: `int->void splitjoin Writers(int from) { split roundrobin;
    for (int i = from; i < from + 2; i++) add FileWriter<int>("out" + i + ".dat"); join roundrobin(0); }
    void->void pipeline P { add FileReader<int>("" + "a"); add Writers(8 + 1); }`, items: 6,
    out: { 'out9.dat': Int32Array.of(5, 8, 0), 'out10.dat': Int32Array.of(-3, 1, 7) } },
  { name: 'packs bits', source: 'void->void pipeline P { add FileReader<bit>("a"); add bit->bit filter { work pop 1 push 1 { push(~pop()); } }; add FileWriter<bit>("out"); }',
    items: 64, out: { out: Int32Array.of(~5, ~-3) } },
];

describe('files in every back end', function () {
  this.timeout(60_000);
  const files = { a: bytes(ints), b: bytes(Int32Array.of(100, 200, 300)), f: bytes(floats) };
  const check = (name: string, out: FileProgram['out'], found: Readonly<Record<string, Uint8Array>>): void => {
    assert.deepEqual(Object.keys(found).sort(), Object.keys(out).sort(), name);
    for (const [path, numbers] of Object.entries(out)) assert.deepEqual(Buffer.from(found[path]!), Buffer.from(bytes(numbers)), `${name}: ${path}`);
  };

  for (const { name, source, items, out } of programs) {
    it(name, async () => {
      const graph = graphOf(source);
      check('interpreter', out, interpretSync(graph, { files, items }).files);
      check('WebAssembly', out, compileWasm(graph).run(undefined, { files, items }).files);
      for (const threads of [2, 3]) {
        check('threads', out, (await compileWasm(graph).runAside(undefined, { files, items, threads, launchMicroseconds: 0 })).files);
      }
    });
  }

  it('and so in C++', async function () {
    if (!hasCompiler()) this.skip();
    const cacheFolder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    try {
      const compiled = await compileCppTogether(programs.map(({ source }) => graphOf(source)), { cacheFolder, effort: 1 });
      for (const [i, { name, items, out }] of programs.entries()) check(name, out, (await compiled[i]!.run(undefined, { files, items })).files);
    } finally {
      rmSync(cacheFolder, { recursive: true, force: true });
    }
  });
});
