// Expressions of generated JavaScript as instructions.
import type { Expression, Literal, Node } from 'acorn';
import type { op } from './binary.ts';
import { ElementWriter, type Surroundings } from './elements.ts';
import { calleeName, comparisons, isInt, isIntegral, literalValue, plainType, same, unknown, type ValueType,
  type Variable } from './types.ts';

type Operation = keyof typeof op;
const prefix = { i: 'i32', f: 'f32', d: 'f64' } as const;
const arithmetic: Readonly<Record<string, string>> = { '+': 'add', '-': 'sub', '*': 'mul', '/': 'div' };
const integers: Readonly<Record<string, Operation>> = {
  '+': 'i32_add', '-': 'i32_sub', '*': 'i32_mul', '%': 'i32_rem_s', '|': 'i32_or', '&': 'i32_and', '^': 'i32_xor', '<<': 'i32_shl',
  '>>': 'i32_shr_s', '>>>': 'i32_shr_u',
};
const relations: Readonly<Record<string, string>> = { '===': 'eq', '!==': 'ne', '<': 'lt', '<=': 'le', '>': 'gt', '>=': 'ge' };
const unaryMath: Readonly<Record<string, string>> = { abs: 'abs', ceil: 'ceil', floor: 'floor', wl_rint: 'nearest' };

/** Writes the expressions of one function. */
export class ExpressionWriter {
  readonly elements: ElementWriter;
  readonly #s: Surroundings;

  constructor(surroundings: Surroundings) {
    this.#s = surroundings;
    this.elements = new ElementWriter(surroundings, (e, type) => { this.as(e, type); });
  }

  /** An expression as a value of a type. */
  as(e: Node, type: ValueType): void {
    const { code, types } = this.#s;
    const node = e as Expression;
    const x = literalValue(node);
    if (x !== undefined) {
      code.constant(plainType(type), x);
      return;
    }
    const from = types.of(node);
    this.#value(node, from);
    this.#convert(node, from, type);
  }

