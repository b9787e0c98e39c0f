// Reads PTX: functions, labels, instructions, shared variables. Everything is an offset into the text, and a
// rewriting consists of edits of it, so what this reader does not know is kept byte for byte.
import { refusal } from '../../core/errors.ts';

/** A shared variable. */
export interface SharedVariable {
  readonly name: string;
  readonly bytes: number;
  readonly alignment: number;
  /** Element type (b8, f32, …) as PTX says: nvcc declares most arrays as bytes. */
  readonly type: string;
  /** The declaration, from its first directive to its semicolon. */
  readonly start: number;
  readonly end: number;
  /** Why it cannot move, if its declaration alone says so. */
  readonly fixed: 'dynamic' | 'linkage' | 'together' | undefined;
}

/** An instruction. */
export interface Instruction {
  readonly index: number;
  readonly start: number;
  /** Where its operands begin. */
  readonly operandsAt: number;
  readonly end: number;
  /** The guard's register: `@%p1`, `@!%p1`. */
  readonly guard: string | undefined;
  /** Whether the guard is `@!%p1`. */
  readonly isNegated: boolean;
  /** `ld.shared.f32`, split at the dots. */
  readonly opcode: readonly string[];
  readonly operands: readonly string[];
  /** File and line of the source from `.loc` (where it was inlined, if it was); 0 if unknown. */
  readonly line: number;
  /** The enclosing braces, innermost first: numbers of scopes. */
  readonly scopes: readonly number[];
}

/** A label, or a table of branch targets. */
interface Label {
  readonly name: string;
  readonly scope: number;
  readonly before: number;
  readonly targets: readonly string[] | undefined;
}

/** A function with a body. */
export interface PtxFunction {
  readonly name: string;
  readonly isEntry: boolean;
  /** From `.entry` or `.func` to the brace. */
  readonly header: string;
  readonly start: number;
  /** The body, with its braces. */
  readonly bodyStart: number;
  readonly end: number;
  readonly line: number;
  readonly instructions: readonly Instruction[];
  readonly labels: readonly Label[];
  readonly shared: readonly SharedVariable[];
  /** Names declared in the body, and how often: registers, parameters, variables. */
  readonly declared: ReadonlyMap<string, number>;
}

/** A PTX module. */
export interface PtxModule {
  readonly text: string;
  /** The text with comments and strings blanked, at the same offsets. */
  readonly masked: string;
  readonly functions: readonly PtxFunction[];
  /** Shared variables outside of functions. */
  readonly shared: readonly SharedVariable[];
  readonly files: ReadonlyMap<number, string>;
}

const sizes: Readonly<Record<string, number>> = { b8: 1, u8: 1, s8: 1, b16: 2, u16: 2, s16: 2, f16: 2, bf16: 2,
  b32: 4, u32: 4, s32: 4, f32: 4, f16x2: 4, b64: 8, u64: 8, s64: 8, f64: 8, b128: 16 };
const blanks = (text: string): string => text.replace(/[^\n]/g, ' ');

/** Blanks comments and strings. */
export function maskComments(text: string): string {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:[^"\\\n]|\\.)*"/g, blanks);
}

function malformed(text: string, at: number, what: string): never {
  const line = text.slice(0, at).split('\n').length;
  throw refusal('input', 'PTX', `text with ${what} at line ${line}`);
}

/** The variables of one `.shared` declaration. */
export function sharedVariables(text: string, start: number, end: number): SharedVariable[] {
  const found = /^([\s\S]*?)\.shared\b([\s\S]*?)\.([bsuf]\w*)\s+((?!\.)[\s\S]*);?$/.exec(text.slice(start, end).trimEnd());
  if (found === null) return [];
  const [, linkage = '', middle = '', type = '', names = ''] = found;
  const vector = Number(/\.v([248])\b/.exec(middle)?.[1] ?? 1);
  const size = (sizes[type] ?? 0) * vector;
  const alignment = Number(/\.align\s+(\d+)/.exec(middle)?.[1] ?? size);
  const isPlain = size > 0 && Number.isInteger(Math.log2(alignment));
  const list = names.replace(/;$/, '').split(',');
  return list.map((each) => {
    const [, name = '', extents = ''] = /^\s*([\w$%]+)\s*((?:\[[^\]]*\]\s*)*)$/.exec(each) ?? [];
    const bytes = [...extents.matchAll(/\[\s*(\w*)\s*\]/g)].reduce((sum, [, extent]) => sum * Number(extent), size);
    const isSized = isPlain && name !== '' && Number.isSafeInteger(bytes) && bytes > 0;
    const fixed = /\.extern\b/.test(linkage) || !isSized ? 'dynamic' as const
      : list.length > 1 ? 'together' as const
        : /\.(?:visible|weak|common)\b/.test(linkage) || /=|\.attribute/.test(names + middle) ? 'linkage' as const : undefined;
    return { name, bytes: isSized ? bytes : 0, alignment: isPlain ? alignment : 16, type, start, end, fixed };
  });
}

