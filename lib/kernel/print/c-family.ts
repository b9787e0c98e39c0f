// What C++ and CUDA C++ have in common: expressions, statements, functions. A CFamily describes the differences of each.
import { fileURLToPath } from 'node:url';
import { readBytesSync } from '../../core/files.ts';
import {
  isVector, lanesOf, valueOf, type BinaryOp, type Body, type Buffer, type Expression, type ExpressionOf, type KernelFunction,
  type Label, type Local, type ScalarType, type Statement, type StatementOf, type Type, type UnaryOp,
} from '../ir.ts';
import { singleText } from '../text.ts';
import { assignedIn, bodiesOf, expressionsOf, localsSetBy, readsOf, walkExpression } from '../visit.ts';
import { required } from '../../core/known.ts';
import type { Uses } from './c-uses.ts';

/** The differences between the languages of the family. */
export interface CFamily {
  /** How a trap ends a run: by a call that does not return, or by returning false up to the caller. */
  readonly traps: 'call' | 'result';
  /** Specifiers before the name of a function. */
  readonly qualifiers: string;
  /** The same for one function. */
  qualifiersOf?(f: KernelFunction): string;
  /** Buffers that functions take as pointers; the others are declared with the program. */
  isParameter(buffer: Buffer): boolean;
  /** The keyword for pointers that never overlap, or nothing. */
  readonly restrict: string;
  /** Specifiers before the declaration of a buffer of the program or of a function. */
  storage(buffer: Buffer): string;
  ownStorage(buffer: Buffer): string;
  /** Whether to keep the compiler from running several iterations of this loop at once. */
  isSerial?(s: StatementOf<'for'>): boolean;
  /** Additional specifiers of a function. */
  attributes?(f: KernelFunction): string;
  /** How functions are named. Default: {@link cName}. */
  functionName?(name: string): string;
  /** The text before the program already declares its imports. */
  readonly knowsImports?: boolean;
  /** Prints part of a program: see {@link CUnit}. Default: all. */
  readonly unit?: CUnit;
  /** Specifiers before the declaration of a buffer defined in another unit. */
  readonly outer?: string;
}

/** One of several texts that make up a program and are compiled separately. */
export interface CUnit {
  /** The functions in it. */
  readonly functions: ReadonlySet<KernelFunction>;
  /** It defines the program's buffers, and declares the functions of the other units. */
  readonly isFirst: boolean;
}

let header: string | undefined;

/** The header that printed programs include: see arithmetic.h. */
export function arithmeticHeader(): string {
  return header ??= readBytesSync(fileURLToPath(new URL('./arithmetic.h', import.meta.url))).toString('utf8');
}

export const cTypes: Readonly<Record<Type, string>> = {
  i32: 'int', f32: 'float', f64: 'double', bool: 'bool', i32x4: 'wl_i32x4', f32x4: 'wl_f32x4', f64x2: 'wl_f64x2',
};

const reserved: ReadonlySet<string> = new Set(`
  alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const constexpr const_cast
  continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern false float
  for friend goto if inline int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
  public register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this
  thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq abs acos
  acosh fma fmaf asin asinh atan atan2 atanh cbrt ceil cos cosh exp expm1 fabs floor fmod hypot log log10 log1p log2 pow rint sin
  sinh sqrt tan tanh made lane`.trim().split(/\s+/));

/** A valid identifier for a name of the representation; different names stay different. */
export function cName(name: string): string {
  return reserved.has(name) || /^(?:wl_|WL_|q0|_)|__/.test(name) ? `q0${name.replaceAll('_', '_0')}` : name;
}

