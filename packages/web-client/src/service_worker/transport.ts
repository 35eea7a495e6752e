import { WELL_KNOWN, type GatewayDescription } from '../protocol/index.js';
import type { Transport } from './gateway_session.js';

/** The source of the gateway's description */
interface Descriptions {
  get(): Promise<GatewayDescription>;
  refresh(): Promise<GatewayDescription>;
}

/** Opens WebTransport to the described gateway. */
export async function connect(descriptions: Descriptions, refresh: boolean): Promise<Transport> {
  if (!('WebTransport' in self)) throw new TypeError('this browser has no WebTransport');
  let description = await descriptions.get();
  if (refresh) {
    const before = JSON.stringify(description);
    description = await descriptions.refresh();
    if (JSON.stringify(description) === before) throw new Error('the configuration is unchanged');
  }
  return new WebTransport(sessionUrl(description), sessionOptions(description));
}

function sessionUrl({ authority }: GatewayDescription): string {
  return `https://${authority ?? self.location.host}${WELL_KNOWN.page_session}`;
}

function sessionOptions({ hashes }: GatewayDescription): WebTransportOptions {
  const options: WebTransportOptions = { requireUnreliable: true, congestionControl: 'throughput' };
  if (hashes.length === 0) return options;
  return {
    ...options,
    serverCertificateHashes: hashes.map((hash) => ({ algorithm: 'sha-256', value: bytes(hash) })),
  };
}

function bytes(hexadecimal: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hexadecimal.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
