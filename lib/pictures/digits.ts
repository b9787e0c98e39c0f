// Numbers drawn into frames of films, which hold pixels only.

/** Pixels of a character, row by row from the top, with one bit for each, the left one first. */
const glyphs: Readonly<Record<string, readonly number[]>> = {
  '0': [0b01110, 0b10001, 0b10011, 0b10101, 0b11001, 0b10001, 0b01110],
  '1': [0b00100, 0b01100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110],
  '2': [0b01110, 0b10001, 0b00001, 0b00010, 0b00100, 0b01000, 0b11111],
  '3': [0b11111, 0b00010, 0b00100, 0b00010, 0b00001, 0b10001, 0b01110],
  '4': [0b00010, 0b00110, 0b01010, 0b10010, 0b11111, 0b00010, 0b00010],
  '5': [0b11111, 0b10000, 0b11110, 0b00001, 0b00001, 0b10001, 0b01110],
  '6': [0b00110, 0b01000, 0b10000, 0b11110, 0b10001, 0b10001, 0b01110],
  '7': [0b11111, 0b00001, 0b00010, 0b00100, 0b01000, 0b01000, 0b01000],
  '8': [0b01110, 0b10001, 0b10001, 0b01110, 0b10001, 0b10001, 0b01110],
  '9': [0b01110, 0b10001, 0b10001, 0b01111, 0b00001, 0b00010, 0b01100],
  '.': [0, 0, 0, 0, 0, 0b01100, 0b01100],
  '-': [0, 0, 0, 0b11111, 0, 0, 0],
  '+': [0, 0b00100, 0b00100, 0b11111, 0b00100, 0b00100, 0],
  '=': [0, 0, 0b11111, 0, 0b11111, 0, 0],
  e: [0, 0, 0b01110, 0b10001, 0b11111, 0b10000, 0b01110],
  t: [0b01000, 0b01000, 0b11100, 0b01000, 0b01000, 0b01001, 0b00110],
  ' ': [0, 0, 0, 0, 0, 0, 0],
};

/** Height of a line in pixels, and width of a character with the gap after it. */
export const glyphHeight = 7, glyphWidth = 6;

/** Draws `text` (digits, `. - + = e t` and spaces), its upper left corner at (left, top), `zoom` pixels for each of its own. */
export function drawText(
  picture: Uint8Array, width: number, text: string, { left, top, zoom, level }: Readonly<Record<'left' | 'top' | 'zoom' | 'level', number>>,
): void {
  Array.from(text).forEach((character, index) => {
    const rows = glyphs[character] ?? [];
    for (let y = 0; y < rows.length * zoom; y += 1) {
      const bits = rows[Math.floor(y / zoom)] ?? 0;
      for (let x = 0; x < 5 * zoom; x += 1) {
        const at = left + index * glyphWidth * zoom + x;
        if (at < width && ((bits >> (4 - Math.floor(x / zoom))) & 1) === 1) picture[(top + y) * width + at] = level;
      }
    }
  });
}
