// Figures of imaging: times of its operations beside those of others, and how good the answers are.
//
//   curvature3d/<n>/float32/<cold|hot>/<variant>, curvature2d/…     seconds of one evaluation
//   tv/iteration/<n>, tv/to-energy/128                              seconds of an iteration of denoise on n³; host to host
//   chan-vese/iteration/<n>                                         seconds of an iteration of segment on n²
//   registration/iteration/<n^2|n^3>                                seconds of an iteration of register
//   stall/<call>/<side>                                             seconds that a call keeps the event loop from its turns
//   quality/<phantom>/<metric>                                      see imaging-quality.ts
import type { BenchContext } from './domain.ts';
import { withPeers } from './imaging-data.ts';
import { qualityRows } from './imaging-quality.ts';
import type { Row } from './report.ts';

type Family = (context: BenchContext) => Promise<readonly Row[]>;

/** A family of rows is in a file of its own, imaging-<name>.ts, which exports <name>Rows. */
async function family(name: string): Promise<Family> {
  const file = new URL(`./imaging-${name}.ts`, import.meta.url);
  return (await import(file.href) as Readonly<Record<string, Family>>)[`${name}Rows`]!;
}

/** All rows of the domain; throws at the end when a family of them failed. */
export async function benchmarkImaging(context: BenchContext): Promise<void> {
  const failures: string[] = [];
  const measured = new Set<string>();
  const emit = (row: Row): void => {
    if (measured.has(row.id) || !context.wanted(row.id)) return;
    measured.add(row.id);
    context.emit(withPeers(row, context.device.backend));
  };
  for (const name of ['denoise', 'segment', 'registration', 'stalls', 'quality']) {
    try {
      const rows: Family = name === 'quality' ? (one) => qualityRows(one, measured) : await family(name);
      // Rows that a family emits itself, one by one, are kept when it fails later.
      for (const row of await rows({ ...context, emit })) emit(row);
    } catch (error) {
      failures.push(`${name}: ${(error as Error).message}`);
      context.say(failures.at(-1)!);
    }
  }
  if (failures.length > 0) throw new Error(`${failures.length} families of figures failed; ${failures.join('; ')}`);
}
