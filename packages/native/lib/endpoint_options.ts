import type { NativeEndpointOptions } from './addon.js';
import type { BackendKeyMode } from './multi_end_types.js';
import { checkSecrets, checkServerId, tokenSecrets } from './server_secrets.js';
import type { ServerOptions, TransportOptions } from './types.js';

const MiB = 1024 * 1024;
/** The bits of the transport parameter (docs/reference/wire.md). */
const backendKeyModeBits = { shared: 1, 'per-path': 2 } as const satisfies Record<BackendKeyMode, number>;

function backendKeyModes({
  multiEnd = false,
  backendKeyModes: modes = ['per-path', 'shared'],
}: Partial<TransportOptions>): number {
  return multiEnd ? modes.reduce((bits, mode) => bits | backendKeyModeBits[mode], 0) : 0;
}

/** Fills in the defaults of both roles; the limits bound what one peer can make us hold. */
function transportOptions(options: Partial<TransportOptions>) {
  return {
    alpn: options.alpn ?? ['h3'],
    idleTimeoutMs: options.idleTimeoutMs ?? 30_000,
    keepAliveMs: options.keepAliveMs ?? 0,
    initialConnectionWindow: options.initialConnectionWindow ?? MiB,
    maxConnectionWindow: options.maxConnectionWindow ?? 24 * MiB,
    initialStreamWindow: options.initialStreamWindow ?? Math.min(256 * 1024, options.maxStreamWindow ?? 256 * 1024),
    maxStreamWindow: options.maxStreamWindow ?? 8 * MiB,
    maxBidirectionalStreams: options.maxBidirectionalStreams ?? 1000,
    maxUnidirectionalStreams: options.maxUnidirectionalStreams ?? 1000,
    maxDatagramFrameSize: options.maxDatagramFrameSize ?? 65535,
    packetsPerAck: options.packetsPerAck ?? 0,
    congestionControl: options.congestionControl ?? 'cubic',
    multipath: options.multipath ?? true,
    longestDatagram: options.longestDatagram ?? 0,
    followTunnelReports: options.followTunnelReports ?? false,
    firstDatagram: options.firstDatagram ?? 1200,
    backendKeyModes: backendKeyModes(options),
    returnPaths: options.returnPaths ?? false,
    pathScheduler: options.pathScheduler ?? 'ecf',
    streamScheduler: options.streamScheduler ?? 'critical-first',
    datagrams: options.datagrams ?? false,
    qpackTableCapacity: options.qpackTableCapacity ?? 4096,
    qlogDirectory: options.qlogDirectory ?? '',
    keyLogFile: options.keyLogFile ?? '',
  };
}

export function serverEndpointOptions(options: ServerOptions): NativeEndpointOptions {
  return {
    ...transportOptions(options),
    followTunnelReports: options.followTunnelReports ?? true,
    addresses: [options.address, ...(options.furtherAddresses ?? [])],
    port: options.port,
    reusePort: options.sharesPort ?? false,
    offersResponses: options.offersResponses ?? false,
    server: true,
    certificate: options.certificate.certificate,
    privateKey: options.certificate.privateKey,
    secrets: tokenSecrets(options),
    resetScope: options.resetScope ?? '',
    ticketSecrets: checkSecrets(options.ticketSecrets ?? options.secrets ?? []),
    serverId: checkServerId(options),
    workerGroup: options.worker?.group ?? 0,
    worker: options.worker?.index ?? 0,
    webtransport: options.webtransport ?? false,
    extendedConnect: options.extendedConnect ?? false,
    maxConnections: options.maxConnections ?? 10_000,
    maxConnectionsPerNetwork: options.maxConnectionsPerNetwork ?? 1_000,
    connectionMemory: options.connectionMemory ?? 8 * MiB,
    memory: options.memory ?? 256 * MiB,
    handshakesPerSecond: options.handshakesPerSecond ?? 1000,
    maxHalfOpenHandshakes: options.maxHalfOpenHandshakes ?? 4096,
    retry: options.retry ?? 'auto',
    maxHeaderBytes: options.maxHeaderBytes ?? 64 * 1024,
  };
}

export function clientEndpointOptions(
  options: Partial<TransportOptions> & { webtransport?: boolean },
  local: { address: string; port: number },
): NativeEndpointOptions {
  return {
    ...transportOptions(options),
    addresses: [local.address],
    port: local.port,
    reusePort: false,
    offersResponses: false,
    server: false,
    certificate: '',
    privateKey: '',
    secrets: [],
    resetScope: '',
    ticketSecrets: [],
    serverId: { id: new Uint8Array(), encrypted: false },
    workerGroup: 0,
    worker: 0,
    webtransport: options.webtransport ?? false,
    extendedConnect: false,
    maxConnections: 1,
    maxConnectionsPerNetwork: 1,
    connectionMemory: 0,
    memory: 0,
    handshakesPerSecond: 1,
    maxHalfOpenHandshakes: 1,
    retry: 'never',
    maxHeaderBytes: 64 * 1024,
  };
}
