import { describe, expect, it } from 'vitest';
import type { RequestListener } from 'node:http';
import type { GatewayRequest } from '../../src/http/exchange.js';
import { TrustedProxies } from '../../src/http/trusted_proxies.js';
import { Networks } from '../../src/values/networks.js';
import { parseGateway } from '../support/configuration.js';
import { get, getByHttp2 } from '../support/client.js';
import { startFullGateway } from '../support/gateway.js';
import { ask, connect } from '../support/http3_client.js';
import { startUpstream } from '../support/upstream.js';

function trust(value: string): TrustedProxies {
  return new TrustedProxies(
    parseGateway(`listen: ":0"\ntrusted_proxies: ${value}\nroutes: [{ files: . }]`, 'a.yaml').node.trusted_proxies!,
  );
}

function resolve(proxies: TrustedProxies, remoteAddress: string, headers: Record<string, string | string[]>): string {
  const { remoteAddress: client, scheme } = proxies.resolve({
    remoteAddress,
    headers,
    scheme: 'http',
  } as unknown as GatewayRequest);
  return `${client} ${scheme}`;
}

describe('X-Forwarded-For', () => {
  const proxies = trust('[10.0.0.0/8, "2001:db8::/32"]');
  it.each([
    ['10.0.0.1', '192.0.2.7', '192.0.2.7 http'],
    ['10.0.0.1', '6.6.6.6, 192.0.2.7', '192.0.2.7 http'],
    ['10.0.0.1', '6.6.6.6, 192.0.2.7 , 10.1.1.1,2001:db8::5', '192.0.2.7 http'],
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3 http'],
    ['::ffff:10.0.0.1', '192.0.2.7:4711', '192.0.2.7 http'],
    ['2001:db8::1', '[2001:db9::7]:4711', '2001:db9::7 http'],
    ['2001:db8::1', '[2001:db9::7]', '2001:db9::7 http'],
    ['2001:db8::1', '2001:db9::7', '2001:db9::7 http'],
    ['192.0.2.1', '6.6.6.6', '192.0.2.1 http'],
    ['2001:db9::1', '6.6.6.6', '2001:db9::1 http'],
    ['10.0.0.1', '6.6.6.6, unknown', '10.0.0.1 http'],
    ['10.0.0.1', '6.6.6.6, ', '10.0.0.1 http'],
    ['10.0.0.1', '6.6.6.6, fe80::1%eth0', '10.0.0.1 http'],
    ['10.0.0.1', '6.6.6.6, 10.0.0.2, nobody, 10.0.0.3', '10.0.0.3 http'],
  ])('from %s, %s: the client is %s', (remote, field, expected) => {
    expect(resolve(proxies, remote, { 'x-forwarded-for': field })).toBe(expected);
  });

  it('may stand on several lines, and the scheme beside it', () => {
    expect(
      resolve(proxies, '10.0.0.1', {
        'x-forwarded-for': ['6.6.6.6', '192.0.2.7, 10.0.0.2'],
        'x-forwarded-proto': 'HTTPS',
      }),
    ).toBe('192.0.2.7 https');
    expect(resolve(proxies, '10.0.0.1', { 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https, http' })).toBe(
      '192.0.2.7 http',
    );
    expect(resolve(proxies, '192.0.2.1', { 'x-forwarded-proto': 'https' })).toBe('192.0.2.1 http');
  });

  it('is what is believed, not Forwarded', () => {
    expect(resolve(proxies, '10.0.0.1', { forwarded: 'for=6.6.6.6' })).toBe('10.0.0.1 http');
  });
});

describe('Forwarded', () => {
  const proxies = trust('{ addresses: 10.0.0.0/8, header: forwarded }');
  it.each([
    ['for=192.0.2.7;proto=https;by=10.0.0.1', '192.0.2.7 https'],
    ['for=6.6.6.6;proto=http, for="192.0.2.7:80";proto=https, for=10.0.0.2;proto=http', '192.0.2.7 https'],
    ['For="[2001:db8::7]:4711"', '2001:db8::7 http'],
    ['for=unknown', '10.0.0.1 http'],
    ['for=_hidden, for=10.0.0.2', '10.0.0.2 http'],
    ['for=', '10.0.0.1 http'],
    ['for=6.6.6.6;;', '10.0.0.1 http'],
    ['by=10.0.0.1', '10.0.0.1 http'],
  ])('%s: the client is %s', (field, expected) => {
    expect(resolve(proxies, '10.0.0.1', { forwarded: field, 'x-forwarded-for': '6.6.6.6' })).toBe(expected);
  });
});

describe('networks', () => {
  it.each([
    ['192.0.2.7/32', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::1', '::1', true],
    ['fe80::/10', 'fe80::7%eth0', true],
    ['10.0.0.0/8', '::ffff:10.9.9.9', true],
    ['10.0.0.0/8', '', false],
    ['10.0.0.0/8', 'nonsense', false],
  ])('%s has %s: %s', (text, address, expected) => {
    const [base = '', bits] = text.split('/');
    expect(
      new Networks([{ address: base, prefix: Number(bits ?? (base.includes(':') ? 128 : 32)) }]).has(address),
    ).toBe(expected);
  });
});

describe('the client of a request', () => {
  const mirror: RequestListener = (request, response) => void response.end(JSON.stringify(request.headers));

  it('is whom a trusted proxy names, over every version; the upstream hears of nobody else', async () => {
    const upstream = await startUpstream(mirror);
    const { port, log } = await startFullGateway(
      `trusted_proxies: 127.0.0.1\nroutes: [{ upstream: "${upstream.origin}" }]`,
    );
    const headers = { 'x-forwarded-for': '6.6.6.6, 192.0.2.7', 'x-forwarded-proto': 'http' };
    const client = await connect(port);
    for (const { body } of [
      await get(port, '/', { headers }),
      await getByHttp2(port, '/', { headers }),
      await ask(client, { path: '/', headers }),
    ]) {
      expect(JSON.parse(body.toString())).toMatchObject({
        'x-forwarded-for': '192.0.2.7',
        'x-forwarded-proto': 'http',
      });
    }
    await expect
      .poll(() => log.filter(({ msg }) => msg === 'request').map(({ remote }) => remote))
      .toEqual(Array(3).fill('192.0.2.7'));
  });
});
