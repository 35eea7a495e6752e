import { BlockList, isIP } from 'node:net';

/** Addresses that share their first bits. */
export interface Network {
  address: string;
  /** Number of the bits. */
  prefix: number;
}

/** Addresses of which a configuration says something. */
export class Networks {
  readonly #list = new BlockList();

  constructor(networks: readonly Network[]) {
    for (const { address, prefix } of networks) this.#list.addSubnet(address, prefix, familyOf(address));
  }

  /** IPv4 addresses in the form of IPv6, which sockets for both have, count as what they are. */
  has(address: string): boolean {
    const plain = address.replace(/%.*/, '');
    return isIP(plain) !== 0 && this.#list.check(plain, familyOf(plain));
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
