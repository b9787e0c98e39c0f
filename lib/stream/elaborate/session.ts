// The state of one elaboration: limits, diagnostics, types, constants of the program, nodes and channels.
import { elementAt } from '../../core/known.ts';
import type { Span } from '../ast.ts';
import type { Checked, NameSymbol, Type } from '../front/checked.ts';
import type { Channel, FileFormat, GraphNode } from '../graph.ts';
import type { ConstantData, FilterCode, IrType, StateVariable, Variable } from '../ir.ts';
import { Fault } from '../interpret/fault.ts';
import { watchedBudget, type Budget } from '../interpret/machine.ts';
import { scalar, scalarCount, typeBytes } from '../interpret/values.ts';
import { limitHint } from '../interpret/limits.ts';
import type { ElaborationLimits } from './limits.ts';
import { fitName, Namer } from './names.ts';
import { Usage } from './usage.ts';

/** The meaning of a name at a point of the elaboration. */
export type Entity =
  | { readonly kind: 'constant'; readonly data: ConstantData; /** For its table. */ readonly name?: string }
  | { readonly kind: 'variable'; readonly variable: Variable }
  | { readonly kind: 'state'; readonly variable: StateVariable }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'portal'; readonly portal: Portal };

/** A portal under construction. */
export interface Portal {
  readonly name: string;
  readonly receivers: number[];
}

/** Names and their meanings; names not found here are looked up in the enclosing scope. */
export class Scope {
  readonly #own = new Map<NameSymbol, Entity>();
  readonly #outside: ((symbol: NameSymbol) => Entity | undefined) | undefined;

  constructor(outside?: (symbol: NameSymbol) => Entity | undefined) {
    this.#outside = outside;
  }

  find(symbol: NameSymbol): Entity | undefined {
    return this.#own.get(symbol) ?? this.#outside?.(symbol);
  }

  set(symbol: NameSymbol, entity: Entity): void {
    this.#own.set(symbol, entity);
  }
}

/** Omits the properties that all kinds of nodes have. */
type Shape<T> = T extends unknown ? Omit<T, 'id' | 'name' | 'inputs' | 'outputs'> : never;
export type NodeShape = Shape<GraphNode>;
type Open<T> = T extends unknown ? Omit<T, 'inputs' | 'outputs'> & { inputs: (number | undefined)[]; outputs: (number | undefined)[] }
  : never;

/** A place where a channel can begin or end. */
export interface End {
  readonly node: number;
  readonly port: number;
  readonly type: IrType;
}

/** What the caller can specify for one elaboration. */
export interface SessionOptions {
  readonly limits: ElaborationLimits;
  /** Bytes of a file that the program reads during elaboration; undefined if there is no such file. */
  readonly file: (path: string) => Uint8Array | undefined;
  /** Called every few milliseconds while code is executed; may throw. */
  readonly watch?: (() => void) | undefined;
}

export class Session {
  readonly checked: Checked;
  readonly usage: Usage;
  readonly limits: ElaborationLimits;
  readonly file: SessionOptions['file'];
  readonly budget: Budget;
  readonly nodes: Open<GraphNode>[] = [];
  readonly channels: Channel[] = [];
  readonly portals: Portal[] = [];
  /** Files that were needed but not given. */
  readonly missing = new Set<string>();
  readonly faults: { readonly fault: Fault; readonly path: string; readonly severity: 'error' | 'warning' }[] = [];
  /** The instances being elaborated, outermost first, for messages. */
  readonly path: string[] = [];
  readonly codes = new Map<string, FilterCode>();
  readonly codeNames = new Namer();
  readonly nodeNames = new Namer();
  readonly #structs = new Map<object, IrType>();
  readonly #seen = new Set<string>();
  readonly #ids = new WeakMap<object, number>();
  #nextId = 0;
  readonly #evaluated = new Set<object>();
  readonly #failed = new Set<object>();
  readonly #statics = new Map<NameSymbol, Entity>();
  #graphBytes = 0;
  /** Steps left for simulating work functions without data. */
  simulationSteps = 20_000_000;

  constructor(checked: Checked, options: SessionOptions) {
    this.checked = checked;
    this.usage = new Usage(checked);
    this.limits = options.limits;
    this.file = options.file;
    const { steps, bytes, nesting } = options.limits;
    this.budget = watchedBudget({ steps, bytes, depth: nesting }, options.watch);
  }

  /** A number for a declaration; always the same for the same one. */
  idOf(declaration: object): number {
    let id = this.#ids.get(declaration);
    if (id === undefined) this.#ids.set(declaration, id = this.#nextId++);
    return id;
  }

