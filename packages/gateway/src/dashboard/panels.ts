/** Labels of Prometheus, which the variables of the dashboard choose by */
const chosen = 'job=~"$job",instance=~"$instance"';

/** Returns the series of a metric on the chosen nodes. `labels`: further matchers. */
const on = (metric: string, labels = ''): string => `${metric}{${chosen}${labels && `,${labels}`}}`;
const perSecond = (metric: string, labels = ''): string => `rate(${on(metric, labels)}[$__rate_interval])`;
const sum = (of: string, by?: string): string => (by === undefined ? `sum(${of})` : `sum by (${by}) (${of})`);
const quantile = (share: number, by = ''): string =>
  `histogram_quantile(${share}, ${sum(perSecond('sheaf_http_request_seconds_bucket'), `le${by && `, ${by}`}`)})`;

/** Units as Grafana names them */
type Unit = 'short' | 'reqps' | 'Bps' | 'bytes' | 's' | 'percentunit' | 'pps' | 'cps';

export interface Query {
  expr: string;
  /** Name of its series, with labels in double braces */
  legend: string;
}

export interface Panel {
  title: string;
  unit: Unit;
  queries: readonly Query[];
  description?: string;
}

export interface Row {
  title: string;
  panels: readonly Panel[];
}

const query = (expr: string, legend: string): Query => ({ expr, legend });

const traffic: Row = {
  title: 'Traffic',
  panels: [
    {
      title: 'Requests by version of HTTP',
      unit: 'reqps',
      queries: [query(sum(perSecond('sheaf_http_requests_total'), 'http'), '{{http}}')],
    },
    {
      title: 'Requests by route',
      unit: 'reqps',
      queries: [query(sum(perSecond('sheaf_http_requests_total'), 'route'), '{{route}}')],
    },
    {
      title: 'Bodies of responses by route',
      unit: 'Bps',
      queries: [query(sum(perSecond('sheaf_http_response_bytes_total'), 'route'), '{{route}}')],
    },
    {
      title: 'UDP',
      unit: 'Bps',
      queries: [
        query(sum(perSecond('sheaf_quic_udp_bytes_sent_total')), 'sent'),
        query(sum(perSecond('sheaf_quic_udp_bytes_received_total')), 'received'),
      ],
    },
    {
      title: 'Connections and sessions',
      unit: 'short',
      queries: [
        query(sum(on('sheaf_quic_connections_open')), 'QUIC'),
        query(sum(on('sheaf_tcp_connections')), 'TCP'),
        query(sum(on('sheaf_webtransport_sessions_open')), 'WebTransport sessions'),
      ],
    },
    {
      title: 'Versions of nodes',
      unit: 'short',
      queries: [query(`count by (version) (${on('sheaf_build_info')})`, '{{version}}')],
    },
  ],
};

const errors: Row = {
  title: 'Errors',
  panels: [
    {
      title: 'Share of responses with a status of 500 or more',
      unit: 'percentunit',
      queries: [
        query(
          `${sum(perSecond('sheaf_http_requests_total', 'status=~"5.."'))} / ${sum(perSecond('sheaf_http_requests_total'))}`,
          'share',
        ),
      ],
    },
    {
      title: 'Responses by status',
      unit: 'reqps',
      queries: [query(sum(perSecond('sheaf_http_requests_total'), 'status'), '{{status}}')],
    },
    {
      title: 'QUIC connections closed, by error',
      unit: 'cps',
      queries: [query(sum(perSecond('sheaf_quic_connections_closed_total'), 'error'), '{{error}}')],
    },
    {
      title: 'Handshakes that failed, and stateless resets',
      unit: 'cps',
      queries: [
        query(sum(perSecond('sheaf_quic_handshakes_failed_total')), 'handshakes failed'),
        query(sum(perSecond('sheaf_quic_stateless_resets_sent_total')), 'stateless resets'),
      ],
    },
    {
      title: 'Packets dropped, by reason',
      unit: 'pps',
      queries: [query(sum(perSecond('sheaf_quic_packets_dropped_total'), 'reason'), '{{reason}}')],
    },
    {
      title: 'Faults of the process',
      unit: 'cps',
      queries: [
        query(sum(perSecond('sheaf_stray_errors_total'), 'kind'), 'stray {{kind}}'),
        query(sum(perSecond('sheaf_log_lines_dropped_total')), 'log lines dropped'),
        query(sum(perSecond('sheaf_webtransport_application_failures_total'), 'route'), 'application of {{route}}'),
      ],
    },
  ],
};

