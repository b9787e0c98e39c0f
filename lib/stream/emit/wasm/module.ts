// A program written in JavaScript as one WebAssembly module, and where everything lies in its memory.
import type { JsProgram } from '../emit-js.ts';
import type { Kind } from '../layout.ts';
import { streamArrays } from '../plan.ts';
import type { FunctionText, ProgramText } from '../program.ts';
import { UnsupportedProgram } from '../unsupported.ts';
import { moduleBytes, mostPages, type Signature } from './binary.ts';
import { emptyBytes } from './elements.ts';
import { signatureOf, translate, type FunctionSource } from './translate.ts';
import type { ArrayPlace, Callee, Names, ValueType } from './types.ts';

const bytesOf: Readonly<Record<Kind, number>> = { i: 4, f: 4, d: 8 };
const pageBytes = 65536;

const oneD: Signature = { params: ['d'], result: 'd' };
const twoD: Signature = { params: ['d', 'd'], result: 'd' };

/** Functions of the host: those of Math, which gives the same bits to all, and what ends or prints. */
const hostFunctions: Readonly<Record<string, Signature>> = {
  wl_fail: { params: ['i', 'd'], result: undefined }, wl_put: { params: ['d'], result: undefined },
  wl_print: { params: ['i'], result: undefined }, wl_room: { params: ['i', 'i', 'i'], result: undefined },
  mod: twoD, atan2: twoD, pow: twoD, hypot: twoD, acos: oneD, asin: oneD, atan: oneD, cos: oneD, cosh: oneD, exp: oneD, log: oneD,
  log10: oneD, sin: oneD, sinh: oneD, tan: oneD, tanh: oneD,
};

/** Functions that generated code calls. */
const helpers: readonly (FunctionSource & { readonly result: ValueType })[] = [
  { name: 'wl_div', params: ['i', 'i', 'i'], result: 'i',
    text: 'function wl_div(a, b, site) { if (b === 0) wl_fail(site, a); return (a / b) | 0; }' },
  { name: 'wl_rem', params: ['i', 'i', 'i'], result: 'i',
    text: 'function wl_rem(a, b, site) { if (b === 0) wl_fail(site, a); return a % b; }' },
  { name: 'wl_mix', params: ['i'], result: 'u', text: `function wl_mix(s) {
  let t = imul(s ^ (s >>> 15), 1 | s);
  t = (t + imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return (t ^ (t >>> 14)) >>> 0;
}` },
  { name: 'wl_unit', params: ['u'], result: 'f', text: 'function wl_unit(bits) { return fround((bits >>> 8) / 16777216.0); }' },
  { name: 'wl_range', params: ['u', 'i', 'i'], result: 'i',
    text: `function wl_range(bits, n, site) {
  if (n <= 0) wl_fail(site, n);
  return wl_int(Math.floor(bits / 4294967296.0 * (+n)));
}` },
  { name: 'wl_half_root', params: ['d', 'd'], result: 'd',
    text: 'function wl_half_root(a, b) { return Math.sqrt((Math.sqrt(a * a + b * b) + Math.abs(a)) / 2.0); }' },
  { name: 'wl_csqrt_re', params: ['d', 'd', 'd'], result: 'd',
    text: 'function wl_csqrt_re(r, a, b) { return r === 0.0 ? 0.0 : a >= 0.0 ? r : Math.abs(b) / (2.0 * r); }' },
  { name: 'wl_csqrt_im', params: ['d', 'd', 'd'], result: 'd',
    text: 'function wl_csqrt_im(r, a, b) { return r === 0.0 ? 0.0 : a >= 0.0 ? b / (2.0 * r) : b < 0.0 ? -r : r; }' },
];

/** Where everything lies. Addresses of what a thread has of its own count from the begin of its part. */
export interface MemoryLayout {
  /** By name. */
  readonly arrays: Readonly<Record<string, ArrayPlace & { readonly length: number }>>;
  /** Pages before those of the threads. */
  readonly pages: number;
  /** Bytes of a thread's own part. */
  readonly ownBytes: number;
}

export interface WasmProgram {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly layout: MemoryLayout;
}

class Layout {
  readonly arrays: Record<string, ArrayPlace & { readonly length: number }> = {};
  readonly #next = { shared: emptyBytes, own: 0 };

  /** Arrays begin with lines of the cache. */
  place(name: string, kind: Kind, length: number, isOwn: boolean): void {
    const which = isOwn ? 'own' : 'shared';
    const at = 64 * Math.ceil(this.#next[which] / 64);
    this.arrays[name] = { kind, at, isOwn, length };
    this.#next[which] = at + bytesOf[kind] * length;
  }

  get made(): MemoryLayout {
    const { shared, own } = this.#next;
    return { arrays: this.arrays, pages: Math.ceil(shared / pageBytes), ownBytes: 64 * Math.ceil(own / 64) };
  }
}

function layoutOf({ plan, arrays }: ProgramText, functions: readonly FunctionText[], externals: readonly string[]): MemoryLayout {
  const layout = new Layout();
  const nodes = plan.graph.nodes.length;
  for (const { name, kind, length } of arrays) layout.place(name, kind, length, false);
  layout.place('wl_it', 'i', nodes, false);
  layout.place('wl_rs', 'i', nodes, false);
  layout.place('wl_ix', 'i', 2 * (plan.graph.channels.length + plan.externals.length), true);
  layout.place('wl_steps', 'd', 1, true);
  for (const name of externals) layout.place(`wl_${name}`, 'i', 1, true);
  for (const { name: owner, locals } of functions) {
    for (const { name, kind, length } of locals) layout.place(`${name}_${owner}`, kind, length, true);
  }
  return layout.made;
}

/** Translates a program. `isShared`: several threads use its memory. */
export function toWasm({ text, functions }: JsProgram, isShared: boolean): WasmProgram {
  const externals = streamArrays(text.plan).map(({ name }) => name);
  const layout = layoutOf(text, functions, externals);
  if (layout.pages + layout.ownBytes / pageBytes > 0.75 * mostPages) {
    throw new UnsupportedProgram(`channels and state take ${(layout.pages * pageBytes / 2 ** 30).toFixed(1)} GiB, too much for one memory`);
  }
  const imports = Object.entries(hostFunctions).map(([name, signature]) => ({ name, signature }));
  const callees = new Map<string, Callee>(imports.map(({ name, signature }, index) => [name, { index, signature }]));
  helpers.forEach((helper, i) => callees.set(helper.name,
    { index: imports.length + i, signature: signatureOf(helper), isUnsigned: helper.result === 'u' }));
  functions.forEach(({ name }, i) => callees.set(name,
    { index: imports.length + helpers.length + i, signature: { params: ['i'], result: undefined } }));
  callees.set('wl_hypot', callees.get('hypot')!);
  const names = (owner: string): Names => ({
    array: (name) => layout.arrays[`${name}_${owner}`] ?? layout.arrays[name],
    external: (name) => (externals.includes(name) ? name.at(-1) as Kind : undefined),
    callee: (name) => callees.get(name),
  });
  const made = [
    ...helpers.map((helper) => translate(helper, names(helper.name))),
    ...functions.map(({ name, source }) => translate({
      name, text: source, params: ['i'], externals: externals.filter((each) => source.includes(`${each}[`)),
    }, names(name))),
  ];
  const bytes = moduleBytes({
    imports, functions: made, exports: new Set(functions.map(({ name }) => name)), pages: layout.pages, isShared,
  });
  return { bytes, layout };
}

