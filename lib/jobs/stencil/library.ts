// Equations of the library by name.
import { refusal } from '../../core/errors.ts';
import { didYouMean } from '../../core/similar.ts';
import { equations, type Dimensions, type Equation } from '../../stencil/index.ts';

type Make = (dimensions: Dimensions) => Equation | undefined;

/** The one of the dimensions that an equation has. */
const only = (of: Partial<Record<Dimensions, () => Equation>>): Make => (dimensions) => of[dimensions]?.();

const { advection, burgers, euler, fitzHughNagumo, grayScott, heat, kuramotoSivashinsky, maxwell, shallowWater, wave } = equations;

const library = {
  advection: only({ 1: () => advection.inOneDimension(), 2: () => advection.inTwoDimensions() }),
  burgers: only({ 1: () => burgers.equation() }),
  euler: only({ 1: () => euler.inOneDimension(), 2: () => euler.inTwoDimensions(), 3: () => euler.inThreeDimensions() }),
  'euler-weno5': only({
    1: () => euler.inOneDimension('weno5'), 2: () => euler.inTwoDimensions('weno5'), 3: () => euler.inThreeDimensions('weno5'),
  }),
  'fitzhugh-nagumo': (dimensions) => fitzHughNagumo.equation(dimensions),
  'gray-scott': (dimensions) => grayScott.equation(dimensions),
  heat: (dimensions) => heat.equation(dimensions),
  'kuramoto-sivashinsky': only({ 1: () => kuramotoSivashinsky.equation() }),
  maxwell: only({ 2: () => maxwell.inTwoDimensions(), 3: () => maxwell.inThreeDimensions() }),
  'shallow-water': only({ 1: () => shallowWater.inOneDimension(), 2: () => shallowWater.inTwoDimensions() }),
  wave: (dimensions) => wave.equation(dimensions),
  'wave-in-medium': (dimensions) => wave.inMedium(dimensions),
} as const satisfies Record<string, Make>;

/** The name of an equation of the library. */
export type LibraryName = keyof typeof library;
export const libraryNames = Object.keys(library) as [LibraryName, ...LibraryName[]];

/** What to say of a name that the library does not have. */
export function libraryHint(name: string): string {
  const like = didYouMean(name, libraryNames, '');
  return `${like === '' ? '' : `${like} `}The library has ${libraryNames.join(', ')}`;
}

/** @throws ArgumentError for dimensions in which the library does not have it */
export function libraryEquation(name: LibraryName, dimensions: Dimensions): Equation {
  const make: Make = library[name];
  const equation = make(dimensions);
  if (equation !== undefined) return equation;
  const those = ([1, 2, 3] as const).filter((each) => make(each) !== undefined);
  throw refusal('shape', `${those.join(' or ')} extent${those.join() === '1' ? '' : 's'}, the dimensions in which the library has ${name}`,
    `${dimensions} of them`);
}
