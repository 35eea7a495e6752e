// `npm run format`: lays out TypeScript, JavaScript and C++.
import { format } from './checks/tools.mjs';

for (const { code, output } of await format()) {
  process.stderr.write(output);
  if (code !== 0) process.exitCode = 1;
}
