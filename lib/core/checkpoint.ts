// Checkpoints: arrays and the parameters they belong to, in one checksummed file.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { WarploomError } from './errors.ts';
import { writeFileAtomic } from './files.ts';

/** Typed arrays a checkpoint can hold. */
export type CheckpointArray = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;

/** What stands in a checkpoint. */
export interface Checkpoint {
  /** What wrote it, such as 'heat-adi'. */
  readonly kind: string;
  /** Everything the arrays depend on, as JSON. */
  readonly parameters: unknown;
  readonly step: number;
  readonly arrays: Readonly<Record<string, CheckpointArray>>;
}

const MAGIC = 'WARPLOOM-CHECKPOINT-1\n';
const DIGEST_BYTES = 32;
const CONSTRUCTORS = { Float32Array, Float64Array, Int32Array, BigInt64Array, Uint8Array } as const;
type ArrayName = keyof typeof CONSTRUCTORS;

interface Header {
  kind: string;
  parameters: unknown;
  step: number;
  arrays: { name: string; type: ArrayName; length: number }[];
}

function damaged(path: string, why: string): WarploomError {
  return new WarploomError('ERR_WARPLOOM_DAMAGED_FILE',
    `${path} is not a whole checkpoint (${why}); delete it to start from the beginning`);
}

/**
 * Writes a checkpoint: magic, SHA-256 of the rest, length of the JSON header, header, array bytes.
 * Atomic: an earlier checkpoint of the same name stays whole until this one is.
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
  await writeFileAtomic(path, Buffer.concat([Buffer.from(MAGIC, 'latin1'), digest.digest(), ...parts]));
}

function parse(path: string, file: Buffer): Checkpoint {
  const start = MAGIC.length + DIGEST_BYTES;
  if (file.length < start + 4 || file.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw damaged(path, 'no checkpoint header');
  }
  const body = file.subarray(start);
  if (!createHash('sha256').update(body).digest().equals(file.subarray(MAGIC.length, start))) {
    throw damaged(path, 'the checksum does not match');
  }
  const headerEnd = 4 + body.readUInt32LE(0);
  const header = JSON.parse(body.toString('utf8', 4, headerEnd)) as Header;
  const arrays: Record<string, CheckpointArray> = {};
  let at = headerEnd;
  for (const { name, type, length } of header.arrays) {
    const Constructor = CONSTRUCTORS[type];
    const bytes = length * Constructor.BYTES_PER_ELEMENT;
    const copy = new ArrayBuffer(bytes);
    new Uint8Array(copy).set(body.subarray(at, at + bytes));
    arrays[name] = new Constructor(copy);
    at += bytes;
  }
  return { kind: header.kind, parameters: header.parameters, step: header.step, arrays };
}

/**
 * Reads a checkpoint, whatever wrote it; undefined when there is no such file.
 * @throws WarploomError ERR_WARPLOOM_DAMAGED_FILE when the file is truncated or altered
 */
export async function loadCheckpoint(path: string): Promise<Checkpoint | undefined> {
  try {
    return parse(path, await readFile(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Reads a checkpoint of the same kind and parameters; undefined when there is none or it belongs to
 * other parameters (the work then starts anew).
 * @throws WarploomError ERR_WARPLOOM_DAMAGED_FILE when the file is truncated or altered
 */
export async function readCheckpoint(
  path: string, expected: { kind: string; parameters: unknown },
): Promise<Checkpoint | undefined> {
  const found = await loadCheckpoint(path);
  const same = found?.kind === expected.kind
    && JSON.stringify(found.parameters) === JSON.stringify(expected.parameters);
  return same ? found : undefined;
}
