// Compiles statements and functions of the intermediate representation to closures.
import { required } from '../../core/known.ts';
import type { IrExpression, IrFunction, IrPlace, IrStatement, IrType, Variable } from '../ir.ts';
import { compileExpression, fieldIndex, outside, owned } from './compile-expression.ts';
import { Flow, type Callable, type Evaluate, type Execute, type Machine, type Places } from './machine.ts';
import { statementSize } from './walk.ts';
import { copyInto, printed, scalarCount, typeBytes, zero, type Value } from './values.ts';

/** Compiles the code of one filter (or of one stream being elaborated): variables get slots in a frame, fields get slots in the machine. */
export class Compiler implements Places {
  readonly machine: Machine;
  /** Functions that may be called, by name. */
  readonly functions = new Map<string, IrFunction>();
  readonly #callables = new Map<string, Callable>();
  #slots = new Map<Variable, number>();
  #bytes = 0;

  constructor(machine: Machine) {
    this.machine = machine;
  }

  /** The slot of a variable in the frame. */
  slot(variable: Variable): number {
    let slot = this.#slots.get(variable);
    if (slot === undefined) {
      this.#slots.set(variable, slot = this.#slots.size);
      this.#bytes += typeBytes(variable.type);
    }
    return slot;
  }

  /** A function with a frame of its own. */
  callable(name: string): Callable {
    const known = this.#callables.get(name);
    if (known !== undefined) return known;
    const source = this.functions.get(name);
    if (source === undefined) throw new Error(`no function ${name}`);
    const outer = [this.#slots, this.#bytes] as const;
    [this.#slots, this.#bytes] = [new Map(), 0];
    const slots = source.parameters.map((parameter) => this.slot(parameter));
    const callable: Callable = { slots, frameSize: 0, frameBytes: 0, body: () => Flow.normal };
    this.#callables.set(name, callable);
    callable.body = this.statement(source.body);
    callable.frameSize = this.#slots.size;
    callable.frameBytes = this.#bytes;
    [this.#slots, this.#bytes] = outer;
    return callable;
  }

  /** A body without parameters, with a frame of its own. */
  body(statement: IrStatement): Execute {
    const outer = [this.#slots, this.#bytes] as const;
    [this.#slots, this.#bytes] = [new Map(), 0];
    const run = this.statement(statement);
    const [size, bytes, cost] = [this.#slots.size, this.#bytes, statementSize(statement)];
    [this.#slots, this.#bytes] = outer;
    return (m) => {
      const frame = m.frame;
      m.charge(cost, statement.span);
      m.enter(bytes, statement.span);
      m.frame = new Array<Value>(size).fill(0);
      const flow = run(m);
      m.frame = frame;
      m.leave(bytes);
      return flow;
    };
  }

  expression(expression: Parameters<typeof compileExpression>[1]): Evaluate {
    return compileExpression(this, expression);
  }

  statement(statement: IrStatement): Execute {
    switch (statement.kind) {
      case 'block': return this.#block(statement.statements);
      case 'declare': return this.#declare(statement);
      case 'assign': return isShared(statement.target.type) ? this.#copy(statement.target, statement.value)
        : this.assignment(statement.target, owned(this, statement.value));
      case 'evaluate': return this.#effect(this.expression(statement.value));
      case 'push': {
        const value = owned(this, statement.value);
        return (m) => {
          required(m.tape).push(value(m), statement.span);
          return Flow.normal;
        };
      }
      case 'if': return this.#conditional(statement);
      case 'loop': return this.#loop(statement);
      case 'break': return () => Flow.break;
      case 'continue': return () => Flow.continue;
      case 'return': return this.#return(statement.value === undefined ? undefined : owned(this, statement.value));
      case 'print': return this.#print(statement);
      case 'message': {
        const args = statement.args.map((arg) => owned(this, arg));
        return (m) => {
          m.send(statement, args.map((arg) => arg(m)));
          return Flow.normal;
        };
      }
    }
  }

  #effect(run: Evaluate): Execute {
    return (m) => {
      run(m);
      return Flow.normal;
    };
  }

  #return(value: Evaluate | undefined): Execute {
    return (m) => {
      if (value !== undefined) m.returned = value(m);
      return Flow.return;
    };
  }

  #block(statements: readonly IrStatement[]): Execute {
    const parts = statements.map((statement) => this.statement(statement));
    if (parts.length === 1) return required(parts[0]);
    return (m) => {
      for (const part of parts) {
        const flow = part(m);
        if (flow !== Flow.normal) return flow;
      }
      return Flow.normal;
    };
  }

  #declare({ variable, value, span }: Extract<IrStatement, { kind: 'declare' }>): Execute {
    const { type } = variable;
    const slot = this.slot(variable);
    if (value === undefined) {
      const cost = typeBytes(type) >> 5;
      return (m) => {
        if (cost > 0) m.charge(cost, span);
        m.frame[slot] = zero(type);
        return Flow.normal;
      };
    }
    const initial = owned(this, value);
    return (m) => {
      m.frame[slot] = initial(m);
      return Flow.normal;
    };
  }

  #conditional(statement: Extract<IrStatement, { kind: 'if' }>): Execute {
    const condition = this.expression(statement.condition);
    const then = this.statement(statement.then);
    const otherwise = statement.otherwise === undefined ? undefined : this.statement(statement.otherwise);
    return (m) => (condition(m) !== 0 ? then(m) : otherwise === undefined ? Flow.normal : otherwise(m));
  }

  #loop(loop: Extract<IrStatement, { kind: 'loop' }>): Execute {
    const initial = this.#block(loop.initial);
    const condition = loop.condition === undefined ? undefined : this.expression(loop.condition);
    const step = this.#block(loop.step);
    const body = this.statement(loop.body);
    const cost = statementSize(loop.body) + loop.step.reduce((sum, part) => sum + statementSize(part), 1);
    return (m) => {
      initial(m);
      let isDue = loop.atLeastOnce;
      while (isDue || condition === undefined || condition(m) !== 0) {
        isDue = false;
        m.charge(cost, loop.span);
        const flow = body(m);
        if (flow === Flow.break) break;
        if (flow === Flow.return) return flow;
        step(m);
      }
      return Flow.normal;
    };
  }

  #print({ value, newline }: Extract<IrStatement, { kind: 'print' }>): Execute {
    const end = newline ? '\n' : '';
    if ('text' in value) {
      const { text } = value;
      return (m) => {
        m.print(text + end);
        return Flow.normal;
      };
    }
    const run = this.expression(value);
    return (m) => {
      m.print(printed(value.type, run(m)) + end);
      return Flow.normal;
    };
  }

