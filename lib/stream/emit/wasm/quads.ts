// Loops in which four firings go together (see jam.ts) as loops of vectors: each line of the text stands there four times, one for each
// firing, and singles of four firings are computed by one instruction. Lanes are rounded as they are alone, so all bits stay.
import type { Expression, Node, Statement } from 'acorn';
import { splitSum } from './elements.ts';
import { calleeName, literalValue, Types, type Names, type ValueType } from './types.ts';

const width = 4;
/** Lines that one statement of a program may take. */
const mostLines = 8;

/** A value of four lanes. */
export type Quad =
  | { readonly kind: 'same'; readonly of: Expression }
  | { readonly kind: 'constant'; readonly lanes: readonly number[] }
  | { readonly kind: 'variable'; readonly pack: string }
  | { readonly kind: 'load'; readonly object: Node; readonly index: Expression }
  | { readonly kind: 'gather'; readonly object: Node; readonly indices: readonly Expression[] }
  | { readonly kind: 'unary'; readonly operation: 'neg' | 'abs' | 'sqrt'; readonly of: Quad }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: Quad; readonly right: Quad };

/** Statements of a loop's body: for all lanes alike, or by lanes. */
export type QuadStatement =
  | { readonly kind: 'alike'; readonly statement: Statement }
  | { readonly kind: 'set'; readonly pack: string; readonly value: Quad };

export interface QuadLoop {
  readonly body: readonly QuadStatement[];
  /** Variables that live outside of the loop, four by four. */
  readonly carried: readonly { readonly pack: string; readonly names: readonly string[] }[];
}

/** One line: what is set, and to what. */
interface Line {
  readonly name: string;
  readonly value: Expression;
  readonly isDeclared: boolean;
}

function lineOf(s: Statement): Line | undefined {
  if (s.type === 'VariableDeclaration') {
    const [one, ...others] = s.declarations;
    if (others.length > 0 || one?.id.type !== 'Identifier' || !one.init) return undefined;
    return { name: one.id.name, value: one.init, isDeclared: true };
  }
  if (s.type !== 'ExpressionStatement' || s.expression.type !== 'AssignmentExpression' || s.expression.operator !== '=') return undefined;
  const { left, right } = s.expression;
  return left.type === 'Identifier' ? { name: left.name, value: right, isDeclared: false } : undefined;
}

/** Calls `visit` for every name that an expression reads. */
function eachName(e: Node, visit: (name: string) => void): void {
  const node = e as Expression;
  switch (node.type) {
    case 'Identifier': visit(node.name); break;
    case 'UnaryExpression': case 'UpdateExpression': eachName(node.argument, visit); break;
    case 'BinaryExpression': case 'LogicalExpression': case 'AssignmentExpression':
      for (const part of [node.left, node.right]) eachName(part, visit);
      break;
    case 'ConditionalExpression': for (const part of [node.test, node.consequent, node.alternate]) eachName(part, visit); break;
    case 'MemberExpression': eachName(node.property, visit); break;
    case 'CallExpression': for (const part of node.arguments) eachName(part, visit); break;
    default:
  }
}

class Lanes {
  readonly #types: Types;
  /** Names that stand for the same as another. */
  readonly #alias = new Map<string, string>();
  /** By name: its pack and lane. */
  readonly packs = new Map<string, { readonly pack: string; readonly lane: number }>();

  constructor(types: Types) {
    this.#types = types;
  }

