// Runs the launches that comments of kernel files name, on the interpreter.
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { plainName } from '../../lib/scratchpad/ptx/analysis.ts';
import { readModule } from '../../lib/kernel/ptx/module.ts';
import { Random } from '../support/random.ts';
import type { Launch } from './kernels.ts';
import { interpret, type Run } from './interpreter.ts';
import { globalBase } from './memory.ts';

const bytesOf: Readonly<Record<string, number>> = { f: 4, d: 8, i: 4, u: 4, l: 8, s: 2, b: 1 };

/** How the modules begin that tests write. */
export const ptxHeader = '.version 8.5\n.target sm_90\n.address_size 64\n';

/** A compiled file of test/scratchpad/fixtures. */
export function fixture(name: string): string {
  return gunzipSync(readFileSync(new URL(`fixtures/${name}.ptx.gz`, import.meta.url))).toString();
}

/** The names in a module of the kernel that a launch means. */
export function namesOf(text: string, kernel: string): string[] {
  const plain = kernel.replace(/<.*/, '').replace(/.*::/, '');
  return readModule(text).functions.filter((fn) => fn.isEntry && plainName(fn.name) === plain).map((fn) => fn.name);
}

/** Runs a launch; returns the bytes of all its arrays and the races. */
export function launch(text: string, name: string, own: Launch, order: Run['order'], dynamicBytes = 0): { memory: Uint8Array; races: string[] } {
  const random = new Random(7);
  const parameters: (number | bigint)[] = [];
  const parts: Uint8Array[] = [];
  let end = 0;
  for (const each of own.arguments) {
    if ('literal' in each) {
      parameters.push(each.literal === 'true' ? 1 : each.literal === 'false' ? 0 : Number(each.literal.replace(/[fuFU]$/, '')));
      continue;
    }
    const size = bytesOf[each.type]! * each.count;
    const data = new DataView(new ArrayBuffer(Math.ceil(size / 16) * 16));
    for (let i = 0; i < each.count; ++i) {
      if (each.type === 'f') data.setFloat32(4 * i, random.uniform(-1, 1), true);
      else if (each.type === 'd') data.setFloat64(8 * i, random.uniform(-1, 1), true);
      else if (each.type === 'l') data.setBigInt64(8 * i, BigInt(random.integer(0, 100)), true);
      else if (each.type === 's') data.setInt16(2 * i, random.integer(0, 100), true);
      else if (each.type === 'b') data.setUint8(i, random.integer(0, 100));
      else data.setInt32(4 * i, random.integer(0, 100), true);
    }
    parameters.push(BigInt(globalBase + end));
    parts.push(new Uint8Array(data.buffer));
    end += data.byteLength;
  }
  const memory = new Uint8Array(end);
  let at = 0;
  for (const part of parts) {
    memory.set(part, at);
    at += part.length;
  }
  const races = interpret(text, name, { grid: own.grid, block: own.block, parameters, memory, order }, dynamicBytes + own.dynamicBytes);
  return { memory, races };
}

/** Launches that differ; empty if there are none. They take turns with the orders, unless all are wanted. */
export function differing(before: string, after: string, launches: readonly Launch[], orders: readonly Run['order'][], dynamicBytes = 0,
  wantsAll = false): string[] {
  const found: string[] = [];
  for (const [at, own] of launches.entries()) {
    for (const name of namesOf(before, own.kernel)) {
      for (const order of wantsAll ? orders : [orders[at % orders.length]!]) {
        const [a, b] = [launch(before, name, own, order, dynamicBytes), launch(after, name, own, order, dynamicBytes)];
        if (a.races.length > 0) found.push(`${own.kernel} as compiled: ${a.races.join()}`);
        if (b.races.length > 0) found.push(`${own.kernel} rewritten: ${b.races.join()}`);
        if (Buffer.compare(a.memory, b.memory) !== 0) found.push(`${own.kernel}: other bytes in order ${order}`);
      }
    }
  }
  return found;
}
