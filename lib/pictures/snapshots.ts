// How snapshots of simulations show themselves: one line in consoles, a chart in notebooks.
import { displayed } from '../core/display.ts';

/** The grid of a snapshot. */
export interface SnapshotGrid {
  /** In front of the time in the title; '' for none. */
  readonly name: string;
  readonly shape: readonly number[];
  readonly spacing: readonly number[];
  /** How many members or problems its arrays hold one after another; the first is drawn. */
  readonly members: number;
}

/** Gives a snapshot its display. `fields`: its arrays by name. */
export function shownSnapshot<T extends { readonly step: number; readonly time: number }>(
  taken: T, fields: Readonly<Record<string, Float32Array | Float64Array>>, { name, shape, spacing, members }: SnapshotGrid,
): T {
  const { step, time } = taken;
  const size = `${shape.join(' × ')}${members === 1 ? '' : `, members: ${members}`}`;
  return displayed(taken, {
    text: () => `Snapshot { step: ${step}, time: ${time}, fields: ${Object.keys(fields).join(', ')}, shape: ${size} }`,
    bundle: async () => {
      const [{ statePlot }, { chartBundle }] = await Promise.all([import('./profiles.ts'), import('./shown.ts')]);
      const cells = shape.reduce((product, extent) => product * extent, 1);
      const first = Object.fromEntries(Object.entries(fields).map(([field, values]) => [field, values.subarray(0, cells)] as const));
      const title = `${name === '' ? '' : `${name}, `}t = ${Number(time.toPrecision(6))}`;
      return chartBundle(statePlot({ title, shape, spacing, fields: first }));
    },
  });
}