const latency: Row = {
  title: 'Latency',
  panels: [
    {
      title: 'Time from the headers of a request to the end of its response',
      unit: 's',
      queries: [0.5, 0.9, 0.99].map((share) => query(quantile(share), `${share * 100} %`)),
    },
    { title: '90 % of each route', unit: 's', queries: [query(quantile(0.9, 'route'), '{{route}}')] },
    {
      title: 'Delay of the event loop',
      unit: 's',
      queries: [
        query(on('nodejs_eventloop_lag_p99_seconds'), '99 % of {{instance}}'),
        query(on('nodejs_eventloop_lag_mean_seconds'), 'mean of {{instance}}'),
      ],
    },
    {
      title: 'Share of QUIC packets that were lost',
      unit: 'percentunit',
      queries: [
        query(
          `${sum(perSecond('sheaf_quic_packets_lost_total'))} / ${sum(perSecond('sheaf_quic_udp_datagrams_sent_total'))}`,
          'lost',
        ),
      ],
    },
  ],
};

const saturation: Row = {
  title: 'Saturation',
  panels: [
    {
      title: 'Processor',
      unit: 'percentunit',
      queries: [query(perSecond('process_cpu_seconds_total'), '{{instance}}')],
    },
    {
      title: 'Memory',
      unit: 'bytes',
      queries: [
        query(on('process_resident_memory_bytes'), 'process {{instance}}'),
        query(on('nodejs_heap_size_used_bytes'), 'heap {{instance}}'),
        query(on('sheaf_quic_memory_bytes'), 'QUIC connections {{instance}}'),
      ],
    },
    {
      title: 'In flight',
      unit: 'short',
      queries: [
        query(sum(on('sheaf_http_requests_active')), 'requests'),
        query(sum(on('sheaf_quic_handshakes_pending')), 'handshakes'),
      ],
    },
    {
      title: 'Limits that clients met',
      unit: 'cps',
      description: 'The limits are explained in docs/reference/limits.md.',
      queries: [query(`${sum(perSecond('sheaf_limit_hits_total'), 'limit')} > 0`, '{{limit}}')],
    },
    {
      title: 'Slow clients whose exchanges were ended',
      unit: 'cps',
      queries: [query(sum(perSecond('sheaf_slow_clients_ended_total'), 'reason'), '{{reason}}')],
    },
    {
      title: 'Share of file descriptors in use',
      unit: 'percentunit',
      queries: [query(`${on('process_open_fds')} / ${on('process_max_fds')}`, '{{instance}}')],
    },
  ],
};

