// The bundle's addon without PTX: a small ELF file with two containers of device code.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { withoutPtx } = await import(pathToFileURL(join(root, 'scripts/fatbin.mjs')).href) as { withoutPtx(addon: Buffer): Buffer };

const kPtx = 1, kElf = 2;

/** An entry of device code: kind, header of 64 bytes, payload. */
function entry(kind: number, text: string): Buffer {
  const payload = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const header = Buffer.alloc(64, 7);
  header.writeUInt16LE(kind, 0);
  header.writeUInt32LE(header.length, 4);
  header.writeBigUInt64LE(BigInt(payload.length), 8);
  return Buffer.concat([header, payload]);
}

/** A container: magic, version, size of its header, size of its entries. */
function container(...entries: Buffer[]): Buffer {
  const body = Buffer.concat(entries), header = Buffer.alloc(16);
  header.writeUInt32LE(0xba55ed50, 0);
  header.writeUInt16LE(16, 6);
  header.writeBigUInt64LE(BigInt(body.length), 8);
  return Buffer.concat([header, body]);
}

/** A 64-bit ELF file with sections for names and `content`. */
function elf(name: string, content: Buffer): Buffer {
  const names = Buffer.from(`\0.shstrtab\0${name}\0`.padEnd(64, '\0'));
  const file = Buffer.concat([Buffer.alloc(64), names, content, Buffer.alloc(3 * 64)]);
  const table = 128 + content.length;
  file.writeBigUInt64LE(BigInt(table), 0x28);
  file.writeUInt16LE(64, 0x3a);
  file.writeUInt16LE(3, 0x3c);
  file.writeUInt16LE(1, 0x3e);
  for (const [index, at, offset, size] of [[1, 1, 64, 64], [2, 11, 128, content.length]] as const) {
    file.writeUInt32LE(at, table + 64 * index);
    file.writeBigUInt64LE(BigInt(offset), table + 64 * index + 0x18);
    file.writeBigUInt64LE(BigInt(size), table + 64 * index + 0x20);
  }
  return file;
}

describe('addons without PTX', () => {
  const machine = entry(kElf, 'machine code'), other = entry(kElf, 'more of it'), text = entry(kPtx, 'compressed text');

  it('keeps machine code as in a container that never had PTX, and zeros after it', () => {
    const more = container(entry(kElf, 'the second container'));
    const before = elf('.nv_fatbin', Buffer.concat([container(text, machine, text, other), Buffer.alloc(16), more]));
    const alone = container(machine, other);
    const free = Buffer.alloc(2 * text.length + 16);
    deepStrictEqual(withoutPtx(before), elf('.nv_fatbin', Buffer.concat([alone, free, more])));
    ok(before.includes('compressed text'), 'the argument stays as it is');
  });

  it('leaves containers of PTX alone, and files without device code, as they are', () => {
    for (const file of [elf('.nv_fatbin', container(text)), elf('.text', container(text, machine))]) deepStrictEqual(withoutPtx(file), file);
  });
});
