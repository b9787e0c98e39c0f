import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const nodeGlobals = Object.fromEntries(
  ['process', 'console', 'URL', 'setTimeout', 'clearTimeout', 'structuredClone', 'AbortController', 'Buffer',
    'performance', 'SharedArrayBuffer', 'Atomics', 'fetch', 'TextDecoder', 'TextEncoder', 'setImmediate']
    .map((name) => [name, 'readonly']));

const pageGlobals = Object.fromEntries(
  ['window', 'document', 'location', 'history', 'sessionStorage', 'localStorage', 'FileReader', 'TextDecoderStream', 'Event', 'matchMedia',
    'getComputedStyle', 'ResizeObserver', 'DOMParser', 'btoa', 'devicePixelRatio', 'requestAnimationFrame', 'cancelAnimationFrame']
    .map((name) => [name, 'readonly']));

/** Parts of the stream compiler that are being rebuilt: without type-checked rules until they are. */
const beingRebuilt = ['lib/stream/interpret/**', 'lib/kernel/**'];

/**
 * Where elements are taken with `!`: loops over many numbers, whose places are computed. Everywhere else elementAt, lastOf, leading, addAt
 * and required of lib/core/known.ts say what is known, and fail where it is wrong. scripts/check-sizes.mjs counts the assertions of all.
 */
const hotLoops = [
  'lib/files/images/*.ts',
  'lib/imaging/{contour-tracer,distances,metrics}.ts',
  'lib/tridiagonal/cubic-spline.ts',
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
  { files: hotLoops, rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
  {
    files: ['lib/**/*.ts'],
    rules: {
      'no-restricted-imports': ['error', {
        patterns: [{ group: ['node-gyp-build', '**/*.node'], message: 'only lib/core/binding.ts touches the addon' }],
      }],
    },
  },
  { files: ['lib/server/studio/page/*.mjs'], languageOptions: { globals: pageGlobals } },
  {
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: { require: 'readonly', module: 'readonly' } },
    rules: { '@typescript-eslint/no-require-imports': 'off' },
  },
  { files: ['lib/core/binding.ts'], rules: { 'no-restricted-imports': 'off' } },
  { files: ['test/**/*.ts'], rules: { '@typescript-eslint/no-explicit-any': 'off', '@typescript-eslint/no-unused-expressions': 'off' } },
);
