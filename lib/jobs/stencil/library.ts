// Equations of the library by name.
import { refusal } from '../../core/errors.ts';
import { equations, type Dimensions, type Equation } from '../../stencil/index.ts';

type Make = (dimensions: Dimensions) => Equation | undefined;

const library = {
  advection: (dimensions) => (dimensions === 1 ? equations.advection.inOneDimension()
    : dimensions === 2 ? equations.advection.inTwoDimensions() : undefined),
  burgers: (dimensions) => (dimensions === 1 ? equations.burgers.equation() : undefined),
  'gray-scott': (dimensions) => equations.grayScott.equation(dimensions),
  heat: (dimensions) => equations.heat.equation(dimensions),
  wave: (dimensions) => equations.wave.equation(dimensions),
  'wave-in-medium': (dimensions) => equations.wave.inMedium(dimensions),
} as const satisfies Record<string, Make>;

/** The name of an equation of the library. */
export type LibraryName = keyof typeof library;
export const libraryNames = Object.keys(library) as [LibraryName, ...LibraryName[]];

/** @throws ArgumentError for dimensions in which the library does not have it */
export function libraryEquation(name: LibraryName, dimensions: Dimensions): Equation {
  const make: Make = library[name];
  const equation = make(dimensions);
  if (equation === undefined) throw refusal('shape', `extents of dimensions in which the library has ${name}`, `${dimensions} of them`);
  return equation;
}
