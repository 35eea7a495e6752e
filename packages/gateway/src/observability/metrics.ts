import type { ExecutorStats, TransportCounters } from '@sheaf/native';
import { Counter, Gauge, Histogram, Registry, type Aggregator } from 'prom-client';
import type { RequestObserver } from '../http/request_handler.js';
import type { SlowReason } from '../slow_clients/slow_clients.js';
import type { BackendReport } from './backend_report.js';
import { DeliveryCounts, type BackendDeliveries } from './delivery_counts.js';
import type { UpstreamStatus } from '../targets/upstream/upstream_group.js';
import { mediaMetrics, type MediaSources } from './media_metrics.js';
import { processMetrics, threadMetrics } from './process_metrics.js';
import { registryMetrics } from './registry_metrics.js';
import type { RegistryStatus } from './registry_report.js';
import type { SessionObserver } from '../targets/webtransport/session_server.js';
import { workerMetrics } from './worker_metrics.js';

/** The values that metrics read when they are scraped */
export interface MetricSources {
  /** Number of the thread whose metrics these are, where a node has several. The main thread has those of the process. */
  worker?: number | undefined;
  transport(): TransportCounters | undefined;
  tcpConnections(): number;
  limitHits(): Record<string, number>;
  upstreams(): UpstreamStatus[];
  certificateExpiry(): Date;
  /** Present where the configuration has a registry */
  registry?(): RegistryStatus;
  /** Present on a gateway */
  backends?(): BackendReport[];
  /** Returns the number of connections that a backend accepted. */
  guests?(): number;
  /** Returns what a backend sent from addresses of gateways; undefined when it may not. */
  returned?(): ExecutorStats | undefined;
  /** Present on an edge */
  media?: MediaSources;
}

/** Metrics in Prometheus' format */
export class Metrics {
  readonly registry = new Registry();
  readonly deliveries = new DeliveryCounts();
  readonly #slowClients = new Counter({
    name: 'sheaf_slow_clients_ended_total',
    help: 'Exchanges that were ended as their clients did not do their part.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  constructor(sources: MetricSources) {
    if (sources.worker === undefined) processMetrics(this.registry);
    else {
      threadMetrics(this.registry);
      workerMetrics(this.registry, sources.worker, () => sources.transport()?.connectionsOpenGauge ?? 0);
    }
    transportMetrics(this.registry, sources);
    upstreamMetrics(this.registry, sources);
    deliveryMetrics(this.registry, this.deliveries);
    if (sources.registry) registryMetrics(this.registry, sources.registry);
    if (sources.backends) backendMetrics(this.registry, sources.backends);
    if (sources.guests) guestMetrics(this.registry, sources.guests);
    if (sources.returned) returnMetrics(this.registry, sources.returned);
    if (sources.media) mediaMetrics(this.registry, sources.media);
    const registers = [this.registry];
    new Gauge({
      name: 'sheaf_tcp_connections',
      help: 'Open TCP connections.',
      registers,
      collect() {
        this.set(sources.tcpConnections());
      },
    });
    new Gauge({
      name: 'sheaf_certificate_expiry_seconds',
      help: "End of the certificate's validity, Unix time.",
      aggregator: 'min',
      registers,
      collect() {
        this.set(sources.certificateExpiry().getTime() / 1_000);
      },
    });
  }

  slowClientEnded(reason: SlowReason): void {
    this.#slowClients.inc({ reason });
  }

  /** Counts requests and sessions as they happen. */
  observer(): RequestObserver & SessionObserver {
    const registers = [this.registry];
    // Looking up a series by its labels would cost more than the rest of the bookkeeping of a small request.
    const kinds = new Map<string, RequestCount>();
    const routes = new Map<string, RouteSeries>();
    let inFlight = 0;
    new Counter({
      name: 'sheaf_http_requests_total',
      help: 'Requests answered.',
      labelNames: ['http', 'route', 'method', 'status'],
      registers,
      collect() {
        this.reset();
        for (const { labels, count } of kinds.values()) this.inc(labels, count);
      },
    });
    const seconds = new Histogram({
      name: 'sheaf_http_request_seconds',
      help: "Time from a request's headers to the end of its response.",
      labelNames: ['route'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
      registers,
    });
    new Gauge({
      name: 'sheaf_http_requests_active',
      help: 'Requests in flight.',
      registers,
      collect() {
        this.set(inFlight);
      },
    });
    new Counter({
      name: 'sheaf_http_response_bytes_total',
      help: 'Bytes of response bodies.',
      labelNames: ['route'],
      registers,
      collect() {
        this.reset();
        for (const [route, { bytes }] of routes) this.inc({ route }, bytes);
      },
    });
    return {
      requestStarted: () => (inFlight += 1),
      requestEnded: ({ request, route, status, seconds: took, bytesSent, delivered }) => {
        inFlight -= 1;
        if (delivered) this.deliveries.add(delivered);
        const [http, method] = [request.carriedBy ?? request.httpVersion, knownMethod(request.method)];
        remembered(kinds, `${http} ${method} ${status} ${route}`, () => ({
          labels: { http, route, method, status },
          count: 0,
        })).count += 1;
        const series = remembered(routes, route, () => ({ seconds: seconds.labels({ route }), bytes: 0 }));
        series.seconds.observe(took);
        series.bytes += bytesSent;
      },
      ...sessionObserver(registers),
    };
  }
}

