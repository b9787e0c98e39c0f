// The checks of CI must themselves find what they are for.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const script = (name: string): Promise<any> => import(pathToFileURL(join(root, 'scripts', name)).href);

describe('check-layers', () => {
  const found = async (path: string, text: string): Promise<string[]> => {
    const { breaches } = await script('check-layers.mjs');
    return breaches([path], () => text);
  };
  const refused: readonly [string, string, RegExp][] = [
    ['lib/scan/a.ts', "import { solve } from '../tridiagonal/solve.ts';", /must import core, pictures, kernel, files and linear only/],
    ['lib/scan/a.ts', "import { runJob } from '../jobs/runner.ts';", /must import core, pictures, kernel, files and linear only/],
    ['lib/files/a.ts', "import { solve } from '../tridiagonal/solve.ts';", /files must not import/],
    ['lib/files/a.ts', "import type { Local } from '../kernel/ir.ts';", /files must not import/],
    ['lib/kernel/a.ts', "import { readImage } from '../files/read-image.ts';", /kernel must not import/],
    ['lib/jobs/a.ts', "import { table } from '../cli/table.ts';", /jobs must not import/],
    ['lib/cli/a.ts', "import { solve } from '../index.ts';", /cli must not import/],
    ['lib/core/a.ts', "import { solve } from '../tridiagonal/solve.ts';", /core must not import/],
    ['lib/scan/a.ts', "import load from 'node-gyp-build';", /only lib\/core\/binding\.ts/],
    ['lib/scan/a.ts', "import '../../test/support/random.ts';", /must not import/],
    ['native/scan/a.cpp', '#include "cuda/scan/regpack_agent.cuh"', /device code/],
    ['native/scan/a.cpp', '#include "cuda/tridiagonal/solve.h"', /domain scan must not include/],
    ['native/core/a.cpp', '#include "native/tridiagonal/problem.h"', /core must not include/],
    ['native/core/a.cpp', '#include "native/linear/lanes.h"', /core must not include/],
    ['native/linear/a.h', '#include "native/tridiagonal/problem.h"', /linear must not include/],
    ['native/linear/a.h', '#include "cuda/tridiagonal/solve.h"', /linear must not include/],
    ['cuda/linear/a.cuh', '#include "cuda/tridiagonal/batch.cuh"', /linear must not include/],
    ['lib/linear/a.ts', "import { solve } from '../tridiagonal/solve.ts';", /linear must not import/],
    ['lib/linear/a.ts', "import { readImage } from '../files/read-image.ts';", /linear must not import/],
    ['lib/linear/a.ts', "const { states } = words['tridiagonal.solve'].status;", /linear must not name the operation tridiagonal\.solve/],
    ['lib/core/a.ts', "await device.run('scan.prefix', {});", /core must not name/],
    ['lib/scan/a.ts', "await device.run('tridiagonal.solve', {});", /scan must not name/],
    ['cuda/core/a.h', '#include "cuda/linear/shape.h"', /core must not include/],
    ['cuda/scan/a.cu', '#include "native/core/job.h"', /cuda must not include/],
    ['cuda/scan/a.cu', '#include "cuda/tridiagonal/solve.h"', /domain scan must not include/],
    ['cuda/core/a.h', '#include "cuda/scan/prefix.h"', /core must not include/],
    ['cuda/scan/a.h', 'void f(cudaStream_t stream);', /CUDA runtime outside/],
    ['cuda/scan/a_agent.cuh', 'int i = threadIdx.x;', /device words/],
    ['cuda/scan/a_agent.cuh', 'asm volatile("bar.sync 0;");', /device words/],
  ];
  for (const [path, text, message] of refused) {
    it(`refuses ${text} in ${path}`, async () => {
      const [first = ''] = await found(path, text);
      match(first, message);
    });
  }

  it('accepts what the layers allow, and comments', async () => {
    deepStrictEqual(await found('lib/scan/a.ts', "import { Device } from '../core/device.ts';"), []);
    deepStrictEqual(await found('lib/scan/a.ts', "import { readImage } from '../files/read-image.ts';"), []);
    deepStrictEqual(await found('lib/stream/a.ts', "import type { Local } from '../kernel/ir.ts';"), []);
    deepStrictEqual(await found('lib/jobs/a.ts', "import { solve } from '../tridiagonal/solve.ts';"), []);
    deepStrictEqual(await found('lib/scan/a.ts', "await device.run('scan.prefix', { 'tridiagonal.other': 1 });"), []);
    deepStrictEqual(await found('lib/jobs/a.ts', "await device.run('scan.prefix', {});"), []);
    deepStrictEqual(await found('native/scan/a.cpp', '#include "cuda/scan/prefix.h"'), []);
    deepStrictEqual(await found('native/tridiagonal/a.h', '#include "native/linear/lanes.h"\n#include "cuda/linear/shape.h"'), []);
    deepStrictEqual(await found('cuda/tridiagonal/pcr/a.cuh', '#include "cuda/linear/strided.cuh"'), []);
    deepStrictEqual(await found('lib/tridiagonal/a.ts', "import type { View } from '../linear/views.ts';"), []);
    deepStrictEqual(await found('cuda/scan/a_agent.cuh', '// threadIdx.x is hidden behind Block::thread'), []);
  });
});

