// Where the parts of a JSON text stand.
import { camelCase } from './schema-walk.ts';

/** A cursor in a text that JSON.parse has accepted. */
class Cursor {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next character that is not white space. */
  peek(): string {
    while (/\s/.test(this.#text[this.at] ?? '')) this.at += 1;
    return this.#text[this.at] ?? '';
  }

  string(): string {
    this.peek();
    const from = this.at;
    for (this.at += 1; this.#text[this.at] !== '"' && this.at < this.#text.length; this.at += 1) {
      if (this.#text[this.at] === '\\') this.at += 1;
    }
    this.at += 1;
    return JSON.parse(this.#text.slice(from, this.at)) as string;
  }

  /** Goes past a value. */
  skip(): void {
    const first = this.peek();
    if (first === '"') {
      this.string();
      return;
    }
    if (first !== '{' && first !== '[') {
      while (this.at < this.#text.length && !/[\s,\]}]/.test(this.#text[this.at] ?? '')) this.at += 1;
      return;
    }
    let depth = 0;
    do {
      const next = this.peek();
      if (next === '"') this.string();
      else {
        depth += next === '{' || next === '[' ? 1 : next === '}' || next === ']' ? -1 : 0;
        this.at += 1;
      }
    } while (depth > 0 && this.at < this.#text.length);
  }

  /** Goes to a field or a place of the value at the cursor; false if there is none. The last of equal fields counts, as for JSON.parse. */
  enter(key: string | number): boolean {
    const close = this.peek() === '{' ? '}' : this.#text[this.at] === '[' ? ']' : undefined;
    if (close === undefined) return false;
    this.at += 1;
    let found: number | undefined;
    for (let place = 0; this.peek() !== close && this.at < this.#text.length; place += 1) {
      const start = this.at;
      const name = close === '}' ? this.string() : place;
      if (close === '}' && this.peek() === ':') this.at += 1;
      this.peek();
      if (name === key || (typeof name === 'string' && camelCase(name) === key)) found = close === '}' ? start : this.at;
      this.skip();
      if (this.peek() === ',') this.at += 1;
    }
    if (found === undefined) return false;
    this.at = found;
    return true;
  }

  /** Goes from the name of a field to its value. */
  pastName(): void {
    this.string();
    if (this.peek() === ':') this.at += 1;
  }
}

/** The line of a character, from 1. */
export const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length;

/** The line, from 1, on which the field or place of a path begins, or the nearest thing around it that there is. */
export function lineOf(text: string, path: readonly (string | number)[]): number {
  const cursor = new Cursor(text);
  cursor.peek();
  let last = cursor.at;
  for (const [i, key] of path.entries()) {
    if (i > 0 && typeof path[i - 1] === 'string') cursor.pastName();
    if (!cursor.enter(key)) break;
    last = cursor.at;
  }
  return lineAt(text, last);
}