/** Requests that are alike for the metrics */
interface RequestCount {
  labels: Partial<Record<'http' | 'route' | 'method' | 'status', string | number>>;
  count: number;
}

interface RouteSeries {
  seconds: Histogram.Internal<'route'>;
  bytes: number;
}

/** Counts sessions of WebTransport. */
function sessionObserver(registers: Registry[]): SessionObserver {
  const sessions = new Counter({
    name: 'sheaf_webtransport_sessions_total',
    help: 'WebTransport sessions opened.',
    labelNames: ['route'],
    registers,
  });
  const open = new Gauge({
    name: 'sheaf_webtransport_sessions_open',
    help: 'WebTransport sessions open.',
    labelNames: ['route'],
    registers,
  });
  const refused = new Counter({
    name: 'sheaf_webtransport_sessions_refused_total',
    help: 'WebTransport sessions refused.',
    labelNames: ['status'],
    registers,
  });
  const failures = new Counter({
    name: 'sheaf_webtransport_application_failures_total',
    help: 'Errors that applications threw or left behind.',
    labelNames: ['route'],
    registers,
  });
  const dropped = new Counter({
    name: 'sheaf_webtransport_datagrams_dropped_total',
    help: 'Datagrams of sessions that ended, received but not read in time.',
    labelNames: ['route'],
    registers,
  });
  return {
    sessionStarted: (route) => {
      sessions.inc({ route });
      open.inc({ route });
    },
    sessionEnded: ({ route, datagramsDropped }) => {
      open.dec({ route });
      if (datagramsDropped !== undefined) dropped.inc({ route }, datagramsDropped);
    },
    applicationFailed: (route) => failures.inc({ route }),
    sessionRefused: ({ status }) => refused.inc({ status }),
  };
}

function deliveryMetrics(registry: Registry, { all }: { all: DeliveryCounts['all'] }): void {
  const counter = (
    name: string,
    help: string,
    label: string,
    read: (deliveries: BackendDeliveries) => Readonly<Record<string, number>>,
  ): void => {
    new Counter({
      name: `sheaf_${name}`,
      help,
      labelNames: [label, 'backend'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [backend, deliveries] of all)
          for (const [value, count] of Object.entries(read(deliveries))) this.inc({ [label]: value, backend }, count);
      },
    });
  };
  counter(
    'responses_delivered_total',
    'Responses of backends, by the way that they travelled (docs/reference/delivery.md).',
    'delivery',
    ({ responses }) => responses,
  );
  counter(
    'delivery_fallbacks_total',
    'Responses of backends that the gateway proxied although their routes permit another way.',
    'reason',
    ({ fallbacks }) => fallbacks,
  );
  counter(
    'return_lost_total',
    "Responses that a backend began to send from the gateway's address, and did not send to the end.",
    'reason',
    ({ lost }) => lost,
  );
  const total = (name: string, help: string, read: (deliveries: BackendDeliveries) => number): void => {
    new Counter({
      name: `sheaf_${name}`,
      help,
      labelNames: ['backend'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [backend, deliveries] of all) this.inc({ backend }, read(deliveries));
      },
    });
  };
  total(
    'returned_bytes_total',
    "Bytes of bodies that backends sent from the gateway's address.",
    ({ returnedBytes }) => returnedBytes,
  );
  total(
    'returned_by_own_recovery_total',
    "Responses that backends sent from the gateway's address with packet numbers and recovery of their own.",
    ({ ownRecovery }) => ownRecovery,
  );
}

