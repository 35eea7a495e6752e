import { defineConfig } from 'vitest/config';

// test/browser holds Playwright's tests.
export default defineConfig({ test: { include: ['test/*.test.ts'] } });
