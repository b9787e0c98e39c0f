// Shows which headers a source file includes, and how many objects a change to a header recompiles.
//
//   node scripts/include-graph.mjs            every header of cuda/ and native/ with its objects, most objects first
//   node scripts/include-graph.mjs HEADER …   the objects of these headers
//   node scripts/include-graph.mjs --check    fails if a header has more objects than kBounds allows (npm run layers)
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { groupBy, listFiles, root, sourcesAlone } from './list-sources.mjs';

/**
 * The maximum number of objects that may include a header; the first match counts. A description of one operation is only for that
 * operation: parameters of a domain reach only the domain's files, and core includes those of no domain (cuda/core/operations.h knows them
 * by name).
 */
export const kBounds = [
  [/^cuda\/tridiagonal\/solve\.h$/, 50],
  [/^(cuda|native)\/linear\/\w+\.h$/, 50],
  [/^cuda\/tridiagonal\/[\w/]+\.h$/, 30],
  [/^cuda\/imaging\/grid\.h$/, 20],  // used by every operation on images
  [/^cuda\/(?!core\/)[\w/]+\.h$/, 15],
  [/^native\/(?!core\/|cpu\/|simt\/)[\w/]+\.h$/, 15],
];

const kRead = (path) => readFileSync(join(root, path), 'utf8');

/** Names in `#include "…"` of a source, including conditional ones. */
export function quotedIncludes(text) {
  return [...text.matchAll(/^\s*#\s*include\s*"([^"]+)"/gm)].map((match) => match[1]);
}

/** Names in `#include <…>` of a source. */
export function systemIncludes(text) {
  return [...text.matchAll(/^\s*#\s*include\s*<([^>]+)>/gm)].map((match) => match[1]);
}

/** Resolves names to paths relative to the root; the shim's own are relative to native/, as in its compilation. */
function resolve(name) {
  return name.startsWith('simt/') ? `native/${name}` : name;
}

/** Every file that `start` includes, itself first, each with the file that first included it: a Map from path to includer. */
export function closure(start, read = kRead, knows = (path) => existsSync(join(root, path))) {
  const seen = new Map([[start, undefined]]);
  for (const path of seen.keys()) {
    for (const name of quotedIncludes(read(path)).map(resolve)) if (!seen.has(name) && knows(name)) seen.set(name, path);
  }
  return seen;
}

/** Device sources that share an object: Map from file to the object's name. */
export function groups(text = kRead('cuda/together.txt')) {
  return new Map(text.split('\n').filter((line) => /^[^#\s]/.test(line)).flatMap((line) => {
    const [name, ...members] = line.trim().split(/\s+/);
    return members.map((member) => [`cuda/${name.split('_')[0]}/${member}.cu`, name]);
  }));
}

/** Host sources that share an object, as in CMakeLists.txt (share_objects): a Map from file to the object's name. */
export function hostGroups(sources, alone = sourcesAlone(sources)) {
  const kApart = /^native\/(simt|bench)\/|^native\/core\/faults\.cpp$|\/isa\.cpp$/;
  const folders = groupBy(sources.filter((path) => !alone.includes(path) && !kApart.test(path)).sort(), dirname);
  return new Map([...folders].flatMap(([folder, files]) => files.map(
    (file, index) => [file, `${folder.replace('/', '_')}_${Math.floor(index / 8) + 1}`])));
}

/** Objects of a full build as [name, source]: device code is compiled twice, by nvcc and for the shim. */
function objects() {
  const sources = [...listFiles('cuda', /\.(cu|cpp)$/), ...listFiles('native', /\.cpp$/)].filter((path) => !/_stub\.cpp$/.test(path));
  const shim = sources.filter((path) => path.endsWith('.cu') && !path.startsWith('cuda/core/'));
  const shared = new Map([...groups(), ...hostGroups(sources.filter((path) => path.endsWith('.cpp')))]);
  const named = (path) => shared.get(path) ?? path;
  return [...sources.map((path) => [named(path), path]), ...shim.map((path) => [`simt ${named(path)}`, path])];
}

/** A Map from header to the objects that include it. */
export function dependants() {
  const texts = new Map();
  const read = (path) => {
    if (!texts.has(path)) texts.set(path, kRead(path));
    return texts.get(path);
  };
  const closures = new Map();
  const found = new Map();
  for (const [object, source] of objects()) {
    if (!closures.has(source)) closures.set(source, [...closure(source, read).keys()]);
    for (const path of closures.get(source)) if (path !== source) found.set(path, (found.get(path) ?? new Set()).add(object));
  }
  return new Map([...found].map(([path, users]) => [path, [...users]]));
}

/** What exceeds `bounds`, as messages. */
export function overBounds(counts, bounds = kBounds) {
  return [...counts].flatMap(([path, count]) => {
    const most = bounds.find(([pattern]) => pattern.test(path))?.[1] ?? Infinity;
    return count > most ? [`${path}: ${count} objects see it, ${most} may (node scripts/include-graph.mjs ${path} names them)`] : [];
  });
}

function main(args) {
  const found = dependants();
  if (args.includes('--check')) {
    const over = overBounds(new Map([...found].map(([path, users]) => [path, users.length])));
    for (const line of over) console.error(line);
    console.log(`headers: ${found.size}, ${over.length} with too many objects`);
    process.exitCode = over.length > 0 ? 1 : 0;
  } else if (args.length > 0) {
    for (const path of args) {
      const users = found.get(path) ?? [];
      console.log(`${path}: ${users.length} objects\n  ${users.join('\n  ')}`);
    }
  } else {
    const most = [...found].sort(([, a], [, b]) => b.length - a.length);
    for (const [path, users] of most) console.log(`${String(users.length).padStart(4)} ${path}`);
    console.log(`${new Set(objects().map(([name]) => name)).size} objects`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
