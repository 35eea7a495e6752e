// `npm run fixtures:pages`: makes the pages of fixtures/pages as files; prints their directory.
import { setup, report } from './setup.mjs';

try {
  await setup('build', new Set(['dependencies', 'typescript']));
  // The workspace's root depends on the command alone.
  const { ensurePages } = await import('../packages/bench/dist/index.js');
  console.log(await ensurePages());
} catch (error) {
  report(error);
}
