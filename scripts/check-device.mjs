// Checks that device code does not depend on the host: the includes of an agent (cuda/**/*_agent.cuh) could be compiled at run time, where
// the only standard library is what the device prelude supplies (kSupplied).
//
//   node scripts/check-device.mjs             checks the rules by reading the sources (also part of npm run layers)
//   node scripts/check-device.mjs --compile   also compiles the device code of every agent's header separately with nvcc, if available
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNvcc } from './find-tools.mjs';
import { closure, systemIncludes } from './include-graph.mjs';
import { listFiles, root } from './list-sources.mjs';
import { printSummary } from './summary.mjs';

/** Standard headers that a device prelude replaces, and what may be used of namespace std. */
export const kSupplied = new Set(['cmath', 'cstddef', 'cstdint', 'cstring', 'type_traits']);
const kAllowedNames = ['conditional_t', 'decay_t', 'bool_constant', 'true_type', 'false_type', 'is_same_v', 'enable_if_t', 'sqrt', 'fabs'];
const kStandardNames = new RegExp(`\\bstd::(?!(?:${kAllowedNames.join('|')})\\b)\\w+`);
/** Headers of the host: classes with memory and messages, launches, the runtime. */
const kHostNames = ['backend', 'check', 'fault', 'footprint', 'host_memory', 'measuring_device', 'memory', 'operations', 'runtime',
  'status', 'submission', 'view', 'cuda_\\w+'];
const kHostHeaders = new RegExp(`^cuda/core/(${kHostNames.join('|')})\\.h$|^cuda/core/launch\\.cuh$|_launch\\.cuh$`);
/** The equations of swept are template parameters: shared code names none of them (docs/swept.md). */
const kGeneric = /^cuda\/swept\/(march|lane|node_point|tile_messages|\w*_agent)\.cuh$/;
const kEquations = /^cuda\/swept\/(euler|heat|kuramoto_sivashinsky|step_\w+|variants)\.(cuh|h)$/;

const kRead = (path) => readFileSync(join(root, path), 'utf8');
/** Removes comments and what only the shim sees. */
const deviceText = (text) => text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '').replace(/#include "simt\/[^\n]*/g, '');

function path(seen, file) {
  const chain = [];
  for (let at = file; at !== undefined; at = seen.get(at)) chain.unshift(at);
  return chain.join(' → ');
}

/** The violations in the closure of one header, as messages. `read` and `knows` can be replaced in the test of this script. */
export function hostParts(start, read = kRead, knows = undefined) {
  const text = (file) => deviceText(read(file));
  const seen = closure(start, text, knows);
  const found = [];
  for (const file of seen.keys()) {
    if (kHostHeaders.test(file)) found.push(`the host's header ${file} (${path(seen, file)})`);
    if (kGeneric.test(start) && kEquations.test(file)) found.push(`the equation ${file} (${path(seen, file)})`);
    for (const name of systemIncludes(text(file))) {
      if (!kSupplied.has(name)) found.push(`<${name}> (${path(seen, file)})`);
    }
    const word = kStandardNames.exec(text(file));
    if (word) found.push(`${word[0]} in ${path(seen, file)}`);
  }
  return found;
}

/** Headers that must not depend on the host. */
export function deviceHeaders() {
  const patterns = kRead('cuda/device-headers.txt').split('\n').filter((line) => /^[^#\s]/.test(line));
  return listFiles('cuda', new RegExp(patterns.join('|')));
}

/** Compiles one header separately to PTX, which checks the device code. Returns nvcc's output if that fails. */
function compileAlone(nvcc, header, folder) {
  const file = join(folder, `${header.replaceAll('/', '_')}.cu`);
  writeFileSync(file, `#include "${header}"\n`);
  return new Promise((settle) => {
    const args = ['-ptx', '-std=c++17', '-arch=compute_90', '-diag-suppress=2810', '-I.', '-o', `${file}.ptx`, file];
    const child = spawn(nvcc, args, { cwd: root });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { text += chunk; });
    child.on('close', (status) => settle(status === 0 ? undefined : `${header} does not compile alone:\n${text}`));
  });
}

async function compileAll(nvcc, headers) {
  const folder = join(root, 'build/device-text');
  mkdirSync(folder, { recursive: true });
  const queue = [...headers], failures = [];
  const worker = async () => {
    for (let header = queue.shift(); header !== undefined; header = queue.shift()) {
      const failure = await compileAlone(nvcc, header, folder);
      if (failure !== undefined) failures.push(failure);
    }
  };
  await Promise.all(Array.from({ length: Number(process.env.WARPLOOM_JOBS ?? availableParallelism()) }, worker));
  rmSync(folder, { recursive: true });
  return failures;
}

async function main(args) {
  const headers = deviceHeaders();
  const failures = headers.flatMap((header) => hostParts(header).map((part) => `${header} sees ${part}`));
  let passed = headers.length - new Set(failures.map((line) => line.split(' ')[0])).size, skipped = 0;
  if (args.includes('--compile')) {
    const nvcc = findNvcc();
    const broken = nvcc ? await compileAll(nvcc, headers) : [];
    if (nvcc) passed += headers.length - broken.length;
    else skipped = headers.length;
    failures.push(...broken);
  }
  for (const line of failures) console.error(`FAILED ${line}`);
  printSummary([passed, failures.length, skipped]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
