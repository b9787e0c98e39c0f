// Table 1 of Davidson and Owens (2011) from the paper's model of register packing.
import { tridiagonal } from 'warploom';

console.log('system size  depth  shared memory  registers  threads');
for (const size of [512, 1024, 2048, 4096]) {
  for (const depth of [4, 8, 16]) {
    const { sharedBytesPerBlock, registersPerThread, threads } = tridiagonal.model({ size, depth });
    console.log([String(size).padStart(11), String(depth).padStart(5), `${sharedBytesPerBlock / 1024} KB`.padStart(13),
      String(registersPerThread).padStart(9), String(threads).padStart(7)].join('  '));
  }
}
