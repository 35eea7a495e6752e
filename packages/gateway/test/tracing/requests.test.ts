import { get as httpGet } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { get, getByHttp2 } from '../support/client.js';
import { startFullGateway, startGateway } from '../support/gateway.js';
import { ask, connect } from '../support/http3_client.js';
import { startPair } from '../support/nodes.js';
import { returningSite } from '../support/returning_site.js';
import { startSite } from '../support/site.js';
import { clientSpan, clientTrace, mirror, traced, trusting } from '../support/traces.js';

const requestLines = (log: Record<string, unknown>[]) => log.filter(({ msg }) => msg === 'request');

describe('a gateway that traces', () => {
  it.each([
    ['HTTP/1.1', get],
    ['HTTP/2', getByHttp2],
  ])('continues the trace of a trusted client over %s', async (_version, send) => {
    const { origin, told } = await mirror();
    const { port, log } = await startGateway(`${trusting}\nroutes: [{ upstream: "${origin}" }]`);
    await send(port, '/', { headers: traced });
    expect(told).toMatchObject([{ trace: clientTrace, flags: '01', state: 'rojo=1,congo=2' }]);
    expect(told[0]?.span).not.toBe(clientSpan);
    await vi.waitFor(() => expect(requestLines(log)).toMatchObject([{ trace: clientTrace }]), 10_000);
    expect(requestLines(log)[0]).not.toHaveProperty('claimed_trace');
  });

  it('continues it over HTTP/3', async () => {
    const { origin, told } = await mirror();
    const { port } = await startFullGateway(`${trusting}\nroutes: [{ upstream: "${origin}" }]`);
    await ask(await connect(port), { path: '/', headers: traced });
    expect(told).toMatchObject([{ trace: clientTrace, flags: '01', state: 'rojo=1,congo=2' }]);
  });

  it('begins a trace of its own for others, and logs which one they named', async () => {
    const { origin, told } = await mirror();
    const { port, log } = await startGateway(
      `tracing: { trust: [192.0.2.0/24, "2001:db8::/32"], sample: 1 }\nroutes: [{ upstream: "${origin}" }]`,
    );
    await get(port, '/', { headers: traced });
    expect(told).toMatchObject([{ trace: expect.stringMatching(/^[\da-f]{32}$/), flags: '01', state: undefined }]);
    expect(told[0]?.trace).not.toBe(clientTrace);
    await vi.waitFor(
      () => expect(requestLines(log)).toMatchObject([{ trace: told[0]?.trace, claimed_trace: clientTrace }]),
      10_000,
    );
  });

  it('begins one where the fields are damaged, and passes none of them on', async () => {
    const { origin, told } = await mirror();
    const { port, log } = await startGateway(`${trusting}\nroutes: [{ upstream: "${origin}" }]`);
    await get(port, '/', { headers: { ...traced, traceparent: `${traced.traceparent}-x` } });
    await get(port, '/', { headers: { ...traced, tracestate: 'Rojo' } });
    expect(told[0]).toMatchObject({ flags: '00', state: undefined });
    expect(told[0]?.trace).not.toBe(clientTrace);
    expect(told[1]).toMatchObject({ trace: clientTrace, state: undefined });
    await vi.waitFor(() => expect(requestLines(log)).toHaveLength(2), 10_000);
    expect(requestLines(log)[0]).not.toHaveProperty('claimed_trace');
  });

  it('trusts the proxy that brings a request, and not the client that the proxy names', async () => {
    const { origin, told } = await mirror();
    const forwarded = { ...traced, 'x-forwarded-for': '192.0.2.7' };
    const believing = (trust: string) =>
      startGateway(
        `http: 127.0.0.1:0\ntrusted_proxies: 127.0.0.1\ntracing: { trust: ${trust} }\nroutes: [{ upstream: "${origin}" }]`,
      );
    const { gateway } = await believing('127.0.0.1');
    const other = await believing('192.0.2.7');
    await new Promise((resolve, reject) => {
      httpGet({ host: '127.0.0.1', port: gateway.httpAddress?.port, headers: forwarded, agent: false }, (response) =>
        response.resume().once('end', resolve),
      ).once('error', reject);
    });
    await get(other.port, '/', { headers: forwarded });
    expect(told[0]?.trace).toBe(clientTrace);
    expect(told[1]?.trace).not.toBe(clientTrace);
  });

  it('gives each request a span of its own', async () => {
    const { origin, told } = await mirror();
    const { port } = await startGateway(`tracing: {}\nroutes: [{ upstream: "${origin}" }]`);
    for (let count = 0; count < 3; count += 1) await get(port, '/');
    expect(new Set(told.map(({ trace }) => trace)).size).toBe(3);
    expect(new Set(told.map(({ span }) => span)).size).toBe(3);
  });
});

it('passes the fields on as they are where it does not trace', async () => {
  const { origin } = await mirror();
  const { port, log } = await startGateway(`routes: [{ upstream: "${origin}" }]`);
  const headers = { traceparent: 'anything', tracestate: 'Whatever' };
  expect(JSON.parse((await get(port, '/', { headers })).body.toString())).toMatchObject(headers);
  await vi.waitFor(() => expect(requestLines(log)).toHaveLength(1), 10_000);
  expect(requestLines(log)[0]).not.toHaveProperty('trace');
});

describe('a trace over several nodes', () => {
  it('goes on at a backend, whoever else the backend trusts', async () => {
    const { origin, told } = await mirror();
    const { gateway, log } = await startSite({
      routes: '[{ path: /, backends: [one], delivery: proxy }]',
      backends: { one: `[{ path: /, upstream: "${origin}" }]` },
      gateway: [trusting],
      backend: ['tracing: {}'],
      files: {},
    });
    await vi.waitFor(async () => {
      const { status } = await get(gateway.address.port, '/', { headers: traced });
      expect(status).toBe(200);
    }, 30_000);
    expect(told.at(-1)).toMatchObject({ trace: clientTrace, flags: '01', state: 'rojo=1,congo=2' });
    await vi.waitFor(() => {
      const lines = requestLines(log).filter(({ status }) => status === 200);
      expect(lines.map(({ trace }) => trace)).toEqual([clientTrace, clientTrace]);
    }, 10_000);
  });

  it('goes on at a backend that sends the response itself', async () => {
    const body = Buffer.alloc(100_000, 'a');
    const { gateway, log } = await returningSite({
      files: { 'a.bin': body },
      gateway: [trusting],
      backend: ['tracing: {}'],
    });
    const client = await connect(gateway.address.port);
    const answer = await ask(client, { path: '/a.bin', headers: traced });
    expect(answer.body.equals(body)).toBe(true);
    await vi.waitFor(() => {
      const lines = requestLines(log).filter(({ path }) => path === '/a.bin');
      expect(lines).toMatchObject([
        { trace: clientTrace, delivery: 'return' },
        { trace: clientTrace, delivery: 'return' },
      ]);
    }, 30_000);
  });

  it('goes from an edge to its gateway, where the gateway trusts it', async () => {
    const { origin, told } = await mirror();
    const { port, log } = await startPair({
      gateway: [trusting, `routes: [{ upstream: "${origin}" }]`],
      edge: ['tracing: { sample: 1 }'],
    });
    await get(port, '/', { headers: traced });
    expect(told).toMatchObject([{ flags: '01', state: undefined }]);
    expect(told[0]?.trace).not.toBe(clientTrace);
    await vi.waitFor(() => expect(requestLines(log)).toHaveLength(2), 10_000);
    expect(requestLines(log).map(({ trace }) => trace)).toEqual([told[0]?.trace, told[0]?.trace]);
  });
});
