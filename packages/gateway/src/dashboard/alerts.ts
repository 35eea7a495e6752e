import { stringify } from 'yaml';

export interface AlertRule {
  alert: string;
  expr: string;
  /** How long the expression must hold */
  for: string;
  labels: { severity: 'critical' | 'warning' };
  annotations: { summary: string; description: string };
}

interface Alert {
  expr: string;
  for: string;
  severity: AlertRule['labels']['severity'];
  summary: string;
  /** What to do about it */
  advice: string;
}

const secondsPerDay = 86_400;

/** Share of responses with a status of 500 or more, on nodes with more than one request in ten seconds */
const failedShare =
  'sum by (job, instance) (rate(sheaf_http_requests_total{status=~"5.."}[5m])) / (sum by (job, instance) (rate(sheaf_http_requests_total[5m])) > 0.1)';

const alerts: Readonly<Record<string, Alert>> = {
  SheafDown: {
    expr: 'up{job="sheaf"} == 0',
    for: '1m',
    severity: 'critical',
    summary: '{{ $labels.instance }} does not answer Prometheus.',
    advice: 'Read its log, and start it again. The rule expects the job to be called sheaf.',
  },
  SheafRestarts: {
    expr: 'changes(process_start_time_seconds{job="sheaf"}[15m]) > 2',
    for: '0m',
    severity: 'critical',
    summary: '{{ $labels.instance }} starts again and again.',
    advice: 'Read the end of its log before each start.',
  },
  SheafErrors: {
    expr: `${failedShare} > 0.05`,
    for: '5m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of the responses of {{ $labels.instance }} are errors.',
    advice: 'See which routes have them, and whether upstreams or backends are down.',
  },
  SheafSlow: {
    expr: 'histogram_quantile(0.9, sum by (job, instance, route, le) (rate(sheaf_http_request_seconds_bucket[10m]))) > 5',
    for: '10m',
    severity: 'warning',
    summary: 'One in ten requests for {{ $labels.route }} takes {{ $value | humanizeDuration }} or more.',
    advice: 'Compare with the delay of the event loop and with the upstreams. Exclude routes with long downloads.',
  },
  SheafUpstreamDown: {
    expr: 'sheaf_upstream_up == 0',
    for: '1m',
    severity: 'critical',
    summary: 'The upstream {{ $labels.upstream }} does not answer {{ $labels.instance }}.',
    advice: 'sheaf status shows why.',
  },
  SheafBackendLost: {
    expr: 'sheaf_backend_serving == 0',
    for: '2m',
    severity: 'warning',
    summary: 'The backend {{ $labels.backend }} takes no connections of {{ $labels.instance }} over.',
    advice: 'sheaf status shows its state. Silence the alert while it drains on purpose.',
  },
  SheafWorkersFail: {
    expr: 'increase(sheaf_worker_restarts_total[15m]) > 3',
    for: '0m',
    severity: 'critical',
    summary: 'Workers of {{ $labels.instance }} fail again and again, and lose their connections.',
    advice:
      'Read why in its log. The watchdog ends those that do not answer for ten seconds, such as in an endless loop of an application.',
  },
  SheafRegistryAway: {
    expr: 'sheaf_registry_connected == 0',
    for: '5m',
    severity: 'warning',
    summary: '{{ $labels.instance }} has no connection to the registry.',
    advice: 'It serves on by what it knows. Look at the servers of NATS, and at the network between.',
  },
  SheafFleetConflict: {
    expr: 'sheaf_registry_conflicts > 0',
    for: '5m',
    severity: 'warning',
    summary: '{{ $labels.instance }} has found a fault of the fleet.',
    advice: 'sheaf status names it with a fix, such as two nodes with one server id.',
  },
  SheafFleetSuspect: {
    // One node that ends without a word is suspect for less than half a minute, and then gone.
    expr: 'max by (job) (avg_over_time(sheaf_fleet_nodes{state="suspect"}[15m])) > 0.1',
    for: '0m',
    severity: 'warning',
    summary: 'Nodes of {{ $labels.job }} miss heartbeats of others again and again.',
    advice: 'sheaf status names the nodes in doubt. Look at their load, and at the registry.',
  },
  SheafRegistryEntriesRefused: {
    expr: 'sum by (job, instance, reason) (increase(sheaf_registry_refused_entries_total[15m])) > 10',
    for: '0m',
    severity: 'warning',
    summary: '{{ $labels.instance }} refuses entries of the registry: {{ $labels.reason }}.',
    advice:
      'Somebody else writes there, or a node has another key than the configuration says. See the table of SECURITY.md.',
  },
  SheafForwardingLost: {
    expr: 'sum by (job, instance, outcome) (rate(sheaf_forwarded_datagrams_total{outcome=~"dropped|refused"}[10m])) > 10',
    for: '10m',
    severity: 'warning',
    summary: 'Datagrams between machines of the fleet are {{ $labels.outcome }} at {{ $labels.instance }}.',
    advice:
      'Dropped ones are too many for the network, or for the other machine. Refused ones are sealed with other secrets than its own.',
  },
  SheafCertificateExpires: {
    expr: `sheaf_certificate_expiry_seconds - time() < ${2 * secondsPerDay}`,
    for: '10m',
    severity: 'critical',
    summary: 'The certificate of {{ $labels.instance }} ends in {{ $value | humanizeDuration }}.',
    advice: 'Renew its files. The node reads them within a second.',
  },
  SheafBusy: {
    expr: 'nodejs_eventloop_lag_p99_seconds{job="sheaf"} > 0.25',
    for: '5m',
    severity: 'warning',
    summary: 'Callbacks of {{ $labels.instance }} wait for {{ $value | humanizeDuration }}.',
    advice: 'It has more work than one processor does: add a node.',
  },
  SheafDescriptorsScarce: {
    expr: 'process_open_fds{job="sheaf"} / process_max_fds{job="sheaf"} > 0.8',
    for: '5m',
    severity: 'warning',
    summary: '{{ $labels.instance }} uses {{ $value | humanizePercentage }} of its file descriptors.',
    advice: 'Raise the limit of the system, or lower limits.connections.',
  },
  SheafLimitsMet: {
    expr: 'sum by (job, instance, limit) (increase(sheaf_limit_hits_total[15m])) > 100',
    for: '15m',
    severity: 'warning',
    summary: 'Clients of {{ $labels.instance }} keep meeting the limit {{ $labels.limit }}.',
    advice: 'docs/reference/limits.md explains it. Find out whether the clients are hostile, or the limit is too low.',
  },
  SheafPacketsLost: {
    expr: 'sum by (job, instance) (rate(sheaf_quic_packets_lost_total[10m])) / (sum by (job, instance) (rate(sheaf_quic_udp_datagrams_sent_total[10m])) > 100) > 0.1',
    for: '10m',
    severity: 'warning',
    summary: '{{ $labels.instance }} loses {{ $value | humanizePercentage }} of its packets.',
    advice: 'Look for a full link, and for small socket buffers in the log.',
  },
  SheafResponsesLost: {
    expr: 'sum by (job, instance, backend, reason) (increase(sheaf_return_lost_total[15m])) > 10',
    for: '0m',
    severity: 'warning',
    summary: 'The backend {{ $labels.backend }} left responses incomplete: {{ $labels.reason }}.',
    advice: 'docs/reference/delivery.md explains the reason.',
  },
  SheafChannelPacketsMissing: {
    expr: 'sum by (job, instance, channel) (rate(sheaf_channel_expired_total[10m])) / (sum by (job, instance, channel) (rate(sheaf_channel_received_total[10m])) > 1) > 0.01',
    for: '10m',
    severity: 'warning',
    summary: 'Receivers of {{ $labels.channel }} miss {{ $value | humanizePercentage }} of its packets.',
    advice: 'Raise its repairs, or look for receivers whose network is too slow for it.',
  },
  SheafStrayErrors: {
    expr: 'sum by (job, instance, kind) (increase(sheaf_stray_errors_total[15m])) > 0',
    for: '0m',
    severity: 'warning',
    summary: '{{ $labels.instance }} has errors that nobody caught.',
    advice: 'Report the lines "stray error" of its log.',
  },
  SheafLogIncomplete: {
    expr: 'increase(sheaf_log_lines_dropped_total[15m]) > 0',
    for: '0m',
    severity: 'warning',
    summary: 'Lines of the log of {{ $labels.instance }} are missing.',
    advice: 'Its disk is full or slow.',
  },
  SheafVersionsDiffer: {
    expr: 'count by (job) (count by (job, version) (sheaf_build_info)) > 1',
    for: '1h',
    severity: 'warning',
    summary: 'Nodes of {{ $labels.job }} run different versions.',
    advice: 'Complete the upgrade, or take it back.',
  },
};

/** Returns the alerts as rules of Prometheus. */
export function alertRules(): AlertRule[] {
  return Object.entries(alerts).map(([alert, { expr, for: duration, severity, summary, advice }]) => ({
    alert,
    expr,
    for: duration,
    labels: { severity },
    annotations: { summary, description: advice },
  }));
}

/** Returns a file of rules for Prometheus. */
export function alertFile(): string {
  return stringify({ groups: [{ name: 'sheaf', rules: alertRules() }] }, { lineWidth: 0 });
}
