// Enforces docs/architecture.md: lib → native → cuda; in lib core → kernel, files, linear, pictures → domains → jobs → server → cli; in
// native and cuda core → linear → domains; CUDA only in certain files. Prints every violation and exits with 1. A rule is a function of one
// file that yields messages.
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listFiles, root } from './list-sources.mjs';

/** Layers of lib/ from the lowest up; a folder that is not listed is a domain. A file may import its own folder and lower layers. */
const kLibLayers = new Map([
  ['core', 0], ['pictures', 1], ['kernel', 2], ['files', 2], ['linear', 2], ['jobs', 4], ['server', 5], ['cli', 6], ['browser', 6],
]);
const kDomainLayer = 3;
/** The layer of lib/index.ts and other files outside the folders. */
const kTopLayer = 7;
/** Folders of native/ that are above the domains and may use any of them. */
const kNativeTop = new Set(['bench']);
/** The folder for code that several solvers share: domains may use it, and it uses only core. */
const kLinear = 'linear';
/** The only place in core that names the domains: the registry and its expansion. */
const kRegistry = new Set(['cuda/core/operations.h']);
/** Files that may contain device qualifiers and intrinsics. */
const kDeviceFiles = /^cuda\/core\/((device|launch|module)\.cuh|portable\.h|runtime\.(cu|h))$/;
/** Files that include the shim's version of what they declare. */
const kShimIncluders = new Set(['cuda/core/device.cuh', 'cuda/core/module.cuh']);
/** Files that may call the CUDA runtime. */
const kRuntimeFiles = /^cuda\/(core\/(\w+\.cu|cuda_\w+\.h)|bench\/cub_scan\.cu)$/; // CUB is called with its types
const kCudaTypes = new RegExp([
  /\bcuda[A-Z]\w*_t\b/, /\bcuda_runtime/, /\bcuda(?:Error|Success|Malloc|Free|Memcpy|Stream|Event)\w*/, /\bdim3\b/,
].map((part) => part.source).join('|'));
const kDeviceWords = new RegExp([
  /\b(?:threadIdx|blockIdx|blockDim|gridDim)\b/,
  /\b__(?:global|device|host|shared|launch_bounds)__/,
  /\b__(?:syncthreads|syncwarp|shfl|ballot|fmaf_|fma_rn|frcp|drcp|ldg|threadfence)\w*/,
  /\basm\s*(?:volatile)?\s*\(/, /<<</,
  /\batomic(?:Add|Min|Max|Or|And|Exch|CAS)\b/,
].map((part) => part.source).join('|'));

const domains = new Set(listFiles('cuda').map((path) => path.split('/')[1]).filter((name) => name !== 'core' && name !== kLinear));

const operations = new Set([...readFileSync(join(root, 'cuda/core/operations.inc'), 'utf8')
  .matchAll(/^WARPLOOM_OPERATION\((\w+), (\w+)/gm)].map(([, domain, name]) => `${domain}.${name}`));

/** Text without comments; strings stay, so that include paths are seen. */
function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' ')).replace(/\/\/[^\n]*/g, '');
}

