// Names of a sweep's items, which are also names of folders: short, readable, and never the same for two items.
import { createHash } from 'node:crypto';
import { refusal } from '../core/errors.ts';
import { elementAt, required } from '../core/known.ts';
import { canonical } from './canonical.ts';

/** Values of a sweep by field. */
export type Sweep = Readonly<Record<string, readonly unknown[]>>;

const longestValue = 40;
const longestName = 120;

/** Keeps characters that every file system accepts; everything in between becomes a single hyphen. */
const plain = (text: string): string => text.replace(/[^A-Za-z0-9_.+-]+/g, '-').replace(/^-(?!\d)|-$/g, '');

/** A short form of a value: the last part of a path, the values of an object. Different values may have the same short form. */
function slug(value: unknown): string {
  if (typeof value === 'string') return plain(value.split(/[/\\]/).findLast((part) => part !== '') ?? '');
  if (Array.isArray(value)) return value.map(slug).join('-');
  if (typeof value === 'object' && value !== null) return Object.values(value).map(slug).join('-');
  return plain(String(value));
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** Some file systems ignore case. */
const folded = (name: string): string => name.toLowerCase();

/** The name of each value of a field; a hash distinguishes values with the same short form. */
function wordsOf(field: string, values: readonly unknown[]): Map<unknown, string> {
  const texts = values.map(canonical);
  const known = new Set<string>();
  for (const text of texts) {
    if (known.has(text)) throw refusal(`sweep.${field}`, 'values that differ', `${text} twice`);
    known.add(text);
  }
  const slugs = values.map(slug);
  const uses = new Map<string, number>();
  for (const word of slugs) uses.set(folded(word), (uses.get(folded(word)) ?? 0) + 1);
  return new Map(values.map((value, i) => {
    const word = elementAt(slugs, i);
    const clear = word !== '' && word.length <= longestValue && uses.get(folded(word)) === 1;
    return [value, clear ? word : `${word.slice(0, longestValue)}~${shortHash(elementAt(texts, i))}`];
  }));
}

/**
 * Names the combinations of a sweep: 'all' without one, otherwise 'field=value,…'.
 * @throws ArgumentError for a field with equal values
 */
export function itemNamer(sweep: Sweep): (combination: Readonly<Record<string, unknown>>) => string {
  const words = new Map(Object.entries(sweep).map(([field, values]) => [field, wordsOf(field, values)]));
  return (combination) => {
    const parts = Object.entries(combination).map(([field, value]) => `${plain(field)}=${required(words.get(field)?.get(value))}`);
    const name = parts.join(',');
    if (name === '') return 'all';
    return name.length <= longestName ? name : `${name.slice(0, longestName - 20)}~${shortHash(canonical(combination))}`;
  };
}

/**
 * Makes sure that every item has its own folder, even on file systems that ignore case.
 * @throws ArgumentError naming two items that would share a folder
 */
export function requireOwnFolders(names: readonly string[]): void {
  const known = new Set<string>();
  for (const name of names) {
    if (known.has(folded(name))) throw refusal('sweep', 'items whose folders differ', `'${name}' twice`);
    known.add(folded(name));
  }
}
