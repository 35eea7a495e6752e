import { isIP } from 'node:net';
import { z } from 'zod';

/** An address and port to listen on. `port` 0 asks the system for a free port. */
export interface ListenAddress {
  address: string;
  port: number;
}

const addressForms = '`127.0.0.1:4433`, `[::1]:4433`, `localhost:4433` or `:4433` for every address';

/** Parses `127.0.0.1:4433`, `[::1]:4433`, `localhost:4433` and `:4433`. */
export const listenAddress = z
  .string()
  .meta({ description: `Address and port: ${addressForms}.`, examples: ['127.0.0.1:4433'] })
  .transform((text, context): ListenAddress => {
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', message, params: { hint: `write ${addressForms}` } });
      return z.NEVER;
    };
    const match = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:]*)):(?<port>\d+)$/.exec(text);
    if (!match?.groups) return refuse(`\`${text}\` is not an address with a port`);
    const port = Number(match.groups['port']);
    if (port > 65_535) return refuse(`port ${port} is above 65535`);
    const { six, host } = match.groups;
    if (six !== undefined)
      return isIP(six) === 6 ? { address: six, port } : refuse(`\`${six}\` is not an IPv6 address`);
    if (host === '' || host === '*') return { address: '::', port };
    if (host === 'localhost') return { address: '127.0.0.1', port };
    return isIP(host ?? '') === 4 ? { address: host ?? '', port } : refuse(`\`${host}\` is not an IP address`);
  });

/** One or several addresses with the same port */
export interface ListenAddresses extends ListenAddress {
  /** Addresses after the first */
  further?: readonly string[];
}

/** Returns the addresses, each with the port. */
export function eachAddress({ address, further = [], port }: ListenAddresses): ListenAddress[] {
  return [address, ...further].map((each) => ({ address: each, port }));
}

/** An address with a port, or a list of addresses with the same port. */
export const listenAddresses = oneOrMore(listenAddress).transform(([first, ...others], context): ListenAddresses => {
  const further = others.map(({ address }) => address);
  const all = [first!.address, ...further];
  const refuse = (message: string, hint: string): never => {
    context.addIssue({ code: 'custom', message, params: { hint } });
    return z.NEVER;
  };
  if (others.length === 0) return first!;
  if (others.some(({ port }) => port !== first!.port))
    return refuse('the addresses have different ports', 'give them one port');
  if (all.some(isWildcard)) return refuse('one of the addresses includes all others', 'remove the others');
  if (new Set(all).size < all.length) return refuse('an address appears twice', 'remove one of them');
  return { ...first!, further };
});

const wildcards = new Set(['::', '0.0.0.0']);

/** Whether the address stands for every address of the machine. */
export function isWildcard(address: string): boolean {
  return wildcards.has(address);
}

/** Whether only programs of this machine reach the address. */
export function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

const millisecondsPerUnit = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses `500ms`, `30s`, `5m`, `1h` and `1d` into milliseconds. */
export const duration = z
  .string()
  .regex(/^\d+(ms|s|m|h|d)$/, 'not a duration such as `500ms`, `30s` or `5m`')
  .meta({ description: 'Duration such as `500ms`, `30s`, `5m`, `1h` or `1d`.' })
  .transform((text) => {
    const unit = text.replace(/^\d+/, '') as keyof typeof millisecondsPerUnit;
    return Number.parseInt(text, 10) * millisecondsPerUnit[unit];
  });

const bytesPerUnit = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

/** Parses `512B`, `64KiB` and `100MB` into bytes. */
export const byteSize = z
  .string()
  .regex(/^\d+(B|KB|MB|GB|KiB|MiB|GiB)$/, 'not a size such as `512B`, `64KiB` or `100MB`')
  .meta({ description: 'Size such as `512B`, `64KiB`, `100MB` or `1GiB`.' })
  .transform((text) => {
    const unit = text.replace(/^\d+/, '') as keyof typeof bytesPerUnit;
    return Number.parseInt(text, 10) * bytesPerUnit[unit];
  });

/** A path. Relative paths start at the directory of the configuration file. */
export const filePath = z.string().min(1).meta({ description: 'File path, relative to the configuration file.' });

/** Accepts one value or a list of them, and returns a list. */
export function oneOrMore<Item extends z.ZodType>(item: Item) {
  return z
    .union([item, z.array(item).min(1)])
    .transform((value) => (Array.isArray(value) ? value : [value]) as z.output<Item>[]);
}

/** Parses the address of a server: `gateway.example:443`, `192.0.2.1:443` or `[2001:db8::1]:443`. */
export const hostAndPort = z
  .string()
  .meta({ description: 'Host and port, such as `gateway.example:443`.' })
  .transform((text, context): { host: string; port: number } => {
    const match = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:/]+)):(?<port>\d+)$/.exec(text);
    const { six, host } = match?.groups ?? {};
    const port = Number(match?.groups?.['port']);
    const name = six ?? host;
    if (name !== undefined && port > 0 && port <= 65_535 && (six === undefined || isIP(six) === 6))
      return { host: name, port };
    context.addIssue({
      code: 'custom',
      message: `\`${text}\` is not a host with a port`,
      params: { hint: 'write `gateway.example:443`, `192.0.2.1:443` or `[2001:db8::1]:443`' },
    });
    return z.NEVER;
  });

export const ipAddress = z
  .string()
  .meta({ description: 'IP address.' })
  .superRefine((text, context) => {
    if (isIP(text) === 0)
      context.addIssue({
        code: 'custom',
        message: `\`${text}\` is not an IP address`,
        params: { hint: 'write one such as `192.0.2.7` or `2001:db8::7`' },
      });
  });

/** IP address and port of another machine */
export const remoteAddress = listenAddress.refine(
  ({ address, port }) => port > 0 && address !== '::' && address !== '0.0.0.0',
  {
    message: 'this is not the address of a server',
    params: { hint: 'write the address and port of a server, such as `192.0.2.1:443`' },
  },
);
