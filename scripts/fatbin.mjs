// Removes PTX from an addon's .nv_fatbin section. nvcc compresses PTX, so archives cannot shrink it further, and a GPU for which there is
// machine code does not need it.

const kContainer = 0xba55ed50;
const kPtx = 1;

/** Offset and size of a section of a 64-bit ELF file, or undefined. */
function findSection(file, wanted) {
  const number = (at) => Number(file.readBigUInt64LE(at));
  const table = number(0x28), entry = file.readUInt16LE(0x3a), count = file.readUInt16LE(0x3c);
  const names = number(table + file.readUInt16LE(0x3e) * entry + 0x18);
  for (let at = table; at < table + count * entry; at += entry) {
    const name = names + file.readUInt32LE(at);
    if (file.toString('latin1', name, file.indexOf(0, name)) === wanted) return { offset: number(at + 0x18), size: number(at + 0x20) };
  }
  return undefined;
}

/**
 * A copy of an addon without PTX in its containers of device code, as if compiled for real architectures only; the freed space is zeroed.
 * Containers with nothing but PTX are left unchanged.
 */
export function withoutPtx(addon) {
  const file = Buffer.from(addon);
  const section = findSection(file, '.nv_fatbin');
  if (section === undefined) return file;
  const end = section.offset + section.size;
  for (let at = section.offset; at < end;) {
    // A container: magic number, version, size of this header (16 bits each), size of the entries. An entry: kind, version, sizes of both
    // parts.
    if (file.readUInt32LE(at) !== kContainer) {
      at += 8;
      continue;
    }
    const first = at + file.readUInt16LE(at + 6), last = first + Number(file.readBigUInt64LE(at + 8));
    const kept = [];
    for (let entry = first; entry < last;) {
      const next = entry + file.readUInt32LE(entry + 4) + Number(file.readBigUInt64LE(entry + 8));
      if (file.readUInt16LE(entry) !== kPtx) kept.push(Buffer.from(file.subarray(entry, next)));
      entry = next;
    }
    if (kept.length > 0) {
      const entries = Buffer.concat(kept);
      file.fill(0, first, last);
      entries.copy(file, first);
      file.writeBigUInt64LE(BigInt(entries.length), at + 8);
    }
    at = last;
  }
  return file;
}
