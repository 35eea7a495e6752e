#!/usr/bin/env node
// In the package and not in dist/, so that package managers can link it before the first build.
import { existsSync } from 'node:fs';

const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write('error: Sheaf is not built yet\n  hint: run `npm run setup` in the repository\n');
  process.exitCode = 3;
}