describe('include-graph', () => {
  const texts: Record<string, string> = {
    'cuda/a/a.cu': '#include <vector>\n#include "cuda/a/a_agent.cuh"\n#if X\n  #  include "simt/s.h"\n#endif\n// "cuda/a/no.h"\n',
    'cuda/a/a_agent.cuh': '#include "cuda/a/a.h"\n#include "cuda/a/missing.h"', 'cuda/a/a.h': '', 'native/simt/s.h': '#include "cuda/a/a.h"',
  };

  it('follows includes, conditional ones and those of the shim', async () => {
    const { closure } = await script('include-graph.mjs');
    const seen = closure('cuda/a/a.cu', (path: string) => texts[path]!, (path: string) => path in texts) as Map<string, string>;
    deepStrictEqual([...seen], [['cuda/a/a.cu', undefined], ['cuda/a/a_agent.cuh', 'cuda/a/a.cu'], ['native/simt/s.h', 'cuda/a/a.cu'],
      ['cuda/a/a.h', 'cuda/a/a_agent.cuh']]);
  });

  it('counts the objects of this checkout and refuses headers that too many of them see', async () => {
    const { dependants, overBounds } = await script('include-graph.mjs');
    const counts = new Map([...(dependants() as Map<string, string[]>)].map(([path, users]) => [path, users.length]));
    ok(counts.get('cuda/core/status.h')! > 60 && counts.get('cuda/imaging/denoise.h')! > 1);
    deepStrictEqual(overBounds(counts), []);
    deepStrictEqual(overBounds(new Map([['cuda/imaging/denoise.h', 16], ['cuda/tridiagonal/solve.h', 50]])).length, 1);
  });
});

