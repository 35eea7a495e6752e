import type { NativeEndpoint, NativeTunnelCarriage, NativeTunnelOptions } from './addon.js';
import { IncomingBody } from './http3_body.js';
import { contextsField, nativeContexts } from './payload_contexts.js';
import { Http3ServerResponse } from './server_response.js';
import type { ServerRequest, ServerResponse } from './types.js';
import {
  tunnelDropReasons,
  tunnelEnds,
  tunnelModes,
  type OpenedTunnel,
  type TunnelCarriage,
  type TunnelCounts,
  type TunnelOptions,
  type TunnelOver,
  type TunnelTotals,
} from './tunnel_types.js';

/** As `TunnelReports` in src/tunnel/mode.h */
const reportUses = { none: 0, makes: 1, takes: 2 } as const;

/** Header with which both sides agree on reports (docs/reference/wire.md) */
export const tunnelInfoHeader = 'sheaf-tunnel-info';

const defaultIdleMs = 120_000;
const defaultQueueBytes = 256 * 1024;

/** Reads what `counts_array` in src/binding/tunnel_calls.cc writes. */
export function tunnelCounts(values: readonly number[]): TunnelCounts {
  const [
    packetsToTarget = 0,
    bytesToTarget = 0,
    packetsToClient = 0,
    bytesToClient = 0,
    packetsRepeated = 0,
    packetsMarked = 0,
    ...drops
  ] = values;
  return {
    packetsToTarget,
    bytesToTarget,
    packetsToClient,
    bytesToClient,
    packetsRepeated,
    packetsMarked,
    drops: Object.fromEntries(
      tunnelDropReasons.map((reason, index) => [reason, drops[index] ?? 0]),
    ) as TunnelCounts['drops'],
  };
}

/** Reads the counts of all tunnels of an endpoint so far. */
export function tunnelTotals(endpoint: NativeEndpoint): TunnelTotals {
  const [open, waitingBytes, counts, responseMs] = endpoint.tunnelCounts() ?? [0, 0, []];
  return { open, waitingBytes, ...(responseMs !== undefined && { responseMs }), ...tunnelCounts(counts) };
}

export function tunnelOver(reason: number, code: number, values: readonly number[]): TunnelOver {
  return { reason: tunnelEnds[reason] ?? 'client', code, ...tunnelCounts(values) };
}

/** Completes the options that tunnels of a proxy and those of a client share. */
export const carriageOptions = (
  { idleMs, queueBytes, mode }: TunnelCarriage,
  reports: keyof typeof reportUses,
  contexts: Pick<NativeTunnelCarriage, 'contextSide' | 'contexts'>,
): NativeTunnelCarriage => ({
  ...contexts,
  idleMs: idleMs ?? defaultIdleMs,
  queueBytes: queueBytes ?? defaultQueueBytes,
  mode: tunnelModes.indexOf(mode ?? 'retransmit'),
  reports: reportUses[reports],
});

export function nativeTunnelOptions({
  target,
  rate,
  reports,
  contexts,
  ...carriage
}: TunnelOptions): NativeTunnelOptions {
  return {
    ...target,
    ...carriageOptions(carriage, reports ? 'makes' : 'none', nativeContexts('proxy', contexts)),
    rateName: rate?.name ?? '',
    bytesPerSecond: rate?.bytesPerSecond ?? 0,
  };
}

/** Returns the fields of the response that opens a tunnel (RFC 9298 §3.3 and §3.5, RFC 9297 §3.4). */
export const tunnelFields = ({
  reports,
  contexts,
  headers,
}: Omit<TunnelOptions, 'target'>): Record<string, string> => ({
  'capsule-protocol': '?1',
  ...(reports && { [tunnelInfoHeader]: '?1' }),
  ...(contexts && contextsField('proxy')),
  ...headers,
});

/**
 * Answers a request for UDP proxying (RFC 9298) with 200, and connects it to the target natively. Returns undefined when the
 * client has left or its request is complete.
 * @throws Error with the system's `code`, such as `ENETUNREACH`; the request has no response then
 */
export function openTunnel(
  request: ServerRequest,
  response: ServerResponse,
  options: TunnelOptions,
): OpenedTunnel | undefined {
  if (!(request instanceof IncomingBody) || !(response instanceof Http3ServerResponse))
    throw new TypeError('this is no request of HTTP/3');
  if (request.ended || response.destroyed) return undefined;
  const { endpoint, connection, stream } = request.location;
  const localAddress = endpoint.openTunnel(connection, stream, nativeTunnelOptions(options));
  if (!localAddress) return undefined;
  if (options.onOver) response.once('tunnelOver', options.onOver);
  response.writeHead(200, tunnelFields(options));
  response.leaveToEngine();
  return { localAddress };
}
