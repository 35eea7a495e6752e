// Rules for TypeScript: what the compiler cannot see and a reader would trip over. Layout is Prettier's.
import eslint from '@eslint/js';
import typescriptEslint from 'typescript-eslint';

export default typescriptEslint.config(
  { ignores: ['**/dist/**', '**/build/**', '.sheaf/**', '**/target/**', 'fixtures/**', '**/*.mjs', '**/*.js'] },
  eslint.configs.recommended,
  ...typescriptEslint.configs.strictTypeChecked,
  ...typescriptEslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // A loop knows its bounds, and the compiler does not: `!` says so.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // The compiler reports unused names; parameters that a signature asks for begin with `_`.
      '@typescript-eslint/no-unused-vars': 'off',
      // Options and modules are objects of functions that do not use `this`.
      '@typescript-eslint/unbound-method': 'off',
      // Header maps lose fields by name; control characters are what some checks look for.
      '@typescript-eslint/no-dynamic-delete': 'off',
      'no-control-regex': 'off',
      '@typescript-eslint/dot-notation': ['error', { allowIndexSignaturePropertyAccess: true }],
    },
  },
  {
    // Stand-ins are often async without waiting.
    files: ['packages/*/test/**'],
    rules: {
      '@typescript-eslint/require-await': 'off',
      // What comes out of JSON is compared with what is expected.
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      // Alphabets are ASCII.
      '@typescript-eslint/no-misused-spread': 'off',
      // Playwright's fixtures that need no other take an empty pattern.
      'no-empty-pattern': 'off',
    },
  },
);
