import { once } from 'node:events';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { get } from '../support/client.js';
import { startFullGateway, startGateway } from '../support/gateway.js';
import { ask, connect } from '../support/http3_client.js';
import { startSite } from '../support/site.js';
import { clientSpan, clientTrace, mirror, traced, trusting } from '../support/traces.js';
import { freePort } from '../../src/values/free_port.js';

/** Registers an SDK for one test. Returns the spans that have ended so far. */
function register(sampler?: Sampler): () => ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler && { sampler }),
  });
  trace.setGlobalTracerProvider(provider);
  onTestFinished(async () => {
    trace.disable();
    await provider.shutdown();
  });
  return () => exporter.getFinishedSpans();
}

const idsOf = (span: ReadableSpan | undefined) => ({
  trace: span?.spanContext().traceId,
  span: span?.spanContext().spanId,
});

async function ended(spans: () => ReadableSpan[], count: number): Promise<ReadableSpan[]> {
  await vi.waitFor(() => expect(spans()).toHaveLength(count), 30_000);
  // The request ends after what it asked for.
  return spans().toSorted((one, other) => one.kind - other.kind);
}

describe('with an SDK of OpenTelemetry', () => {
  it('a request and what it asks an upstream are spans', async () => {
    const spans = register();
    const { origin, port: upstream, told } = await mirror();
    const { port, log } = await startFullGateway(`${trusting}\nroutes: [{ path: /api, upstream: "${origin}" }]`);
    await ask(await connect(port), { path: '/api/a?secret=1', headers: { ...traced, 'user-agent': 'test' } });
    const [request, fetched] = await ended(spans, 2);
    expect(request).toMatchObject({
      name: 'GET /api',
      kind: SpanKind.SERVER,
      parentSpanContext: { traceId: clientTrace, spanId: clientSpan },
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'http.route': '/api',
        'url.scheme': 'https',
        'url.path': '/api/a',
        'network.protocol.name': 'http',
        'network.protocol.version': '3',
        'server.address': '127.0.0.1',
        'server.port': port,
        'client.address': '127.0.0.1',
        'user_agent.original': 'test',
      },
    });
    expect(fetched).toMatchObject({
      name: 'GET',
      kind: SpanKind.CLIENT,
      parentSpanContext: { spanId: idsOf(request).span },
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'url.full': `${origin}/api/a`,
        'network.protocol.version': '1.1',
        'server.address': '127.0.0.1',
        'server.port': upstream,
      },
    });
    expect(told).toMatchObject([{ ...idsOf(fetched), flags: '01', state: 'rojo=1,congo=2' }]);
    await vi.waitFor(
      () => expect(log.filter(({ msg }) => msg === 'request')).toMatchObject([{ trace: clientTrace }]),
      10_000,
    );
  });

  it('the trace of a stranger is linked, and another one begins', async () => {
    const spans = register();
    const { origin } = await mirror();
    const { port } = await startGateway(`tracing: {}\nroutes: [{ upstream: "${origin}" }]`);
    await get(port, '/', { headers: traced });
    const [request] = await ended(spans, 2);
    expect(request?.parentSpanContext).toBeUndefined();
    expect(idsOf(request).trace).not.toBe(clientTrace);
    expect(request?.links).toMatchObject([{ context: { traceId: clientTrace, spanId: clientSpan } }]);
  });

  it('the SDK decides what is sampled, and upstreams hear of it', async () => {
    const spans = register(new AlwaysOffSampler());
    const { origin, told } = await mirror();
    const { port } = await startGateway(`${trusting}\nroutes: [{ upstream: "${origin}" }]`);
    await get(port, '/', { headers: traced });
    expect(told).toMatchObject([{ trace: clientTrace, flags: '00' }]);
    expect(told[0]?.span).not.toBe(clientSpan);
    expect(spans()).toEqual([]);
  });

  it('an upstream that cannot be reached is an error of its span, and of the request', async () => {
    const spans = register();
    const dead = await freePort();
    const { port } = await startGateway(
      `tracing: {}\nroutes: [{ upstream: { to: "http://127.0.0.1:${dead}", retries: 0 } }]`,
    );
    await get(port, '/');
    expect(await ended(spans, 2)).toMatchObject([
      {
        status: { code: SpanStatusCode.ERROR },
        attributes: { 'http.response.status_code': 502, 'error.type': '502' },
      },
      { status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': 'ECONNREFUSED' } },
    ]);
  });

  it('what clients invent stays bounded', async () => {
    const spans = register();
    const { origin } = await mirror();
    const { port } = await startGateway(`tracing: {}\nroutes: [{ upstream: "${origin}" }]`);
    await get(port, `/${'a'.repeat(5_000)}`, { method: 'PROPFIND', headers: { 'user-agent': 'b'.repeat(5_000) } });
    const all = await ended(spans, 2);
    expect(all.map(({ name }) => name)).toEqual(['HTTP /', 'HTTP']);
    for (const { attributes } of all) {
      expect(attributes).toMatchObject({
        'http.request.method': '_OTHER',
        'http.request.method_original': 'PROPFIND',
      });
      for (const value of Object.values(attributes)) expect(String(value).length).toBeLessThanOrEqual(1_024);
    }
  });

  it('handing a request to a backend is a span, of which the span at the backend is a child', async () => {
    const spans = register();
    const { gateway } = await startSite({
      routes: '[{ path: /, backends: [one], delivery: proxy }]',
      backends: { one: '[{ path: /, files: files }]' },
      gateway: [trusting],
      backend: ['tracing: {}'],
      files: { 'files/a.txt': 'hello' },
    });
    await vi.waitFor(async () => {
      expect((await get(gateway.address.port, '/a.txt', { headers: traced })).status).toBe(200);
    }, 30_000);
    await vi.waitFor(() => expect(spans().filter(({ kind }) => kind === SpanKind.CLIENT)).not.toEqual([]), 10_000);
    const handed = spans().find(({ kind }) => kind === SpanKind.CLIENT)!;
    expect(handed.attributes).toMatchObject({ 'sheaf.server': 'one', 'network.protocol.version': '3' });
    const parentOf = ({ parentSpanContext }: ReadableSpan) => parentSpanContext?.spanId;
    await vi.waitFor(
      () =>
        expect(spans().map(parentOf)).toEqual(
          expect.arrayContaining([clientSpan, parentOf(handed), idsOf(handed).span]),
        ),
      10_000,
    );
    const atGateway = spans().find((span) => idsOf(span).span === parentOf(handed));
    expect(atGateway?.attributes).toMatchObject({ 'sheaf.delivery': 'proxy', 'sheaf.backend': 'one' });
  });

  it('handing a connection over to a backend is a span', async () => {
    const spans = register();
    const { gateway, backends } = await startSite({
      routes: '[{ path: /, backends: [one] }]',
      backends: { one: '[{ path: /, files: files }]' },
      gateway: ['tracing: {}'],
      files: { 'files/a.txt': 'hello' },
    });
    const client = await connect(gateway.address.port, { multiEnd: true, localAddress: '127.0.0.1' });
    await once(client, 'backendOffered');
    await vi.waitFor(() => expect(spans()).toHaveLength(1), 10_000);
    expect(spans()).toMatchObject([
      {
        name: 'hand over',
        status: { code: SpanStatusCode.UNSET },
        attributes: { 'sheaf.server': 'one', 'server.port': backends['one']?.backboneAddress.port },
      },
    ]);
  });
});

it('makes no span without an SDK, and passes the context on', async () => {
  const { origin, told } = await mirror();
  const { port } = await startGateway(`${trusting}\nroutes: [{ upstream: "${origin}" }]`);
  await get(port, '/', { headers: traced });
  await get(port, '/');
  expect(told).toMatchObject([{ trace: clientTrace, flags: '01' }, { flags: '00' }]);
  expect(told[0]?.span).toMatch(/^[\da-f]{16}$/);
  expect(told[0]?.span).not.toBe(clientSpan);
  expect(told[1]?.trace).toMatch(/^(?!0{32})[\da-f]{32}$/);
});
