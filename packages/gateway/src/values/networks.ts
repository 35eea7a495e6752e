import { BlockList, isIP } from 'node:net';

/** Addresses whose first bits are the same */
export interface Network {
  address: string;
  /** Number of these bits */
  prefix: number;
}

/** A set of networks that a configuration names */
export class Networks {
  readonly #list = new BlockList();

  constructor(networks: readonly Network[]) {
    for (const { address, prefix } of networks) this.#list.addSubnet(address, prefix, familyOf(address));
  }

  /** Counts IPv4 addresses in IPv6 form, which sockets of both families report, as IPv4. */
  has(address: string): boolean {
    const plain = address.replace(/%.*/, '');
    return isIP(plain) !== 0 && this.#list.check(plain, familyOf(plain));
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
