import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Gateway } from '../../src/nodes/gateway.js';
import { get } from '../support/client.js';
import { parseGateway } from '../support/configuration.js';
import { ask, connect } from '../support/http3_client.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

it('a gateway serves every version at each of its addresses, and takes one connection over several of them', async () => {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'a.txt'), 'here');
  const addresses = ['127.0.0.1', '127.0.0.2', '::1'];
  const gateway = await Gateway.start(
    parseGateway(
      'listen: ["127.0.0.1:0", "127.0.0.2:0", "[::1]:0"]\nroutes: [{ files: site }]\nlog: { level: silent }',
      join(directory, 'sheaf.yaml'),
    ),
  );
  onTestFinished(() => gateway.close(0));
  const { port } = gateway.address;
  expect(gateway.status().listen).toBe(`127.0.0.1:${port}, 127.0.0.2:${port}, [::1]:${port}`);
  for (const host of addresses) {
    const answer = await get(port, '/a.txt', { host });
    expect([answer.body.toString(), answer.headers['alt-svc']]).toEqual(['here', `h3=":${port}"; ma=86400`]);
    expect((await ask(await connect(port, { host }), { path: '/a.txt' })).body.toString()).toBe('here');
    // A page is led to the address that it came from.
    const described = await get(port, '/.well-known/sheaf/certificate-hashes', {
      host,
      headers: { host: host.includes(':') ? `[${host}]` : host },
    });
    expect(JSON.parse(described.body.toString())).toMatchObject({
      authority: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
    });
  }
  const client = await connect(port, { localAddress: '127.0.0.1' });
  for (const address of addresses.slice(1))
    await client.openPath({ local: address === '::1' ? '::1' : '127.0.0.1', remote: { address, port } });
  expect((await ask(client, { path: '/a.txt' })).body.toString()).toBe('here');
  const [served] = gateway.status().connections.filter(({ paths }) => paths.length === 3);
  expect(served?.paths.map(({ local }) => local.address)).toEqual(addresses);
});
