// Checkpoints: arrays and the parameters they belong to, in one checksummed file; the previous one is kept too.
import { createHash } from 'node:crypto';
import { elementAt } from './known.ts';
import { describeValue } from './arrays.ts';
import { ArgumentError, CheckpointError, refusal } from './errors.ts';
import { keepAs, readBytes, removeAll, unlessAbsent, writeFileAtomic } from './files.ts';
import { anything, choice, text, whole, type Check } from './checks.ts';
import { list, record } from './shapes.ts';

/** Typed arrays a checkpoint can hold. */
export type CheckpointArray = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;

/** The contents of a checkpoint. */
export interface Checkpoint<Parameters = unknown> {
  /** What wrote it, such as 'heat-adi'. */
  readonly kind: string;
  /** Everything the arrays depend on, as JSON. */
  readonly parameters: Parameters;
  readonly step: number;
  readonly arrays: Readonly<Record<string, CheckpointArray>>;
}

/** The required shape of an array in a checkpoint. */
export interface ArrayShape {
  readonly type: ArrayName;
  readonly length: number;
}

/** What a checkpoint of a certain kind contains. Nothing else is accepted, even if its checksum is correct. */
export interface CheckpointFormat<Parameters> {
  readonly kind: string;
  /** Rejects anything that is not a set of parameters of this kind. */
  readonly parameters: Check;
  /** The arrays that belong to these parameters, all of finite numbers. */
  readonly arrays: (parameters: Parameters) => Readonly<Record<string, ArrayShape>>;
  /** Further conditions on the values of the arrays, and how `step` relates to the rest; throws by {@link Refuse}. */
  readonly check?: (checkpoint: Checkpoint<Parameters>, refuse: Refuse) => void;
}

/** Rejects a field of a checkpoint. */
export type Refuse = (field: string, expected: string, received: string) => never;

/** Called with the error of a damaged checkpoint for which the previous one is used instead. */
export type OlderTaken = (error: CheckpointError) => void;

const MAGIC = 'WARPLOOM-CHECKPOINT-1\n';
const DIGEST_BYTES = 32;
const CONSTRUCTORS = { Float32Array, Float64Array, Int32Array, BigInt64Array, Uint8Array } as const;
type ArrayName = keyof typeof CONSTRUCTORS;

interface Header extends Omit<Checkpoint, 'arrays'> {
  readonly arrays: readonly { readonly name: string; readonly type: ArrayName; readonly length: number }[];
}

const checkHeader = record({
  kind: text(), parameters: anything, step: whole(0),
  arrays: list(record({ name: text(/^[A-Za-z][A-Za-z0-9]*$/), type: choice(Object.keys(CONSTRUCTORS)), length: whole(0) })),
});

/** Path of the checkpoint that precedes the one at `path`. */
export const previousCheckpoint = (path: string): string => `${path}.previous`;

/**
 * Writes a checkpoint: magic, SHA-256 of the rest, length of the JSON header, header, array bytes.
 * Atomic: an earlier checkpoint of the same name stays intact until this one is complete, and is then kept as {@link previousCheckpoint}.
 */
export async function writeCheckpoint(path: string, checkpoint: Checkpoint): Promise<void> {
  const entries = Object.entries(checkpoint.arrays);
  const header: Header = {
    kind: checkpoint.kind, parameters: checkpoint.parameters, step: checkpoint.step,
    arrays: entries.map(([name, a]) => ({ name, type: a.constructor.name as ArrayName, length: a.length })),
  };
  const text = Buffer.from(JSON.stringify(header), 'utf8');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  const parts = [length, text, ...entries.map(([, a]) => Buffer.from(a.buffer, a.byteOffset, a.byteLength))];
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  await writeFileAtomic(path, Buffer.concat([Buffer.from(MAGIC, 'latin1'), digest.digest(), ...parts]), async () => {
    await keepAs(path, previousCheckpoint(path));
  });
}

/** Applies a check to a part of a checkpoint, and reports a failure as one of that part. */
function hold(check: Check, value: unknown, name: string, refuse: Refuse): void {
  try {
    check(value, name);
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    refuse(error.argument === '' ? 'header' : error.argument, error.expected, error.received);
  }
}

function readHeader(body: Buffer, refuse: Refuse): { header: Header; end: number } {
  const end = 4 + body.readUInt32LE(0);
  if (end > body.length) refuse('header', `at most ${body.length - 4} bytes`, `${end - 4}`);
  const text = body.toString('utf8', 4, end);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    refuse('header', 'JSON', describeValue(text));
  }
  hold(checkHeader, value, '', refuse);
  return { header: value as Header, end };
}

