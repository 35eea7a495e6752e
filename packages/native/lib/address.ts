/** IP address and UDP port. */
export interface SocketAddress {
  /** IP address. */
  address: string;
  /** UDP port. */
  port: number;
  /** Family of the address. */
  family: 'IPv4' | 'IPv6';
}
