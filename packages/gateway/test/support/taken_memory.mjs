// A careless program transfers memory away that it has handed over to the transport, in every way that this version of
// Node has, and fills it with something else. Run by itself, since the version of Node matters.
//
//   node taken_memory.mjs CERTIFICATE KEY       two PEM files
//
// Prints as JSON which ways there are, which ones succeeded, and whether what was sent came to the other side.
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connectHttp3, createHttp3Server } from '@sheaf/native';

const size = 2_000_000;
const letter = 'a';
/** Memory of its own, not a part of the pool that Node shares out. */
const filled = () => Buffer.from(new Uint8Array(size).fill(letter.charCodeAt(0)).buffer);
const isWhole = (received) => received.length === size && received === letter.repeat(size);

const ways = {
  structuredClone: (memory) => structuredClone(memory, { transfer: [memory] }),
  transfer: (memory) => memory.transfer(),
  transferToFixedLength: (memory) => memory.transferToFixedLength(),
};
const known = Object.keys(ways).filter((way) => way === 'structuredClone' || way in ArrayBuffer.prototype);
const taken = [];

function takeAway(way, bytes) {
  try {
    new Uint8Array(ways[way](bytes.buffer)).fill(0);
    taken.push(way);
  } catch {
    // Marked memory stays.
  }
}

const [certificate, privateKey] = process.argv.slice(2).map((path) => readFileSync(path, 'utf8'));
const server = createHttp3Server({
  address: '127.0.0.1',
  port: 0,
  alpn: ['h3'],
  certificate: { certificate, privateKey },
});
server.on('request', (request, response) => {
  const way = request.headers['x-way'];
  if (way === undefined) {
    void text(request).then((body) => response.end(isWhole(body) ? 'whole' : 'damaged'));
    return;
  }
  const body = filled();
  response.end(body);
  setImmediate(() => takeAway(way, body));
});
const { port } = await server.listen();
const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true });
const ask = async (options) =>
  text(await client.request({ path: '/', authority: 'localhost', headers: {}, ...options }));
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const outcomes = {};
for (const way of known) {
  const [lent, piped] = [filled(), new Uint8Array(filled())];
  const answers = [ask({ method: 'POST', body: lent }), ask({ method: 'POST', body: Readable.from([piped]) })];
  await nextTurn();
  takeAway(way, lent);
  takeAway(way, piped);
  const [request, stream] = await Promise.all(answers);
  const response = isWhole(await ask({ method: 'GET', headers: { 'x-way': way } })) ? 'whole' : 'damaged';
  outcomes[way] = { request, stream, response };
}
await client.close();
await server.close(0);
console.log(JSON.stringify({ version: process.versions.node, taken, outcomes }));
