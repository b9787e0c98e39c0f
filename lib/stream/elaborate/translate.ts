// Translates expressions of the syntax tree to the intermediate representation: constants are substituted, conversions explicit, types and
// sizes known.
import { elementAt, lastOf, required } from '../../core/known.ts';
import type { Expression, FunctionDeclaration, Span } from '../ast.ts';
import type { Callee, NameSymbol, Type } from '../front/checked.ts';
import { Fault } from '../interpret/fault.ts';
import { isScalar, known, scalar, scalarCount, toConstant, typeText, unflatten, vectorSizes } from '../interpret/values.ts';
import type { ConstantData, IrBinary, IrExpression, IrFunction, IrStatement, IrType, StateVariable, Variable } from '../ir.ts';
import { callFunction } from './functions.ts';
import { constant, constantOf, makeBinary, makeConversion, makeMath, makeUnary, operandType, slice } from './fold.ts';
import { incrementExpression, lazyBoth, lazyConditional } from './lazy.ts';
import { loadArray } from './load.ts';
import type { Namer } from './names.ts';
import type { Entity, Scope, Session } from './session.ts';
import type { Ends, Translation } from './translation.ts';

/** Evaluates an int that does not depend on a firing. `find` resolves names. */
export type EvaluateInt = (e: Expression, find: (symbol: NameSymbol) => Entity | undefined) => number;

const parts: Readonly<Record<string, number>> = { real: 0, imag: 1, x: 0, y: 1, z: 2, w: 3 };

/**
 * Translates the code of one filter, or (without ends) code that is evaluated during elaboration. `tables` collects the constant arrays
 * that the code refers to; without it, they stay inline.
 */
export class Translator implements Translation {
  readonly session: Session;
  readonly namer: Namer;
  readonly ends: Ends | undefined;
  readonly functions = new Map<string, IrFunction>();
  readonly tables: StateVariable[] | undefined;
  readonly #evaluate: EvaluateInt | undefined;
  scope: Scope;
  /** Variables of the current body that are assigned after their declaration; the others may be constants. */
  assigned: ReadonlySet<NameSymbol> = new Set();
  /** Result type of the function being translated. */
  result: IrType = { kind: 'void' };
  /** Statements to be executed before the current one. */
  before: IrStatement[] = [];
  readonly #tableOf = new Map<ConstantData, StateVariable>();

  /** @param options `evaluate`: calls functions of the program for array lengths; without it, lengths cannot contain calls */
  constructor(session: Session, scope: Scope, options: { namer: Namer; ends?: Ends; tables?: StateVariable[]; evaluate?: EvaluateInt }) {
    this.session = session;
    this.scope = scope;
    this.namer = options.namer;
    this.ends = options.ends;
    this.tables = options.tables;
    this.#evaluate = options.evaluate;
  }

