// npm run tune -- [--backend auto|cuda|cpu|simt] [--unknowns N] [--out FILE] [--table]: finds the fastest packing depth
// of cr-regpack for each size and type, prints the table and writes it as JSON (default
// bench/results/<device>/policy.json); with --table also into the policy table that the next build takes (cuda only).
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../lib/core/binding.ts';
import { writeFileAtomic } from '../lib/core/files.ts';
import { openDevice, tridiagonal } from '../lib/index.ts';
import { policyTablePath, updatedPolicyTable } from './policy-table.ts';
import { deviceFolder } from './provenance.ts';

const { values } = parseArgs({
  options: {
    backend: { type: 'string', default: 'auto' }, unknowns: { type: 'string' }, out: { type: 'string' },
    table: { type: 'boolean', default: false },
  },
});
await using device = await openDevice({ backend: values.backend as 'auto' });
const unknowns = values.unknowns === undefined ? undefined : Number(values.unknowns);
const policy = await tridiagonal.tune({ device, ...(unknowns === undefined ? {} : { unknowns }) });
console.log(tridiagonal.formatPolicy(policy));
const folder = deviceFolder(device.backend, device.description.name);
const path = values.out ?? join(packageRoot(), 'bench/results', folder, 'policy.json');
await tridiagonal.writePolicy(path, policy);
console.log(`written to ${path}`);
if (values.table) {
  const table = join(packageRoot(), policyTablePath);
  await writeFileAtomic(table, updatedPolicyTable(await readFile(table, 'utf8'), policy));
  console.log(`written to ${table}; build to take it into use`);
}
