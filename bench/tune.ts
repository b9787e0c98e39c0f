// npm run tune -- [--backend auto|cuda|cpu|simt] [--unknowns N] [--out FILE] [--table]: finds the fastest packing depth
// of cr-regpack for each size and type, prints the table and writes it as JSON (default
// bench/policies/<device>.json); with --table also into the policy table that the next build takes (cuda only).
// npm run tune -- --from FILE --table: takes a table that was found and written on another machine.
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
    table: { type: 'boolean', default: false }, from: { type: 'string' },
  },
});

async function find(): Promise<tridiagonal.TunedPolicy> {
  await using device = await openDevice({ backend: values.backend as 'auto' });
  const unknowns = values.unknowns === undefined ? {} : { unknowns: Number(values.unknowns) };
  const found = await tridiagonal.tune({ device, ...unknowns });
  const path = values.out ?? join(packageRoot(), 'bench/policies', `${deviceFolder(found.backend, found.device)}.json`);
  await tridiagonal.writePolicy(path, found);
  console.log(`written to ${path}`);
  return found;
}

const policy = values.from === undefined ? await find() : await tridiagonal.readPolicy(values.from);
console.log(tridiagonal.formatPolicy(policy));
if (values.table) {
  const table = join(packageRoot(), policyTablePath);
  await writeFileAtomic(table, updatedPolicyTable(await readFile(table, 'utf8'), policy));
  console.log(`written to ${table}; build to take it into use`);
}