describe('check-device', () => {
  const parts = async (start: string, texts: Record<string, string>): Promise<string[]> => {
    const { hostParts } = await script('check-device.mjs');
    return hostParts(start, (path: string) => texts[path]!, (path: string) => path in texts);
  };
  const refused: readonly [string, Record<string, string>, RegExp][] = [
    ['a standard header', { 'a_agent.cuh': '#include "b.h"', 'b.h': '#include <vector>' }, /<vector> \(a_agent\.cuh → b\.h\)/],
    ['a header of the host', { 'a_agent.cuh': '#include "cuda/core/runtime.h"', 'cuda/core/runtime.h': '' }, /host's header cuda\/core\/runtime\.h/],
    ['a launch', { 'a_agent.cuh': '#include "cuda/a/a_launch.cuh"', 'cuda/a/a_launch.cuh': '' }, /host's header cuda\/a\/a_launch\.cuh/],
    ['what the prelude does not supply', { 'a_agent.cuh': '#include <cmath>\nint f() { return std::max(1, 2); }' }, /std::max in a_agent/],
    ['an equation in what equations share', { 'cuda/swept/lane.cuh': '#include "cuda/swept/heat.h"', 'cuda/swept/heat.h': '' }, /the equation/],
  ];
  for (const [what, texts, message] of refused) {
    it(`refuses ${what}`, async () => {
      const [first = ''] = await parts(Object.keys(texts)[0]!, texts);
      match(first, message);
    });
  }

  it('passes over comments and the shim, and finds the agents of this checkout clean', async () => {
    deepStrictEqual(await parts('a_agent.cuh', { 'a_agent.cuh': '// std::string\n#include <cstdint>\n#include "simt/device.h"', 'native/simt/device.h': '#include <vector>' }), []);
    const { deviceHeaders, hostParts } = await script('check-device.mjs');
    const headers = deviceHeaders() as string[];
    ok(headers.length > 45, String(headers.length));
    deepStrictEqual(headers.flatMap((header) => hostParts(header)), []);
  });
});

describe('check-layers: import cycles', () => {
  const graph = (links: Record<string, string[]>): Map<string, string[]> => new Map(Object.entries(links));
  const found = async (links: Record<string, string[]>): Promise<string[][]> =>
    (await script('check-layers.mjs')).cycles(graph(links));

  it('finds files that import each other, over any number of others, and themselves', async () => {
    deepStrictEqual(await found({ a: ['b', 'c'], b: ['c'], c: [] }), []);
    deepStrictEqual(await found({ a: ['b'], b: ['c'], c: ['a', 'd'], d: ['e'], e: ['d'], f: ['f'] }), [['d', 'e'], ['a', 'b', 'c'], ['f']]);
  });

  it('finds none in the sources', async () => {
    const output = execFileSync(process.execPath, ['scripts/check-layers.mjs'], { cwd: root, encoding: 'utf8' });
    match(output, /layers: \d+ files, 0 breaches/);
  });
});

describe('check-sizes', () => {
  it('measures C++ functions, also of classes and templates', async () => {
    const { cppFunctions } = await script('check-sizes.mjs');
    const body = Array.from({ length: 10 }, () => '    if (x) { y(); }').join('\n');
    const text = `namespace a {\nstruct S {\n  int small() { return 1; }\n};\n`
      + `template <class T>\nint big(T x) {\n${body}\n}\n}  // namespace a\n`;
    deepStrictEqual(cppFunctions(text), [{ name: 'small', lines: 1 }, { name: 'big', lines: 12 }]);
  });

  it('counts non-null assertions, not negations and texts', async () => {
    const { assertionsIn } = await script('check-sizes.mjs');
    strictEqual(assertionsIn('a.ts', "const a = b![0]! + '!x!'; // c!\nif (!d !== !e!) ++f[0]!;"), 4);
  });

  it('measures TypeScript functions but not test suites', async () => {
    const { typescriptFunctions } = await script('check-sizes.mjs');
    const text = "describe('a', () => {\n\n\n});\nfunction f() {\n\n}\nconst g = () => {\n};\n";
    deepStrictEqual(typescriptFunctions('a.ts', text), [{ name: 'f', lines: 3 }, { name: 'g', lines: 2 }]);
  });
});

describe('check-kernels', () => {
  const report = [
    "ptxas info    : Compiling entry function '_Z1k' for 'sm_90'",
    'ptxas info    : Function properties for _Z1k',
    '    0 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads',
    'ptxas info    : Used 40 registers, used 1 barriers',
  ].join('\n');

  it('reads registers and spills from a report', async () => {
    const { parseReport } = await script('check-kernels.mjs');
    deepStrictEqual(parseReport(report), [{ entry: '_Z1k', architecture: 'sm_90', registers: 40, spilledBytes: 24 }]);
  });

  it('names an agent without its template arguments', async () => {
    const { agentName } = await script('check-kernels.mjs');
    strictEqual(agentName('void warploom::cuda::agent_kernel<warploom::cuda::scan::RegpackAgent<float, 8> >(x)'), 'scan::RegpackAgent');
  });

  it('refuses growth, spills and unknown agents', async () => {
    const { overBudget } = await script('check-kernels.mjs');
    const budget = { A: { registers: 32, spilledBytes: 0 } };
    deepStrictEqual(overBudget({ A: { registers: 34, spilledBytes: 0 } }, budget), []);
    strictEqual(overBudget({ A: { registers: 64, spilledBytes: 0 } }, budget).length, 1);
    strictEqual(overBudget({ A: { registers: 32, spilledBytes: 64 } }, budget).length, 1);
    strictEqual(overBudget({ B: { registers: 1, spilledBytes: 0 } }, budget).length, 1);
  });
});

describe('the runners of tests', () => {
  it('begin with the longest files', async () => {
    const { longestFirst } = await script('test.mjs');
    deepStrictEqual(longestFirst(['c', 'a', 'b', 'd'], { b: 2, d: 30 }), ['d', 'b', 'a', 'c']);
  });

  it('close devices and print skipped cases after the files of a process', () => {
    const text = (path: string): string => readFileSync(join(root, path), 'utf8');
    ok((JSON.parse(text('.mocharc.json')) as { require: string[] }).require.includes('./test/support/hooks.cjs'));
    match(text('scripts/test-gpu.mjs'), /'--require', join\(root, 'test\/support\/hooks\.cjs'\)/);
    const run = execFileSync(process.execPath, [join(root, 'node_modules/mocha/bin/mocha.js'), 'test/scan/prefix.test.ts', '-g', 'empty rows'],
      { cwd: root, encoding: 'utf8', env: { ...process.env, WARPLOOM_TEST_BACKENDS: 'cpu' } });
    match(run, /skipped 1 case\(s\): simt: not in WARPLOOM_TEST_BACKENDS/);
  });
});

describe('the build', () => {
  it('says how much is left, by what objects take', async () => {
    const { objectsOf, Progress, duration } = await script('build-progress.mjs');
    const file = ['a/prefix.cu.o: CUDA_COMPILER__warploom x', 'b/shape.cpp.o: CXX_COMPILER__warploom y', 'c/isa_avx2.cpp.o: CXX_COMPILER__w z',
      'Release/w.node: CXX_SHARED'].map((line) => `build ${line}`).join('\n');
    const objects = objectsOf(file) as string[];
    deepStrictEqual(objects, ['a/prefix.cu.o', 'b/shape.cpp.o', 'c/isa_avx2.cpp.o']);
    const progress = new Progress(objects, 0);
    // 10 of 17.2 s of work in 22 s: the rest takes 15.8
    strictEqual(progress.finish({ number: 1, count: 4, step: 'Building CUDA object a/prefix.cu.o' }, 22_000), 'warploom: 1 of 4 steps, about 15 s left');
    strictEqual(progress.finish({ number: 4, count: 4, step: 'Linking CXX shared library Release/w.node' }, 40_000), 'warploom: 4 of 4 steps');
    deepStrictEqual([3, 58, 61, 118, 119].map((seconds) => duration(seconds)), ['5 s', '60 s', '1 min 0 s', '2 min 0 s', '2 min 0 s']);
  });

  it('knows the machine\'s own instruction set', async () => {
    const { ownIsas } = await script('list-sources.mjs');
    const flags = 'avx2 fma avx512f avx512dq avx512vl avx512bw'.split(' ');
    deepStrictEqual(ownIsas(new Set(flags)), ['avx512']);
    deepStrictEqual(ownIsas(new Set(flags.slice(0, 4))), ['avx2']);
    deepStrictEqual(ownIsas(new Set()), []);
  });
});

describe('sources', () => {
  it('binding.gyp gets every host source and the stubs, most of them together', async () => {
    const listed = execFileSync(process.execPath, ['scripts/list-sources.mjs'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
    const included = listed.flatMap((path) => (path.startsWith('build/gyp/')
      ? [...readFileSync(join(root, path), 'utf8').matchAll(/"(.*)"/g)].map((match) => match[1]!) : [path]));
    const { cpuSources } = await script('list-sources.mjs');
    deepStrictEqual(included.sort(), (cpuSources() as string[]).sort());
    ok(included.includes('native/core/addon.cpp'));
    ok(included.includes('native/core/cuda_stub.cpp'));
    ok(included.every((path) => !path.startsWith('native/simt/') && path.endsWith('.cpp')));
    ok(listed.length < 0.6 * included.length, String(listed.length));
  });

  it('files that use a name for something of their own are not compiled together', async () => {
    const { ownNames, sourcesAlone } = await script('list-sources.mjs');
    const text = '#define TWICE(x) x\nint shared();\nnamespace {\n\nconstexpr int kOne = 1, kTwo = 2;\nstruct Own {\n  int inner() const;\n};\n'
      + 'template <class T>\nT helper(T x) {\n  return local(x);\n}\nint table[3] = {};\n\n}  // namespace\nint outside() { return 0; }\n';
    deepStrictEqual([...ownNames(text) as Set<string>], ['TWICE', 'kOne', 'Own', 'helper', 'table']);
    const texts: Record<string, string> = { 'a/1.cpp': text, 'a/2.cpp': 'namespace {\nvoid helper() {}\n}  // namespace\n', 'a/3.cpp': 'int outside();',
      'b/1.cpp': text };
    deepStrictEqual(sourcesAlone(Object.keys(texts), (path: string) => texts[path]!), ['a/2.cpp']);
  });

  it('eight files of a folder share an object, but those with names or definitions of their own', async () => {
    const { hostGroups } = await script('include-graph.mjs');
    const files = [...Array.from({ length: 9 }, (_, i) => `cuda/a/${i}.cpp`), 'native/a/isa.cpp', 'native/a/own.cpp', 'native/bench/b.cpp', 'native/a/z.cpp'];
    const groups = hostGroups(files, ['native/a/own.cpp']) as Map<string, string>;
    deepStrictEqual([...groups].map(([, name]) => name), [...new Array<string>(8).fill('cuda_a_1'), 'cuda_a_2', 'native_a_1']);
    strictEqual(groups.get('native/a/z.cpp'), 'native_a_1');
  });

  it('the lock file names no registry', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, { resolved?: string }> };
    deepStrictEqual(Object.values(lock.packages).filter(({ resolved }) => resolved !== undefined), []);
  });
});
