// Lays out the shared memory of this project's own kernels with the planner of lib/kernel/memory.
//
//   node --import tsx scripts/shared-layouts.mjs [--check]
//
// Every cuda/<domain>/<name>_layout.json describes the arrays of a kernel; <name>_layout.inc next to it, which the kernel includes,
// contains their offsets. --check writes nothing and exits with 1 if a header does not match its description.
//
// A description: { about, struct, parameters: ["real"], instances: [[4], [8]], points: ["flux", "update"],
//   blocks: [{ name, bytes: [260, 3, "real"], live: ["flux", "update"] }], conflicts: [["a", "b"]] }
// `bytes` is a product of numbers and parameters; `live` contains the first and the last point at which the content is needed, in the order
// of `points`; `conflicts` are pairs that are not needed at the same point but have no barrier between them.
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { plan } from '../lib/kernel/memory/plan.ts';
import { listFiles, root } from './list-sources.mjs';

const name = z.string().regex(/^[a-z]\w*$/);
const descriptionSchema = z.strictObject({
  about: z.string().min(1),
  struct: z.string().regex(/^[A-Z]\w*$/),
  parameters: z.array(name).min(1),
  instances: z.array(z.array(z.int().positive())).min(1),
  points: z.array(name).min(1),
  blocks: z.array(z.strictObject({ name, bytes: z.array(z.union([z.int().positive(), name])).min(1), live: z.tuple([name, name]) })).min(1),
  conflicts: z.array(z.tuple([name, name])).default([]),
});

const constant = (text) => `k${text[0].toUpperCase()}${text.slice(1).replace(/_(\w)/g, (_, letter) => letter.toUpperCase())}`;

/** The planner's problem for one instance. */
function problemOf(description, values) {
  const indexOf = (list, item, what) => {
    const found = list.indexOf(item);
    if (found < 0) throw new Error(`${description.struct}: there is no ${what} '${item}'`);
    return found;
  };
  const factor = (part) => (typeof part === 'number' ? part : values[indexOf(description.parameters, part, 'parameter')]);
  const blocks = description.blocks.map(({ name: title, bytes, live: [first, last] }) => ({
    name: title, bytes: bytes.reduce((product, part) => product * factor(part), 1),
    live: [{ begin: indexOf(description.points, first, 'point'), end: indexOf(description.points, last, 'point') + 1 }],
  }));
  const names = description.blocks.map((block) => block.name);
  return { blocks, conflicts: description.conflicts.map((pair) => pair.map((item) => indexOf(names, item, 'block'))) };
}

/** The header of a description, as text. */
export function layoutHeader(text, file) {
  const description = descriptionSchema.parse(JSON.parse(text));
  const parameters = description.parameters.map((parameter) => `size_t ${constant(parameter)}`).join(', ');
  const lines = [`// ${description.about}`, `// By scripts/shared-layouts.mjs from ${file}: change that.`,
    `template <${parameters}>`, `struct ${description.struct};`];
  for (const values of description.instances) {
    if (values.length !== description.parameters.length) throw new Error(`${description.struct}: an instance names every parameter`);
    const problem = problemOf(description, values);
    const { offsets, bytes, bytesBefore, lowerBound, optimal } = plan(problem, 'exact');
    if (!optimal) throw new Error(`${description.struct}: the planner did not prove its placement the smallest`);
    lines.push('template <>', `struct ${description.struct}<${values.join(', ')}> {`);
    problem.blocks.forEach((block, i) => lines.push(`  static constexpr size_t ${constant(block.name)} = ${offsets[i]};`));
    lines.push(`  static constexpr size_t kBytes = ${bytes};  // side by side ${bytesBefore}, at least ${lowerBound}`, '};');
  }
  return `${lines.join('\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  const files = listFiles('cuda', /_layout\.json$/);
  let stale = 0;
  for (const file of files) {
    const header = file.replace(/\.json$/, '.inc');
    const wanted = layoutHeader(readFileSync(join(root, file), 'utf8'), basename(file));
    let present = '';
    try {
      present = readFileSync(join(root, header), 'utf8');
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
    if (present === wanted) continue;
    ++stale;
    if (check) console.error(`${header}: not what ${basename(file)} gives; run node --import tsx scripts/shared-layouts.mjs`);
    else writeFileSync(join(root, header), wanted);
  }
  console.log(`shared layouts: ${files.length} descriptions, ${stale} ${check ? 'stale' : 'written'}`);
  if (check && stale > 0) process.exitCode = 1;
}
