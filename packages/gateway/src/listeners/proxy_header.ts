import { isIP } from 'node:net';

/**
 * A header of the PROXY protocol (HAProxy Technologies, versions 1 and 2) at the beginning of a connection. It has no
 * `source` if the balancer itself sends it, as in health checks, or does not know the client.
 */
export interface ProxyHeader {
  /** Length of the header in bytes, after which the client's bytes follow */
  length: number;
  source?: string;
}

/** Maximum length of version 1, with `\r\n` (§2.1) */
const maxText = 107;

/**
 * Our maximum for version 2. §2.2 allows 65,535 bytes after the fixed part, but what balancers add to the addresses
 * takes some hundred.
 */
const maxBinary = 4_096;

const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const fixedBytes = 16;

/** Decodes a header; undefined while bytes are missing. It never needs more than `maxBinary` bytes. */
export function decodeProxyHeader(bytes: Buffer): ProxyHeader | 'invalid' | undefined {
  if (startsWith(bytes, signature)) return decodeBinary(bytes);
  return startsWith(bytes, Buffer.from('PROXY ')) ? decodeText(bytes) : 'invalid';
}

/** Compares the bytes that both have. */
function startsWith(bytes: Buffer, wanted: Buffer): boolean {
  const length = Math.min(bytes.length, wanted.length);
  return bytes.compare(wanted, 0, length, 0, length) === 0;
}

function decodeText(bytes: Buffer): ProxyHeader | 'invalid' | undefined {
  const end = bytes.subarray(0, maxText).indexOf('\r\n');
  if (end < 0) return bytes.length < maxText ? undefined : 'invalid';
  const line = bytes.toString('latin1', 0, end);
  const length = end + 2;
  // §2.1: the receiver ignores the rest of the line.
  if (line === 'PROXY UNKNOWN' || line.startsWith('PROXY UNKNOWN ')) return { length };
  const [, family, source = '', destination = '', ...ports] =
    /^PROXY TCP([46]) (\S+) (\S+) (0|[1-9]\d{0,4}) (0|[1-9]\d{0,4})$/.exec(line) ?? [];
  const isFamily = (address: string): boolean => String(isIP(address)) === family && !address.includes('%');
  const valid = isFamily(source) && isFamily(destination) && ports.every((port) => Number(port) <= 65_535);
  return valid ? { length, source } : 'invalid';
}

const commands = { local: 0, proxy: 1 } as const;
const addressFamilies = { unspecified: 0, ipv4: 1, ipv6: 2, unix: 3 } as const;

function decodeBinary(bytes: Buffer): ProxyHeader | 'invalid' | undefined {
  if (bytes.length < fixedBytes) return undefined;
  const version = bytes.readUInt8(12) >> 4;
  const command = bytes.readUInt8(12) & 0xf;
  const family = bytes.readUInt8(13) >> 4;
  const transport = bytes.readUInt8(13) & 0xf;
  const length = fixedBytes + bytes.readUInt16BE(14);
  if (version !== 2 || command > commands.proxy || family > addressFamilies.unix || transport > 2 || length > maxBinary)
    return 'invalid';
  const addressBytes =
    { [addressFamilies.ipv4]: 12, [addressFamilies.ipv6]: 36, [addressFamilies.unix]: 216 }[family as 1 | 2 | 3] ?? 0;
  if (command === commands.proxy && length < fixedBytes + addressBytes) return 'invalid';
  if (bytes.length < length) return undefined;
  const source = command === commands.proxy ? sourceOf(bytes.subarray(fixedBytes), family) : undefined;
  return { length, ...(source === undefined ? {} : { source }) };
}

/** Reads the source address. The order is source address, destination address, source port, destination port. */
function sourceOf(addresses: Buffer, family: number): string | undefined {
  if (family === addressFamilies.ipv4) return addresses.subarray(0, 4).join('.');
  if (family !== addressFamilies.ipv6) return undefined;
  const groups = Array.from({ length: 8 }, (_, group) => addresses.readUInt16BE(group * 2).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
