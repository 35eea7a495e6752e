// `npm run demo`: runs the set-up, then `sheaf demo` with the given options. Only the demo writes to standard output;
// npm adds two lines above it, except with `npm run --silent demo`.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { report, setup } from './setup.mjs';
import { exitCode } from './setup/process.mjs';
import { root } from './setup/stamp.mjs';

try {
  await setup('demo');
  const child = spawn(join(root, 'node_modules/.bin/sheaf'), ['demo', ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.once('close', (code, signal) => {
    process.exitCode = exitCode(code, signal);
  });
} catch (error) {
  report(error);
}
