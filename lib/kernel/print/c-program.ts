// Programs in C++ and CUDA C++: buffers, declarations and functions, as one text or as several that are compiled separately.
import { mathFunctions, type Buffer, type KernelFunction, type Program } from '../ir.ts';
import { required } from '../../core/known.ts';
import { mathIn } from '../math/index.ts';
import { buffersIn } from '../visit.ts';
import { cLiteral, cName, cTypes, declarationText, FunctionPrinter, type CFamily } from './c-family.ts';
import { usesOf } from './c-uses.ts';

function bufferText(buffer: Buffer, family: CFamily): string {
  const { element, role, initial } = buffer;
  const numbers = initial === undefined ? '' : Array.from(initial, (x) => cLiteral(element, x)).join(', ');
  const isConstant = role === 'constant';
  const data = numbers === '' && !isConstant ? '' : ` = {${numbers}}`;
  return `${family.storage(buffer)}${declarationText(buffer)}${data};`;
}

/** The declaration of a buffer that another unit defines. */
function outerText(buffer: Buffer, family: CFamily): string {
  return buffer.role === 'constant' ? bufferText(buffer, family) : `${family.outer ?? 'extern '}${declarationText(buffer)};`;
}

const mathFamily: CFamily = {
  traps: 'call', qualifiers: '', restrict: '', isParameter: () => false, storage: () => '', ownStorage: () => '',
  functionName: (name) => `wl_math_${name}`,
};

/**
 * The mathematical functions that a program uses, each with a wrapper that returns its result. Their accuracy depends on the order of
 * operations, so where the compiler may change that, the functions of the C library are used.
 */
function mathText(program: Pick<Program, 'functions'>): readonly string[] {
  const library = mathIn(program, ['fma', 'fmaf']);
  if (library.length === 0) return [];
  const uses = usesOf({ functions: library.map(({ f }) => f), buffers: [], imports: [] }, mathFamily);
  const used = library.filter(({ f }) => f.name in mathFunctions).map(({ f: { name, parameters } }) => {
    const names = parameters.map((local) => local.name);
    const head = `WARPLOOM_DEVICE double wl_${name}(${names.map((each) => `double ${each}`).join(', ')})`;
    return { name, head, args: names.join(', ') };
  });
  return [
    '#ifdef __FAST_MATH__', ...used.map(({ name, head, args }) => `${head} { return ${name}(${args}); }`), '#else',
    ...library.map(({ f, isRare }) => new FunctionPrinter(f, { ...mathFamily, qualifiers: isRare ? 'WL_RARE' : 'WL_MATH' }, uses).print()),
    ...used.map(({ name, head, args }) => `${head} { double made; wl_math_${name}(${args}, made); return made; }`), '#endif',
  ];
}

/** Prints buffers, declarations of imports, and functions; the caller adds the text before (arithmetic.h) and after them. */
export function printCFamily(program: Program, family: CFamily): string {
  const { unit, qualifiers, knowsImports = false } = family;
  const uses = usesOf(program, family);
  const undeclared = knowsImports ? [] : program.imports;
  const imports = undeclared.map(({ name, parameters, results }) => `${qualifiers} void ${cName(name)}(${
    [...parameters.map((type) => cTypes[type]), ...results.map((type) => `${cTypes[type]}&`)].join(', ')});`);
  const printer = (f: KernelFunction): FunctionPrinter => new FunctionPrinter(f, family, uses);
  const functions = unit === undefined ? program.functions : program.functions.filter((f) => unit.functions.has(f));
  const buffers = program.buffers.filter((buffer) => !family.isParameter(buffer));
  const mentioned = unit === undefined || unit.isFirst ? undefined : new Set(functions.flatMap(({ body }) => [...buffersIn(body)]));
  const others = unit?.isFirst === true ? program.functions.filter((f) => !unit.functions.has(f)) : [];
  return [
    ...(mentioned === undefined ? buffers.map((buffer) => bufferText(buffer, family))
      : buffers.filter((buffer) => mentioned.has(buffer)).map((buffer) => outerText(buffer, family))), ...imports,
    ...mathText({ functions }),
    ...others.map((f) => `${printer(f).head()};`), ...functions.map((f) => `\n${printer(f).print()}`),
  ].join('\n');
}

/** The buffers that printed functions take as pointers after their arguments and results, in order, by function name. */
export function bufferParameters(program: Program, family: CFamily): ReadonlyMap<string, readonly Buffer[]> {
  return new Map([...usesOf(program, family)].map(([name, { buffers }]) => [name, [...buffers]]));
}

/** Whether a printed function can trap. */
export function canTrap(program: Program, family: CFamily, name: string): boolean {
  return required(usesOf(program, family).get(name)).traps;
}