const workers: Row = {
  title: 'Workers',
  panels: [
    {
      title: 'Share of time in which a worker is busy',
      unit: 'percentunit',
      queries: [query(perSecond('sheaf_worker_busy_seconds_total'), '{{instance}} {{worker}}')],
    },
    {
      title: 'QUIC connections of workers',
      unit: 'short',
      description: 'The system divides clients by their addresses, so a node with few clients is uneven.',
      queries: [query(on('sheaf_worker_connections_open'), '{{instance}} {{worker}}')],
    },
    {
      title: 'Heap of workers',
      unit: 'bytes',
      queries: [query(on('sheaf_worker_heap_bytes'), '{{instance}} {{worker}}')],
    },
    {
      title: 'Datagrams that reached another worker',
      unit: 'pps',
      queries: [
        query(sum(perSecond('sheaf_worker_datagrams_passed_on_total'), 'instance'), 'passed on {{instance}}'),
        query(sum(perSecond('sheaf_worker_datagrams_taken_total'), 'instance'), 'taken {{instance}}'),
        query(sum(perSecond('sheaf_worker_datagrams_lost_total'), 'instance'), 'lost {{instance}}'),
      ],
    },
    {
      title: 'Workers that were replaced',
      unit: 'cps',
      queries: [
        query(perSecond('sheaf_worker_restarts_total'), 'all of {{instance}}'),
        query(perSecond('sheaf_worker_watchdog_total'), 'did not answer {{instance}}'),
      ],
    },
  ],
};

const fleet: Row = {
  title: 'Fleet',
  panels: [
    {
      title: 'Nodes of the fleet, as each node sees it',
      unit: 'short',
      queries: [query(on('sheaf_fleet_nodes'), '{{state}} at {{instance}}')],
    },
    {
      title: 'Nodes with a connection to the registry',
      unit: 'short',
      queries: [query(on('sheaf_registry_connected'), '{{instance}}')],
    },
    {
      title: 'Time since the registry told something',
      unit: 's',
      queries: [query(on('sheaf_registry_age_seconds'), '{{instance}}')],
    },
    {
      title: 'Faults of the fleet for an operator',
      unit: 'short',
      description: '`sheaf status` names each, with a fix.',
      queries: [query(on('sheaf_registry_conflicts'), '{{instance}}')],
    },
    {
      title: 'Entries that were refused, and what the registry did not do',
      unit: 'cps',
      queries: [
        query(sum(perSecond('sheaf_registry_refused_entries_total'), 'reason'), 'refused: {{reason}}'),
        query(sum(perSecond('sheaf_registry_failed_writes_total')), 'writes that failed'),
        query(sum(perSecond('sheaf_registry_dead_watches_total')), 'watches that went silent'),
      ],
    },
    {
      title: 'Datagrams of other machines',
      unit: 'pps',
      queries: [
        query(sum(perSecond('sheaf_forwarded_datagrams_total'), 'outcome, instance'), '{{outcome}} {{instance}}'),
      ],
    },
    {
      title: 'Share of datagrams that were for another machine',
      unit: 'percentunit',
      description: 'More than a few percent: the balancer divides by something else than addresses and ports.',
      queries: [
        query(
          `${sum(perSecond('sheaf_forwarded_datagrams_total', 'outcome="sent"'), 'instance')} / ${sum(perSecond('sheaf_quic_udp_datagrams_received_total'), 'instance')}`,
          '{{instance}}',
        ),
      ],
    },
  ],
};

const backends: Row = {
  title: 'Upstreams and backends',
  panels: [
    { title: 'Upstreams that answer', unit: 'short', queries: [query(on('sheaf_upstream_up'), '{{upstream}}')] },
    {
      title: 'Requests at upstreams',
      unit: 'short',
      queries: [
        query(sum(on('sheaf_upstream_requests_active'), 'upstream'), 'in flight {{upstream}}'),
        query(sum(on('sheaf_upstream_requests_waiting'), 'upstream'), 'waiting {{upstream}}'),
      ],
    },
    {
      title: 'Failures of upstreams, and requests without room',
      unit: 'cps',
      queries: [
        query(sum(perSecond('sheaf_upstream_failures_total'), 'upstream'), 'failed {{upstream}}'),
        query(sum(perSecond('sheaf_upstream_requests_refused_total'), 'upstream'), 'refused {{upstream}}'),
      ],
    },
    { title: 'Backends that serve', unit: 'short', queries: [query(on('sheaf_backend_serving'), '{{backend}}')] },
    { title: 'Load of backends', unit: 'percentunit', queries: [query(on('sheaf_backend_load'), '{{backend}}')] },
    {
      title: 'Connections with backends',
      unit: 'short',
      queries: [
        query(on('sheaf_backend_connections'), 'offered {{backend}}'),
        query(on('sheaf_guest_connections'), 'guests of {{instance}}'),
      ],
    },
    {
      title: 'How responses of backends travelled',
      unit: 'reqps',
      description: 'The ways are explained in docs/reference/delivery.md.',
      queries: [
        query(sum(perSecond('sheaf_responses_delivered_total'), 'delivery, backend'), '{{delivery}} {{backend}}'),
      ],
    },
    {
      title: 'Why responses were proxied or lost',
      unit: 'reqps',
      queries: [
        query(sum(perSecond('sheaf_delivery_fallbacks_total'), 'reason'), 'proxied: {{reason}}'),
        query(sum(perSecond('sheaf_return_lost_total'), 'reason'), 'lost: {{reason}}'),
      ],
    },
  ],
};

