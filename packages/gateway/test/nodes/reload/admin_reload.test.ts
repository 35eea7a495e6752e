import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { collect } from '../../support/client.js';
import { startGateway } from '../../support/gateway.js';
import { startReloading } from '../../support/reloading.js';

const yaml = 'listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nroutes: [{ files: ./site }]\n';

interface Asked {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string;
}

async function ask(port: number, { method = 'POST', headers = {}, body }: Asked) {
  const sent = httpRequest({ host: '127.0.0.1', port, path: '/reload', method, headers, agent: false });
  sent.on('error', () => undefined).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, text: (await collect(response)).toString() };
}

it.each([
  ['a page of another site', { headers: { origin: 'https://evil.example' } }, 403],
  ['a form of another site', { headers: { 'content-type': 'text/plain' }, body: 'a=b' }, 403],
  ['a page whose name was bound to this address', { headers: { host: 'evil.example', 'sheaf-admin': '1' } }, 421],
  ['a preflight request', { method: 'OPTIONS', headers: { origin: 'https://evil.example' } }, 405],
  ['a navigation', { method: 'GET', headers: {} }, 404],
  ['a body', { headers: { 'sheaf-admin': '1' }, body: 'routes: []' }, 413],
  ['a body of unknown length', { headers: { 'sheaf-admin': '1', 'transfer-encoding': 'chunked' }, body: 'x' }, 413],
])('%s reloads nothing', async (_who, asked: Asked, status) => {
  const site = await startReloading({ yaml, files: { 'site/a.txt': 'a' } });
  const { version } = site.status().configuration!;
  await writeFile(site.file, `${yaml}\n`);
  expect((await ask(site.gateway.adminAddress!.port, asked)).status).toBe(status);
  expect(site.status().configuration!.version).toBe(version);
});

it('an operator reloads, and reads why a document is refused', async () => {
  const site = await startReloading({ yaml, files: { 'site/a.txt': 'a' } });
  const { port } = site.gateway.adminAddress!;
  const headers = { 'sheaf-admin': '1' };
  await writeFile(site.file, `${yaml}limits: { drain: 3s }\n`);
  const accepted = await ask(port, { headers });
  expect([accepted.status, JSON.parse(accepted.text)]).toEqual([
    200,
    {
      accepted: true,
      version: site.status().configuration!.version,
      changes: [{ node: 'gateway', option: 'limits.drain', change: 'changed' }],
      warnings: [],
    },
  ]);
  await writeFile(site.file, `${yaml}limit: { drain: 3s }\n`);
  const refused = await ask(port, { headers });
  expect(refused.status).toBe(422);
  const { refusal } = JSON.parse(refused.text) as { refusal: { code: string; text: string } };
  expect(refusal.code).toBe('CONFIG_UNKNOWN_KEY');
  expect(refusal.text).toContain('sheaf.yaml:4:1');
});

it('a node that runs by no file says so', async () => {
  const { gateway } = await startGateway('admin: 127.0.0.1:0\nroutes: [{ files: . }]');
  expect((await ask(gateway.adminAddress!.port, { headers: { 'sheaf-admin': '1' } })).status).toBe(404);
  expect(gateway.status().configuration).toBeUndefined();
});
