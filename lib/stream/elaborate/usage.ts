// What a part of the syntax tree assigns, calls and refers to: computed once, independently of arguments.
import { required } from '../../core/known.ts';
import type { CompositeDeclaration, Creator, Declarator, Expression, FunctionDeclaration, Parameter, Statement,
  StreamDeclaration } from '../ast.ts';
import type { Checked, NameSymbol } from '../front/checked.ts';

type Visit = (node: Expression | Statement) => void;

function visitValue(value: unknown, visit: Visit): void {
  if (Array.isArray(value)) for (const part of value) visitValue(part, visit);
  else if (typeof value === 'object' && value !== null) visitNode(value, visit);
}

/** Calls `visit` for every expression and statement at and below the node, including types, rates and the contents of anonymous streams. */
export function visitNode(node: object, visit: Visit): void {
  if ('kind' in node) visit(node as Expression);
  for (const key of Object.keys(node)) if (key !== 'span' && key !== 'at') visitValue(node[key as keyof typeof node], visit);
}

/** The variable at the root of an assignment target. */
export function rootName(target: Expression): Extract<Expression, { kind: 'name' }> | undefined {
  if (target.kind === 'name') return target;
  if (target.kind === 'index') return rootName(target.array);
  return target.kind === 'field' ? rootName(target.object) : undefined;
}

const graphStatements = new Set(['add', 'body', 'loop', 'split', 'join', 'enqueue', 'message']);