  /** Translates an expression. */
  expression(e: Expression): IrExpression {
    switch (e.kind) {
      case 'int': return constant('int', e.wide ?? e.value, e.span);
      case 'character': return constant('int', e.value, e.span);
      case 'float': return constant('float', e.value, e.span);
      case 'boolean': return constant('boolean', e.value ? 1 : 0, e.span);
      case 'imaginary': return constantOf({ type: { kind: 'vector', name: 'complex' }, numbers: [0, Math.fround(e.value)] }, e.span);
      case 'string': throw new Fault('S4005', 'a string can only be printed or name a file', e.span);
      case 'name': return this.entity(this.find(e), e.span);
      case 'index': return this.#element(e);
      case 'field': return this.#field(e);
      case 'call': return this.#call(e, this.session.checked.calleeOf(e));
      case 'peek': return { kind: 'peek', index: this.as(e.index, scalar('int')), type: this.#input(e.span), span: e.span };
      case 'pop': return { kind: 'pop', type: this.#input(e.span), span: e.span };
      case 'iter': return { kind: 'iter', type: scalar('int'), span: e.span };
      case 'unary': return this.#unary(e);
      case 'increment': return incrementExpression(this, e);
      case 'binary': return this.#binary(e);
      case 'conditional': return lazyConditional(this, e);
      case 'cast': return this.#cast(e);
      case 'array-literal': return this.arrayLiteral(e, undefined);
    }
  }

  /** Translates an expression and converts it to a type. */
  as(e: Expression, type: IrType): IrExpression {
    return e.kind === 'array-literal' ? this.arrayLiteral(e, type) : this.converted(this.expression(e), type, e.span);
  }

  converted(value: IrExpression, type: IrType, span: Span): IrExpression {
    if (value.type.kind === 'void') throw new Fault('S4006', 'this has no value', span);
    const made = makeConversion(value, type);
    if (made === undefined) throw new Fault('S4007',
      `a value of ${typeText(value.type)} cannot be used where ${typeText(type)} is expected`,
      span);
    return made;
  }

  /** Translates an expression that must be a constant int; otherwise throws a fault that names `what`. */
  constantInt(e: Expression, what: string): number {
    const value = this.as(e, scalar('int'));
    const x = known(value);
    if (x === undefined) {
      throw new Fault('S4001', `${what} is not a constant`, e.span,
        { hint: 'only parameters, constants and variables that are never assigned again can be used here' });
    }
    return x;
  }

  typeFor(type: Type, span: Span): IrType {
    return this.session.sized(type, (length) => this.#length(length), span);
  }

  #length(e: Expression): number {
    const { usage } = this.session;
    const find = (symbol: NameSymbol): Entity | undefined => this.scope.find(symbol);
    const changes = (symbol: NameSymbol): boolean => ['state', 'variable'].includes(find(symbol)?.kind ?? '');
    const isCall = this.#evaluate !== undefined && usage.callsFunctions(e) && !usage.refersTo(e, changes);
    return isCall ? this.#evaluate(e, find) : this.constantInt(e, 'the length of an array');
  }

  find(e: Extract<Expression, { kind: 'name' }>): Entity {
    const symbol = this.session.checked.symbolOf(e);
    const entity = this.scope.find(symbol);
    if (entity === undefined) {
      throw new Fault('S4008', `${e.name} has no value here`, e.span,
        { hint: 'fields of an enclosing stream cannot be read, only its parameters and variables' });
    }
    return entity;
  }

  entity(entity: Entity, span: Span): IrExpression {
    switch (entity.kind) {
      case 'constant': return this.#constantValue(entity.data, span, entity.name);
      case 'variable': return { kind: 'variable', variable: entity.variable, type: entity.variable.type, span };
      case 'state': return { kind: 'state', variable: entity.variable, type: entity.variable.type, span };
      case 'text': throw new Fault('S4005', 'a string can only be printed or name a file', span);
      case 'portal': throw new Fault('S4009', 'a portal is not a value', span);
    }
  }

  #constantValue(data: ConstantData, span: Span, name = 'table'): IrExpression {
    if (data.type.kind === 'scalar' || data.type.kind === 'vector' || this.tables === undefined) return constantOf(data, span);
    let table = this.#tableOf.get(data);
    if (table === undefined) {
      table = { name: this.namer.unique(name), type: data.type, initial: data, role: 'constant' };
      this.session.keepBytes(data.type, span);
      this.tables.push(table);
      this.#tableOf.set(data, table);
    }
    return { kind: 'state', variable: table, type: data.type, span };
  }

  #input(span: Span): IrType {
    if (this.ends === undefined) throw new Fault('S4010', 'there is no channel to read during elaboration', span);
    if (this.ends.input.kind === 'void') throw new Fault('S4011', 'this filter has no input', span);
    return this.ends.input;
  }

