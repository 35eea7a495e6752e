// Receives the publication on standard input as the directory that the argument names. Prints as JSON where files are while it arrives
// and afterwards, and what the end failed with: mounts of this process are gone with it.
import { readdirSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import { OutputDirectory } from '../../dist/directory/output_directory.js';

const [target] = process.argv.slice(2);
const parent = dirname(target);
const places = () =>
  readdirSync(parent, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(parent, `${entry.parentPath ?? entry.path}/${entry.name}`))
    .sort();

const output = await OutputDirectory.open(target, 'got');
for await (const bytes of process.stdin) await output.sink(bytes);
const failure = await output.commit().then(
  () => undefined,
  ({ code, message, hint }) => ({ code, message, hint }),
);
await output.discard();
process.stdout.write(JSON.stringify({ places: places(), failure }));