  /** What is known now, to come back to. */
  mark(): () => void {
    const [alias, packs] = [[...this.#alias], [...this.packs]];
    return () => {
      this.#alias.clear();
      this.packs.clear();
      for (const [name, other] of alias) this.#alias.set(name, other);
      for (const [name, place] of packs) this.packs.set(name, place);
    };
  }

  same(a: Node, b: Node): boolean {
    const [x, y] = [a as Expression, b as Expression];
    const [left, right] = [literalValue(x), literalValue(y)];
    if (left !== undefined || right !== undefined) return Object.is(left, right);
    if (x.type === 'Identifier') return y.type === 'Identifier' && this.#name(x.name) === this.#name(y.name) && !this.packs.has(x.name);
    if (x.type === 'UnaryExpression') return y.type === x.type && x.operator === y.operator && this.same(x.argument, y.argument);
    if (x.type === 'BinaryExpression') {
      return y.type === x.type && x.operator === y.operator && this.same(x.left, y.left) && this.same(x.right, y.right);
    }
    if (x.type === 'MemberExpression') {
      return y.type === x.type && nameOf(x.object) === nameOf(y.object) && this.same(x.property, y.property);
    }
    if (x.type !== 'CallExpression' || y.type !== x.type || calleeName(x.callee) !== calleeName(y.callee)) return false;
    return x.arguments.length === y.arguments.length && x.arguments.every((part, i) => this.same(part, y.arguments[i]!));
  }

  #name(name: string): string {
    return this.#alias.get(name) ?? name;
  }

  /** Whether all four lines set names to the same, which then stand for the first. */
  alike(lines: readonly Line[]): boolean {
    const [first, ...others] = lines as [Line, ...Line[]];
    if (!first.isDeclared || !others.every(({ value }) => this.same(first.value, value))) return false;
    for (const { name } of others) this.#alias.set(name, first.name);
    return true;
  }

  /** The value of four lanes; undefined where there is none. */
  value(lanes: readonly Expression[]): Quad | undefined {
    const [first, ...others] = lanes as [Expression, ...Expression[]];
    const numbers = lanes.map(literalValue);
    if (!numbers.includes(undefined)) return { kind: 'constant', lanes: (numbers as number[]).map(Math.fround) };
    if (others.every((each) => this.same(first, each))) {
      return this.#types.of(first) === 'f' ? { kind: 'same', of: first } : undefined;
    }
    if (first.type === 'Identifier') return this.#variable(lanes);
    if (others.some(({ type }) => type !== first.type)) return undefined;
    if (first.type === 'MemberExpression') return this.#load(lanes as readonly Extract<Expression, { type: 'MemberExpression' }>[]);
    if (first.type === 'UnaryExpression') {
      return this.#unary('neg', lanes, (e) => (e.type === 'UnaryExpression' && e.operator === '-' ? e.argument : undefined));
    }
    if (first.type !== 'CallExpression') return undefined;
    const name = calleeName(first.callee);
    if (name === 'abs') return this.#unary('abs', lanes, (e) => argumentOf(e, 'abs'));
    return name === 'fround' ? this.#rounded(lanes.map((e) => argumentOf(e, 'fround'))) : undefined;
  }

  #variable(lanes: readonly Expression[]): Quad | undefined {
    const found = lanes.map((e) => (e.type === 'Identifier' ? this.packs.get(e.name) : undefined));
    const pack = found[0]?.pack;
    const isWhole = pack !== undefined && found.every((each, lane) => each?.pack === pack && each.lane === lane);
    return isWhole ? { kind: 'variable', pack } : undefined;
  }

