import { isIP } from 'node:net';
import { parse } from 'forwarded-parse';
import type { TrustedProxiesOptions } from '../schema/reach.js';
import { Networks } from '../values/networks.js';
import { headerValue, type GatewayRequest, type RequestHeaders } from './exchange.js';

/** One proxy's entry about the sender of a request */
interface Hop {
  /** Undefined when the proxy does not know the address, or hides it (RFC 7239 §6.2, §6.3). */
  address: string | undefined;
  scheme: string | undefined;
}

/** Finds the client behind the proxies that the configuration trusts. */
export class TrustedProxies {
  readonly #networks: Networks;
  readonly #header: TrustedProxiesOptions['header'];

  constructor({ addresses, header }: TrustedProxiesOptions) {
    this.#networks = new Networks(addresses);
    this.#header = header;
  }

  trusts(address: string): boolean {
    return this.#networks.has(address);
  }

  /**
   * Returns the request with the address and the scheme that its client had. Each proxy appends the address of its own
   * client. So the list is read from its end, as long as the address is a trusted proxy; anybody may have written the
   * entries before that.
   */
  resolve(request: GatewayRequest): GatewayRequest {
    let { remoteAddress, scheme } = request;
    if (!this.#networks.has(remoteAddress)) return request;
    for (const hop of hopsOf(request.headers, this.#header).reverse()) {
      if (hop.address === undefined || !this.#networks.has(remoteAddress)) break;
      remoteAddress = hop.address;
      if (hop.scheme === 'http' || hop.scheme === 'https') scheme = hop.scheme;
    }
    return { ...request, remoteAddress, peerAddress: request.remoteAddress, scheme };
  }
}

function hopsOf(headers: RequestHeaders, header: TrustedProxiesOptions['header']): Hop[] {
  const field = headerValue(headers, header);
  if (field === undefined) return [];
  if (header === 'forwarded') return forwardedHops(field);
  // The header is not a list: only the last proxy set it.
  const scheme = headerValue(headers, 'x-forwarded-proto')?.trim().toLowerCase();
  return field.split(',').map((item) => ({ address: addressOf(item), scheme }));
}

function forwardedHops(field: string): Hop[] {
  try {
    return parse(field).map((element) => ({
      address: addressOf(element['for'] ?? ''),
      scheme: element['proto']?.toLowerCase(),
    }));
  } catch {
    return [];
  }
}

/** Parses `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:80`. */
function addressOf(text: string): string | undefined {
  const trimmed = text.trim();
  const [, six, four] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(trimmed) ?? [];
  const address = six ?? four ?? trimmed;
  return isIP(address) !== 0 && !address.includes('%') ? address : undefined;
}
