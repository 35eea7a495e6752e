// quiche with its own HTTP/3 (of @currentspace/http3) as the client of the checks that all implementations have. Prints JSON.
//
//   quiche_http3_program.mjs download --authority FILE ADDRESS:PORT PATH…   all paths at once over one connection
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { connectAsync } from '@currentspace/http3';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { authority: { type: 'string' }, connections: { type: 'string', default: '1' } },
});
const [mode, server, ...paths] = positionals;
if (mode !== 'download' || paths.length === 0 || values.connections !== '1') {
  throw new Error('usage: see the first lines');
}

const session = await connectAsync(server, { ca: readFileSync(values.authority), servername: 'localhost' });
session.on('error', fail);
const downloads = await Promise.all(paths.map(download));
process.stdout.write(JSON.stringify([{ downloads }]), () => process.exit(0));

async function download(path) {
  const head = { ':method': 'GET', ':scheme': 'https', ':authority': server, ':path': path };
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of session.request(head, { endStream: true })) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { path, bytes, sha256: hash.digest('hex') };
}

function fail(error) {
  console.error(error);
  process.exit(1);
}