  #unary(
    operation: 'neg' | 'abs' | 'sqrt', lanes: readonly Expression[], inner: (e: Expression) => Expression | undefined,
  ): Quad | undefined {
    const parts = lanes.map(inner);
    if (parts.includes(undefined) || parts.some((part) => this.#types.of(part!) !== 'f')) return undefined;
    const of = this.value(parts as Expression[]);
    return of === undefined ? undefined : { kind: 'unary', operation, of };
  }

  #rounded(lanes: readonly (Expression | undefined)[]): Quad | undefined {
    const [first] = lanes;
    if (first === undefined || lanes.includes(undefined)) return undefined;
    if (first.type === 'CallExpression') return this.#unary('sqrt', lanes as Expression[], (e) => argumentOf(e, 'sqrt'));
    const parts = lanes.map((e) =>
      (e?.type === 'BinaryExpression' && first.type === e.type && e.operator === first.operator ? e : undefined));
    if (first.type !== 'BinaryExpression' || parts.includes(undefined) || !'+-*/'.includes(first.operator)) return undefined;
    const isSingle = (e: Node): boolean => this.#types.of(e) === 'f';
    if (!parts.every((e) => isSingle(e!.left) && isSingle(e!.right))) return undefined;
    const [left, right] = [this.value(parts.map((e) => e!.left as Expression)), this.value(parts.map((e) => e!.right))];
    return left === undefined || right === undefined ? undefined : { kind: 'binary', operator: first.operator, left, right };
  }

  #load(lanes: readonly Extract<Expression, { type: 'MemberExpression' }>[]): Quad | undefined {
    const { object } = lanes[0]!;
    if (this.#types.element(object) !== 'f' || lanes.some((e) => nameOf(e.object) !== nameOf(object))) return undefined;
    const indices = lanes.map(({ property }) => property as Expression);
    const sums = indices.map(splitSum);
    const [first] = sums as [typeof sums[0], ...typeof sums];
    const isNear = sums.every(({ base, add }, lane) => add === first.add + lane
      && (base === undefined ? first.base === undefined : first.base !== undefined && this.same(first.base, base)));
    let isFree = true;
    for (const index of indices) eachName(index, (name) => { isFree &&= !this.#alias.has(name) && !this.packs.has(name); });
    if (isNear) return { kind: 'load', object, index: indices[0]! };
    return isFree ? { kind: 'gather', object, indices } : undefined;
  }
}

function nameOf(e: Node): string | undefined {
  const node = e as Expression;
  return node.type === 'Identifier' ? node.name : undefined;
}

function argumentOf(e: Expression, name: string): Expression | undefined {
  return e.type === 'CallExpression' && calleeName(e.callee) === name ? e.arguments[0] as Expression : undefined;
}

/** The copies of each line of a statement that takes so many, if they stand here. */
function copiesAt(lines: readonly (Line | undefined)[], at: number, each: number): Line[][] | undefined {
  const columns: Line[][] = [];
  for (let line = 0; line < each; ++line) {
    const column = Array.from({ length: width }, (_, lane) => lines[at + lane * each + line]);
    if (column.includes(undefined)) return undefined;
    columns.push(column as Line[]);
  }
  return columns;
}

class Planner {
  readonly #lanes: Lanes;
  readonly #types: Types;
  readonly #declared = new Map<string, ValueType>();
  readonly #carried = new Map<string, readonly string[]>();

  readonly #variable: (name: string) => ValueType | undefined;

  constructor(names: Names, variable: (name: string) => ValueType | undefined) {
    this.#variable = (name) => this.#declared.get(name) ?? variable(name);
    this.#types = new Types(names, this.#variable);
    this.#lanes = new Lanes(this.#types);
  }

  plan(statements: readonly Statement[], others: readonly Expression[]): QuadLoop | undefined {
    const lines = statements.map(lineOf);
    if (lines.length < width + 1 || lines.includes(undefined)) return undefined;
    const body: QuadStatement[] = [];
    for (let at = 0; at < lines.length;) {
      const found = this.#copies(lines, statements, at);
      if (found !== undefined) {
        body.push(...found);
        at += width * found.length;
        continue;
      }
      const { value, isDeclared } = lines[at]!;
      if (isDeclared || this.#types.of(value) !== 'i') return undefined;
      body.push({ kind: 'alike', statement: statements[at++]! });
    }
    const carried = [...this.#carried].map(([pack, names]) => ({ pack, names }));
    return carried.length > 0 && !this.#isMixed(body, others) ? { body, carried } : undefined;
  }

  /** The statement whose copies for all lanes begin here. */
  #copies(lines: readonly (Line | undefined)[], statements: readonly Statement[], at: number): QuadStatement[] | undefined {
    for (let each = 1; each <= mostLines && at + width * each <= lines.length; ++each) {
      const back = this.#lanes.mark();
      const columns = copiesAt(lines, at, each)!;
      // Variables that live on may be read before they are set.
      for (const column of columns) if (!column.some(({ isDeclared }) => isDeclared)) this.#pack(column.map(({ name }) => name));
      const made = columns.map((column, i) => this.#together(column, statements[at + i]!));
      if (!made.includes(undefined)) return made as QuadStatement[];
      back();
    }
    return undefined;
  }

  /** What the copies of a line do together, if it can be done. */
  #together(column: readonly Line[], statement: Statement): QuadStatement | undefined {
    const [first] = column as [Line, ...Line[]];
    const names = column.map(({ name }) => name);
    if (new Set(names).size < width || column.some(({ isDeclared }) => isDeclared !== first.isDeclared)) return undefined;
    const type = this.#types.of(first.value);
    if (first.isDeclared) for (const name of names) this.#declared.set(name, type);
    if (type !== 'f') return this.#lanes.alike(column) ? { kind: 'alike', statement } : undefined;
    if (!first.isDeclared && names.some((name) => this.#variable(name) !== 'f')) return undefined;
    const value = this.#lanes.value(column.map((line) => line.value));
    const pack = value === undefined ? undefined : this.#pack(names);
    if (value === undefined || pack === undefined) return undefined;
    if (!first.isDeclared) this.#carried.set(pack, names);
    return { kind: 'set', pack, value };
  }

  /** Makes four variables lanes of one, unless they are lanes of others. */
  #pack(names: readonly string[]): string | undefined {
    const pack = names.join(' ');
    if (!names.every((name) => (this.#lanes.packs.get(name)?.pack ?? pack) === pack)) return undefined;
    names.forEach((name, lane) => this.#lanes.packs.set(name, { pack, lane }));
    return pack;
  }

  /** Whether a name of a pack is read where all lanes are alike. */
  #isMixed(body: readonly QuadStatement[], others: readonly Expression[]): boolean {
    let found = false;
    const look = (e: Node): void => { eachName(e, (name) => { found ||= this.#lanes.packs.has(name); }); };
    const inside = (quad: Quad): void => {
      if (quad.kind === 'same') look(quad.of);
      else if (quad.kind === 'load') look(quad.index);
      else if (quad.kind === 'gather') quad.indices.forEach(look);
      else if (quad.kind === 'unary') inside(quad.of);
      else if (quad.kind === 'binary') [quad.left, quad.right].forEach(inside);
    };
    for (const each of body) {
      if (each.kind === 'set') inside(each.value);
      else look(lineOf(each.statement)!.value);
    }
    others.forEach(look);
    return found;
  }
}

/**
 * The statements of a loop as those of four lanes; undefined where they are not four copies of each other. `others`: what else the loop
 * reads in each turn.
 */
export function planQuads(
  statements: readonly Statement[], others: readonly Expression[], names: Names, variable: (name: string) => ValueType | undefined,
): QuadLoop | undefined {
  return new Planner(names, variable).plan(statements, others);
}
