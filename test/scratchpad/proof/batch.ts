// Many kernels before and after the pass as one C++ file for the shim, and one CUDA file for nvcc.
import { cppTypes, type KernelFile, type Launch } from './kernels.ts';

/** A file before and after the pass. */
export interface Pair {
  readonly file: KernelFile;
  readonly rewritten: string;
  /** Barriers that the pass inserted: kernel, and line of `rewritten` from 1. */
  readonly inserted: readonly { readonly kernel: string; readonly line: number }[];
  /** Dynamic shared memory of the rewritten kernels in bytes, where they need it. */
  readonly dynamicBytes?: number;
}

/** A text for both compilers: C++ attributes stand before storage classes, dynamic arrays have their size. */
function forHost(text: string, dynamicBytes = 0): string {
  return text
    .replace(/^[ \t]*#[ \t]*include[^\n]*/gm, '') // the words of CUDA come from plain_cuda.h
    .replace(/\bextern(\s+__shared__\s+[^;]*)\[\s*\]/g, `$1[${dynamicBytes}]`)
    .replace(/__shared__(\s+)((?:alignas|__align__)\s*\([^()]*(?:\([^()]*\)[^()]*)*\))/g, '$2$1__shared__')
    .replace(/\bstatic(\s+)__shared__/g, '$1__shared__');
}

function defined(text: string): string[] {
  return [...text.matchAll(/^[ \t]*#[ \t]*define[ \t]+(\w+)/gm)].map(([, name]) => name!);
}

function call(space: string, { kernel, arguments: list }: Launch): string {
  let array = 0;
  const values = list.map((own) => ('literal' in own ? own.literal
    : `static_cast<${own.direction === 'i' ? 'const ' : ''}${cppTypes[own.type]}*>(a[${array++}])`));
  return `${space}::${kernel}(${values.join(', ')})`;
}

const entries = (list: readonly unknown[]): string => (list.length === 0 ? 'nullptr' : '');

/** One translation unit of plain_cuda.h: every launch of every pair is a case named FILE.KERNEL.NUMBER. */
export function hostBatch(pairs: readonly Pair[]): { text: string; names: string[] } {
  const lines = ['#define WARPLOOM_PLAIN_KERNELS', '#include "test/device/support/plain_cuda.h"'];
  const table: string[] = [];
  const names: string[] = [];
  const add = (text: string) => lines.push(...text.split('\n'));
  pairs.forEach(({ file, rewritten, inserted, dynamicBytes }, p) => {
    add(`namespace o${p} {\n${forHost(file.text)}\n}`);
    for (const name of defined(file.text)) add(`#undef ${name}`);
    add(`namespace r${p} {`);
    const first = lines.length;
    add(`${forHost(rewritten, dynamicBytes)}\n}`);
    for (const name of defined(rewritten)) add(`#undef ${name}`);
    file.launches.forEach((launch, l) => {
      const id = `${p}_${l}`;
      const arrays = launch.arguments.flatMap((own) => ('literal' in own ? [] : [own]));
      add(`static void original${id}(void* const* a) { ${call(`o${p}`, launch)}; }`);
      add(`static void rewritten${id}(void* const* a) { ${call(`r${p}`, launch)}; }`);
      const list = arrays.map((own) => `{'${own.type}', '${own.direction}', ${own.count}}`);
      if (list.length > 0) add(`static const plain::Argument arguments${id}[] = {${list.join(', ')}};`);
      const plain = launch.kernel.replace(/<.*>/, '').split('::').at(-1);
      const places = inserted.filter(({ kernel }) => kernel === plain).map(({ line }) => line + first);
      if (places.length > 0) add(`static const int inserted${id}[] = {${places.join(', ')}};`);
      const name = `${file.name}.${launch.kernel}.${l}`;
      names.push(name);
      table.push(`  {"${name}", original${id}, rewritten${id}, {${launch.grid}}, {${launch.block}}, ${entries(list) || `arguments${id}`}, `
        + `${list.length}, __FILE__, ${entries(places) || `inserted${id}`}, ${places.length}},`);
    });
  });
  add(`static const plain::Case cases[] = {\n${table.join('\n')}\n};`);
  add('extern "C" __attribute__((visibility("hidden"))) char __bss_start[], _end[];');
  add('extern "C" __attribute__((visibility("default"))) const plain::Batch plain_batch = '
    + '{cases, sizeof(cases) / sizeof(cases[0]), __bss_start, _end};');
  return { text: `${lines.join('\n')}\n`, names };
}

/** The kernels of texts in namespaces of their own, with the instances that launches name; o0_: as written, r0_: rewritten. */
export function deviceBatch(pairs: readonly Pair[]): string {
  const parts: string[] = [];
  const includes = new Set<string>();
  pairs.forEach(({ file, rewritten }, p) => {
    for (const [space, text] of [['o', file.text], ['r', rewritten]] as const) {
      for (const [line] of text.matchAll(/^[ \t]*#[ \t]*include[^\n]*/gm)) includes.add(line.trim());
      parts.push(`namespace ${space}${p}_ {`, text.replace(/^[ \t]*#[ \t]*include[^\n]*/gm, ''));
      const instances = new Set(file.launches.map((launch) => launch.kernel).filter((kernel) => kernel.includes('<')));
      [...instances].forEach((kernel, i) => parts.push(`void* instance${i}() { return (void*)${kernel}; }`));
      parts.push('}', ...defined(text).map((name) => `#undef ${name}`));
    }
  });
  return `${[...includes].join('\n')}\n${parts.join('\n')}\n`;
}
