// One kernel as the checker sees it: statements and the ways between them. It knows nothing of the pass.
import { fail, type Claim, type Statement } from './checker-text.ts';

/** Registers and variables that a statement reads and writes. */
interface Names {
  readonly used: readonly string[];
  readonly defined: readonly string[];
}

/** A kernel of the original module with the new barriers. */
export class Kernel {
  readonly statements: readonly Statement[];
  readonly claim: Claim;
  /** Arrays that a statement reads and writes, as bit sets over the moved arrays. */
  readonly reads: bigint[] = [];
  readonly writes: bigint[] = [];
  readonly #defs = new Map<string, number[]>();
  readonly header: string;
  readonly #opcodes: readonly string[];
  readonly #guards: readonly (string | undefined)[];
  readonly #barriers: readonly boolean[];
  /** Statements after which a thread may be at its end. */
  readonly #ends: readonly number[];

  constructor(claim: Claim, statements: Statement[], header: string) {
    this.claim = claim;
    this.statements = statements;
    this.header = header;
    this.#opcodes = statements.map(({ tokens }) => (tokens[0] === '@' ? tokens[tokens[1] === '!' ? 3 : 2] : tokens[0]) ?? '');
    this.#guards = statements.map(({ tokens }) => tokens[0] === '@' ? tokens[tokens[1] === '!' ? 2 : 1] : undefined);
    this.#link();
    this.#trace();
    this.#barriers = statements.map((_, at) => this.#isBarrier(at));
    this.#ends = statements.flatMap((statement, at) => statement.next.length === 0 || at === statements.length - 1
      || /^(?:ret|exit|trap)\b/.test(this.opcode(at)) ? [at] : []);
  }

  opcode(at: number): string {
    return this.#opcodes[at] ?? '';
  }

  #at(at: number): Statement {
    const statement = this.statements[at];
    if (statement === undefined) throw new RangeError(`no statement ${at}`);
    return statement;
  }

  guard(at: number): string | undefined {
    return this.#guards[at];
  }

  #operands(at: number): string[][] {
    const { tokens } = this.#at(at);
    const parts: string[][] = [[]];
    let depth = 0;
    const from = tokens[0] === '@' ? (tokens[1] === '!' ? 4 : 3) : 1;
    for (const token of tokens.slice(from)) {
      if (/[[({]/.test(token)) ++depth;
      if (/[\])}]/.test(token)) --depth;
      if (token === ',' && depth === 0) parts.push([]);
      else parts.at(-1)?.push(token);
    }
    return parts;
  }

  /** The registers and variables that a statement reads and writes. */
  names(at: number): Names {
    return this.#names[at] ??= this.#findNames(at);
  }

  readonly #names: Names[] = [];
  #findNames(at: number): Names {
    const { tokens } = this.#at(at);
    if (tokens[1] === ':' || tokens[0]?.startsWith('.') === true) return { used: [], defined: [] };
    const named = (list: readonly string[]): string[] =>
      list.filter((each) => /^[%A-Za-z_$]/.test(each)).map((each) => each.replace(/\.[xyzw]$/, ''));
    const [first = [], ...others] = this.#operands(at);
    const isSource = first[0] === '[' || /^(?:bra|brx|st|red|bar|barrier)\b/.test(this.opcode(at));
    const guard = this.guard(at);
    return {
      used: named([...(isSource ? first : []), ...others.flat(), ...(guard === undefined ? [] : [guard])]),
      defined: isSource ? [] : named(first),
    };
  }

  #link(): void {
    const places = new Map<string, number[]>();
    const everywhere: number[] = [];
    this.statements.forEach(({ tokens }, at) => {
      if (tokens[1] !== ':') return;
      everywhere.push(at);
      places.set(tokens[0] ?? '', [...places.get(tokens[0] ?? '') ?? [], at]);
    });
    this.statements.forEach((statement, at) => {
      const opcode = this.opcode(at);
      const through = this.guard(at) === undefined ? [] : [at + 1];
      if (/^bra\b/.test(opcode)) statement.next = [...through, ...places.get(statement.tokens.at(-1) ?? '') ?? []];
      else if (/^brx/.test(opcode)) statement.next = [...through, ...everywhere];
      else if (/^(?:ret|exit|trap)\b/.test(opcode)) statement.next = through;
      else statement.next = [at + 1];
      statement.next = statement.next.filter((each) => each < this.statements.length);
    });
  }

  /** Which arrays' addresses each name may hold: anything computed from an address is one. */
  #trace(): void {
    const holds = new Map<string, bigint>(this.claim.moved.map(({ name }, at) => [name, 1n << BigInt(at)]));
    const of = (tokens: readonly string[]): bigint =>
      tokens.reduce((sum, token) => sum | (holds.get(token.replace(/\.[xyzw]$/, '')) ?? 0n), 0n);
    const shape = this.statements.map((_, at) => ({ head: this.opcode(at).split('.')[0] ?? '', operands: this.#operands(at) }));
    const isMemory = (tokens: readonly string[]): boolean => tokens[0] === '[';
    shape.forEach(({ head, operands }, at) => {
      if (this.#at(at).tokens[0]?.startsWith('.') === true || this.#at(at).tokens[1] === ':') return;
      const first = operands[0] ?? [];
      if (!isMemory(first) && !/^(?:bra|st|red)$/.test(head)) {
        for (const name of first.filter((each) => each.startsWith('%') || /^[A-Za-z_]/.test(each))) {
          const key = name.replace(/\.[xyzw]$/, '');
          this.#defs.set(key, [...this.#defs.get(key) ?? [], at]);
        }
      }
    });
    for (let changed = true; changed;) {
      changed = false;
      for (const { head, operands } of shape) {
        const [first = []] = operands;
        if (/^(?:ld|ldu|setp|st|red|atom|bra|ldmatrix|call|isspacep)$/.test(head) || isMemory(first)) continue;
        const value = operands.slice(1).filter((each) => !isMemory(each)).reduce((sum, each) => sum | of(each), 0n);
        if (value === 0n) continue;
        for (const name of first) {
          const key = name.replace(/\.[xyzw]$/, '');
          const known = holds.get(key) ?? 0n;
          if ((known | value) !== known && /^[%A-Za-z_$]/.test(key)) {
            holds.set(key, known | value);
            changed = true;
          }
        }
      }
    }
    shape.forEach(({ head, operands }, at) => {
      const address = operands.filter(isMemory).reduce((sum, each) => sum | of(each), 0n);
      const values = operands.filter((each) => !isMemory(each)).reduce((sum, each) => sum | of(each), 0n);
      if (values !== 0n && escaping.test(head)) fail('an address escapes');
      if (values !== 0n) requireWhole(this.opcode(at), operands, operands.map((each) => isMemory(each) ? 0n : of(each)));
      if (operands.filter(isMemory).some((each) => each.filter((token) => of([token]) !== 0n).length > 1)) fail('an access to two arrays');
      const isLoad = /^(?:ld|ldu|ldmatrix)$/.test(head) || this.opcode(at).startsWith('wmma.load');
      const isStore = /^(?:st|stmatrix|cp)$/.test(head) || this.opcode(at).startsWith('wmma.store');
      this.reads[at] = isStore ? 0n : address;
      this.writes[at] = isLoad ? 0n : address;
    });
  }

  touches(at: number): bigint {
    return (this.reads[at] ?? 0n) | (this.writes[at] ?? 0n);
  }

  isBarrier(at: number): boolean {
    return this.#barriers[at] === true;
  }

  #isBarrier(at: number): boolean {
    if (this.guard(at) !== undefined) return false;
    const opcode = this.opcode(at).replace(/\.aligned|\.cta/g, '');
    const operands = this.#operands(at).map((each) => each.join(''));
    if (/^bar(?:rier)?\.sync$/.test(opcode)) return operands.length === 1 && operands[0] === '0';
    return /^bar(?:rier)?\.red\./.test(opcode) && operands.length === 3 && operands[1] === '0';
  }

  /** Whether a thread waits for all its asynchronous copies. */
  landsAll(at: number): boolean {
    if (this.guard(at) !== undefined) return false;
    const opcode = this.opcode(at);
    return opcode === 'cp.async.wait_all' || (opcode === 'cp.async.wait_group' && this.#operands(at).flat().join('') === '0');
  }

  /** All statements that follow some, until (and with) those at which `stops` is true. */
  forward(from: Iterable<number>, stops: (at: number) => boolean): Set<number> {
    const found = new Set<number>();
    const stack = [...from];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      for (const next of this.#at(at).next) {
        if (found.has(next)) continue;
        found.add(next);
        if (!stops(next)) stack.push(next);
      }
    }
    return found;
  }

  /** All statements from which some can be reached, and these, without passing others. */
  backward(from: Iterable<number>, without?: ReadonlySet<number>): Set<number> {
    const found = new Set(from);
    const before = this.#before ??= this.#reversed();
    const stack = [...found];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      for (const each of before[at] ?? []) {
        if (found.has(each) || without?.has(each) === true) continue;
        found.add(each);
        stack.push(each);
      }
    }
    return found;
  }

  #before: number[][] | undefined;
  #reversed(): number[][] {
    const before: number[][] = this.statements.map(() => []);
    this.statements.forEach(({ next }, at) => { for (const each of next) before[each]?.push(at); });
    return before;
  }

  /** For every statement, the union of what is met from it on until a barrier: `own` of that barrier or of the statements before it. */
  met(own: (at: number) => bigint): bigint[] {
    const set = this.statements.map((_, at) => own(at));
    const before = this.#before ??= this.#reversed();
    const queue = set.map((_, at) => at);
    for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
      for (const each of before[at] ?? []) {
        if (this.isBarrier(each)) continue;
        const merged = (set[each] ?? 0n) | (set[at] ?? 0n);
        if (merged === set[each]) continue;
        set[each] = merged;
        queue.push(each);
      }
    }
    return set;
  }

  get #branches(): number[] {
    return this.#branchList ??= this.statements.flatMap(({ next }, at) =>
      next.length + Number(/^(?:ret|exit)/.test(this.opcode(at))) > 1 ? [at] : []);
  }

  #branchList: number[] | undefined;
  readonly #direct = new Map<number, readonly number[]>();
  /** Branches on which a statement depends directly: one way leads to it for certain, another one may pass it by. */
  #deciding(at: number): readonly number[] {
    let found = this.#direct.get(at);
    if (found === undefined) {
      const avoiding = this.backward(this.#ends.filter((each) => each !== at), new Set([at]));
      found = this.#branches.filter((each) => each !== at && avoiding.has(each) && this.#at(each).next.some((next) => !avoiding.has(next)));
      this.#direct.set(at, found);
    }
    return found;
  }

  /** Branches that decide whether a statement is executed, directly or through other branches. */
  controls(at: number): Set<number> {
    const found = new Set<number>();
    const open = [at];
    for (let each = open.pop(); each !== undefined; each = open.pop()) {
      for (const branch of this.#deciding(each)) {
        if (found.has(branch)) continue;
        found.add(branch);
        open.push(branch);
      }
    }
    return found;
  }

  readonly #quiet = new Map<number, boolean>();
  /** Whether nothing that matters is reached from a statement on. */
  #isQuiet(at: number): boolean {
    let known = this.#quiet.get(at);
    if (known === undefined) {
      known = ![at, ...this.forward([at], () => false)].some((each) => this.isBarrier(each) || this.touches(each) !== 0n);
      this.#quiet.set(at, known);
    }
    return known;
  }

  readonly #same = new Map<string, boolean>();
  /** Whether all threads take a branch together. `trusting`: memory at the same address holds the same for all. */
  isUniform(branch: number, trusting: boolean): boolean {
    const names = this.#decides(branch);
    this.#solve(names, trusting);
    return names.every((name) => this.#same.get(`${name} ${trusting}`) === true);
  }

  /** Registers that decide where a branch goes. */
  #decides(branch: number): string[] {
    const guard = this.guard(branch);
    const index = this.opcode(branch).startsWith('brx') ? this.#operands(branch)[0] ?? [] : [];
    return [...(guard === undefined ? [] : [guard]), ...index];
  }

  /** Decides for some names, and all that they depend on, whether they are the same for all threads. */
  #solve(names: readonly string[], trusting: boolean): void {
    const users = new Map<string, string[]>();
    const different: string[] = [];
    const open = [...names];
    const found = new Set<string>();
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (found.has(name) || this.#same.has(`${name} ${trusting}`)) continue;
      found.add(name);
      const { isSame, needs } = this.#origin(name, trusting);
      if (!isSame) different.push(name);
      for (const need of needs) {
        if (this.#same.get(`${need} ${trusting}`) === false) different.push(name);
        users.set(need, [...users.get(need) ?? [], name]);
        open.push(need);
      }
    }
    const marked = new Set<string>();
    for (let name = different.pop(); name !== undefined; name = different.pop()) {
      if (marked.has(name)) continue;
      marked.add(name);
      different.push(...users.get(name) ?? []);
    }
    for (const name of found) this.#same.set(`${name} ${trusting}`, !marked.has(name));
  }

  /** Whether a name can be the same for all threads, and which others must be. */
  #origin(name: string, trusting: boolean): { isSame: boolean; needs: string[] } {
    if (!name.startsWith('%')) return { isSame: true, needs: [] };
    const base = name.replace(/\.[xyzw]$/, '');
    const defs = this.#defs.get(base);
    if (defs === undefined) return { isSame: sameForAll.test(base), needs: [] };
    const needs: string[] = [];
    for (const at of defs) {
      if (!this.#givesSame(at, trusting)) return { isSame: false, needs: [] };
      const operands = this.#operands(at).flatMap((each, place) => place > 0 || each[0] === '[' ? each : []);
      needs.push(...[...operands, this.guard(at) ?? ''].filter((each) => each.startsWith('%')));
      for (const branch of this.controls(at)) {
        const loud = this.#at(branch).next.filter((each) => !this.#isQuiet(each));
        if (loud.length > 1) needs.push(...this.#decides(branch));
      }
    }
    return { isSame: true, needs };
  }

  #givesSame(at: number, trusting: boolean): boolean {
    const opcode = this.opcode(at);
    if (/^ldu?\b/.test(opcode)) {
      const isFixed = /^ld\.(?:param|const)\b|\.nc\b|^ldu/.test(opcode);
      if (!isFixed && !(trusting && !/volatile|relaxed|acquire|mmio/.test(opcode))) return false;
      const names = this.#operands(at).flat().filter((each) => /^[A-Za-z_$]/.test(each));
      return !/^ld\.param/.test(opcode) || names.some((each) => this.header.includes(each));
    }
    return /^bar/.test(opcode) ? this.isBarrier(at) : !differing.test(opcode);
  }
}

