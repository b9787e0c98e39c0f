// An encoder of lossless JPEG (ITU-T T.81, process 14, the predictor to the left), for tests of decoders.

/** The frame of samples of one component: codes of differences are five bits for their length, and that many bits. */
export function losslessJpeg(samples: ArrayLike<number>, columns: number, rows: number, bits: 8 | 16): Buffer {
  const word = (value: number) => [value >> 8, value & 255];
  const lengths = Array.from({ length: 17 }, (_, i) => i);
  const head = [
    0xff, 0xd8,
    0xff, 0xc3, ...word(11), bits, ...word(rows), ...word(columns), 1, 1, 0x11, 0,
    0xff, 0xc4, ...word(19 + 17), 0, 0, 0, 0, 0, 17, ...Array(11).fill(0) as number[], ...lengths,
    0xff, 0xda, ...word(8), 1, 1, 0, 1, 0, 0,
  ];
  const out: number[] = [];
  let [held, count] = [0, 0];
  const put = (value: number, length: number) => {
    for (let i = length - 1; i >= 0; i -= 1) {
      held = (held << 1) | ((value >> i) & 1);
      count += 1;
      if (count < 8) continue;
      out.push(held);
      if (held === 0xff) out.push(0);
      [held, count] = [0, 0];
    }
  };
  const mask = 2 ** bits - 1;
  const at = (i: number) => samples[i]! & mask;
  for (let i = 0; i < columns * rows; i += 1) {
    const before = i === 0 ? 2 ** (bits - 1) : i % columns === 0 ? at(i - columns) : at(i - 1);
    let difference = (at(i) - before) & 0xffff;
    if (difference > 32_768) difference -= 65_536;
    const size = Math.abs(difference) === 0 ? 0 : 32 - Math.clz32(Math.abs(difference));
    put(size, 5);
    if (size < 16) put(difference < 0 ? difference + 2 ** size - 1 : difference, size);
  }
  while (count > 0) put(1, 1);
  return Buffer.from([...head, ...out, 0xff, 0xd9]);
}
