import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findUnused } from '../checks/unused.mjs';

test('an exported symbol and a constant of C++ that nothing uses are told, others are not', () => {
  const files = [
    { path: 'src/a.ts', text: 'export const used = 1;\nexport function unused() {}\nexport type Shape = number;\n' },
    { path: 'src/b.ts', text: "import { used } from './a.js';\nexport class Unused extends used {}\n" },
    { path: 'src/c.cc', text: 'constexpr std::size_t k_used = 1;\nconstexpr int k_unused = k_used;\n' },
  ];
  assert.deepEqual(findUnused(files), [
    'src/a.ts:2: nothing uses unused',
    'src/b.ts:2: nothing uses Unused',
    'src/c.cc:2: nothing uses k_unused',
  ]);
});
