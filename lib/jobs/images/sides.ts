// A result beside what it was made from, as two pictures of one size: what can be laid over each other.
import { join } from 'node:path';
import { writeFileAtomic } from '../../core/files.ts';
import { panelsPng, type Panel, type Spacing } from './pictures.ts';

/** The files that {@link writeSides} writes. */
export const sideFiles = ['before.png', 'after.png'] as const;

/** Writes before.png and after.png: the middle planes of two images of one grid. */
export async function writeSides(folder: string, before: Panel, after: Panel, spacing?: Spacing): Promise<void> {
  const pictures = [before, after].map((panel) => panelsPng([panel], spacing));
  await Promise.all(sideFiles.map((name, i) => writeFileAtomic(join(folder, name), pictures[i] ?? '')));
}
