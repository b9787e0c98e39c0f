// The environment variables of docs/environment.md, as warploom doctor checks them: a wrong value or name is otherwise easy to miss.
import { isThere } from '../core/files.ts';
import { didYouMean } from '../core/similar.ts';

/** The variables that users set, with what they take: values, or what must be there under that path; undefined: anything. */
const settings: Readonly<Record<string, readonly string[] | 'path' | undefined>> = {
  WARPLOOM_BACKEND: ['auto', 'cuda', 'cpu', 'simt'], WARPLOOM_ADDON: ['native', 'wasm'], WARPLOOM_CPU_ISA: ['baseline', 'avx2', 'avx512'],
  WARPLOOM_MODULE_COMPILER: ['nvrtc', 'nvcc'], WARPLOOM_TUNE: ['0', '1'], WARPLOOM_NVRTC: 'path', WARPLOOM_PREBUILD: 'path',
  WARPLOOM_QUEUE: undefined, WARPLOOM_SCRATCHPAD: undefined, WARPLOOM_TOKEN: undefined,
};

/** For work on the library itself: building and testing. */
const ofTheProject = new Set(['ALLOW_MISSING', 'CMAKE', 'CUDA', 'CUDA_ARCHITECTURES', 'CUSPARSE', 'JOBS', 'LAPACK', 'LOAD_SECONDS',
  'MISUSE_EACH', 'MISUSE_LIST', 'MISUSE_ONLY', 'MISUSE_SEED', 'FUZZ_CALLS', 'FUZZ_SEED',
  'PROOF_KERNELS', 'RANDOM_EQUATIONS', 'RANDOM_FUNCTIONS',
  'RANDOM_GRAPHS', 'REQUIRE', 'SIMT_DELAY', 'SIMT_DISCRETE', 'SIMT_ORDER', 'SLICE', 'TEST_BACKENDS', 'TEST_SEED', 'THOROUGH',
  'THREAD_STORES', 'UPDATE_GOLDEN', 'WRITE_GAPS'].map((name) => `WARPLOOM_${name}`));

const inWords = (values: readonly string[]): string => `${values.slice(0, -1).join(', ')} or ${values.at(-1) ?? ''}`;

/** What is wrong with the variables of an environment: what was found, and what to do. */
export function wrongSettings(env: Readonly<Record<string, string | undefined>>): { found: string; remedy: string }[] {
  return Object.keys(env).filter((name) => name.startsWith('WARPLOOM_') && !ofTheProject.has(name)).sort().flatMap((name) => {
    const value = env[name] ?? '', allowed = settings[name];
    if (!(name in settings)) {
      return [{ found: `no variable ${name} is known`, remedy: didYouMean(name, Object.keys(settings), 'unset it') }];
    }
    if (value === '' || allowed === undefined) return [];
    if (allowed === 'path') {
      return isThere(value) ? [] : [{ found: `${name}: there is no ${value}`, remedy: `correct ${name}, or unset it` }];
    }
    return allowed.includes(value) ? [] : [{ found: `${name} is '${value}'`, remedy: `give it ${inWords(allowed)}, or unset it` }];
  });
}