/** What may be done with an address, and in which operands: what gives another address, or does not depend on where its array lies. */
const placesOf: Readonly<Record<string, readonly number[]>> = {
  mov: [1], cvta: [1], cvt: [1], add: [1, 2], sub: [1], mad: [3], selp: [1, 2], shfl: [1], min: [1, 2], max: [1, 2], setp: [1, 2],
  set: [1, 2], isspacep: [1],
};

/** Fails if an instruction uses an address otherwise than as a whole. `holds`: what each operand may hold. */
function requireWhole(opcode: string, operands: readonly (readonly string[])[], holds: readonly bigint[]): void {
  const [head = ''] = opcode.split('.');
  const used = holds.flatMap((set, at) => at > 0 && set !== 0n ? [at] : []);
  if (used.length === 0) return;
  if (used.some((at) => placesOf[head]?.includes(at) !== true)) fail('the bits of an address are used');
  const isPart = /\.[busf](?:8|16|128)\b|\.f\d/.test(opcode) || operands.some(([token]) => token === '{');
  if (isPart) fail('a part of an address is used');
  if (/^(?:setp|set|min|max)$/.test(head)) {
    const [a = 0n, b = 0n] = [holds[1], holds[2]];
    if (a !== b || (a & (a - 1n)) !== 0n) fail('an address is compared with something else');
  } else if (head === 'selp' ? used.length < 2 : used.length > 1) fail('an address is computed from two, or selected with a number');
}

const escaping = /^(?:st|red|atom|call|stmatrix|mbarrier|mapa|cp|wgmma)$/;
const sameForAll = /^%(?:ctaid|ntid|nctaid|gridid|clusterid|nclusterid|cluster_nctaid|dynamic_smem_size|total_smem_size)$/;
const differing = new RegExp('^(?:atom|shfl|vote|match|activemask|elect|redux|mbarrier|call|tex|tld4|suld|mma|wmma|wgmma|ldmatrix'
  + '|clusterlaunch|mapa|getctarank|movmatrix|tcgen05|cp|setmaxnreg|griddepcontrol|istypep|txq|suq|alloca|stacksave)');
