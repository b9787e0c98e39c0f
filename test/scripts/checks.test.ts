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
    ['lib/scan/a.ts', "import { solve } from '../tridiagonal/solve.ts';", /must import core, kernel and files only/],
    ['lib/scan/a.ts', "import { runJob } from '../jobs/runner.ts';", /must import core, kernel and files only/],
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
    ['native/core/a.cpp', '#include "native/tridiagonal/lanes.h"', /core must not include/],
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
    deepStrictEqual(await found('native/scan/a.cpp', '#include "cuda/scan/prefix.h"'), []);
    deepStrictEqual(await found('cuda/scan/a_agent.cuh', '// threadIdx.x is hidden behind Block::thread'), []);
  });
});

describe('check-layers: import cycles', () => {
  const graph = (links: Record<string, string[]>): Map<string, string[]> => new Map(Object.entries(links));
  const found = async (links: Record<string, string[]>, ...known: string[]): Promise<string[][]> =>
    (await script('check-layers.mjs')).cycles(graph(links), new Set(known));

  it('finds files that import each other, over any number of others, and themselves', async () => {
    deepStrictEqual(await found({ a: ['b', 'c'], b: ['c'], c: [] }), []);
    deepStrictEqual(await found({ a: ['b'], b: ['c'], c: ['a', 'd'], d: ['e'], e: ['d'], f: ['f'] }), [['d', 'e'], ['a', 'b', 'c'], ['f']]);
  });

  it('lets known links be, and no others', async () => {
    deepStrictEqual(await found({ a: ['b'], b: ['a'] }, 'b -> a'), []);
    deepStrictEqual(await found({ a: ['b', 'c'], b: ['a'], c: ['a'] }, 'b -> a'), [['a', 'c']]);
  });

  it('finds none in the sources but known ones', async () => {
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

describe('sources', () => {
  it('binding.gyp gets every host source and the stubs', () => {
    const listed = execFileSync(process.execPath, ['scripts/list-sources.mjs'], { cwd: root, encoding: 'utf8' }).trim().split('\n');
    ok(listed.includes('native/core/addon.cpp'));
    ok(listed.includes('native/core/cuda_stub.cpp'));
    ok(listed.every((path) => !path.startsWith('native/simt/') && path.endsWith('.cpp')));
  });

  it('the lock file names no registry', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, { resolved?: string }> };
    deepStrictEqual(Object.values(lock.packages).filter(({ resolved }) => resolved !== undefined), []);
  });
});
