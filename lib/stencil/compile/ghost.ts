// What boundary conditions put into cells beyond the boundary, as functions of inner cells.
import { required } from '../../core/known.ts';
import { binary, call, constant, get, type Expression, type KernelFunction, type Local, type Statement } from '../../kernel/ir.ts';
import { axisNames, ghostValue, sides, type Arithmetic, type Rule } from '../boundary.ts';
import { traceGhost, traceValue, type Input, type Names, type Precision, type Traced } from './trace.ts';

/** Arithmetic on expressions. */
export function arithmeticOf(precision: Precision): Arithmetic<Expression> {
  const of = (op: 'add' | 'sub' | 'mul' | 'div') => (a: Expression, b: Expression): Expression => binary(op, a, b);
  return {
    number: (value) => constant(precision, precision === 'f32' ? Math.fround(value) : value),
    add: of('add'), sub: of('sub'), mul: of('mul'), div: of('div'),
  };
}

/** A cell beyond a boundary. */
export interface GhostCell {
  readonly axis: number;
  readonly side: 0 | 1;
  readonly field: number;
  readonly k: number;
  readonly rule: Exclude<Rule, { kind: 'periodic' }>;
}

/** The function of a cell beyond the boundary, and the one that it calls for the number of the condition, if that is a function. */
export function ghostFunctions({ axis, side, field, k, rule }: GhostCell,
  names: Names): { readonly value?: Traced; readonly ghost: Traced } {
  const name = `${sides[side]}_${axis}_${field}`;
  const argument = `boundary.${required(axisNames[axis])}.${sides[side]}`;
  if (rule.kind === 'function') return { ghost: traceGhost(`ghost_${name}_${k}`, argument, rule.value, k, names) };
  const { precision } = names;
  const at = arithmeticOf(precision);
  const given = 'value' in rule ? rule.value : 0;
  const value = typeof given === 'number' ? undefined : traceValue(`value_${name}`, `${argument}.value`, given, names);
  const inputs: Input[] = [...value?.inputs ?? []];
  const parameters: Local[] = [...value?.f.parameters ?? []];
  const body: Statement[] = [];
  const own: Local = { name: 'value', type: precision };
  if (value !== undefined) body.push(call(value.f.name, parameters.map(get), [own]));
  const inner = (distance: number): Expression => {
    const local: Local = { name: 'inner', type: precision };
    inputs.push({ kind: 'inner', index: field, distance });
    parameters.push(local);
    return get(local);
  };
  const made = ghostValue(rule, k, required(names.spacing[axis]), { inner, value: () => (typeof given === 'number'
    ? at.number(given) : get(own)), at });
  const f: KernelFunction = {
    name: `ghost_${name}_${k}`, parameters, results: [precision], buffers: [], body: [...body, { kind: 'return', values: [made] }],
  };
  return { ghost: { f, inputs }, ...(value === undefined ? {} : { value }) };
}