export function cLiteral(type: ScalarType | 'bool', x: number): string {
  if (type === 'bool') return x === 0 ? 'false' : 'true';
  if (type === 'i32') return x === -2147483648 ? '(-2147483647 - 1)' : x < 0 ? `(${x})` : String(x);
  if (Number.isNaN(x)) return `wl_nan_${type}()`;
  if (!Number.isFinite(x)) return x < 0 ? `(-wl_inf_${type}())` : `wl_inf_${type}()`;
  const digits = type === 'f32' ? singleText(x) : Object.is(x, -0) ? '-0' : String(x);
  const text = `${/[.e]/.test(digits) ? digits : `${digits}.0`}${type === 'f32' ? 'f' : ''}`;
  return digits.startsWith('-') ? `(${text})` : text;
}

const infix: Readonly<Partial<Record<BinaryOp, string>>> = { add: '+', sub: '-', mul: '*', div: '/', band: '&', bor: '|', xor: '^' };
const laneNames: Readonly<Partial<Record<BinaryOp, string>>> = { band: 'and', bor: 'or' };
/** Nodes of an operand that takes no longer than a branch. */
const mostCheap = 12;
const relations = { eq: '==', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=' } as const;

function elementText(buffer: Buffer, index: Expression, offset: number): string {
  const name = cName(buffer.name);
  const known = valueOf(index);
  return known === undefined ? `${name}[${cExpression(index)}${offset === 0 ? '' : ` + ${offset}`}]` : `${name}[${known + offset}]`;
}

function binaryText({ op, type, left, right, isExact }: ExpressionOf<'binary'>): string {
  const [a, b] = [cExpression(left), cExpression(right)];
  const bits = valueOf(right);
  if (op === 'shr' && type === 'i32' && bits !== undefined) return `(${a} >> ${bits & 31})`;
  const isWrapping = type === 'i32' && isExact !== true && (op === 'add' || op === 'sub' || op === 'mul' || op === 'div');
  const symbol = isVector(type) || isWrapping ? undefined : infix[op];
  return symbol === undefined ? `wl_${isVector(type) ? laneNames[op] ?? op : op}(${a}, ${b})` : `(${a} ${symbol} ${b})`;
}

function unaryText(op: UnaryOp, { type }: Expression, a: string): string {
  if (op === 'not') return `!${a}`;
  return op === 'neg' && (type === 'f32' || type === 'f64') ? `(-${a})` : `wl_${op}(${a})`;
}

function convertText({ type, operand }: ExpressionOf<'convert'>): string {
  const a = cExpression(operand);
  if (type === 'bool') return `(${a} != 0)`;
  if (isVector(type)) return `${type === 'f32x4' ? 'wl_floats' : 'wl_ints'}(${a})`;
  if (operand.type === 'i32') return `wl_${type}(${a})`;
  return type === 'i32' && operand.type !== 'bool' ? `wl_int(${a})` : `((${cTypes[type]})${a})`;
}

/** Whether an operand is computed as fast as a branch around it, and may be where it is not needed: compilers put branches at `&&`. */
function isCheap(e: Expression): boolean {
  let [nodes, isPlain] = [0, true];
  walkExpression(e, (part) => {
    nodes += 1;
    isPlain &&= part.kind === 'get' || part.kind === 'constant' || part.kind === 'compare' || part.kind === 'logic'
      || (part.kind === 'unary' && part.op !== 'sqrt') || (part.kind === 'binary' && (part.op === 'add' || part.op === 'sub'
      || part.op === 'mul'));
  });
  return isPlain && nodes <= mostCheap;
}

/** An expression as an operand that needs no parentheses. */
export function cExpression(e: Expression): string {
  const text = cExpression;
  switch (e.kind) {
    case 'constant': return cLiteral(e.type as ScalarType, e.value);
    case 'get': return cName(e.local.name);
    case 'load': {
      const element = elementText(e.buffer, e.index, e.offset);
      return isVector(e.type) ? `wl_load_${lanesOf[e.type]}(&${element})` : element;
    }
    case 'unary': return unaryText(e.op, e.operand, text(e.operand));
    case 'binary': return binaryText(e);
    case 'compare': {
      const [a, b] = [text(e.left), text(e.right)];
      return e.op === 'lt_u' ? `((unsigned)${a} < (unsigned)${b})` : `(${a} ${relations[e.op]} ${b})`;
    }
    case 'logic': {
      const operator = e.op === 'and' ? '&' : '|';
      return `(${text(e.left)} ${isCheap(e.right) ? operator : operator.repeat(2)} ${text(e.right)})`;
    }
    case 'select': return `(${text(e.condition)} ? ${text(e.then)} : ${text(e.otherwise)})`;
    case 'convert': return convertText(e);
    case 'math': return `wl_${e.name}(${e.args.map(text).join(', ')})`;
    case 'word': return `wl_${e.part}(${text(e.operand)})`;
    case 'words': return `wl_words(${text(e.high)}, ${text(e.low)})`;
    case 'splat': return `wl_splat_${lanesOf[e.type]}(${text(e.operand)})`;
    case 'lanes': return `${cTypes[e.type]}{${e.parts.map(text).join(', ')}}`;
    case 'extract': return `${text(e.vector)}[${e.lane}]`;
  }
}

/** Locals that a statement mentions: directly, and in nested bodies. A loop declares its own counter. */
interface Mentions {
  readonly own: ReadonlySet<Local>;
  readonly inner: readonly ReadonlySet<Local>[];
}

const none = { own: new Set<Local>(), inner: new Set<Local>() } as const;

export class FunctionPrinter {
  readonly #f: KernelFunction;
  readonly #family: CFamily;
  readonly #uses: ReadonlyMap<string, Uses>;
  readonly #lines: string[] = [];
  readonly #mentions = new Map<Statement, Mentions>();
  readonly #loops: Label[] = [];
  /** By label: the targets of `goto`, if it needs any. */
  readonly #targets = new Map<Label, { break?: string; continue?: string }>();
  #depth = 1;
  #next = 0;

  constructor(f: KernelFunction, family: CFamily, uses: ReadonlyMap<string, Uses>) {
    this.#f = f;
    this.#family = family;
    this.#uses = uses;
  }

  print(): string {
    const { name, buffers, body, parameters } = this.#f;
    for (const own of buffers) this.#emit(`${this.#family.ownStorage(own)}${declarationText(own)};`);
    const mentioned = this.#mentionedIn(body);
    this.#body(body, new Set([...mentioned].filter((local) => !parameters.includes(local))));
    if (this.#canTrap(name)) this.#emit('return true;');
    return `${this.head()} {\n${this.#lines.join('\n')}\n}\n`;
  }

  #canTrap(name: string): boolean {
    return this.#family.traps === 'result' && this.#uses.get(name)?.traps === true;
  }

  /** The function's head: parameters, results by reference, pointers to buffers, and where to record a trap. */
  head(): string {
    const { name, parameters, results } = this.#f;
    const list = [
      ...parameters.map((local) => `${cTypes[local.type]} ${cName(local.name)}`),
      ...results.map((type, i) => `${cTypes[type]}& wl_result_${i}`),
      ...[...required(this.#uses.get(name)).buffers].map((buffer) =>
        `${buffer.isReadOnly === true ? 'const ' : ''}${cTypes[buffer.element]}* ${this.#family.restrict} ${cName(buffer.name)}`),
      ...(this.#canTrap(name) ? ['wl_fault& wl_trap'] : []),
    ];
    const words = `${this.#family.attributes?.(this.#f) ?? ''}${this.#family.qualifiersOf?.(this.#f) ?? this.#family.qualifiers}`;
    return `${words} ${this.#canTrap(name) ? 'bool' : 'void'} ${this.#name(name)}(${list.join(', ')})`;
  }

  #name(name: string): string {
    return (this.#family.functionName ?? cName)(name);
  }

  #emit(line: string): void {
    this.#lines.push('  '.repeat(this.#depth) + line);
  }

  #braces(head: string, write: () => void, tail = '}'): void {
    this.#emit(`${head}{`);
    ++this.#depth;
    write();
    --this.#depth;
    this.#emit(tail);
  }

  #mentionedIn(body: Body): Set<Local> {
    const found = new Set<Local>();
    for (const s of body) {
      const { own, inner } = this.#mentionsOf(s);
      for (const set of [own, ...inner]) for (const local of set) found.add(local);
    }
    return found;
  }

  #mentionsOf(s: Statement): Mentions {
    let found = this.#mentions.get(s);
    if (found === undefined) {
      const own = new Set<Local>();
      for (const e of expressionsOf(s)) for (const local of readsOf(e)) own.add(local);
      if (s.kind !== 'for') for (const local of localsSetBy(s)) own.add(local);
      const inner = bodiesOf(s).map((body) => this.#mentionedIn(body));
      if (s.kind === 'for') required(inner[0]).delete(s.counter);
      this.#mentions.set(s, found = { own, inner });
    }
    return found;
  }

  /** Prints a body that declares these locals: each at its first mention, or inside the only nested body that mentions it. */
  #body(body: Body, declares: ReadonlySet<Local>): void {
    const places = new Map<Local, { readonly first: Statement; isOnly: boolean }>();
    for (const s of body) {
      const { own, inner } = this.#mentionsOf(s);
      for (const set of [own, ...inner]) {
        for (const local of set) {
          if (!declares.has(local)) continue;
          const place = places.get(local);
          if (place === undefined) places.set(local, { first: s, isOnly: set !== own });
          else place.isOnly = false;
        }
      }
    }
    const declared = new Map<Statement, { readonly own: Set<Local>; readonly inner: Set<Local> }>();
    for (const [local, { first, isOnly }] of places) {
      let here = declared.get(first);
      if (here === undefined) declared.set(first, here = { own: new Set(), inner: new Set() });
      here[isOnly ? 'inner' : 'own'].add(local);
    }
    for (const s of body) {
      const { own, inner } = declared.get(s) ?? none;
      this.#statement(s, own, inner);
    }
  }

  /**
   * @param own locals to declare with or before the statement
   * @param inner locals to declare in one of its bodies
   */
  #statement(s: Statement, own: Set<Local>, inner: ReadonlySet<Local>): void {
    const text = cExpression;
    const isDeclared = s.kind === 'set' && own.has(s.local) && !readsOf(s.value).has(s.local);
    if (isDeclared) own.delete(s.local);
    for (const local of own) this.#emit(`${cTypes[local.type]} ${cName(local.name)};`);
    const body = (of: Body): void => { this.#body(of, inner); };
    switch (s.kind) {
      case 'set': this.#emit(`${isDeclared ? `${cTypes[s.local.type]} ` : ''}${cName(s.local.name)} = ${text(s.value)};`); break;
      case 'store': {
        const element = elementText(s.buffer, s.index, s.offset);
        this.#emit(isVector(s.value.type) ? `wl_store(&${element}, ${text(s.value)});` : `${element} = ${text(s.value)};`);
        break;
      }
      case 'copy':
        this.#emit(`${s.to === s.from ? 'wl_move' : 'wl_copy'}(&${elementText(s.to, s.toIndex, 0)}, &${
          elementText(s.from, s.fromIndex, 0)}, ${text(s.count)});`);
        break;
      case 'fill': this.#emit(`wl_fill(&${elementText(s.buffer, s.index, 0)}, ${text(s.count)});`); break;
      case 'if':
        this.#braces(`if (${text(s.condition)}) `, () => { body(s.then); }, s.otherwise.length === 0 ? '}' : '} else {');
        if (s.otherwise.length > 0) {
          ++this.#depth;
          body(s.otherwise);
          --this.#depth;
          this.#emit('}');
        }
        break;
      case 'for':
        this.#loop(s, this.#forHead(s), () => {
          if (this.#family.isSerial?.(s) === true) this.#emit('WL_SERIAL;');
          body(s.body);
        });
        break;
      case 'while': {
        const isEndless = valueOf(s.condition) === 1;
        this.#loop(s, isEndless ? 'for (;;) ' : `while (${text(s.condition)}) `, () => { body(s.body); });
        break;
      }
      case 'block': this.#block(s, () => { body(s.body); }); break;
      case 'break': case 'continue': this.#leave(s); break;
      case 'call': this.#call(s); break;
      case 'return':
        s.values.forEach((value, i) => { this.#emit(`wl_result_${i} = ${text(value)};`); });
        this.#emit(this.#canTrap(this.#f.name) ? 'return true;' : 'return;');
        break;
      case 'trap': this.#emit(this.#trapText(s)); break;
      case 'guard': this.#emit(`if (!${text(s.condition)}) ${this.#trapText(s)}`); break;
    }
  }

  #trapText({ site, value }: { readonly site: Expression; readonly value: Expression }): string {
    if (this.#family.traps === 'call') return `wl_trap(${cExpression(site)}, ${cExpression(value)});`;
    return `{ wl_trap.site = ${cExpression(site)}; wl_trap.value = ${cExpression(value)}; return false; }`;
  }

  #forHead({ counter, from, to, step, body }: StatementOf<'for'>): string {
    const name = cName(counter.name);
    const isFixed = to.kind === 'constant' || (to.kind === 'get' && to.local !== counter && !assignedIn(body).has(to.local));
    const [head, end] = isFixed ? ['', cExpression(to)] : [`wl_end = ${cExpression(to)}, `, 'wl_end'];
    return `for (int ${head}${name} = ${cExpression(from)}; ${name} < ${end}; ${step === 1 ? `++${name}` : `${name} += ${step}`}) `;
  }

  #loop({ label }: StatementOf<'for' | 'while'>, head: string, body: () => void): void {
    this.#loops.push(label);
    const from = this.#lines.length;
    this.#braces(head, body);
    this.#loops.pop();
    const { continue: next, break: out } = this.#targets.get(label) ?? {};
    if (next !== undefined) {
      // `goto` must not jump over declarations in the body.
      this.#lines.splice(from + 1, 0, `${'  '.repeat(this.#depth)}{`);
      this.#lines.splice(this.#lines.length - 1, 0, `${'  '.repeat(this.#depth)}} ${next}:;`);
    }
    if (out !== undefined) this.#emit(`${out}:;`);
  }

  #block({ label }: StatementOf<'block'>, body: () => void): void {
    this.#braces('', body);
    const { break: out } = this.#targets.get(label) ?? {};
    if (out !== undefined) this.#emit(`${out}:;`);
  }

  #leave({ kind, label }: StatementOf<'break' | 'continue'>): void {
    if (this.#loops.at(-1) === label) {
      this.#emit(`${kind};`);
      return;
    }
    let targets = this.#targets.get(label);
    if (targets === undefined) this.#targets.set(label, targets = {});
    this.#emit(`goto ${targets[kind] ??= `wl_${kind}_${++this.#next}`};`);
  }

  #call({ callee, args, results }: StatementOf<'call'>): void {
    const uses = this.#uses.get(callee);
    const list = [
      ...args.map(cExpression), ...results.map(({ name }) => cName(name)), ...[...uses?.buffers ?? []].map(({ name }) => cName(name)),
      ...(this.#canTrap(callee) ? ['wl_trap'] : []),
    ].join(', ');
    const text = `${this.#name(callee)}(${list})`;
    this.#emit(this.#canTrap(callee) ? `if (!${text}) return false;` : `${text};`);
  }
}

export function declarationText({ name, element, length }: Buffer): string {
  return `${cTypes[element]} ${cName(name)}[${Math.max(1, required(length))}]`;
}
