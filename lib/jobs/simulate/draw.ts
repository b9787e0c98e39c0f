// The pictures of a `simulate` item, from its result.zarr.
import { join } from 'node:path';
import { writeFileAtomic } from '../../core/files.ts';
import { elementAt, lastOf, required } from '../../core/known.ts';
import { FieldSeries, type OpenedSeries } from '../../files/zarr.ts';
import { plotSvg, type PlotSpecification } from '../../pictures/plot.ts';
import { titled } from '../../pictures/units.ts';
import type { ColourRanges } from '../kind.ts';
import { spaceTimePlot } from '../space-time.ts';
import { profilePlot, type Profile } from './pictures.ts';
import type { SimulateJob } from './schema.ts';

const spaceTimeName = 'space-time.svg', profileName = 'profile.svg';

const titleOf = ({ description, name }: SimulateJob): string => description ?? name;

/** Writes a picture; false where vega is not installed. */
async function write(folder: string, name: string, plot: PlotSpecification): Promise<boolean> {
  const svg = await plotSvg(plot);
  if (svg !== undefined) await writeFileAtomic(join(folder, name), svg);
  return svg !== undefined;
}

/** What a diagram over space and time is drawn from. */
export type Snapshots = Pick<OpenedSeries, 'series' | 'fields'> & { readonly times: ArrayLike<number>; readonly x: Float64Array };

async function diagram(
  job: SimulateJob, { series, fields, times, x }: Snapshots, colours?: ColourRanges,
): ReturnType<typeof spaceTimePlot> {
  const { units = {} } = job;
  const half = (lastOf(x) - elementAt(x, 0)) / (x.length - 1) / 2;
  return spaceTimePlot({
    title: titleOf(job), series, points: x.length, times: Array.from(times), units, colours: colours?.[spaceTimeName],
    fields: fields.filter((name) => name !== 'energy'), // the others say it
    x: { title: titled('x', units), range: [elementAt(x, 0) - half, lastOf(x) + half] },
  });
}

/** Writes space-time.svg and profile.svg, where vega is installed: their names, and the ranges of their colours. */
export async function drawAll(
  job: SimulateJob, snapshots: Snapshots, profile: Omit<Profile, 'title' | 'units'>, folder: string,
): Promise<{ readonly files: readonly string[]; readonly colours: ColourRanges }> {
  const { plot, colours } = await diagram(job, snapshots);
  const { energy: _energy, ...final } = profile.final;
  const plots = { [spaceTimeName]: plot, [profileName]: profilePlot({ ...profile, final, title: titleOf(job), units: job.units ?? {} }) };
  const files: string[] = [];
  for (const [name, each] of Object.entries(plots)) if (await write(folder, name, each)) files.push(name);
  return { files, colours: { [spaceTimeName]: colours } };
}

/** Draws the maps of a finished item again, with other ranges of colours. */
export async function redrawMaps(job: SimulateJob, folder: string, colours: ColourRanges): Promise<void> {
  const { axes, ...opened } = await FieldSeries.open(join(folder, 'result.zarr'));
  const x = required(axes[0])[1];
  const fields = Object.keys(colours[spaceTimeName] ?? {});
  await write(folder, spaceTimeName, (await diagram(job, { ...opened, fields, x }, colours)).plot);
}
