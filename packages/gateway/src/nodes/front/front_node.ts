import type { Logger } from 'pino';
import type { ListenAddress, ListenAddresses } from '../../values/scalars.js';
import type { CertificateSource } from '../../tls/certificate_source.js';
import { browserUrl } from '../../values/browser_url.js';
import type { MetricSources } from '../../observability/metrics.js';
import type { FrontNodeStatus } from '../../observability/status.js';
import type { Entrance, RunningNode } from '../life/running_node.js';
import type { Front } from './front.js';
import type { Service } from './service.js';

/** A running node that serves clients of the web */
export abstract class FrontNode implements RunningNode {
  abstract readonly role: FrontNodeStatus['role'];
  abstract readonly warnings: readonly string[];

  protected constructor(
    readonly name: string,
    protected readonly front: Front,
  ) {}

  abstract status(): FrontNodeStatus;

  /** Sources of the metrics that all these nodes have */
  protected get frontMetrics(): Pick<
    MetricSources,
    'worker' | 'transport' | 'limitHits' | 'tcpConnections' | 'certificateExpiry' | 'registry'
  > {
    const { front } = this;
    return {
      worker: front.worker,
      transport: () => front.quic?.counters(),
      limitHits: () => front.limitHits(),
      tcpConnections: () => front.tcpConnections,
      certificateExpiry: () => front.certificate.expiry,
      ...(front.registry && { registry: front.registry }),
    };
  }

  /** What answers the clients and the operators of the node */
  get service(): Service {
    return this.front.service;
  }

  get log(): Logger {
    return this.front.log;
  }

  get entrances(): readonly Entrance[] {
    return entrancesOf(this);
  }

  get trial(): string {
    return trialOf(this);
  }

  get address(): ListenAddresses {
    return this.front.address;
  }

  /** Whether the node stops, and waits for what is in flight */
  get draining(): boolean {
    return this.front.draining;
  }

  get httpAddress(): ListenAddress | undefined {
    return this.front.httpAddress;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.front.adminAddress;
  }

  /** Address where clients find this node, if configured */
  get publicUrl(): string | undefined {
    return this.front.publicUrl;
  }

  get certificate(): CertificateSource {
    return this.front.certificate;
  }

  /** Returns the sockets that another process can take over after this one has ended, by name. */
  sockets(): [name: string, descriptor: number][] {
    return this.front.namedSockets();
  }

  /** Accepts no more TCP connections. Those that are open go on as before. */
  stopAccepting(): void {
    this.front.stopAccepting();
  }

  /** Refuses new work, waits up to `drainMs` for requests in flight, then stops. */
  close(drainMs?: number): Promise<void> {
    return this.front.close(drainMs);
  }
}

/** Where people reach a node with clients of the web */
export interface WebAddresses {
  readonly address: ListenAddresses;
  readonly publicUrl: string | undefined;
  readonly httpAddress: ListenAddress | undefined;
}

export function entrancesOf({ address, publicUrl, httpAddress }: WebAddresses): Entrance[] {
  return [
    { at: browserUrl('https', address), serves: 'HTTP/3 and WebTransport (UDP), HTTP/2 and HTTP/1.1 (TCP)' },
    ...(publicUrl === undefined ? [] : [{ at: publicUrl, serves: 'where clients find it' }]),
    ...(httpAddress ? [{ at: browserUrl('http', httpAddress), serves: 'HTTP/1.1 without TLS' }] : []),
  ];
}

/** Returns a command that shows that the node works. */
export function trialOf({
  address,
  certificate,
}: {
  address: ListenAddresses;
  certificate: Pick<CertificateSource, 'isDevelopment'>;
}): string {
  return `sheaf fetch ${browserUrl('https', address)}${certificate.isDevelopment ? ' --insecure' : ''}`;
}
