import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const nodeGlobals = Object.fromEntries(
  ['process', 'console', 'URL', 'setTimeout', 'clearTimeout', 'structuredClone', 'AbortController', 'Buffer',
    'performance', 'SharedArrayBuffer', 'Atomics', 'fetch', 'TextDecoder', 'TextEncoder', 'setImmediate']
    .map((name) => [name, 'readonly']));

/** Parts of the stream compiler that are being rebuilt: without type-checked rules until they are. */
const beingRebuilt = ['lib/stream/interpret/**', 'lib/kernel/**'];

/**
 * Where elements are taken with `!`: loops over many numbers, whose places are computed, and the later stages of the stream compiler.
 * Everywhere else elementAt, lastOf, leading and required of lib/core/known.ts say what is known, and fail where it is wrong.
 */
const numericLoops = [
  'lib/kernel/**',
  'lib/stream/interpret/**',
  'lib/stream/lower/**',
  'lib/stream/partition/**',
  'lib/stream/plan/**',
  'lib/stream/run/**',
  'lib/stream/schedule/**',
  'lib/files/images/common.ts',
  'lib/files/images/dicom.ts',
  'lib/files/images/png.ts',
  'lib/files/images/tiff-strips.ts',
  'lib/files/images/tiff-write.ts',
  'lib/files/images/tiff.ts',
  'lib/imaging/contour-tracer.ts',
  'lib/imaging/distances.ts',
  'lib/imaging/metrics.ts',
  'lib/imaging/noise.ts',
  'lib/imaging/phantoms.ts',
  'lib/jobs/images/pictures.ts',
  'lib/jobs/kinds/heat-adi.ts',
  'lib/jobs/pictures/grid.ts',
  'lib/jobs/simulate/pictures.ts',
  'lib/jobs/stream/signal.ts',
  'lib/scratchpad/planners/exact.ts',
  'lib/scratchpad/planners/packing.ts',
  'lib/scratchpad/planners/prepared.ts',
  'lib/scratchpad/reorder.ts',
  'lib/scratchpad/schedule.ts',
  'lib/stream/diagnostics.ts',
  'lib/stream/elaborate/fold.ts',
  'lib/stream/elaborate/loops.ts',
  'lib/stream/elaborate/parameters.ts',
  'lib/stream/elaborate/simulate.ts',
  'lib/swept/initial.ts',
  'lib/swept/saved.ts',
  'lib/swept/simulations.ts',
  'lib/swept/stability.ts',
  'lib/tridiagonal/cubic-spline.ts',
  'lib/tridiagonal/heat-adi.ts',
  'lib/tridiagonal/plan.ts',
  'lib/linear/status.ts',
];

export default tseslint.config(
  { ignores: ['dist/', 'build/', 'bundle/', 'docs/api/', 'prebuilds/', 'node_modules/', 'results/', 'scripts/templates/'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    languageOptions: { globals: nodeGlobals },
    rules: {
      eqeqeq: 'error',
      'no-console': 'off',
      'prefer-const': 'error',
      'no-var': 'error',
      'object-shorthand': 'error',
      'no-empty': ['error', { allowEmptyCatch: false }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
    },
  },
  {
    files: ['lib/**/*.ts'],
    ignores: beingRebuilt,
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers in messages and generated code are meant.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true }],
      '@typescript-eslint/no-invalid-void-type': ['error', { allowAsThisParameter: true }],
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingAny: true, allowThrowingUnknown: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  { files: ['lib/**/*.ts'], rules: { '@typescript-eslint/no-non-null-assertion': 'error' } },
  { files: numericLoops, rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
  {
    files: ['lib/**/*.ts'],
    rules: {
      'no-restricted-imports': ['error', {
        patterns: [{ group: ['node-gyp-build', '**/*.node'], message: 'only lib/core/binding.ts touches the addon' }],
      }],
    },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: { require: 'readonly', module: 'readonly' } },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  { files: ['lib/core/binding.ts'], rules: { 'no-restricted-imports': 'off' } },
  { files: ['test/**/*.ts'], rules: { '@typescript-eslint/no-explicit-any': 'off', '@typescript-eslint/no-unused-expressions': 'off' } },
);
