import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ask, connect } from '../../support/http3_client.js';
import { returningSite } from '../../support/returning_site.js';

/** Shorter than a packet, about as long as one, and longer */
const sizes = [1, 100, 600, 900, 1000, 1024, 1100, 1150, 1200, 1300, 1400, 1450, 1500, 3000, 20_000];
const files = Object.fromEntries(sizes.map((size) => [`${size}.bin`, randomBytes(size)]));

/** A server whose bodies come at once, or in two parts */
async function upstream(): Promise<number> {
  const server = createServer((request, response) => {
    const name = request.url!.slice(1).replace('parts-', '');
    const body = files[name]!;
    response.writeHead(200, { 'content-length': body.length, etag: `"${name}"` });
    if (!request.url!.includes('parts-')) return void response.end(body);
    response.write(body.subarray(0, body.length / 2));
    setTimeout(() => response.end(body.subarray(body.length / 2)), 5);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it('short responses of backends arrive one after the other and together', async () => {
  const upstreamPort = await upstream();
  const routes = `[{ path: /files/, files: files }, { path: /, upstream: "http://127.0.0.1:${upstreamPort}" }]`;
  const site = await returningSite({ backends: 2, routes, files });
  const client = await connect(site.gateway.address.port);
  const get = async (path: string): Promise<void> => {
    const { headers, body } = await ask(client, { path });
    const expected = files[path.split('/').at(-1)!.replace('parts-', '')]!;
    expect(body.equals(expected), path).toBe(true);
    expect(Number(headers['content-length']), path).toBe(expected.length);
  };
  const paths = sizes.flatMap((size) => [`/files/${size}.bin`, `/${size}.bin`, `/parts-${size}.bin`]);
  for (const path of paths) await get(path);
  for (let round = 0; round < 3; round += 1) await Promise.all(paths.map(get));
});
