import { isIP } from 'node:net';
import { parse } from 'forwarded-parse';
import type { TrustedProxiesOptions } from '../schema/reach.js';
import { Networks } from '../values/networks.js';
import { headerValue, type GatewayRequest, type RequestHeaders } from './exchange.js';

/** What a proxy says of a request that it received. */
interface Hop {
  /** Undefined when the proxy does not know, or hides it (RFC 7239 §6.2, §6.3). */
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
   * The request with the address, and the scheme, that its client had. Each proxy adds whom it was asked by at the end: from
   * there to the front as long as that is a trusted one again; what stands before, anybody may have written.
   */
  resolve(request: GatewayRequest): GatewayRequest {
    let { remoteAddress, scheme } = request;
    if (!this.#networks.has(remoteAddress)) return request;
    for (const hop of hopsOf(request.headers, this.#header).reverse()) {
      if (hop.address === undefined || !this.#networks.has(remoteAddress)) break;
      remoteAddress = hop.address;
      if (hop.scheme === 'http' || hop.scheme === 'https') scheme = hop.scheme;
    }
    return { ...request, remoteAddress, scheme };
  }
}

function hopsOf(headers: RequestHeaders, header: TrustedProxiesOptions['header']): Hop[] {
  const field = headerValue(headers, header);
  if (field === undefined) return [];
  if (header === 'forwarded') return forwardedHops(field);
  // Of the last proxy alone: it is no list.
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

/** `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:80` */
function addressOf(text: string): string | undefined {
  const trimmed = text.trim();
  const [, six, four] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/.exec(trimmed) ?? [];
  const address = six ?? four ?? trimmed;
  return isIP(address) !== 0 && !address.includes('%') ? address : undefined;
}
