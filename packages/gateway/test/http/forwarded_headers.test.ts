import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { get, getByHttp2 } from '../support/client.js';
import { startGateway } from '../support/gateway.js';
import { startUpstream } from '../support/upstream.js';

const mirror: RequestListener = (request, response) =>
  void response.end(JSON.stringify({ url: request.url, headers: request.headers }));

const claims = [
  'X_Forwarded_For',
  'x-forwarded_for',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-Server',
  'x_forwarded-proto',
  'X-Real-IP',
  'X_Real_IP',
  'X-Client-IP',
  'X-Cluster-Client-IP',
  'True-Client-IP',
  'True_Client_IP',
  'CF-Connecting-IP',
  'X-Original-URL',
  'X-Original-Host',
  'X-Rewrite-URL',
  'Client-Cert',
  'Client_Cert_Chain',
  'Early_Data',
  'Content_Length',
  'Transfer_Encoding',
];

describe('what a client could claim', () => {
  it.each([
    ['HTTP/1.1', get],
    ['HTTP/2', getByHttp2],
  ])('does not reach the next server over %s, in any spelling', async (_version, ask) => {
    const upstream = await startUpstream(mirror);
    const { port } = await startGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const claimed = Object.fromEntries(claims.map((name) => [name.toLowerCase(), '6.6.6.6']));
    const answer = await ask(port, '/', { headers: { ...claimed, x_own_field: 'kept', 'x-own': 'kept' } });
    const { headers } = JSON.parse(answer.body.toString()) as { headers: Record<string, string> };
    expect(JSON.stringify(headers)).not.toContain('6.6.6.6');
    expect(headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      x_own_field: 'kept',
      'x-own': 'kept',
    });
  });
});

describe('a path that may mean another route', () => {
  it.each([
    '/%61pi/secret',
    '//api/secret',
    '/x/../api/secret',
    '/public/..%2Fapi/secret',
    '/api%2Fsecret',
    '/public/..%5capi/secret',
    '/%00/api',
  ])('%s does not get around the route of /api', async (path) => {
    const open = await startUpstream(mirror);
    const { port } = await startGateway(
      `routes: [{ path: /api/, methods: PUT, upstream: "http://127.0.0.1:9" }, { path: /api/, files: . }, { upstream: "${open.origin}" }]`,
    );
    expect([400, 404]).toContain((await get(port, path)).status);
    expect((await get(port, '/public/a%2Fb//c')).body.toString()).toContain('"/public/a%2Fb//c"');
  });
});