  /** Copies into the existing array or struct, because others may refer to it. */
  #copy(target: IrPlace, from: IrExpression): Execute {
    const [place, value] = [this.expression(target), this.expression(from)];
    const cost = scalarCount(target.type) >> 3;
    return (m) => {
      const into = place(m);
      m.charge(cost, from.span);
      copyInto(into, value(m));
      return Flow.normal;
    };
  }

  /** Stores the result of `value`; the indices of the target are evaluated first. */
  assignment(target: IrPlace, value: Evaluate): Execute {
    if (target.kind === 'variable') {
      const slot = this.slot(target.variable);
      return (m) => {
        m.frame[slot] = value(m);
        return Flow.normal;
      };
    }
    if (target.kind === 'state') {
      const slot = this.machine.fieldSlot(target.variable);
      return (m) => {
        m.fields[slot] = value(m);
        return Flow.normal;
      };
    }
    const locate = placeOf(this, target);
    return (m) => {
      const { container, at } = locate(m);
      container[at] = value(m);
      return Flow.normal;
    };
  }
}

/** Whether a parameter may refer to values of the type. */
const isShared = (type: IrType): boolean => type.kind === 'array' || type.kind === 'struct';

type Row = { [at: number]: Value };

function placeOf(compiler: Compiler, target: Extract<IrPlace, { kind: 'element' | 'field' | 'part' }>) {
  const container = compiler.expression(target.kind === 'element' ? target.array : target.kind === 'field' ? target.object : target.vector);
  const index = target.kind === 'element' ? compiler.expression(target.index) : undefined;
  const fixed = target.kind === 'part' ? target.part : target.kind === 'field' ? fieldIndex(target.object.type, target.field) : 0;
  const length = target.kind === 'element' && target.array.type.kind === 'array' ? target.array.type.length : Infinity;
  return (m: Machine): { container: Row; at: number } => {
    const row = container(m) as unknown as Row;
    const at = index === undefined ? fixed : index(m) as number;
    if (at < 0 || at >= length) throw outside(at, length, target.span);
    return { container: row, at };
  };
}