/** Answers questions about the syntax tree of one program, with caching. */
export class Usage {
  readonly #checked: Checked;
  readonly #assigned = new WeakMap<object, ReadonlySet<NameSymbol>>();
  readonly #changed = new WeakMap<FunctionDeclaration, ReadonlySet<number>>();
  readonly #written = new WeakMap<FunctionDeclaration, ReadonlySet<NameSymbol>>();
  readonly #free = new WeakMap<StreamDeclaration, readonly NameSymbol[]>();
  readonly #plain = new WeakMap<Statement, boolean>();
  readonly #lengths = new WeakMap<FunctionDeclaration, ReadonlySet<NameSymbol>>();

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  /** Variables and fields that the node assigns, or passes to functions that change them. Other effects of functions are not counted. */
  assigned(node: object): ReadonlySet<NameSymbol> {
    const known = this.#assigned.get(node);
    if (known !== undefined) return known;
    const found = new Set<NameSymbol>();
    const add = (target: Expression): void => {
      const root = rootName(target);
      if (root !== undefined) found.add(this.#checked.symbolOf(root));
    };
    visitNode(node, (part) => {
      if (part.kind === 'assign' || part.kind === 'increment') add(part.target);
      else if (part.kind === 'call') for (const arg of this.#changedArguments(part)) add(arg);
    });
    this.#assigned.set(node, found);
    return found;
  }

  #changedArguments(call: Extract<Expression, { kind: 'call' }>): readonly Expression[] {
    const callee = this.#checked.calleeOf(call);
    if (callee.kind !== 'function') return [];
    const changed = this.changedParameters(callee.declaration);
    return call.args.filter((_, i) => changed.has(i));
  }

  /** Array parameters that a function changes, directly or through functions it calls: the caller's arrays change. */
  changedParameters(declaration: FunctionDeclaration): ReadonlySet<number> {
    const known = this.#changed.get(declaration);
    if (known !== undefined) return known;
    const found = new Map([...this.#reached(declaration)].map((each) => [each, new Set<number>()]));
    // Until nothing new is found, because functions may call each other in cycles.
    for (let isNew = true; isNew;) {
      isNew = false;
      for (const [each, changed] of found) {
        const before = changed.size;
        this.#addChanged(each, found, changed);
        isNew ||= changed.size > before;
      }
    }
    for (const [each, changed] of found) this.#changed.set(each, changed);
    return required(this.#changed.get(declaration));
  }

  #addChanged(
    declaration: FunctionDeclaration, all: ReadonlyMap<FunctionDeclaration, ReadonlySet<number>>, changed: Set<number>,
  ): void {
    const arrays = new Map<NameSymbol, number>();
    declaration.parameters.forEach((parameter, i) => {
      if (parameter.type.kind === 'array') arrays.set(this.#checked.symbolOfDeclaration(parameter), i);
    });
    if (arrays.size === 0) return;
    const add = (target: Expression): void => {
      const root = rootName(target);
      const at = root === undefined ? undefined : arrays.get(this.#checked.symbolOf(root));
      if (at !== undefined) changed.add(at);
    };
    visitNode(declaration.body, (part) => {
      if (part.kind === 'assign' || part.kind === 'increment') add(part.target);
      if (part.kind !== 'call') return;
      const callee = this.#checked.calleeOf(part);
      const passed = callee.kind === 'function' ? all.get(callee.declaration) : undefined;
      if (passed !== undefined) part.args.forEach((arg, i) => { if (passed.has(i)) add(arg); });
    });
  }

  /** Functions of the program that the node calls. */
  #called(node: object): Set<FunctionDeclaration> {
    const found = new Set<FunctionDeclaration>();
    visitNode(node, (part) => {
      if (part.kind !== 'call') return;
      const callee = this.#checked.calleeOf(part);
      if (callee.kind === 'function') found.add(callee.declaration);
    });
    return found;
  }

  /** Whether an expression calls functions of the program. */
  callsFunctions(e: Expression): boolean {
    return this.#called(e).size > 0;
  }

  /** Whether `isSuch` holds for a name in an expression or in a function that it calls. */
  refersTo(e: Expression, isSuch: (symbol: NameSymbol) => boolean): boolean {
    const nodes: object[] = [e, ...[...this.#called(e)].flatMap((callee) => [...this.#reached(callee)]).map(({ body }) => body)];
    let found = false;
    for (const node of nodes) visitNode(node, (part) => { found ||= part.kind === 'name' && isSuch(this.#checked.symbolOf(part)); });
    return found;
  }

  /** A function and all functions that it calls, directly or indirectly. */
  #reached(entry: FunctionDeclaration): Set<FunctionDeclaration> {
    const seen = new Set([entry]);
    for (const declaration of seen) for (const callee of this.#called(declaration.body)) seen.add(callee);
    return seen;
  }

  /** Fields and variables that a function assigns, directly or through functions it calls. */
  written(entry: FunctionDeclaration): ReadonlySet<NameSymbol> {
    const known = this.#written.get(entry);
    if (known !== undefined) return known;
    const found = new Set<NameSymbol>();
    for (const { body } of this.#reached(entry)) for (const symbol of this.assigned(body)) found.add(symbol);
    this.#written.set(entry, found);
    return found;
  }

  /** Parameters and variables of enclosing streams that an anonymous stream refers to. */
  free(declaration: StreamDeclaration): readonly NameSymbol[] {
    const known = this.#free.get(declaration);
    if (known !== undefined) return known;
    const used = new Set<NameSymbol>();
    const own = new Set<object>();
    visitNode(declaration, (part) => {
      if (part.kind === 'name') used.add(this.#checked.symbolOf(part));
      if (part.kind === 'declare') for (const variable of part.variables) own.add(variable);
      if (part.kind === 'message') used.add(this.#checked.messageOf(part).portal);
      if (part.kind === 'add' || part.kind === 'body' || part.kind === 'loop') this.#creator(part.creator, used, own);
    });
    addParameters(declaration, own);
    const found = [...used].filter((symbol) => symbol.kind !== 'static' && !own.has(symbol.declaration));
    this.#free.set(declaration, found);
    return found;
  }

  #creator(creator: Creator, used: Set<NameSymbol>, own: Set<object>): void {
    for (const portal of this.#checked.portalsOf(creator)) used.add(portal);
    if (creator.kind === 'anonymous') addParameters(creator.stream, own);
  }

  /** Whether a statement creates no part of a graph and declares no arrays, so that it can be translated as a whole. */
  isPlain(statement: Statement): boolean {
    let plain = this.#plain.get(statement);
    if (plain === undefined) {
      plain = true;
      visitNode(statement, (part) => {
        if (graphStatements.has(part.kind)) plain = false;
        if (part.kind === 'declare' && part.variables.some(({ type }) => type.kind !== 'primitive' ||
          type.name === 'string')) plain = false;
      });
      this.#plain.set(statement, plain);
    }
    return plain;
  }

  /** Arguments and variables of a function on which its array lengths may depend. */
  lengths(declaration: FunctionDeclaration): ReadonlySet<NameSymbol> {
    const known = this.#lengths.get(declaration);
    if (known !== undefined) return known;
    const found = new Set<NameSymbol>();
    const addNames = (node: object): void => visitNode(node, (name) => {
      if (name.kind === 'name') found.add(this.#checked.symbolOf(name));
    });
    const values = new Map<NameSymbol, Expression>();
    visitNode(declaration, (part) => {
      if ((part.kind as string) === 'array') addNames(part);
      if (part.kind !== 'declare') return;
      for (const variable of part.variables) {
        if (variable.value !== undefined) values.set(this.#checked.symbolOfDeclaration(variable), variable.value);
      }
    });
    for (const symbol of found) if (values.has(symbol)) addNames(required(values.get(symbol))); // visits those added meanwhile, too
    this.#lengths.set(declaration, found);
    return found;
  }
}

function addParameters(declaration: StreamDeclaration, own: Set<object>): void {
  const all: (Parameter | Declarator)[] = [...declaration.parameters];
  if (declaration.kind === 'filter') {
    all.push(...declaration.fields);
    for (const { parameters } of declaration.functions) all.push(...parameters);
  }
  for (const parameter of all) own.add(parameter);
}

/** The body of a composite, or undefined for a filter. */
export function bodyOf(declaration: StreamDeclaration): CompositeDeclaration['body'] | undefined {
  return declaration.kind === 'filter' ? undefined : declaration.body;
}