  #element(e: Extract<Expression, { kind: 'index' }>): IrExpression {
    const array = this.expression(e.array);
    const index = this.as(e.index, scalar('int'));
    if (array.type.kind !== 'array') throw new Fault('S4012', `${typeText(array.type)} has no elements`, e.span);
    const { length, element: type } = array.type;
    const at = known(index);
    if (at !== undefined && (at < 0 || at >= length)) {
      this.session.report(new Fault('S4013', `index ${at} is outside an array of ${length}`, e.index.span), 'warning');
    } else if (at !== undefined) {
      const data = array.kind === 'constant' ? array.value : array.kind === 'state' && array.variable.role === 'constant'
        ? array.variable.initial : undefined;
      if (data !== undefined) return this.#constantValue(slice(data, type, at * scalarCount(type)), e.span);
    }
    return { kind: 'element', array, index, safe: at !== undefined && at >= 0 && at < length, type, span: e.span };
  }

  #field(e: Extract<Expression, { kind: 'field' }>): IrExpression {
    const object = this.expression(e.object);
    if (object.type.kind === 'vector') {
      const part = parts[e.field];
      if (part === undefined || part >= vectorSizes[object.type.name]) throw new Fault(
        'S4014', `${typeText(object.type)} has no part ${e.field}`, e.span);
      if (object.kind === 'constant') return constant('float', elementAt(object.value.numbers, part), e.span);
      return { kind: 'part', vector: object, part, type: scalar('float'), span: e.span };
    }
    const type = this.session.checked.typeOf(e.object);
    const field = type.kind === 'struct' ? this.session.fieldOf(type.declaration, object.type, e.field) : undefined;
    if (field === undefined) throw new Fault('S4014', `${typeText(object.type)} has no field ${e.field}`, e.span);
    return { kind: 'field', object, field: field.name, type: field.type, span: e.span };
  }

  #call(e: Extract<Expression, { kind: 'call' }>, callee: Callee): IrExpression {
    switch (callee.kind) {
      case 'function': return this.callHelper(callee.declaration, e.args, e.span);
      case 'math': {
        const operand = this.typeFor(callee.operand, e.span);
        const args = this.ordered(e.args.map((arg) => () => this.as(arg, operand)));
        const toReal = operand.kind === 'vector' && (callee.name === 'abs' || callee.name === 'arg');
        const type = callee.name === 'random' ? scalar(args.length === 0 ? 'float' : 'int') : toReal ? scalar('float') : operand;
        const made = makeMath(callee.name, callee.name === 'random' ? e.args.map((arg) => this.as(arg, scalar('int'))) : args, type,
          e.span);
        if (made === undefined) throw new Fault('S4015', `${callee.name} has no meaning for ${typeText(operand)}`, e.span);
        return made;
      }
      case 'load': return this.#constantValue(loadArray(this, e, callee.element), e.span);
      case 'print': throw new Fault('S4006', 'print has no value', e.span);
      case 'native':
        throw new Fault(
          'S4016', `the native function ${callee.declaration.name} is not known here`, e.span, { hint: 'write it in StreamIt' });
    }
  }

  /** A call of a function of the program. */
  callHelper(declaration: FunctionDeclaration, args: readonly Expression[], span: Span): IrExpression {
    return callFunction(this, declaration, args, span);
  }

  #unary(e: Extract<Expression, { kind: 'unary' }>): IrExpression {
    let operand = this.expression(e.operand);
    if (e.operator === '+') return operand;
    if (e.operator === '!') operand = this.converted(operand, scalar(isScalar(operand.type, 'bit') ? 'bit' : 'boolean'), e.span);
    else if (e.operator === '-' && isScalar(operand.type, 'bit')) operand = this.converted(operand, scalar('int'), e.span);
    const made = makeUnary(e.operator, operand, e.span);
    if (made === undefined) throw new Fault('S4017', `${e.operator} has no meaning for ${typeText(operand.type)}`, e.span);
    return made;
  }

  #binary(e: Extract<Expression, { kind: 'binary' }>): IrExpression {
    if (e.operator === '&&' || e.operator === '||') return lazyBoth(this, e);
    const [left, right] = this.ordered([() => this.expression(e.left), () => this.expression(e.right)]);
    return this.binary(e.operator, required(left), required(right), e.span);
  }

  /**
   * Translates expressions that are evaluated in order. If a later one needs preceding statements, the values of earlier ones are saved in
   * variables, by `keep`, at a position among those statements.
   */
  ordered(makes: readonly (() => IrExpression)[],
    keep = (position: number, e: IrExpression): IrExpression => this.storedAt(position, e, 'operand')): IrExpression[] {
    const made: IrExpression[] = [];
    const marks: number[] = [];
    for (const make of makes) {
      made.push(make());
      marks.push(this.before.length);
    }
    const end = this.before.length;
    for (let i = made.length - 2; i >= 0; --i) {
      if (elementAt(marks, i) < end && elementAt(made, i).kind !== 'constant') made[i] = keep(elementAt(marks, i), elementAt(made, i));
    }
    return made;
  }

  /** Saves the value in a variable that is set before the statements added after `position`. */
  storedAt(position: number, e: IrExpression, name: string): IrExpression {
    const variable: Variable = { name: this.namer.unique(name), type: e.type };
    this.before.splice(position, 0, { kind: 'declare', variable, value: e, span: e.span });
    return { kind: 'variable', variable, type: e.type, span: e.span };
  }

  /** The operator, with its operands converted to one type. */
  binary(operator: IrBinary, left: IrExpression, right: IrExpression, span: Span): IrExpression {
    const type = operandType(operator, left.type, right.type);
    if (type !== undefined) {
      const [a, b] = [this.#operand(left, type, span), this.#operand(right, type, span)];
      if (type.kind === 'vector' && (operator === '==' || operator === '!=')) return this.#compareParts(operator, a, b, span);
      const made = makeBinary(operator, a, b, span);
      if (made !== undefined) return made;
    }
    throw new Fault('S4017', `${operator} has no meaning for ${typeText(left.type)} and ${typeText(right.type)}`, span);
  }

  /** A scalar combined with a float2 to float4 stands for all components; combined with a complex number, it is the real part. */
  #operand(e: IrExpression, type: IrType, span: Span): IrExpression {
    if (e.type.kind !== 'scalar' || type.kind !== 'vector' || type.name === 'complex') return this.converted(e, type, span);
    const single = this.stored(this.converted(e, scalar('float'), span), 'factor');
    return { kind: 'compose', parts: new Array<IrExpression>(vectorSizes[type.name]).fill(single), type, span };
  }

  #compareParts(operator: IrBinary, a: IrExpression, b: IrExpression, span: Span): IrExpression {
    const [left, right] = [this.stored(a, 'left'), this.stored(b, 'right')];
    const size = vectorSizes[(a.type as IrType & { kind: 'vector' }).name];
    let all: IrExpression | undefined;
    for (let part = 0; part < size; ++part) {
      const [x, y] = [left, right].map((vector): IrExpression => ({ kind: 'part', vector, part, type: scalar('float'), span }));
      const one = required(makeBinary(operator, required(x), required(y), span));
      all = all === undefined ? one : required(makeBinary(operator === '==' ? '&&' : '||', all, one, span));
    }
    return required(all);
  }

  /** Saves the value in a variable, unless evaluating it again is harmless. */
  stored(e: IrExpression, name: string): IrExpression {
    if (e.kind === 'constant' || e.kind === 'variable') return e;
    return this.storedAt(this.before.length, e, name);
  }

  condition(e: Expression): IrExpression {
    return this.as(e, scalar('boolean'));
  }

  #cast(e: Extract<Expression, { kind: 'cast' }>): IrExpression {
    const type = this.typeFor(this.session.checked.typeOfNode(e.type), e.span);
    const operand = this.expression(e.operand);
    return this.converted(operand, type, e.span);
  }

  /** An array literal; its type comes from the context, or else from its first element. */
  arrayLiteral(e: Extract<Expression, { kind: 'array-literal' }>, type: IrType | undefined): IrExpression {
    const { elements } = e;
    const element = type?.kind === 'array' ? type.element : undefined;
    if (type !== undefined && element === undefined) throw new Fault(
      'S4007', `a row of values cannot be used where ${typeText(type)} is expected`, e.span);
    if (type?.kind === 'array' && elements.length > type.length) {
      throw new Fault('S4019', `${elements.length} values for an array of ${type.length}`, e.span);
    }
    const values: IrExpression[] = [];
    this.ordered(elements.map((each) => () => {
      values.push(element !== undefined ? this.as(each, element) : this.#firstType(each, values));
      return lastOf(values);
    })).forEach((value, i) => { values[i] = value; });
    const whole = type ?? this.session.arrayOf(values[0]?.type ?? scalar('int'), elements.length, e.span);
    const numbers: number[] = [];
    for (const value of values) {
      const data = value.kind === 'constant' ? value.value : value.kind === 'state' && value.variable.role === 'constant'
        ? value.variable.initial : undefined;
      if (data === undefined) return this.#filled(whole, values, e.span);
      for (let i = 0; i < data.numbers.length; ++i) numbers.push(elementAt(data.numbers, i));
    }
    // Missing elements are zeros.
    return this.#constantValue(toConstant(whole, unflatten(whole, numbers, { at: 0 })), e.span);
  }

  #firstType(e: Expression, before: readonly IrExpression[]): IrExpression {
    return before.length > 0 ? this.as(e, elementAt(before, 0).type) : this.expression(e);
  }

  /** An array that is filled at run time. */
  #filled(type: IrType, values: readonly IrExpression[], span: Span): IrExpression {
    const variable: Variable = { name: this.namer.unique('row'), type };
    const array: IrExpression = { kind: 'variable', variable, type, span };
    this.before.push({ kind: 'declare', variable, value: undefined, span });
    values.forEach((value, i) => this.before.push({
      kind: 'assign', span, value,
      target: { kind: 'element', array, index: constant('int', i, span), safe: true, type: value.type, span },
    }));
    return array;
  }
}
