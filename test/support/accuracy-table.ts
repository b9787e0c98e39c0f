// Prints the table of docs/accuracy.md: worst residual ratio and componentwise backward error of each
// algorithm on each family.
//   node --import tsx test/support/accuracy-table.ts [BACKEND [N]]
import { openDevice } from '../../lib/core/device.ts';
import { solve, type MethodOptions } from '../../lib/tridiagonal/index.ts';
import type { BackendName } from './backends.ts';
import { moreFamilies, twentyFamilies } from './families.ts';
import { Random } from './random.ts';
import { componentwiseError, epsilon, multiplyExactly, residualRatio } from './reference.ts';

const [backend = 'cpu', n = '512'] = process.argv.slice(2);
const order = Number(n);
const systems = 3;

const methods: readonly [string, MethodOptions][] = backend === 'cpu'
  ? [['auto', {}], ['stable', { stable: true }], ['check', { check: true }]]
  : [['thomas', { algorithm: 'thomas' }], ['cr', { algorithm: 'cr' }], ['cr-regpack', { algorithm: 'cr-regpack' }],
    ['pcr', { algorithm: 'pcr' }], ['cr-pcr', { algorithm: 'cr-pcr' }], ['pcr-thomas', { algorithm: 'pcr-thomas' }],
    ['stable', { stable: true }], ['check', { check: true }]];

/** "ratio / backward error in epsilons", or the status that was reported instead of an answer. */
function cell(ratio: number, error: number, state: string): string {
  const short = (value: number) => (value < 1000 ? value.toPrecision(2) : value.toExponential(0));
  return state === 'ok' ? `${short(ratio)} / ${short(error)}` : state;
}

await using device = await openDevice({ backend: backend as BackendName });
console.log(`| family, n = ${order}, float64 | ${methods.map(([name]) => name).join(' | ')} |`);
console.log(`| --- |${' --- |'.repeat(methods.length)}`);
for (const family of [...twentyFamilies, ...moreFamilies]) {
  const random = new Random(order);
  const samples = Array.from({ length: systems }, () => {
    const matrix = family.make(order, random);
    const x = Float64Array.from({ length: order }, () => random.normal(3));
    return { matrix, b: multiplyExactly(matrix, x) };
  });
  const cells: string[] = [];
  for (const [, method] of methods) {
    let [ratio, error, state] = [0, 0, 'ok'];
    for (const { matrix, b } of samples) {
      const { solution, status } = await solve({ ...matrix, rhs: b, device, ...method });
      if (status.at(0).state !== 'ok') state = status.at(0).state;
      ratio = Math.max(ratio, residualRatio(matrix, solution, b, epsilon.float64));
      error = Math.max(error, componentwiseError(matrix, solution, b) / epsilon.float64);
    }
    cells.push(cell(ratio, error, state));
  }
  console.log(`| ${family.name} | ${cells.join(' | ')} |`);
}
