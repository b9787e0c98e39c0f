// Values of four lanes as instructions.
import type { Expression, Node } from 'acorn';
import type { Bytes } from './binary.ts';
import type { ExpressionWriter } from './expressions.ts';
import type { Quad, QuadLoop } from './quads.ts';
import type { Variable } from './types.ts';

const operations = { '+': 'add', '-': 'sub', '*': 'mul', '/': 'div' } as const;
const scratch = new DataView(new ArrayBuffer(4));

interface Surroundings {
  readonly code: Bytes;
  readonly write: ExpressionWriter;
  variable(name: string): Variable;
  /** A variable of four singles. */
  local(name: string): number;
}

export class QuadWriter {
  readonly #s: Surroundings;

  constructor(surroundings: Surroundings) {
    this.#s = surroundings;
  }

  /** Before a loop: variables become lanes. */
  enter({ carried }: QuadLoop): void {
    const { code } = this.#s;
    for (const { pack, names } of carried) {
      names.forEach((name, lane) => {
        code.get(this.#s.variable(name).local);
        if (lane === 0) code.quad('splat');
        else code.quad('replace_lane').push(lane);
      });
      code.set(this.#s.local(pack));
    }
  }

  /** After it: lanes become variables. */
  leave({ carried }: QuadLoop): void {
    const { code } = this.#s;
    for (const { pack, names } of carried) {
      names.forEach((name, lane) => {
        code.get(this.#s.local(pack)).quad('extract_lane').push(lane).set(this.#s.variable(name).local);
      });
    }
  }

  set(pack: string, value: Quad): void {
    this.#value(value);
    this.#s.code.set(this.#s.local(pack));
  }

  #value(quad: Quad): void {
    const { code } = this.#s;
    switch (quad.kind) {
      case 'same': this.#same(quad.of); break;
      case 'constant':
        code.quad('constant');
        for (const x of quad.lanes) {
          scratch.setFloat32(0, x, true);
          for (let i = 0; i < 4; ++i) code.push(scratch.getUint8(i));
        }
        break;
      case 'variable': code.get(this.#s.local(quad.pack)); break;
      case 'load': this.#load('load', quad.object, quad.index); break;
      case 'gather': this.#gather(quad.object, quad.indices); break;
      case 'unary':
        this.#value(quad.of);
        code.quad(quad.operation);
        break;
      case 'binary':
        this.#value(quad.left);
        this.#value(quad.right);
        code.quad(operations[quad.operator as '+']);
    }
  }

  #load(name: 'load' | 'load32_splat' | 'load32_zero', object: Node, index: Expression): void {
    const offset = this.#s.write.elements.address(object, index, 'f');
    this.#s.code.quad(name).unsigned(2).unsigned(offset);
  }

  #same(e: Expression): void {
    if (e.type === 'MemberExpression') {
      this.#load('load32_splat', e.object, e.property as Expression);
      return;
    }
    this.#s.write.as(e, 'f');
    this.#s.code.quad('splat');
  }

  #gather(object: Node, indices: readonly Expression[]): void {
    const { code, write } = this.#s;
    const local = this.#s.local('wl_gathered');
    indices.forEach((index, lane) => {
      if (lane === 0) {
        this.#load('load32_zero', object, index);
        return;
      }
      code.set(local);
      const offset = write.elements.address(object, index, 'f');
      code.get(local).quad('load32_lane').unsigned(2).unsigned(offset).push(lane);
    });
  }
}