/** Returns the value of a key, which is made once. Keys are routes, statuses and known names: a closed set. */
function remembered<T>(values: Map<string, T>, key: string, make: () => T): T {
  let value = values.get(key);
  if (value === undefined) values.set(key, (value = make()));
  return value;
}

/** Returns a known method or `other`. Clients may invent methods, and each would become a time series. */
function knownMethod(method: string): string {
  return ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].includes(method) ? method : 'other';
}

const transportHelp: Record<
  Exclude<keyof TransportCounters, 'packetsDropped' | 'connectionsClosed' | 'limitHits'>,
  [name: string, help: string]
> = {
  connectionsAccepted: ['connections_accepted_total', 'QUIC connections accepted.'],
  connectionsImported: [
    'connections_imported_total',
    'QUIC connections taken over from their primaries, as a backend.',
  ],
  connectionsOpenGauge: ['connections_open', 'QUIC connections open.'],
  handshakesPendingGauge: ['handshakes_pending', 'QUIC handshakes pending.'],
  handshakesFailed: ['handshakes_failed_total', 'QUIC handshakes that failed.'],
  retriesSent: ['retries_sent_total', 'Retry packets sent.'],
  versionNegotiationsSent: ['version_negotiations_sent_total', 'Version Negotiation packets sent.'],
  statelessResetsSent: ['stateless_resets_sent_total', 'Stateless resets sent.'],
  datagramsReceived: ['udp_datagrams_received_total', 'UDP datagrams received.'],
  datagramsSent: ['udp_datagrams_sent_total', 'UDP datagrams sent.'],
  bytesReceived: ['udp_bytes_received_total', 'Bytes of UDP datagrams received.'],
  bytesSent: ['udp_bytes_sent_total', 'Bytes of UDP datagrams sent.'],
  memoryBytesGauge: ['memory_bytes', 'Bytes that QUIC connections hold, as `limits.memory` counts them.'],
  packetsLost: ['packets_lost_total', 'QUIC packets declared lost.'],
  javascriptCalls: [
    'javascript_calls_total',
    'Calls about QUIC connections between JavaScript and the transport, both ways.',
  ],
};

function transportMetrics(registry: Registry, sources: MetricSources): void {
  const registers = [registry];
  for (const [counter, [name, help]] of Object.entries(transportHelp)) {
    const read = (): number => sources.transport()?.[counter as keyof typeof transportHelp] ?? 0;
    if (counter.endsWith('Gauge')) {
      new Gauge({
        name: `sheaf_quic_${name}`,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    } else {
      new Counter({
        name: `sheaf_quic_${name}`,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    }
  }
  labelled(
    registry,
    'sheaf_quic_packets_dropped_total',
    'Packets dropped.',
    'reason',
    () => sources.transport()?.packetsDropped ?? {},
  );
  labelled(
    registry,
    'sheaf_limit_hits_total',
    'How often clients met a bound that protects others (docs/reference/limits.md).',
    'limit',
    () => sources.limitHits(),
  );
  labelled(
    registry,
    'sheaf_quic_connections_closed_total',
    'QUIC connections closed.',
    'error',
    () => sources.transport()?.connectionsClosed ?? {},
  );
}

function labelled(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Readonly<Record<string, number>>,
): void {
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, count] of Object.entries(read())) this.inc({ [label]: value }, count);
    },
  });
}

/** How several values of a metric become one: within a thread, and those of all threads */
interface Joined {
  join: (values: number[]) => number;
  aggregator: Aggregator;
}

