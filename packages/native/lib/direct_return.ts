import { addon } from './addon.js';
import type { LinkAddress } from './link_relay.js';

/**
 * How a socket sends from an address at which another node receives. `transparent`: the address belongs to another host; it
 * needs CAP_NET_RAW or CAP_NET_ADMIN. `own-address`: this host has the address, too, on `lo` or because both nodes run here; a
 * node that receives at it must share its port.
 */
export type ReturnWay = 'transparent' | 'own-address';

/** Options of {@link openReturnSocket}. */
export interface ReturnSocketOptions {
  /** IP address and port that datagrams come from: those at which the gateway receives. */
  from: LinkAddress;
  /** How to send from there. */
  via: ReturnWay;
}

/** A UDP socket that sends from the address of another node, and receives nothing. */
export interface ReturnSocket {
  /**
   * Sends `bytes` as datagrams of `size` bytes; the last one may be shorter. Never waits. Returns false when the system took
   * none of them.
   */
  send(bytes: Uint8Array, to: LinkAddress, size?: number): boolean;
  /** Frees the port. Later calls of `send` return false. */
  close(): void;
}

/** @throws Error with the system's `code`, such as `EADDRNOTAVAIL`, and a message that says what to do */
export function openReturnSocket({ from, via }: ReturnSocketOptions): ReturnSocket {
  const socket = new (addon().ReturnSocket)(from, via === 'transparent');
  return {
    send: (bytes, to, size = bytes.byteLength) => socket.send(bytes, to, size),
    close: () => socket.close(),
  };
}
