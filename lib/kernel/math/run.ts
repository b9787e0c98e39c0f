// Mathematical functions for JavaScript: the library as WebAssembly, compiled at the first call.
import { required } from '../../core/known.ts';
import { engine, type WasmFunction } from '../../core/wasm-engine.ts';
import { libraryFunctions, type LibraryName, type Program } from '../ir.ts';
import { layoutWasm } from '../print/wasm-layout.ts';
import { printWasm } from '../print/wasm.ts';
import { mathLibrary, withCallees } from './index.ts';

/** The library as a program. */
export function mathProgram(): Program {
  return { buffers: [], imports: [], functions: withCallees(Object.values(mathLibrary)).map(({ f }) => f) };
}

let compiled: Readonly<Record<string, WasmFunction | undefined>> | undefined;

function compile(): typeof compiled & {} {
  const program = mathProgram();
  const bytes = printWasm(program, { layout: layoutWasm(program), exports: new Set(Object.keys(libraryFunctions)) });
  const memory = new engine.Memory({ initial: 0, maximum: 1 });
  return new engine.Instance(new engine.Module(bytes), { host: { memory, own: 0 } }).exports;
}

/** A mathematical function, with the same bits as on all targets. */
export function mathOf(name: LibraryName): (...args: number[]) => number {
  let found: WasmFunction | undefined;
  return (...args) => (found ??= required((compiled ??= compile())[name]))(...args);
}