function upstreamMetrics(registry: Registry, sources: MetricSources): void {
  // A server may belong to several routes, each of which has its own view of it.
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
  const metric = (
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    read: (status: UpstreamStatus) => number,
    { join, aggregator }: Joined = { join: sum, aggregator: 'sum' },
  ): void => {
    new Kind({
      name: `sheaf_upstream_${name}`,
      help,
      labelNames: ['upstream'],
      aggregator,
      registers: [registry],
      collect() {
        this.reset();
        const values = new Map<string, number[]>();
        for (const status of sources.upstreams())
          values.set(status.origin, [...(values.get(status.origin) ?? []), read(status)]);
        for (const [upstream, each] of values) this.inc({ upstream }, join(each));
      },
    });
  };
  metric(Gauge, 'up', '1 when the last attempt to reach the upstream succeeded.', ({ up }) => (up ? 1 : 0), {
    join: (values) => Math.min(...values),
    aggregator: 'min',
  });
  metric(Gauge, 'requests_active', 'Requests in flight.', ({ active }) => active);
  metric(Gauge, 'requests_waiting', 'Requests that wait for a connection.', ({ waiting }) => waiting);
  metric(
    Counter,
    'requests_refused_total',
    'Requests answered 503 because there was no room.',
    ({ refused }) => refused,
  );
  metric(
    Counter,
    'requests_ended_total',
    'Requests that lost their connection to others because their clients were slow.',
    ({ ended }) => ended,
  );
  metric(Counter, 'requests_total', 'Requests sent.', ({ requests }) => requests);
  metric(Counter, 'failures_total', 'Requests that failed.', ({ failures }) => failures);
}

function backendMetrics(registry: Registry, backends: () => BackendReport[]): void {
  const metric = (
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    read: (backend: BackendReport) => number,
    aggregator: Aggregator = 'sum',
  ): void => {
    new Kind({
      name: `sheaf_backend_${name}`,
      help,
      labelNames: ['backend'],
      aggregator,
      registers: [registry],
      collect() {
        this.reset();
        for (const backend of backends()) this.inc({ backend: backend.name }, read(backend));
      },
    });
  };
  metric(
    Gauge,
    'serving',
    '1 while the backend takes connections over.',
    ({ state }) => (state === 'serving' ? 1 : 0),
    'min',
  );
  metric(Gauge, 'connections', 'Connections whose clients know the backend.', ({ connections }) => connections);
  metric(Gauge, 'load', 'Share of the time in which the backend was busy.', ({ load }) => load, 'average');
  // The backend says the same to each thread that asks.
  const same = 'max';
  metric(Gauge, 'requests_active', 'Requests in flight at the backend.', ({ requestsActive }) => requestsActive, same);
  metric(
    Counter,
    'bytes_sent_total',
    'Bytes of UDP datagrams that the backend sent.',
    ({ bytesSent }) => bytesSent,
    same,
  );
  metric(
    Counter,
    'bytes_received_total',
    'Bytes of UDP datagrams that the backend received.',
    ({ bytesReceived }) => bytesReceived,
    same,
  );
  metric(Counter, 'proxied_total', 'Requests that the gateway proxied to the backend.', ({ proxied }) => proxied);
}

function guestMetrics(registry: Registry, guests: () => number): void {
  new Gauge({
    name: 'sheaf_guest_connections',
    help: "Connections of the gateway's clients that this backend serves.",
    registers: [registry],
    collect() {
      this.set(guests());
    },
  });
}

function returnMetrics(registry: Registry, read: () => ExecutorStats | undefined): void {
  const metric = (
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    value: (stats: ExecutorStats) => number,
  ): void => {
    new Kind({
      name: `sheaf_return_${name}`,
      help,
      registers: [registry],
      collect() {
        this.reset();
        const stats = read();
        if (stats) this.inc(value(stats));
      },
    });
  };
  metric(Gauge, 'grants', 'Responses that this backend may send from addresses of gateways.', ({ grants }) => grants);
  metric(Counter, 'runs_total', 'Runs of packets that gateways ordered and this backend sent.', ({ runs }) => runs);
  metric(
    Counter,
    'packets_total',
    'Packets that this backend sent from addresses of gateways.',
    ({ packets }) => packets,
  );
  metric(Counter, 'bytes_total', 'Bytes of UDP payload of these packets.', ({ bytes }) => bytes);
  metric(Counter, 'grants_expired_total', 'Responses whose gateways fell silent.', ({ expired }) => expired);
  labelled(
    registry,
    'sheaf_return_runs_refused_total',
    'Runs that this backend did not send.',
    'reason',
    () => read()?.refused ?? {},
  );
}