  /** The value of a constant of a `static` section; `evaluate` is called for a section when it is first needed. */
  static(symbol: NameSymbol & { kind: 'static' }, evaluate: (into: Map<NameSymbol, Entity>) => void): Entity | undefined {
    if (!this.#statics.has(symbol)) {
      if (this.#evaluated.has(symbol.owner) && !this.#failed.has(symbol.owner)) throw new Fault(
        'S4035', `${symbol.name} is needed before it has a value`, symbol.declaration.span, { fatal: true });
      if (this.#failed.has(symbol.owner)) throw new Reported();
      this.#evaluated.add(symbol.owner);
      try {
        evaluate(this.#statics);
      } catch (error) {
        // Reported once; the streams that need it cannot be elaborated.
        this.#failed.add(symbol.owner);
        throw error;
      }
    }
    return this.#statics.get(symbol);
  }

  /** Records a diagnostic, but only once for the same place. */
  report(fault: Fault, severity: 'error' | 'warning' = 'error'): void {
    const key = `${fault.code} ${fault.message} ${fault.span?.file} ${fault.span?.start}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    this.faults.push({ fault, severity, path: shortened(this.path) });
    const errors = this.faults.filter((each) => each.severity === 'error').length;
    if (severity === 'error' && errors >= this.limits.errors) throw new Fault('S4100', '', undefined, { fatal: true });
  }

  /** Runs `make` inside an instance named `label`. */
  *inside<Y, T>(label: string, span: Span, make: () => Generator<Y, T, T>): Generator<Y, T, T> {
    this.path.push(label);
    try {
      this.#enter(span);
      try {
        return yield* make();
      } finally {
        ++this.budget.depth;
      }
    } catch (error) {
      // The path belongs to the diagnostic, which is recorded here because the path is complete here.
      if (error instanceof Fault && !error.fatal) {
        this.report(error);
        throw new Reported();
      }
      if (error instanceof Fault && error.code !== 'S4100' && !this.faults.some(({ fault }) => fault.fatal)) this.report(error);
      throw error;
    } finally {
      this.path.pop();
    }
  }

  #enter(span: Span): void {
    if (--this.budget.depth >= 0) return;
    ++this.budget.depth;
    throw new Fault('S4104', `streams or functions are nested deeper than ${this.limits.nesting}`, span,
      { hint: limitHint('nesting'), fatal: true });
  }

  /** Runs `make` one level deeper. */
  deeper<T>(span: Span, make: () => T): T {
    this.#enter(span);
    try {
      return make();
    } finally {
      ++this.budget.depth;
    }
  }

  /** The type with its lengths evaluated by `length`. */
  sized(type: Type, length: (expression: NonNullable<Extract<Type, { kind: 'array' }>['length']>) => number, span: Span): IrType {
    switch (type.kind) {
      case 'scalar': return scalar(type.name);
      case 'vector': return { kind: 'vector', name: type.name };
      case 'void': return { kind: 'void' };
      case 'array': {
        const element = this.sized(type.element, length, span);
        const count = type.length === undefined ? type.count : length(type.length);
        if (count === undefined) throw new Fault('S4002', 'the length of this array is not known', span);
        return this.arrayOf(element, count, type.length?.span ?? span);
      }
      case 'struct': return this.#struct(type.declaration, length);
      case 'string': case 'portal': case 'unknown':
        throw new Fault(
          'S4003', `a ${type.kind === 'unknown' ? 'type that is not known' : type.kind} cannot be stored in a variable`, span);
    }
  }

  /** An array type within the limits. */
  arrayOf(element: IrType, length: number, span: Span): IrType {
    if (!Number.isInteger(length) || length < 0) throw new Fault('S4004', `an array cannot have ${length} elements`, span);
    const type: IrType = { kind: 'array', element, length };
    if (scalarCount(type) > this.limits.arrayElements) {
      throw new Fault(
        'S4105', `this array would have ${scalarCount(type)} elements, more than the limit of ${this.limits.arrayElements}`, span,
        { hint: limitHint('arrayElements'), fatal: true });
    }
    return type;
  }

  #struct(declaration: Extract<Type, { kind: 'struct' }>['declaration'], length: Parameters<Session['sized']>[1]): IrType {
    let type = this.#structs.get(declaration);
    if (type === undefined) {
      const names = new Namer();
      type = {
        kind: 'struct', name: this.codeNames.unique(declaration.name), fields: declaration.fields.map((field) => ({
          name: names.unique(field.name), type: this.sized(this.checked.typeOfNode(field.type), length, field.span),
        })),
      };
      this.#structs.set(declaration, type);
    }
    return type;
  }

  /** The field of a struct under its fit name. */
  fieldOf(declaration: Extract<Type, { kind: 'struct' }>['declaration'], type: IrType, name: string) {
    const index = declaration.fields.findIndex((field) => field.name === name);
    return type.kind === 'struct' ? type.fields[index] : undefined;
  }

  /** Counts bytes of constants that stay in the graph. */
  keepBytes(type: IrType, span: Span | undefined): void {
    this.#graphBytes += typeBytes(type);
    if (this.#graphBytes > this.limits.bytes) {
      throw new Fault('S4106', 'the constants of the program take more memory than the limit allows', span,
        { hint: limitHint('bytes'), fatal: true });
    }
  }

  /** Adds a node. */
  node(name: string, shape: NodeShape, ports: { inputs: number; outputs: number }, span: Span): number {
    if (this.nodes.length >= this.limits.nodes) {
      throw new Fault(
        'S4107', `the graph has more than ${this.limits.nodes} nodes`, span, { hint: limitHint('nodes'), fatal: true });
    }
    const id = this.nodes.length;
    this.nodes.push({
      id, name: this.nodeNames.unique(fitName(name)), ...shape,
      inputs: new Array<undefined>(ports.inputs).fill(undefined), outputs: new Array<undefined>(ports.outputs).fill(undefined),
    });
    return id;
  }

  connect(from: End, to: End, initial: readonly ConstantData[] = []): void {
    const id = this.channels.length;
    this.channels.push({ id, type: from.type, from: from.node, fromPort: from.port, to: to.node, toPort: to.port, initial });
    elementAt(this.nodes, from.node).outputs[from.port] = id;
    elementAt(this.nodes, to.node).inputs[to.port] = id;
  }
}

/** The enclosing instances; the middle is omitted if there are many. */
function shortened(path: readonly string[]): string {
  return (path.length <= 8 ? path : [...path.slice(0, 3), '…', ...path.slice(-3)]).join(' / ');
}

/** Thrown after a diagnostic was recorded: the instance is abandoned, its siblings continue. */
export class Reported extends Error {}

export type { FileFormat };