function readArrays(header: Header, data: Buffer, refuse: Refuse): Record<string, CheckpointArray> {
  const wanted = header.arrays.reduce((sum, { type, length }) => sum + length * CONSTRUCTORS[type].BYTES_PER_ELEMENT, 0);
  if (wanted !== data.length) refuse('arrays', `${wanted} bytes of data, as the header says`, `${data.length}`);
  const arrays: Record<string, CheckpointArray> = {};
  let at = 0;
  for (const { name, type, length } of header.arrays) {
    if (Object.hasOwn(arrays, name)) refuse(`arrays.${name}`, 'one array of that name', 'several');
    const Constructor = CONSTRUCTORS[type];
    const bytes = length * Constructor.BYTES_PER_ELEMENT;
    const copy = new ArrayBuffer(bytes);
    new Uint8Array(copy).set(data.subarray(at, at + bytes));
    arrays[name] = new Constructor(copy);
    at += bytes;
  }
  return arrays;
}

const refuserOf = (path: string): Refuse => (field, expected, received) => {
  throw new CheckpointError({ path, field, expected, received });
};

function parse(path: string, file: Buffer): Checkpoint {
  const refuse = refuserOf(path);
  const start = MAGIC.length + DIGEST_BYTES;
  if (file.length < start + 4 || file.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    refuse('header', `a file that begins with ${MAGIC.trim()}`, `${file.length} other bytes`);
  }
  const body = file.subarray(start);
  const digest = createHash('sha256').update(body).digest();
  if (!digest.equals(file.subarray(MAGIC.length, start))) {
    refuse('checksum', file.toString('hex', MAGIC.length, MAGIC.length + 8), digest.toString('hex', 0, 8));
  }
  const { header, end } = readHeader(body, refuse);
  const { kind, parameters, step } = header;
  return { kind, parameters, step, arrays: readArrays(header, body.subarray(end), refuse) };
}

function requireArrays(arrays: Checkpoint['arrays'], shapes: Readonly<Record<string, ArrayShape>>, refuse: Refuse): void {
  const foreign = Object.keys(arrays).find((name) => !Object.hasOwn(shapes, name));
  if (foreign !== undefined) refuse(`arrays.${foreign}`, 'no such array', describeValue(arrays[foreign]));
  for (const [name, { type, length }] of Object.entries(shapes)) {
    const array = arrays[name];
    if (array?.constructor.name !== type || array.length !== length) {
      refuse(`arrays.${name}`, `a ${type} of length ${length}`, describeValue(array));
    }
    if (array instanceof BigInt64Array) continue;
    const bad = array.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0) refuse(`arrays.${name}`, 'finite numbers', `${elementAt(array, bad)} at ${bad}`);
  }
}

/** The checkpoint, verified against the format; undefined if it is of another kind. */
function admit<P>(path: string, found: Checkpoint, format: CheckpointFormat<P>): Checkpoint<P> | undefined {
  if (found.kind !== format.kind) return undefined;
  const refuse = refuserOf(path);
  hold(format.parameters, found.parameters, 'parameters', refuse);
  const parameters = found.parameters as P;
  requireArrays(found.arrays, format.arrays(parameters), refuse);
  const checkpoint = { ...found, parameters };
  format.check?.(checkpoint, refuse);
  return checkpoint;
}

/**
 * Reads a checkpoint of a format; undefined when there is no such file. If it is damaged and the previous one is intact, that one
 * is used and `onOlder` is called.
 * @throws CheckpointError (`ERR_WARPLOOM_DAMAGED_FILE`) if it is truncated, altered, or contains what the format does not allow;
 *   ArgumentError naming `path` for a checkpoint of another kind
 */
export async function loadCheckpoint<P>(
  path: string, format: CheckpointFormat<P>, onOlder?: OlderTaken,
): Promise<Checkpoint<P> | undefined> {
  const bytes = await unlessAbsent(readBytes(path));
  if (bytes === undefined) return undefined;
  const admitted = (from: string, file: Buffer): Checkpoint<P> => {
    const found = parse(from, file);
    const checkpoint = admit(from, found, format);
    if (checkpoint === undefined) throw refusal('path', `a checkpoint of kind ${format.kind}`, `one of ${found.kind}`);
    return checkpoint;
  };
  try {
    return admitted(path, bytes);
  } catch (error) {
    if (!(error instanceof CheckpointError) || onOlder === undefined) throw error;
    const older = previousCheckpoint(path);
    const before = await unlessAbsent(readBytes(older));
    if (before === undefined) throw error;
    let checkpoint: Checkpoint<P>;
    try {
      checkpoint = admitted(older, before);
    } catch {
      throw error; // the error of the newer one
    }
    onOlder(error);
    return checkpoint;
  }
}

/** Removes a checkpoint and the previous one, so that no run can continue from them. */
export async function removeCheckpoints(path: string): Promise<void> {
  await removeAll(path);
  await removeAll(previousCheckpoint(path));
}