const tunnels: Row = {
  title: 'Tunnels',
  panels: [
    {
      title: 'Tunnels',
      unit: 'short',
      queries: [query(sum(on('sheaf_tunnels_open')), 'UDP'), query(sum(on('sheaf_tcp_tunnels_open')), 'TCP')],
    },
    {
      title: 'Payload',
      unit: 'Bps',
      queries: [
        query(sum(perSecond('sheaf_tunnel_bytes_total'), 'direction'), 'UDP {{direction}}'),
        query(sum(perSecond('sheaf_tcp_tunnel_bytes_total'), 'direction'), 'TCP {{direction}}'),
      ],
    },
    {
      title: 'Requests for tunnels, by status',
      unit: 'reqps',
      queries: [
        query(sum(perSecond('sheaf_tunnel_requests_total'), 'status'), 'UDP {{status}}'),
        query(sum(perSecond('sheaf_tcp_tunnel_requests_total'), 'status'), 'TCP {{status}}'),
      ],
    },
    {
      title: 'UDP packets dropped, by reason',
      unit: 'pps',
      queries: [query(sum(perSecond('sheaf_tunnel_dropped_packets_total'), 'reason'), '{{reason}}')],
    },
  ],
};

const channels: Row = {
  title: 'Channels',
  panels: [
    {
      title: 'Receivers',
      unit: 'short',
      queries: [
        query(sum(on('sheaf_channel_receivers'), 'channel'), 'all of {{channel}}'),
        query(sum(on('sheaf_channel_receivers_of_group'), 'channel'), 'in the group of {{channel}}'),
        query(sum(on('sheaf_media_viewers'), 'route'), 'viewers of {{route}}'),
      ],
    },
    {
      title: 'Packets',
      unit: 'pps',
      queries: [
        query(sum(perSecond('sheaf_channel_packets_total'), 'channel'), 'packets of {{channel}}'),
        query(sum(perSecond('sheaf_channel_repairs_total'), 'channel'), 'repairs of {{channel}}'),
        query(sum(perSecond('sheaf_channel_copies_total'), 'channel'), 'copies of {{channel}}'),
      ],
    },
    {
      title: 'Packets that receivers lost',
      unit: 'pps',
      queries: [
        query(sum(perSecond('sheaf_channel_lost_total'), 'channel'), 'lost of {{channel}}'),
        query(sum(perSecond('sheaf_channel_recovered_total'), 'channel'), 'repaired of {{channel}}'),
        query(sum(perSecond('sheaf_channel_expired_total'), 'channel'), 'missing of {{channel}}'),
      ],
    },
    {
      title: 'What brought packets to edges',
      unit: 'pps',
      queries: [query(sum(perSecond('sheaf_media_channel_packets_total'), 'way'), '{{way}}')],
    },
  ],
};

/** What the dashboard shows, from top to bottom */
export const rows: readonly Row[] = [
  ...[traffic, errors, latency, saturation, workers, fleet],
  ...[backends, tunnels, channels],
];
