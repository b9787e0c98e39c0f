// Maps of one run that differ only in what they show and in their titles: the chart is laid out once.
import { gridPng, spreadRange } from './grid.ts';
import { mapPlot, type MapPanel, type Plane } from './map.ts';
import { plotSvg } from './plot.ts';

/** Draws one map of a series: its title, and the numbers. */
export type DrawFrame = (title: string, plane: Plane) => string;

/** What all maps of a series have in common; one range of colours makes them comparable. */
export type FramePanel = Pick<MapPanel, 'x' | 'y'> & { readonly shown: Required<MapPanel['shown']> };

const escaped = (text: string): string => text.replace(/[&<>]/g, (c) => (c === '&' ? '&amp;' : c === '<' ? '&lt;' : '&gt;'));
const dataUrl = (png: Uint8Array): string => `data:image/png;base64,${Buffer.from(png).toString('base64')}`;

/**
 * What draws the maps of a series, or undefined without vega.
 * @param room a title as long as the longest
 */
export async function mapFrames(panel: FramePanel, room: string): Promise<DrawFrame | undefined> {
  const range = spreadRange(panel.shown.range);
  const none: Plane = { width: 1, height: 1, values: [NaN] };
  // Its title in one line, to be found again.
  const template = await plotSvg({ ...mapPlot(room, [[{ ...panel, picture: none }]]), title: { text: room } });
  if (template === undefined) return undefined;
  const url = dataUrl(gridPng(none.values, 1, 1, range));
  const parts = template.split(url);
  return (title, { width, height, values }) => {
    const picture = dataUrl(gridPng(values, width, height, range));
    return parts.map((part) => part.replaceAll(`>${escaped(room)}<`, () => `>${escaped(title)}<`)).join(picture);
  };
}
