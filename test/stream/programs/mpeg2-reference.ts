// The arithmetic of MPEG-2 macroblocks (ISO/IEC 13818-2, 7.3 to 7.6), written as the standard states it.

/** Positions of the zigzag scan, walked diagonal by diagonal. */
export function zigzag(): number[] {
  const order: number[] = [];
  for (let diagonal = 0; diagonal < 15; ++diagonal) {
    const cells: number[] = [];
    for (let row = 0; row < 8; ++row) {
      const column = diagonal - row;
      if (column >= 0 && column < 8) cells.push(8 * row + column);
    }
    order.push(...(diagonal % 2 === 0 ? cells.reverse() : cells));
  }
  return order;
}

const intraMatrix = [
  8, 16, 19, 22, 26, 27, 29, 34, 16, 16, 22, 24, 27, 29, 34, 37, 19, 22, 26, 27, 29, 34, 34, 38, 22, 22, 26, 27, 29, 34, 37, 40,
  22, 26, 27, 29, 32, 35, 40, 48, 26, 27, 29, 32, 35, 40, 48, 58, 26, 27, 29, 34, 38, 46, 56, 69, 27, 29, 35, 38, 46, 56, 69, 83,
];

/** Coefficients in rows, from those in zigzag order: dequantised, saturated, with mismatch control. */
export function dequantise(scanned: readonly number[]): number[] {
  const block = new Array<number>(64);
  for (const [i, at] of zigzag().entries()) {
    const exact = at === 0 ? 8 * scanned[i]! : Math.trunc((scanned[i]! * intraMatrix[at]! * 10 * 2) / 32);
    block[at] = Math.min(2047, Math.max(-2048, exact));
  }
  const total = block.reduce((a, b) => a + b, 0);
  if (total % 2 === 0) block[63] = block[63]! % 2 === 0 ? block[63]! + 1 : block[63]! - 1;
  return block;
}

/** One pass of the fixed-point inverse DCT, in 64-bit integers: first rows, with 3 places kept, then columns. */
function pass(x: readonly bigint[], isRow: boolean): bigint[] {
  const w = [0n, 2841n, 2676n, 2408n, 2048n, 1609n, 1108n, 565n];
  const [bits, offset, half, drop, shift] = isRow ? [11n, 128n, 0n, 0n, 8n] : [8n, 8192n, 4n, 3n, 14n];
  const turn = (a: bigint, b: bigint, high: number, low: number): [bigint, bigint] =>
    [(w[high]! * a + w[low]! * b + half) >> drop, (w[low]! * a - w[high]! * b + half) >> drop];
  const [odd1, odd7] = turn(x[1]!, x[7]!, 1, 7);
  const [odd5, odd3] = turn(x[5]!, x[3]!, 5, 3);
  const [even2, even6] = turn(x[2]!, x[6]!, 2, 6);
  const even = [(x[0]! + x[4]! << bits) + offset, (x[0]! - x[4]! << bits) + offset];
  const [b, d] = [odd1 - odd5, odd7 - odd3];
  const odd = [odd1 + odd5, (181n * (b + d) + 128n) >> 8n, (181n * (b - d) + 128n) >> 8n, odd7 + odd3];
  const evens = [even[0]! + even2, even[1]! + even6, even[1]! - even6, even[0]! - even2];
  return [...evens.map((e, i) => (e + odd[i]!) >> shift), ...evens.map((e, i) => (e - odd[i]!) >> shift).reverse()];
}

/** Samples of a block by the fixed-point transform, before saturation. */
export function inverseDct(block: readonly number[]): number[] {
  const rows = Array.from({ length: 8 }, (_, r) => pass(block.slice(8 * r, 8 * r + 8).map(BigInt), true));
  const columns = Array.from({ length: 8 }, (_, c) => pass(rows.map((row) => row[c]!), false));
  return Array.from({ length: 64 }, (_, i) => Number(columns[i % 8]![i >> 3]!));
}

/** Vectors and flags of macroblocks, one after the other. */
export class MotionDecoder {
  readonly #predicted = new Array<number>(8).fill(0);

  /** 8 codes, 8 residuals, 3 flags to 8 components and the flags. */
  decode(side: readonly number[]): number[] {
    const [intra, forward, backward] = [side[16]!, side[17]!, side[18]!];
    for (let i = 0; i < 8; ++i) {
      const [s, t] = [(i >> 1) & 1, i & 1];
      const f = 2 ** ([[3, 2], [4, 1]][s]![t]! - 1);
      if (intra !== 0) this.#predicted[i] = 0;
      else if ((s === 0 ? forward : backward) !== 0) {
        const code = side[i]!;
        const delta = f === 1 || code === 0 ? code : Math.sign(code) * ((Math.abs(code) - 1) * f + side[8 + i]! + 1);
        const period = 32 * f;
        this.#predicted[i] = ((this.#predicted[i]! + delta + 16 * f) % period + period) % period - 16 * f;
      }
    }
    return [...this.#predicted, intra, forward, backward];
  }
}

/** A whole macroblock: 6 blocks and 19 numbers in, 6 times 64 samples and 11 numbers out. */
export function decodeMacroblock(numbers: readonly number[], motion: MotionDecoder): number[] {
  const side = motion.decode(numbers.slice(384));
  return [0, 1, 2, 3, 4, 5].flatMap((block) => {
    const samples = inverseDct(dequantise(numbers.slice(64 * block, 64 * block + 64)));
    const vectors = side.map((x, i) => (block >= 4 && i < 8 ? Math.trunc(x / 2) : x));
    return [...samples.map((x) => Math.min(255, Math.max(-256, x))), ...vectors];
  });
}
