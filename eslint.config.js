import vitest from '@vitest/eslint-plugin';
import importX from 'eslint-plugin-import-x';
import jsdoc from 'eslint-plugin-jsdoc';
import node from 'eslint-plugin-n';
import rxjsX from 'eslint-plugin-rxjs-x';
import tseslint from 'typescript-eslint';

// Time, chance and the outside world come in through ports; only these rooms may touch them.
const worldlyRooms = ['src/adapters/**', 'src/runtime/**', 'src/cli/**', 'src/config/load.ts', 'src/sandbox/**'];

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', '.larkspur/**'] },
  { files: ['**/*.ts'], extends: [tseslint.configs.strictTypeChecked, rxjsX.configs.strict] },
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-x': importX, n: node, jsdoc },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-assertions': [
        'error',
        { assertionStyle: 'as', objectLiteralTypeAssertions: 'never' },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true, argsIgnorePattern: '^_' }],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
      'import-x/no-default-export': 'error',
      'import-x/order': ['error', { 'newlines-between': 'always', alphabetize: { order: 'asc' } }],
      'n/prefer-node-protocol': 'error',
      'max-lines': ['error', { max: 200, skipBlankLines: true, skipComments: true }],
      'rxjs-x/finnish': [
        'error',
        {
          functions: false,
          methods: false,
          parameters: true,
          properties: true,
          variables: true,
          strict: false,
          // Functions that make a stream, and values that may be one, are no streams.
          names: { '^#?(project|outcome)$': false },
        },
      ],
      'rxjs-x/no-ignored-subscription': 'off',
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'jsdoc/require-jsdoc': [
        'error',
        {
          publicOnly: true,
          contexts: [
            'TSInterfaceDeclaration',
            'TSTypeAliasDeclaration',
            'ExportNamedDeclaration > VariableDeclaration',
          ],
          require: { ClassDeclaration: true, FunctionDeclaration: true },
        },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: worldlyRooms,
    rules: {
      'no-restricted-globals': [
        'error',
        'Date',
        'setTimeout',
        'setInterval',
        'setImmediate',
        'process',
        'fetch',
        'performance',
        'crypto',
      ],
      'no-restricted-properties': ['error', { object: 'Math', property: 'random', message: 'Take a Random port.' }],
    },
  },
  {
    files: ['src/pipeline/**/*.ts'],
    rules: {
      'rxjs-x/ban-operators': [
        'error',
        { mergeMap: true, concatMap: true, mergeAll: true, concatAll: true, switchMap: true },
      ],
    },
  },
  {
    files: ['test/**/*.ts'],
    plugins: { vitest },
    rules: {
      ...vitest.configs.recommended.rules,
      'vitest/expect-expect': [
        'error',
        { assertFunctionNames: ['expect', 'expect*', 'fc.assert', 'fc.check', 'assert*', 'holds*'] },
      ],
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-type-assertion': 'off',
      '@typescript-eslint/consistent-type-assertions': 'off',
      'vitest/valid-title': 'off',
      // A test that waits for a value that never comes should fail with just that.
      'rxjs-x/no-ignored-default-value': 'off',
    },
  },
  { files: ['test/vitest.config.ts', 'eslint.config.js'], rules: { 'import-x/no-default-export': 'off' } },
);
