import { expect, it } from 'vitest';
import { deliveryTiming, type Delivered } from '../../src/http/delivered.js';
import type { RequestRecord } from '../../src/http/request_handler.js';
import { accessLog } from '../../src/observability/access_log.js';
import { createLog } from '../../src/observability/log.js';
import { Metrics } from '../../src/observability/metrics.js';
import { logTo } from '../support/nodes.js';

const sources = {
  transport: () => undefined,
  tcpConnections: () => 0,
  limitHits: () => ({}),
  upstreams: () => [],
  certificateExpiry: () => new Date(0),
};

const record = (delivered: Delivered | undefined): RequestRecord =>
  ({
    request: { httpVersion: '3', method: 'GET', headers: {}, remoteAddress: '192.0.2.1', authority: 'a.example' },
    pathname: '/a',
    route: '/',
    status: 200,
    bytesSent: 100,
    delivered,
    seconds: 0.001,
    aborted: false,
  }) as unknown as RequestRecord;

const returned: Delivered = { delivery: 'return', backend: 'one', returnedBytes: 100 };
const byItself: Delivered = { ...returned, recovery: 'backend' };
const lost: Delivered = { delivery: 'return', backend: 'two', fallback: 'silent', returnedBytes: 40 };
const proxied: Delivered = { delivery: 'proxy', backend: 'two', fallback: 'http-version' };
const alone: Delivered = { delivery: 'proxy', backend: 'two' };

it('metrics count each way and each reason', async () => {
  const metrics = new Metrics(sources);
  const observer = metrics.observer();
  for (const delivered of [returned, byItself, lost, proxied, alone, undefined]) {
    observer.requestStarted();
    observer.requestEnded(record(delivered));
  }
  const text = await metrics.registry.metrics();
  const counts = text
    .split('\n')
    .filter((line) => /^sheaf_(responses_delivered|delivery_fallbacks|return)/.test(line))
    .sort();
  expect(counts).toEqual([
    'sheaf_delivery_fallbacks_total{reason="http-version",backend="two"} 1',
    'sheaf_responses_delivered_total{delivery="proxy",backend="two"} 2',
    'sheaf_responses_delivered_total{delivery="return",backend="one"} 2',
    'sheaf_responses_delivered_total{delivery="return",backend="two"} 1',
    'sheaf_return_lost_total{reason="silent",backend="two"} 1',
    'sheaf_returned_by_own_recovery_total{backend="one"} 1',
    'sheaf_returned_by_own_recovery_total{backend="two"} 0',
    'sheaf_returned_bytes_total{backend="one"} 200',
    'sheaf_returned_bytes_total{backend="two"} 40',
  ]);
});

it('the access log tells the way, and nothing of it where there is but one node', () => {
  const lines: Record<string, unknown>[] = [];
  const observer = accessLog(createLog({ level: 'info', access: true }, logTo(lines)));
  for (const delivered of [lost, proxied, undefined]) observer.requestEnded(record(delivered));
  const told = lines.map(({ delivery, backend, fallback, returned_bytes: bytes }) => [
    delivery,
    backend,
    fallback,
    bytes,
  ]);
  expect(told).toEqual([
    ['return', 'two', 'silent', 40],
    ['proxy', 'two', 'http-version', undefined],
    [undefined, undefined, undefined, undefined],
  ]);
});

it('Server-Timing tells what could have been otherwise', () => {
  expect(deliveryTiming({ delivery: 'path', backend: 'one' })).toBe('sheaf-delivery;desc="path one"');
  expect(deliveryTiming(byItself)).toBe('sheaf-delivery;desc="return one recovery=backend"');
  expect(deliveryTiming({ delivery: 'return', backend: 'one' })).toBe('sheaf-delivery;desc="return one"');
  expect(deliveryTiming(proxied)).toBe('sheaf-delivery;desc="proxy two: http-version"');
  expect(deliveryTiming(alone)).toBeUndefined();
});
