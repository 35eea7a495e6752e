// `npm run fixtures:pages`: builds the pages of fixtures/pages as files, and prints their directory.
import { setup, report } from './setup.mjs';

try {
  await setup('build', new Set(['dependencies', 'typescript']));
  // The root of the workspace depends only on the command.
  const { ensurePages } = await import('../packages/bench/dist/index.js');
  console.log(await ensurePages());
} catch (error) {
  report(error);
}
