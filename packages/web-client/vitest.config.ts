import { defineConfig } from 'vitest/config';

// Playwright's tests in test/browser are named .spec.ts.
export default defineConfig({ test: { include: ['test/**/*.test.ts'] } });
