// Child process of test/core/checkpoint.test.ts: writes checkpoints until it is killed.
import { writeCheckpoint } from '../../lib/core/checkpoint.ts';

const path = process.argv[2]!;
for (let step = 0; ; ++step) {
  await writeCheckpoint(path, {
    kind: 'killed', parameters: {}, step, arrays: { state: new Float64Array(50_000).fill(step) },
  });
  if (step === 0) process.stdout.write('ready\n');
}