/** Splits operands at commas outside of brackets. */
function splitOperands(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; ++at) {
    const each = text[at];
    if (each === '(' || each === '[' || each === '{') ++depth;
    else if (each === ')' || each === ']' || each === '}') --depth;
    else if (each === ',' && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  const last = text.slice(from).trim();
  return last === '' ? parts : [...parts, last];
}

/** Reads one function's body. */
class BodyReader {
  readonly instructions: Instruction[] = [];
  readonly labels: Label[] = [];
  readonly shared: SharedVariable[] = [];
  readonly declared = new Map<string, number>();
  readonly #text: string;
  #at: number;
  #line = 0;
  #nextScope = 1;
  readonly #scopes: number[] = [];
  firstLine = 0;

  constructor(masked: string, at: number) {
    this.#text = masked;
    this.#at = at;
  }

  /** Reads up to the closing brace; returns the offset behind it. */
  read(): number {
    const token = /\s*(?:([{}])|\.(loc|file)\b([^\n]*)|([A-Za-z_$%][\w$]*)\s*:(?!:)|(;)|)/y;
    for (;;) {
      token.lastIndex = this.#at;
      const [whole = '', brace, line, rest = '', label, empty] = token.exec(this.#text) ?? [];
      this.#at += whole.length;
      if (this.#at >= this.#text.length) malformed(this.#text, this.#at - 1, 'a function that does not end');
      if (brace === '{') this.#scopes.unshift(this.#nextScope++);
      else if (brace === '}') {
        this.#scopes.shift();
        if (this.#scopes.length === 0) return this.#at;
      } else if (line !== undefined) this.#location(line, rest);
      else if (label !== undefined) this.#label(label);
      else if (empty === undefined) this.#statement();
    }
  }

  #location(directive: string, rest: string): void {
    if (directive !== 'loc') return;
    const inlined = /inlined_at\s+\d+\s+(\d+)/.exec(rest);
    const line = Number(inlined?.[1] ?? /^\s*\d+\s+(\d+)/.exec(rest)?.[1] ?? 0);
    if (line > 0) this.#line = line;
    if (this.firstLine === 0) this.firstLine = line;
  }

  #label(name: string): void {
    const table = /^\s*\.branchtargets\s+([^;]*);/.exec(this.#text.slice(this.#at, this.#at + 65_536));
    const targets = table?.[1]?.split(',').map((each) => each.trim());
    this.labels.push({ name, scope: this.#scopes[0] ?? 0, before: this.instructions.length, targets });
  }

  /** Anything that ends with a semicolon. */
  #statement(): void {
    const start = this.#at;
    const end = this.#text.indexOf(';', start) + 1;
    if (end === 0) malformed(this.#text, start, 'a statement without a semicolon');
    this.#at = end;
    const statement = this.#text.slice(start, end - 1);
    if (statement.startsWith('.')) {
      this.#declaration(statement, start, end);
      return;
    }
    const found = /^(?:@\s*(!?)\s*([\w$%]+)\s+)?([\w.:]+)\s*/.exec(statement);
    if (found === null) malformed(this.#text, start, `a statement that cannot be read (${statement.slice(0, 40).trim()})`);
    const [head, negation, guard, opcode = ''] = found;
    this.instructions.push({
      index: this.instructions.length, start, operandsAt: start + head.length, end, guard, isNegated: negation === '!',
      opcode: opcode.split('.'), operands: splitOperands(statement.slice(head.length)), line: this.#line,
      scopes: [...this.#scopes],
    });
  }

  #declaration(statement: string, start: number, end: number): void {
    if (/\.shared\b/.test(statement)) this.shared.push(...sharedVariables(this.#text, start, end));
    if (!/^\.(?:reg|shared|local|param|const|global|visible|extern)\b/.test(statement)) return;
    for (const [, name = ''] of statement.replace(/=.*/s, '').matchAll(/(?:^|[\s,])([A-Za-z_$%][\w$]*)/g)) {
      this.declared.set(name, (this.declared.get(name) ?? 0) + 1);
    }
  }
}

/** The offset behind the brace that closes the one at `at`. */
function closing(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; ++i) {
    if (text[i] === '{') ++depth;
    else if (text[i] === '}' && --depth === 0) return i + 1;
  }
  return malformed(text, at, 'a brace that does not close');
}

/**
 * Reads a module.
 * @throws ArgumentError if the text is not PTX
 */
export function readModule(text: string): PtxModule {
  const masked = maskComments(text);
  if (!/^\s*\.version\s+\d/m.test(masked) || !/\.target\s+\w/.test(masked)) {
    throw refusal('input', 'PTX, with .version and .target', `a text of ${text.length} characters without them`);
  }
  const functions: PtxFunction[] = [];
  const shared: SharedVariable[] = [];
  const token = /\s*(?:\.(?:version|target|address_size|file|loc)\b[^\n;]*;?|(\.section\b[^\n{]*)|([^;{=]*))/y;
  for (let at = 0; at < masked.length;) {
    token.lastIndex = at;
    const [whole = '', section, directive] = token.exec(masked) ?? [];
    const start = at + (/^\s*/.exec(whole)?.[0].length ?? 0);
    at += whole.length;
    if (section !== undefined) {
      const open = /^\s*\{/.exec(masked.slice(at, at + 200))?.[0].length;
      if (open !== undefined) at = closing(masked, at + open - 1);
    } else if (directive !== undefined && at < masked.length) {
      const isFunction = /\.(?:entry|func)\b/.test(directive);
      if (masked[at] === '{' && isFunction) {
        const fn = readFunction(masked, directive, start, at);
        functions.push(fn);
        at = fn.end;
      } else {
        const end = masked.indexOf(';', at);
        at = end < 0 ? masked.length : end + 1;
        if (!isFunction && /\.shared\b/.test(directive)) shared.push(...sharedVariables(masked, start, at));
      }
    }
  }
  const files = new Map([...text.matchAll(/^\s*\.file\s+(\d+)\s+"([^"\n]*)"/gm)].map(([, id, name = '']) => [Number(id), name]));
  return { text, masked, functions, shared, files };
}

function readFunction(masked: string, header: string, start: number, at: number): PtxFunction {
  const body = new BodyReader(masked, at);
  const end = body.read();
  const isEntry = /\.entry\b/.test(header);
  const name = isEntry ? /\.entry\s+([\w$%]+)/.exec(header)?.[1]
    : /\.func\s*(?:\([^)]*\)\s*)?(?:\.\w+\s+)*([\w$%]+)/.exec(header)?.[1];
  if (name === undefined) malformed(masked, start, 'a function without a name');
  const { instructions, labels, shared, declared, firstLine: line } = body;
  return { name, isEntry, header, start, bodyStart: at, end, line, instructions, labels, shared, declared };
}

/** The instructions that a label of a function may mean, as seen from an instruction. */
export function targetsOf(fn: PtxFunction, name: string, from: Instruction): number[] {
  const known = fn.labels.filter((label) => label.name === name);
  for (const scope of from.scopes) {
    const label = known.find((each) => each.scope === scope);
    if (label === undefined) continue;
    return label.targets === undefined ? [label.before] : label.targets.flatMap((each) => targetsOf(fn, each, from));
  }
  return known.flatMap((label) => label.targets === undefined ? [label.before] : []);
}

/** Names of registers, variables and functions in an operand. */
export function namesIn(operand: string): string[] {
  return operand.match(/%[\w$]+(?:\.\w+)?|(?<![\w$.])[A-Za-z_$][\w$]*/g) ?? [];
}