  /** An expression as a single: what is a single already, or a literal or integer. */
  #asSingle(e: Node): void {
    const node = e as Expression;
    this.as(node.type === 'UnaryExpression' && node.operator === '+' ? node.argument : node, 'f');
  }

  #convert(e: Node, from: ValueType, to: ValueType): void {
    const { code } = this.#s;
    if (plainType(from) === plainType(to)) return;
    if (to === 'd') code.op(from === 'f' ? 'f64_promote_f32' : from === 'u' ? 'f64_convert_i32_u' : 'f64_convert_i32_s');
    else if (to === 'f' && from !== 'd') code.op(from === 'u' ? 'f32_convert_i32_u' : 'f32_convert_i32_s');
    else unknown(e);
  }

  /** A condition as 0 or another integer. */
  condition(e: Node): void {
    const type = this.#s.types.of(e);
    if (!isInt(type)) unknown(e);
    this.as(e, 'i');
  }

  /** An expression for what it does. */
  effect(e: Expression): void {
    const { code, types } = this.#s;
    if (e.type === 'AssignmentExpression') {
      this.#assign(e.operator, e.left, e.right);
    } else if (e.type === 'UpdateExpression' && e.argument.type === 'Identifier') {
      const variable = this.#variable(e.argument);
      code.get(variable.local).constant('i', e.operator === '++' ? 1 : -1).op('i32_add').set(variable.local);
    } else if (e.type === 'CallExpression' && this.#effectCall(calleeName(e.callee), e.arguments, e)) return;
    else {
      this.as(e, types.of(e));
      code.op('drop');
    }
  }

  #variable(e: Node): Variable {
    const node = e as Expression;
    return (node.type === 'Identifier' ? this.#s.variable(node.name) : undefined) ?? unknown(node);
  }

  #assign(operator: string, left: Node, right: Expression): void {
    const { code } = this.#s;
    const target = left as Expression;
    if (target.type === 'MemberExpression') {
      this.elements.store(target.object, target.property as Expression, right);
      return;
    }
    const { local, type } = this.#variable(target);
    if (operator === '+=') code.get(local);
    this.as(right, type);
    if (operator === '+=') code.op('i32_add');
    code.set(local);
  }

  #value(e: Expression, type: ValueType): void {
    const { code } = this.#s;
    switch (e.type) {
      case 'Literal': code.constant(plainType(type), e.value as number); break;
      case 'Identifier':
        if (e.name === 'NaN' || e.name === 'Infinity') code.constant('d', e.name === 'NaN' ? NaN : Infinity);
        else code.get(this.#variable(e).local);
        break;
      case 'UnaryExpression': this.#unary(e.operator, e.argument, type); break;
      case 'BinaryExpression': this.#binary(e.operator, e.left as Expression, e.right, type); break;
      case 'LogicalExpression': this.#logical(e.operator, e.left, e.right); break;
      case 'ConditionalExpression': this.#conditional(e, type); break;
      case 'MemberExpression': this.elements.value(e.object, e.property as Expression, plainType(type)); break;
      case 'CallExpression': this.#call(calleeName(e.callee), e.arguments, type, e); break;
      case 'UpdateExpression': this.elements.countDown(e); break;
      default: unknown(e);
    }
  }

  #unary(operator: string, argument: Expression, type: ValueType): void {
    const { code } = this.#s;
    if (operator === '!') {
      this.condition(argument);
      code.op('i32_eqz');
    } else if (operator === '~') {
      this.as(argument, 'i');
      code.constant('i', -1).op('i32_xor');
    } else if (operator === '+') this.as(argument, 'd');
    else if (isInt(type)) {
      code.constant('i', 0);
      this.as(argument, 'i');
      code.op('i32_sub');
    } else {
      this.as(argument, type);
      code.op(type === 'f' ? 'f32_neg' : 'f64_neg');
    }
  }

  #binary(operator: string, left: Expression, right: Expression, type: ValueType): void {
    const { code } = this.#s;
    if (comparisons.has(operator)) {
      this.#compare(operator, left, right);
      return;
    }
    if (operator === '|' && isIntegral(right as Literal) && (right as Literal).value === 0) {
      if (left.type === 'BinaryExpression' && left.operator === '/') this.#divide(left.left as Expression, left.right);
      else this.as(left, 'i');
      return;
    }
    if (isInt(type)) {
      this.as(left, 'i');
      this.as(right, 'i');
      code.op(integers[operator] ?? unknown(left));
      return;
    }
    this.as(left, 'd');
    this.as(right, 'd');
    if (operator === '%') this.#named('mod');
    else code.op(`f64_${arithmetic[operator]!}` as Operation);
  }

  /** Of integers; the least by -1 is the least again. */
  #divide(left: Expression, right: Expression): void {
    const { code, types } = this.#s;
    if (!isInt(types.of(left)) || !isInt(types.of(right))) unknown(right);
    const by = literalValue(right);
    if (by === -1) {
      code.constant('i', 0);
      this.as(left, 'i');
      code.op('i32_sub');
      return;
    }
    if (by === undefined) {
      this.as(right, 'i');
      code.constant('i', -1).op('i32_eq').begin('if', 'i').constant('i', 0);
      this.as(left, 'i');
      code.op('i32_sub').op('else');
    }
    this.as(left, 'i');
    this.as(right, 'i');
    code.op('i32_div_s');
    if (by === undefined) code.op('end');
  }

  #compare(operator: string, left: Expression, right: Expression): void {
    const type = plainType(this.#joined(left, right));
    this.as(left, type);
    this.as(right, type);
    const name = relations[operator]!;
    const isSigned = type === 'i' && !['eq', 'ne'].includes(name);
    this.#s.code.op(`${prefix[type]}_${name}${isSigned ? '_s' : ''}` as Operation);
  }

  /** The type of two values together; a literal is of the other's. */
  #joined(a: Expression, b: Expression): ValueType {
    const { types } = this.#s;
    const [left, right] = [types.of(a), types.of(b)];
    if ((left === 'f' && this.#isSingle(b)) || (right === 'f' && this.#isSingle(a))) return 'f';
    return types.joined(a, b);
  }

  #logical(operator: string, left: Expression, right: Expression): void {
    const { code } = this.#s;
    this.condition(left);
    code.begin('if', 'i');
    if (operator === '&&') this.condition(right);
    else code.constant('i', 1);
    code.op('else');
    if (operator === '&&') code.constant('i', 0);
    else this.condition(right);
    code.op('end');
  }

  #conditional({ test, consequent, alternate }: Extract<Expression, { type: 'ConditionalExpression' }>, type: ValueType): void {
    const { code } = this.#s;
    const [yes, no] = [literalValue(consequent), literalValue(alternate)];
    if (yes === 1 && no === 0 && type === 'i') {
      this.#truth(test);
      return;
    }
    if (isCheap(consequent) && isCheap(alternate)) {
      this.as(consequent, type);
      this.as(alternate, type);
      this.condition(test);
      code.op('select');
      return;
    }
    this.condition(test);
    code.begin('if', plainType(type));
    this.as(consequent, type);
    code.op('else');
    this.as(alternate, type);
    code.op('end');
  }

  /** A condition as 0 or 1. */
  #truth(e: Expression): void {
    this.condition(e);
    const isTruth = (e.type === 'BinaryExpression' && comparisons.has(e.operator)) || (e.type === 'UnaryExpression' && e.operator === '!')
      || (e.type === 'LogicalExpression');
    if (!isTruth) this.#s.code.op('i32_eqz').op('i32_eqz');
  }

  #named(name: string): void {
    this.#s.code.op('call').unsigned(this.#s.names.callee(name)!.index);
  }

  #call(name: string, args: readonly Node[], type: ValueType, e: Expression): void {
    const { code, names } = this.#s;
    if (name === 'fround') this.#single(args[0] as Expression);
    else if (name === 'imul') {
      this.as(args[0]!, 'i');
      this.as(args[1]!, 'i');
      code.op('i32_mul');
    } else if (name === 'wl_int') this.#toInt(args[0]!);
    else if (name === 'wl_at') this.#within(args);
    else if (same.has(name)) this.#sameMath(name, args, type);
    else if (name === 'sqrt') {
      this.as(args[0]!, 'd');
      code.op('f64_sqrt');
    } else {
      const callee = names.callee(name) ?? unknown(e);
      callee.signature.params.forEach((param, i) => { this.as(args[i]!, param); });
      code.op('call').unsigned(callee.index);
    }
  }

  /** Rounds to a single; what is computed from singles is computed in them. */
  #single(e: Expression): void {
    const { code, types } = this.#s;
    if (e.type === 'BinaryExpression' && e.operator in arithmetic && this.#isSingle(e.left) && this.#isSingle(e.right)) {
      this.#asSingle(e.left);
      this.#asSingle(e.right);
      code.op(`f32_${arithmetic[e.operator]!}` as Operation);
    } else if (e.type === 'CallExpression' && calleeName(e.callee) === 'sqrt' && this.#isSingle(e.arguments[0]!)) {
      this.#asSingle(e.arguments[0]!);
      code.op('f32_sqrt');
    } else if (types.of(e) === 'd' && literalValue(e) === undefined) {
      this.as(e, 'd');
      code.op('f32_demote_f64');
    } else this.as(e, 'f');
  }

  /** Whether no rounding changes a value, so that it can be computed with as a single. */
  #isSingle(e: Node): boolean {
    const node = e as Expression;
    const x = literalValue(node);
    if (x !== undefined) return Object.is(Math.fround(x), x);
    if (node.type === 'UnaryExpression' && node.operator === '+') return this.#s.types.of(node.argument) === 'f';
    return this.#s.types.of(node) === 'f';
  }

  #toInt(e: Node): void {
    const { code, types } = this.#s;
    const type = types.of(e);
    this.as(e, type === 'f' ? 'f' : 'd');
    code.prefixed(type === 'f' ? 'i32_trunc_sat_f32_s' : 'i32_trunc_sat_f64_s');
  }

  /** An index, if it lies within a length. */
  #within([index, length, site]: readonly Node[]): void {
    const { code } = this.#s;
    const local = this.#s.local('i', 'wl_index');
    this.as(index!, 'i');
    code.tee(local);
    // A window may be used up beyond its end.
    this.as(length!, 'i');
    if (literalValue(length!) !== undefined) code.op('i32_ge_u');
    else {
      code.op('i32_ge_s').get(local).constant('i', 0).op('i32_lt_s').op('i32_or');
    }
    code.begin('if');
    this.as(site!, 'i');
    code.get(local).op('f64_convert_i32_s');
    this.#named('wl_fail');
    code.op('end').get(local);
  }

  #sameMath(name: string, args: readonly Node[], type: ValueType): void {
    const { code } = this.#s;
    const own = plainType(type);
    if (own !== 'i') {
      for (const arg of args) this.as(arg, own);
      code.op(`${prefix[own]}_${unaryMath[name] ?? name}` as Operation);
      return;
    }
    if (name !== 'abs' && name !== 'max' && name !== 'min') {
      this.as(args[0]!, 'i');
      return;
    }
    const [a, b] = [this.#s.local('i', 'wl_first'), this.#s.local('i', 'wl_second')];
    this.as(args[0]!, 'i');
    code.set(a);
    if (name === 'abs') code.constant('i', 0).get(a).op('i32_sub').set(b);
    else {
      this.#deep(args[1]!, a);
      code.set(b);
    }
    code.get(a).get(b).get(a).get(b).op(name === 'min' ? 'i32_lt_s' : 'i32_gt_s').op('select');
  }

  /** Evaluates while a local keeps its value, which the evaluation may need for itself. */
  #deep(e: Node, local: number): void {
    this.#s.code.get(local);
    this.as(e, 'i');
    const kept = this.#s.local('i', 'wl_kept');
    this.#s.code.set(kept).set(local).get(kept);
  }

  /** Calls that give nothing. */
  #effectCall(name: string, args: readonly Node[], e: Expression): boolean {
    const { code, names } = this.#s;
    if (name === 'fill' || name === 'copyWithin') {
      const { object } = (e as Extract<Expression, { type: 'CallExpression' }>).callee as unknown as { object: Node };
      this.elements.move(name, object, args as readonly Expression[]);
    } else if (name === 'wl_print') {
      for (const part of (args[1] as Extract<Expression, { type: 'ArrayExpression' }>).elements) {
        this.as(part!, 'd');
        this.#named('wl_put');
      }
      this.as(args[0]!, 'i');
      this.#named('wl_print');
    } else {
      const callee = names.callee(name);
      if (callee === undefined || callee.signature.result !== undefined) return false;
      callee.signature.params.forEach((param, i) => { this.as(args[i]!, param); });
      code.op('call').unsigned(callee.index);
    }
    return true;
  }

}

/** Whether a value may be found although it is not needed. */
function isCheap(e: Expression): boolean {
  return literalValue(e) !== undefined || e.type === 'Identifier';
}
