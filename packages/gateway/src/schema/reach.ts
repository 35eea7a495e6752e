import { isIP } from 'node:net';
import { z } from 'zod';
import { oneOrMore } from '../values/scalars.js';
import type { Network } from '../values/networks.js';

/** `10.0.0.0/8`, `2001:db8::/32`, or one address. */
const network = z
  .string()
  .meta({ description: 'Address or network, such as `10.0.0.0/8`.' })
  .transform((text, context): Network => {
    const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    const most = isIP(address) === 4 ? 32 : 128;
    const prefix = bits === undefined ? most : Number(bits);
    if (isIP(address) !== 0 && !address.includes('%') && prefix <= most) return { address, prefix };
    context.addIssue({
      code: 'custom',
      message: `\`${text}\` is not an address or a network`,
      params: { hint: 'write `10.0.0.0/8`, `192.0.2.7` or `2001:db8::/32`' },
    });
    return z.NEVER;
  });

export const networks = oneOrMore(network);

/** Address where clients find a node: a host name or address (IPv6 in brackets), and a port */
export interface PublicAddress {
  host: string;
  port: number;
}

const publicUrl = z.string().transform((text, context): PublicAddress => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin =
    url?.protocol === 'https:' && url.pathname === '/' && url.search + url.hash + url.username + url.password === '';
  if (isOrigin) return { host: url.hostname, port: url.port === '' ? 443 : Number(url.port) };
  context.addIssue({
    code: 'custom',
    message: `\`${text}\` is not the URL of a site`,
    params: { hint: 'write one such as `https://www.example.com` or `https://www.example.com:8443`' },
  });
  return z.NEVER;
});

const trustedProxies = z.strictObject({
  addresses: networks.describe('Addresses and networks of the proxies.'),
  header: z
    .enum(['x-forwarded-for', 'forwarded'])
    .default('x-forwarded-for')
    .describe(
      'Header in which they name the client: `x-forwarded-for`, or `forwarded` (RFC 7239). The other one is not believed: a client may have sent it.',
    ),
});

export type TrustedProxiesOptions = z.output<typeof trustedProxies>;

/** Keys of a node that other machines stand in front of: how clients reach it */
export const reachKeys = {
  public_url: publicUrl
    .optional()
    .describe(
      'URL by which clients reach this node, such as `https://www.example.com`, when host or port differ from `listen`, behind port mapping or NAT. UDP and TCP are mapped from the same port.',
    ),
  trusted_proxies: z
    .union([
      networks.transform((addresses): TrustedProxiesOptions => ({ addresses, header: 'x-forwarded-for' })),
      trustedProxies,
    ])
    .optional()
    .describe(
      'Addresses and networks of HTTP proxies whose `X-Forwarded-For` is believed, or `{ addresses, header }`. Default: none.',
    ),
  proxy_protocol: networks
    .optional()
    .describe(
      'Addresses and networks of balancers whose TCP connections all begin with a header of the PROXY protocol, version 1 or 2. Default: none.',
    ),
};
