// The first part of the check of a rewritten module: both texts are equal, token by token, but for what the pass claims.
/** What the pass claims for one kernel. */
export interface Claim {
  readonly kernel: string;
  readonly pool: string;
  readonly poolBytes: number;
  readonly barriers: number;
  readonly moved: readonly { readonly name: string; readonly bytes: number; readonly alignment: number; readonly offset: number }[];
  /** Instructions, by number, from which on the old content of an array is said not to be needed. */
  readonly kills: readonly { readonly name: string; readonly at: number }[];
}

/** A statement of the original with its place among the new barriers. */
export interface Statement {
  readonly tokens: readonly string[];
  next: number[];
  readonly isNew: boolean;
}

/** What the check objects to. */
export class Objection extends Error {
  override readonly name = 'Objection';
}

/** Gives up. */
export function fail(what: string): never {
  throw new Objection(what);
}

const tokenPattern = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\]|\\.)*"|[%.A-Za-z_$][\w$.]*(?:::[\w$.]+)*|\d[\w.]*|[^\s]/g;
const tokensOf = (text: string): string[] => (text.match(tokenPattern) ?? []).filter((each) => !/^\/[/*]/.test(each));

/** The end of a declaration of one of some shared variables that begins at `at`; `at` if there is none. */
function declared(tokens: readonly string[], at: number, names: ReadonlySet<string>): number {
  let end = tokens[at] === '.extern' ? at + 1 : at;
  if (tokens[end] !== '.shared') return at;
  let found = false;
  for (; end < tokens.length && tokens[end] !== ';'; ++end) found ||= names.has(tokens[end] ?? '');
  return found ? end + 1 : at;
}

/** How many times `bar.sync 0;` stands here. */
function barriersAt(tokens: readonly string[], at: number): number {
  let count = 0;
  while (tokens.slice(at + 3 * count, at + 3 * count + 3).join(' ') === 'bar.sync 0 ;') ++count;
  return count;
}

/** Whether the token after `at` no longer belongs to a `.loc` directive. */
function endsLocation(tokens: readonly string[], at: number): boolean {
  const next = tokens[at + 1] ?? '';
  if (/^\d+$|^,$|^function_name$|^inlined_at$|^\+$/.test(next)) return false;
  return !(tokens[at] === 'function_name' || (tokens[at] === '+' && /^\w/.test(next)));
}

/** Walks through both texts. */
class Comparison {
  readonly bodies = new Map<string, Statement[]>();
  readonly #a: readonly string[];
  readonly #b: readonly string[];
  readonly #claims: ReadonlyMap<string, Claim>;
  readonly #moved: ReadonlySet<string>;
  readonly #pools: ReadonlySet<string>;
  #i = 0;
  #j = 0;
  /** Depth of braces in the body of a claimed kernel; 0 outside, where the texts need only be equal. */
  #depth = 0;
  #kernel = '';
  #open: string[] = [];

  constructor(before: string, after: string, claims: readonly Claim[]) {
    this.#a = tokensOf(before);
    this.#b = tokensOf(after);
    this.#claims = new Map(claims.map((claim) => [claim.kernel, claim]));
    this.#moved = new Set(claims.flatMap(({ moved }) => moved.map((each) => each.name)));
    this.#pools = new Set(claims.map((claim) => claim.pool));
  }

  run(): void {
    while (this.#i < this.#a.length || this.#j < this.#b.length) {
      if ((this.#depth === 0 || this.#open.length === 0) && this.#skip()) continue;
      if (this.#depth > 0 && this.#use()) continue;
      const token = this.#a[this.#i] ?? '';
      if (token !== this.#b[this.#j]) fail(`${token} became ${this.#b[this.#j] ?? 'nothing'}`);
      this.#take(token);
      ++this.#i;
      ++this.#j;
    }
  }

  /** Passes a declaration that only one of the texts has, or a new barrier. */
  #skip(): boolean {
    const pool = declared(this.#b, this.#j, this.#pools);
    if (pool > this.#j) {
      this.#j = pool;
      return true;
    }
    const gone = declared(this.#a, this.#i, this.#moved);
    if (gone > this.#i && this.#a.slice(this.#i, gone).join(' ') !== this.#b.slice(this.#j, this.#j + gone - this.#i).join(' ')) {
      this.#i = gone;
      return true;
    }
    // Of a run of barriers, the new ones come first.
    if (this.#depth === 0 || barriersAt(this.#b, this.#j) <= barriersAt(this.#a, this.#i)) return false;
    this.bodies.get(this.#kernel)?.push({ tokens: ['bar.sync', '0'], next: [], isNew: true });
    this.#j += 3;
    return true;
  }

  /** Passes a use of a moved array: `array`, `array + 4`, `array + -4` against `pool + offset`. */
  #use(): boolean {
    const [token = '', sign, shift, number] = this.#a.slice(this.#i, this.#i + 4);
    const claim = this.#claims.get(this.#kernel);
    const place = claim?.moved.find((each) => each.name === token);
    if (place === undefined) return false;
    const isSum = sign === '+' || sign === '-';
    const isNegative = isSum && shift === '-';
    const extra = !isSum ? 0 : Number(isNegative ? number : shift) * (sign === '-' ? -1 : 1) * (isNegative ? -1 : 1);
    const [pool, plus, first, second] = this.#b.slice(this.#j, this.#j + 4);
    const given = first === '-' ? -Number(second) : Number(first);
    if (pool !== claim?.pool || plus !== '+' || given !== place.offset + extra) fail(`a use of ${token}`);
    this.#open.push(token);
    this.#i += isSum ? (isNegative ? 4 : 3) : 1;
    this.#j += first === '-' ? 4 : 3;
    return true;
  }

  /** Takes a token that both texts have. */
  #take(token: string): void {
    if (this.#depth === 0) {
      if (token === '.entry') this.#kernel = this.#a[this.#i + 1] ?? '';
      if (token !== '{' || !this.#claims.has(this.#kernel)) return;
      this.bodies.set(this.#kernel, []);
      this.#depth = 1;
    } else if (token === '{' && this.#open.length === 0) {
      ++this.#depth;
    } else if (token === '}' && this.#open.length === 0) {
      if (--this.#depth === 0) this.#kernel = '';
    } else if (token === '.loc' && this.#open.length === 0) {
      // Line information ends without a semicolon: file, line, column, and possibly the place of a call.
      while (!endsLocation(this.#a, this.#i)) if (this.#a[++this.#i] !== this.#b[++this.#j]) fail('line information changed');
    } else if (token === ';') {
      this.#close();
    } else {
      this.#open.push(token);
      if (token === ':' && this.#open.length === 2 && this.#a[this.#i + 1] !== '.branchtargets') this.#close();
    }
  }

  #close(): void {
    if (this.#open.length > 0) this.bodies.get(this.#kernel)?.push({ tokens: this.#open, next: [], isNew: false });
    this.#open = [];
  }
}

/** The statements of every claimed kernel, with the new barriers in place. Fails if the texts differ in anything that is not claimed. */
export function compare(before: string, after: string, claims: readonly Claim[]): Map<string, Statement[]> {
  const comparison = new Comparison(before, after, claims);
  comparison.run();
  return comparison.bodies;
}

/** The statements of a kernel, without line information and hints, but with inner braces; and all else in the module. */
export function statementsOf(text: string, kernel: string): { statements: Statement[]; rest: string } {
  const tokens = tokensOf(text);
  const entry = tokens.findIndex((each, at) => each === '.entry' && tokens[at + 1] === kernel);
  const begin = entry < 0 ? -1 : tokens.indexOf('{', entry);
  if (begin < 0) fail('the kernel is not found');
  const statements: Statement[] = [];
  let open: string[] = [];
  const close = (): void => {
    if (open.length > 0 && open[0] !== '.pragma') statements.push({ tokens: open, next: [], isNew: false });
    open = [];
  };
  let at = begin + 1;
  for (let depth = 1; at < tokens.length && depth > 0; ++at) {
    const token = tokens[at] ?? '';
    if (token === '.loc' && open.length === 0) {
      while (!endsLocation(tokens, at)) ++at;
    } else if ((token === '{' || token === '}') && open.length === 0) {
      depth += token === '{' ? 1 : -1;
      if (depth > 0) statements.push({ tokens: [token], next: [], isNew: false });
    } else if (token === ';') close();
    else {
      open.push(token);
      if (token === ':' && open.length === 2 && tokens[at + 1] !== '.branchtargets') close();
    }
  }
  return { statements, rest: [...tokens.slice(0, begin), ...tokens.slice(at)].join(' ') };
}
