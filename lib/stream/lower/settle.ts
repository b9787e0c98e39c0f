// Before code that may not run, or may run several times: moves to memory whatever that code reaches through unknown indices.
import { rootOf } from '../elaborate/loops.ts';
import { known } from '../interpret/values.ts';
import { eachExpression, eachStatement, evaluatesSome, expressionsOf, someExpression } from '../interpret/walk.ts';
import type { IrExpression, IrFunction, IrStatement, Variable } from '../ir.ts';
import type { Analysis } from '../plan/analysis.ts';
import type { Context } from './context.ts';
import { rangeOf } from './ranges.ts';

/** What a piece of code accesses, including the functions that it calls. */
interface Reach {
  /** Elements with non-constant indices: the variable of the array, and the index if it occurs in the code itself. */
  readonly elements: readonly { readonly root: Variable; readonly index: IrExpression | undefined }[];
  readonly peeks: readonly (IrExpression | undefined)[];
  /** Items are moved in loops or by called functions. */
  readonly pops: boolean;
  readonly pushes: boolean;
  /** Variables that the code assigns or declares. */
  readonly assigned: ReadonlySet<Variable>;
}

const remembered = new WeakMap<Analysis, Map<object, Reach>>();

function reachOf(analysis: Analysis, code: IrStatement | IrExpression): Reach {
  let all = remembered.get(analysis);
  if (all === undefined) remembered.set(analysis, all = new Map<object, Reach>());
  let found = all.get(code);
  if (found === undefined) all.set(code, found = new Reaching(analysis).run(code));
  return found;
}

class Reaching {
  readonly #analysis: Analysis;
  readonly #elements: { root: Variable; index: IrExpression | undefined }[] = [];
  readonly #peeks: (IrExpression | undefined)[] = [];
  readonly #called = new Set<IrFunction>();
  #pops = false;
  #pushes = false;

  constructor(analysis: Analysis) {
    this.#analysis = analysis;
  }

  run(code: IrStatement | IrExpression): Reach {
    if ('type' in code) this.#expression(code, false, false);
    else this.#statement(code, false);
    const assigned = new Set('type' in code ? this.#analysis.assignedBy(code) : this.#analysis.assigned(code));
    if (!('type' in code)) eachStatement(code, (s) => { if (s.kind === 'declare') assigned.add(s.variable); });
    return { elements: this.#elements, peeks: this.#peeks, pops: this.#pops, pushes: this.#pushes, assigned };
  }

  #statement(whole: IrStatement, isCalled: boolean): void {
    const visit = (s: IrStatement, inLoop: boolean): void => {
      for (const e of expressionsOf(s)) this.#expression(e, inLoop || s.kind === 'loop', isCalled);
      if (s.kind === 'push') this.#pushes ||= inLoop || isCalled;
      else if (s.kind === 'block') s.statements.forEach((part) => { visit(part, inLoop); });
      else if (s.kind === 'if') {
        visit(s.then, inLoop);
        if (s.otherwise !== undefined) visit(s.otherwise, inLoop);
      } else if (s.kind === 'loop') for (const part of [...s.initial, s.body, ...s.step]) visit(part, true);
    };
    visit(whole, false);
  }

  #expression(whole: IrExpression, inLoop: boolean, isCalled: boolean): void {
    eachExpression(whole, (e) => {
      if (e.kind === 'pop') this.#pops ||= inLoop || isCalled;
      else if (e.kind === 'peek' && known(e.index) === undefined) this.#peeks.push(isCalled ? undefined : e.index);
      else if (e.kind === 'element' && known(e.index) === undefined) this.#element(e, isCalled ? undefined : e.index);
      else if (e.kind === 'call') this.#call(e);
    });
  }

  #element(e: IrExpression, index: IrExpression | undefined): void {
    const root = rootOf(e);
    if (root !== undefined) this.#elements.push({ root, index });
  }

  #call({ function: name, args }: Extract<IrExpression, { kind: 'call' }>): void {
    const called = this.#analysis.function(name);
    if (reachesElements(this.#analysis, called)) for (const arg of args) if (arg.type.kind === 'array') this.#element(arg, undefined);
    if (this.#called.has(called)) return;
    this.#called.add(called);
    this.#statement(called.body, true);
  }
}

const reaching = new WeakMap<IrFunction, boolean>();

/** Whether a function, or one that it calls, accesses an element with a non-constant index. */
function reachesElements(analysis: Analysis, f: IrFunction): boolean {
  let found = reaching.get(f);
  if (found === undefined) {
    reaching.set(f, false);
    found = evaluatesSome(f.body, (e) => (e.kind === 'element' ? known(e.index) === undefined
      : e.kind === 'call' && reachesElements(analysis, analysis.function(e.function))));
    reaching.set(f, found);
  }
  return found;
}

/** Whether an index is known now and stays the same: no variable that it reads is assigned. */
function isFixed(c: Context, index: IrExpression | undefined, assigned: ReadonlySet<Variable>): boolean {
  if (index === undefined) return false;
  const range = rangeOf(c, index);
  if (range === undefined || range[0] !== range[1]) return false;
  return !someExpression(index, (e) => e.kind === 'variable' && assigned.has(e.variable));
}

/** Moves to memory what a statement or expression accesses through unknown indices if it may not run, or may run several times. */
export function settle(c: Context, code: IrStatement | IrExpression): void {
  const { analysis, input, output } = c.options;
  const reach = reachOf(analysis, code);
  if (input?.isInLocals === true && reach.pops) input.toMemory();
  if (output?.isInLocals === true && reach.pushes) output.toMemory();
  if (reach.elements.length === 0 && reach.peeks.length === 0) return;
  const { assigned } = reach;
  for (const { root, index } of reach.elements) {
    const binding = c.bindings.get(root);
    if (binding?.storage.slots !== undefined && !isFixed(c, index, assigned)) c.toMemory(binding);
  }
  if (input?.isInLocals === true && reach.peeks.some((index) => !isFixed(c, index, assigned))) input.toMemory();
}
