// `npm run format`: lays out TypeScript, JavaScript, C++ and documents.
import { formatDocuments } from './checks/document_layout.mjs';
import { format } from './checks/tools.mjs';
import { root } from './setup/stamp.mjs';

for (const { code, output } of await format()) {
  process.stderr.write(output);
  if (code !== 0) process.exitCode = 1;
}
await formatDocuments(root);
