// Checkpoints with a correct checksum but invalid contents, made from a valid one.
import { createHash } from 'node:crypto';

const magic = Buffer.from('WARPLOOM-CHECKPOINT-1\n', 'latin1');

type Json = Record<string, unknown>;

/** The parts of a checkpoint. */
export interface Opened {
  readonly header: Json;
  readonly data: Buffer;
}

export function open(file: Buffer): Opened {
  const body = file.subarray(magic.length + 32);
  const end = 4 + body.readUInt32LE(0);
  return { header: JSON.parse(body.toString('utf8', 4, end)) as Json, data: body.subarray(end) };
}

/** A file with a correct checksum for any header text and data. */
export function seal(text: string, data: Uint8Array, announced?: number): Buffer {
  const header = Buffer.from(text, 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(announced ?? header.length);
  const body = Buffer.concat([length, header, data]);
  return Buffer.concat([magic, createHash('sha256').update(body).digest(), body]);
}

/** Stands for a number that JSON text can contain but JSON.stringify cannot write. */
const raw = (text: string) => `\u0001${text}\u0001`;
const textOf = (header: unknown): string => JSON.stringify(header).replace(/"\\u0001([^"]*)\\u0001"/g, '$1');

/** Invalid for every field. */
const wrong: readonly unknown[] = [
  null, true, false, [], {}, [1], { a: 1 }, raw('1e999'), raw('-1e999'), -1, -1.5, 1e300, -1e300, '__proto__', '\u0000', '-1', '1e3', [[]], 'x'.repeat(5000),
];
/** Invalid for numbers, including integers. */
const notNumbers: readonly unknown[] = ['x', '', '1', 'NaN'];
const notWhole: readonly unknown[] = [1.5, 5e-324, 2 ** 53, 2 ** 31 + 0.5, raw('9007199254740993'), 1e-300];

/** Fields that accept any positive number. */
const admitsLarge = /\.(dt|diffusivity|gamma)$/;

function clone(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

function set(header: Json, path: readonly string[], change: (owner: Json, key: string) => void): string {
  const copy = clone(header);
  const owner = path.slice(0, -1).reduce<Json>((part, key) => part[key] as Json, copy);
  change(owner, path.at(-1)!);
  return textOf(copy);
}

/** Paths of all fields, including those that contain others. */
function pathsOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [[...path, key], ...pathsOf(part, [...path, key])]);
}

function valueAt(header: Json, path: readonly string[]): unknown {
  return path.reduce<unknown>((part, key) => (part as Json)[key], header);
}

/** A checkpoint that must be refused, and what is wrong with it. */
export interface Hostile {
  readonly what: string;
  readonly file: Buffer;
}

/** Makes every field invalid in every way, removes it, or adds another one. `free`: fields that accept any text. */
function* wrongFields({ header, data }: Opened, free: readonly string[]): Generator<Hostile> {
  for (const path of pathsOf(header)) {
    const name = path.join('.');
    const value = valueAt(header, path);
    const numeric = typeof value === 'number';
    const whole = numeric && (/(n|batch|step|originStep|length|width|height)$/i.test(path.at(-1)!));
    const list = [...wrong, ...(numeric ? notNumbers : []), ...(whole ? notWhole : []), ...(numeric && !/step|time/i.test(name) ? [0] : [])];
    for (const bad of list) {
      if (bad === 1e300 && admitsLarge.test(name)) continue;
      if (free.includes(name) && typeof bad === 'string' && !bad.startsWith('\u0001')) continue;
      yield { what: `${name} = ${String(JSON.stringify(bad)).slice(0, 40)}`, file: seal(set(header, path, (owner, key) => { owner[key] = bad; }), data) };
    }
    yield { what: `${name} missing`, file: seal(set(header, path, (owner, key) => { delete owner[key]; }), data) };
    if (typeof value === 'object' && !Array.isArray(value)) {
      yield { what: `${name}.more`, file: seal(set(header, [...path, 'more'], (owner, key) => { owner[key] = 1; }), data) };
    }
  }
  yield { what: 'more', file: seal(textOf({ ...header, more: 1 }), data) };
  const step = header['step'] as number;
  for (const other of [step + 1, step + 1000, 2 ** 52]) yield { what: `step ${other}`, file: seal(textOf({ ...header, step: other }), data) };
}

function* wrongArrays({ header, data }: Opened): Generator<Hostile> {
  const [array] = header['arrays'] as [{ name: string; type: string; length: number }];
  const lists: unknown[] = [
    [], [array, array], [{ ...array, length: 0 }], [{ ...array, length: array.length - 1 }], [{ ...array, length: array.length + 1 }],
    [{ ...array, length: 2 ** 40 }], [{ ...array, length: 2 ** 53 - 1 }], [{ ...array, name: 'constructor' }], [{ ...array, name: 'other' }],
    ...['Array', 'Float16Array', 'Uint8ClampedArray', 'Int32Array', 'Uint8Array', 'BigInt64Array', array.type === 'Float64Array' ? 'Float32Array' : 'Float64Array']
      .map((type) => [{ ...array, type }]),
    [array, { name: 'empty', type: 'Uint8Array', length: 0 }], Array.from({ length: 1000 }, () => ({ ...array, length: 0 })),
  ];
  for (const arrays of lists) yield { what: `arrays ${JSON.stringify(arrays).slice(0, 90)}`, file: seal(textOf({ ...header, arrays }), data) };
}

function* wrongData({ header, data }: Opened): Generator<Hostile> {
  const text = textOf(header);
  for (const cut of [1, 4, 8, data.length >> 1, data.length]) yield { what: `${cut} bytes cut`, file: seal(text, data.subarray(0, data.length - cut)) };
  for (const more of [1, 8, 4096]) yield { what: `${more} bytes more`, file: seal(text, Buffer.concat([data, Buffer.alloc(more)])) };
  const single = (header['arrays'] as { type: string }[])[0]!.type === 'Float32Array';
  const size = single ? 4 : 8;
  for (const value of [NaN, Infinity, -Infinity]) {
    for (const at of [0, size * Math.floor(data.length / size / 2), data.length - size]) {
      const copy = Buffer.from(data);
      if (single) copy.writeFloatLE(value, at);
      else copy.writeDoubleLE(value, at);
      yield { what: `${value} at byte ${at}`, file: seal(text, copy) };
    }
  }
}

function* wrongText({ header, data }: Opened): Generator<Hostile> {
  const text = textOf(header);
  const texts = [
    '', 'x', 'null', '1', '"x"', '[]', '{}', '{', text.slice(0, -1), `${text}}`, '['.repeat(100_000), `{"kind":${'['.repeat(5000)}${']'.repeat(5000)}}`, '\u0000'.repeat(100),
  ];
  for (const each of texts) yield { what: `header ${each.slice(0, 20)}`, file: seal(each, data) };
  for (const length of [0, 1, text.length - 1, text.length + 1, text.length + data.length + 1, 2 ** 31, 2 ** 32 - 1]) {
    yield { what: `header of ${length} bytes`, file: seal(text, data, length) };
  }
}

/** All of them. */
export function* hostileCheckpoints(file: Buffer, free: readonly string[]): Generator<Hostile> {
  const opened = open(file);
  yield* wrongFields(opened, free);
  yield* wrongArrays(opened);
  yield* wrongData(opened);
  yield* wrongText(opened);
}
