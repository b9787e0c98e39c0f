// Functions of one shape written once: nodes with the same code differ by their arrays, the places of their ends, sites and constants,
// which become parameters. What a compiler takes then grows with the kinds of nodes, not with their number.
import { cppType } from './dialect-cpp.ts';
import type { Kind } from '../plan/layout.ts';
import type { FunctionText } from './program-writer.ts';

/** Something in a function that others of its shape may have otherwise. */
interface Slot {
  /** What it is as a parameter; undefined for a name of the function's own. */
  readonly type: string | undefined;
  readonly text: string;
}

/** A function taken apart: what stands between the slots, and the slots. */
interface Shape {
  readonly between: readonly string[];
  readonly slots: readonly Slot[];
}

const literal = String.raw`(?:\d+\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+)f?(?![\w.])`;
const slotPattern = new RegExp([
  String.raw`(?<array>\b(?:c\d+|s\d+_\d+|k\d+)[ifd]\b)`, String.raw`(?<=\bwl_(?:ix|it|rs)\[)(?<place>\d+)(?=\])`,
  String.raw`(?<=\bwl_room\()(?<channel>\d+)`, String.raw`(?<=\bwl_room\(\d+, n \* \d+, )(?<capacity>\d+)`,
  String.raw`\bwl_site_(?<site>\d+)\b`,
  String.raw`(?<name>\b(?:[rw]\d+|it\d+|rs\d+|f\d+_\d+_\d+)\b)`, String.raw`(?<number>\(-${literal}\)|(?<![\w.])${literal})`,
  String.raw`(?<integer>\(-\d+\)|(?<![\w.])\d+(?![\w.]))`,
].join('|'), 'g');

function slotOf(groups: Record<string, string | undefined>): Slot {
  const { array, place, channel, capacity, site, name, number, integer } = groups;
  if (array !== undefined) {
    return { type: `${array.startsWith('k') ? 'const ' : ''}${cppType[array.at(-1) as Kind]}* __restrict`, text: array };
  }
  if (name !== undefined) return { type: undefined, text: name };
  if (number !== undefined) return { type: /f\)?$/.test(number) ? 'float' : 'double', text: number };
  return { type: 'int', text: place ?? channel ?? capacity ?? site ?? integer! };
}

function shapeOf({ lines }: FunctionText): Shape {
  const text = lines.join('\n');
  const between: string[] = [];
  const slots: Slot[] = [];
  let from = 0;
  for (const found of text.matchAll(slotPattern)) {
    between.push(text.slice(from, found.index));
    slots.push(slotOf(found.groups!));
    from = found.index + found[0].length;
  }
  between.push(text.slice(from));
  return { between, slots };
}

/** Names of the function's own, by their order of appearance. */
function ownNames(slots: readonly Slot[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { type, text } of slots) if (type === undefined && !names.has(text)) names.set(text, `u${names.size + 1}`);
  return names;
}

function keyOf({ locals }: FunctionText, { between, slots }: Shape): string {
  const names = ownNames(slots);
  const types = slots.map(({ type, text }) => type ?? names.get(text)!);
  return JSON.stringify([between, types, locals.map(({ name, kind, length }) => [name, kind, length])]);
}

/** A function as it is called, and what stands for it in the program. */
export interface Written {
  readonly function: FunctionText;
  /** More parameters, behind the usual ones. */
  readonly parameters: readonly string[];
  readonly isShared: boolean;
}

export interface SharedFunctions {
  readonly written: readonly Written[];
  /** By name of a function that was given: the name of the one to call, and more arguments. */
  readonly calls: ReadonlyMap<string, { readonly name: string; readonly args: readonly string[] }>;
}

/** Text that calls a function of the program, by its name, for `n` firings or iterations. */
export type Call = (name: string, n: string) => string;

/** More parameters than that cost more than they save. */
const mostParameters = 48;

function joined(name: string, { between }: Shape, texts: readonly string[], { locals }: FunctionText): FunctionText {
  return { name, locals, lines: between.flatMap((part, i) => [part, texts[i] ?? '']).join('').split('\n') };
}

/** Writes functions of one shape once where there are at least `least` of them; 0: never. */
export function shareFunctions(functions: readonly FunctionText[], least: number, prefix: string): SharedFunctions {
  const calls = new Map(functions.map(({ name }) => [name, { name, args: [] as string[] }]));
  const classes = new Map<string, { function: FunctionText; shape: Shape }[]>();
  for (const each of least === 0 ? [] : functions) {
    const shape = shapeOf(each);
    const key = keyOf(each, shape);
    const known = classes.get(key);
    if (known === undefined) classes.set(key, [{ function: each, shape }]);
    else known.push({ function: each, shape });
  }
  const written: Written[] = least === 0 ? functions.map((each) => ({ function: each, parameters: [], isShared: false })) : [];
  for (const members of classes.values()) {
    const parameters = new Map<string, { readonly declared: string; readonly name: string; readonly slot: number }>();
    const [first] = members as [typeof members[0]];
    const names = ownNames(first.shape.slots);
    const texts = first.shape.slots.map(({ type, text }, at) => {
      if (type === undefined) return names.get(text)!;
      if (members.every(({ shape }) => shape.slots[at]!.text === text)) return text;
      const key = JSON.stringify([type, members.map(({ shape }) => shape.slots[at]!.text)]);
      let parameter = parameters.get(key);
      if (parameter === undefined) {
        const name = `y${parameters.size + 1}`;
        parameters.set(key, parameter = { declared: `${type} ${name}`, name, slot: at });
      }
      return parameter.name;
    });
    if (members.length < least || parameters.size > mostParameters) {
      for (const each of members) written.push({ function: each.function, parameters: [], isShared: false });
      continue;
    }
    const name = `${prefix}_${written.length}`;
    const list = [...parameters.values()];
    const made = joined(name, first.shape, texts, first.function);
    written.push({ function: made, parameters: list.map(({ declared }) => declared), isShared: true });
    for (const { function: each, shape } of members) {
      calls.set(each.name, { name, args: list.map(({ slot }) => shape.slots[slot]!.text) });
    }
  }
  return { written, calls };
}
