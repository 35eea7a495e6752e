// Rules for TypeScript: what the compiler cannot see and a reader would trip over. Layout is Prettier's.
import eslint from '@eslint/js';
import typescriptEslint from 'typescript-eslint';

export default typescriptEslint.config(
  {
    ignores: [
      '**/dist/**',
      '**/build/**',
      '.sheaf/**',
      '**/target/**',
      'fixtures/demo/site/**',
      '**/vitest.config.ts',
      'playwright.config.ts',
    ],
  },
  eslint.configs.recommended,
  ...typescriptEslint.configs.strictTypeChecked,
  ...typescriptEslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // A loop knows its bounds, and the compiler does not: `!` says so.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // The compiler reports unused names; parameters that a signature asks for begin with `_`.
      '@typescript-eslint/no-unused-vars': 'off',
      // Options and modules are objects of functions that do not use `this`.
      '@typescript-eslint/unbound-method': 'off',
      // A callback may change a `let` that the compiler believes it knows, and browsers may lack what its types promise.
      '@typescript-eslint/no-unnecessary-condition': 'off',
      // Adapters pass for classes of Node.js by what they do.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // The caller of `find<HTMLElement>()` and `serveCalls<Call>()` knows what comes.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // `void` says that a value is not wanted.
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // Header maps lose fields by name; control characters are what some checks look for.
      '@typescript-eslint/no-dynamic-delete': 'off',
      'no-control-regex': 'off',
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
    },
  },
  {
    // Scripts have no types; the names that Node.js brings are known to it alone.
    files: ['**/*.mjs', '**/*.js'],
    extends: [typescriptEslint.configs.disableTypeChecked],
    rules: {
      'no-undef': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      'no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/no-unused-vars': 'off',
    },
  },
  {
    // Stand-ins are often async without waiting.
    files: ['packages/*/test/**/*.ts'],
    rules: {
      '@typescript-eslint/require-await': 'off',
      // What comes out of JSON is compared with what is expected.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      // Keys are made text in every way there is, to see that none tells a secret.
      '@typescript-eslint/no-base-to-string': 'off',
      // A handler that fails fails the test.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      // Alphabets are ASCII.
      '@typescript-eslint/no-misused-spread': 'off',
      // Playwright's fixtures that need no other take an empty pattern.
      'no-empty-pattern': 'off',
      'no-restricted-syntax': [
        'error',
        {
          selector:
            'CallExpression[callee.object.name="vi"][callee.property.name=/^waitFor|^waitUntil/][arguments.length=1]',
          message: 'Without a limit it waits for one second, in which a process may not run at all on a busy machine.',
        },
      ],
    },
  },
);