function* includesOf(text) {
  for (const match of text.matchAll(/^\s*#\s*include\s*"([^"]+)"/gm)) yield match[1];
}

function includes(text, name) {
  return [...includesOf(text)].includes(name);
}

function* libImports(path, text) {
  for (const match of text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)) {
    const target = match[1];
    yield target.startsWith('.') ? normalize(join(dirname(path), target)) : target;
  }
}

/** Names of operations among the strings of a file; the generated file contains them all. */
function* operationNames(path, text) {
  if (path === 'lib/core/operations.gen.ts') return;
  for (const [, name] of text.matchAll(/['"`](\w+\.\w+)['"`]/g)) if (operations.has(name)) yield name;
}

/** Whether a file of folder `own` in native/ or cuda/ may not use what is in `folder`, and why. */
function* checkFolders(own, folder, target) {
  if (domains.has(own) && domains.has(folder) && folder !== own) yield `domain ${own} must not include ${target}`;
  if (own === kLinear && domains.has(folder)) yield `linear must not include ${target}`;
}

/** The folder of lib/ that contains a path ('' outside the folders), and its layer. */
function libFolder(path) {
  const parts = path.split('/');
  if (parts.length < 3) return ['', kTopLayer];
  return [parts[1], kLibLayers.get(parts[1]) ?? kDomainLayer];
}

function* checkLib(path, text) {
  const [own, ownLayer] = libFolder(path);
  for (const target of libImports(path, text)) {
    if (target === 'node-gyp-build' && path !== 'lib/core/binding.ts') yield 'only lib/core/binding.ts loads the addon';
    if (/^(native|cuda|test|bench|scripts)\//.test(target)) yield `lib must not import ${target}`;
    if (!target.startsWith('lib/')) continue;
    const [folder, layer] = libFolder(target);
    if (folder === own || layer < ownLayer) continue;
    if (ownLayer === kDomainLayer) yield `domain ${own} must import core, pictures, kernel, files and linear only, not ${target}`;
    else yield `${own} must not import ${target}`;
  }
  for (const name of operationNames(path, text)) {
    const isAbove = ownLayer > kDomainLayer || name.split('.')[0] === own;
    if (!isAbove) yield `${own} must not name the operation ${name}`;
  }
  if (path !== 'lib/core/binding.ts' && /\bprocess\.dlopen\b|\.node['"]/.test(text)) {
    yield 'only lib/core/binding.ts loads the addon';
  }
}

function* checkNative(path, text) {
  const own = path.split('/')[1];
  for (const target of includesOf(text)) {
    const [layer, folder] = target.split('/');
    if (layer === 'lib') yield `native must not include ${target}`;
    if (layer === 'cuda' && /\.cuh?$/.test(target) && target.endsWith('.h') === false && own !== 'simt') {
      yield `native (but for simt/) must not include device code: ${target}`;
    }
    if (kNativeTop.has(own)) continue;
    yield* checkFolders(own, folder, target);
    if (own === 'core' && layer === 'native' && (domains.has(folder) || folder === kLinear)) yield `core must not include ${target}`;
  }
}

function* checkCuda(path, text) {
  const own = path.split('/')[1];
  for (const target of includesOf(text)) {
    const [layer, folder] = target.split('/');
    const shim = kShimIncluders.has(path) && target.startsWith('simt/');
    if (layer !== 'cuda' && !shim) yield `cuda must not include ${target} (write includes from the root)`;
    if (layer === 'cuda' && own === 'core' && (domains.has(folder) || folder === kLinear) && !kRegistry.has(path)) {
      yield `core must not include ${target}`;
    }
    yield* checkFolders(own, folder, target);
  }
  if (!kRuntimeFiles.test(path) && kCudaTypes.test(text)) {
    yield `CUDA runtime outside its files: ${kCudaTypes.exec(text)[0]}`;
  }
  if (path.endsWith('.h') && !kRuntimeFiles.test(path) && includes(text, 'cuda/core/cuda_call.h')) {
    yield 'a plain header must not include cuda_call.h';
  }
  if (!kDeviceFiles.test(path) && kDeviceWords.test(text)) {
    yield `device words belong in cuda/core/device.cuh: ${kDeviceWords.exec(text)[0]}`;
  }
}

/** The relative imports of a file, including types: everything a reader needs to know. */
function importsWithin(path, text) {
  return [...libImports(path, text)].filter((target) => target.startsWith('lib/'));
}

/**
 * Groups of files of lib/ that import each other in a cycle: Tarjan's strongly connected components. `graph`: for each file, the files it
 * imports.
 */
export function cycles(graph) {
  const order = new Map(); // discovery order
  const lowest = new Map();
  const stack = [];
  const found = [];
  const visit = (file) => {
    order.set(file, order.size);
    lowest.set(file, order.get(file));
    stack.push(file);
    for (const target of graph.get(file) ?? []) {
      if (!graph.has(target)) continue;
      if (!order.has(target)) {
        visit(target);
        lowest.set(file, Math.min(lowest.get(file), lowest.get(target)));
      } else if (stack.includes(target)) {
        lowest.set(file, Math.min(lowest.get(file), order.get(target)));
      }
    }
    if (lowest.get(file) !== order.get(file)) return;
    const group = stack.splice(stack.indexOf(file));
    if (group.length > 1 || graph.get(file).includes(file)) found.push(group.sort());
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return found;
}

/** Import cycles in lib/, as messages. */
function cycleBreaches(files, read) {
  const graph = new Map(files.filter((path) => path.startsWith('lib/'))
    .map((path) => [path, importsWithin(path, withoutComments(read(path)))]));
  return cycles(graph).map((group) => {
    const linksOf = (file) => graph.get(file).filter((target) => group.includes(target)).map((target) => `${file} -> ${target}`);
    const links = group.flatMap(linksOf);
    return `import cycle of ${group.length} files:\n    ${links.join('\n    ')}`;
  });
}

/** Every violation below the root as `file: message`. `read` can be replaced in the test of this script. */
export function breaches(files, read) {
  const found = [];
  for (const path of files) {
    const text = withoutComments(read(path));
    const rule = { lib: checkLib, native: checkNative, cuda: checkCuda }[path.split('/')[0]];
    if (rule) for (const message of rule(path, text)) found.push(`${path}: ${message}`);
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = ['lib', 'native', 'cuda'].flatMap((folder) => listFiles(folder, /\.(ts|cpp|h|cu|cuh|inc)$/));
  const found = breaches(files, (path) => readFileSync(join(root, path), 'utf8'));
  found.push(...cycleBreaches(files, (path) => readFileSync(join(root, path), 'utf8')));
  for (const line of found) console.error(line);
  console.log(`layers: ${files.length} files, ${found.length} breaches`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
