import {
  addon,
  GrantRefusal,
  OfferRefusals,
  type FlatFields,
  type NativeReturnSocket,
  type OfferRefusal,
} from './addon.js';
import type { Executor, NodeSessionOptions, ReturnRecovery, RunOrders, SealsGrants } from './direct_return_types.js';
import { appendFields } from './headers.js';
import { IncomingBody, type StreamLocation } from './http3_body.js';
import type { LinkAddress } from './link_relay.js';
import { lendable } from './lent_bytes.js';
import { QuicError } from './quic_error.js';
import { NativeReturnedBody } from './returned_body.js';
import type { ReceivedResponse, ServerRequest } from './types.js';

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
  /** Later calls of `send` return false. An executor that was opened with the socket still sends until it is closed itself. */
  close(): void;
}

/** @throws Error with the system's `code`, such as `EADDRNOTAVAIL`, and a message that says what to do */
export function openReturnSocket({ from, via }: ReturnSocketOptions): ReturnSocket {
  const socket = new (addon().ReturnSocket)(from, via === 'transparent');
  const opened: ReturnSocket = {
    send: (bytes, to, size = bytes.byteLength) => socket.send(bytes, to, size),
    close: () => socket.close(),
  };
  natives.set(opened, socket);
  return opened;
}

/** Refusals that callers tell from the others */
const refusalCodes = new Map([
  [-2, 'FOREIGN_ADDRESS'],
  [-4, 'NO_ROOM'],
  [-22, 'NO_ROOM'],
]);

const natives = new WeakMap<ReturnSocket, NativeReturnSocket>();

/**
 * Makes a long request of this gateway the channel of a session with a backend. The backend has opened its executor before it
 * answered. `backendProcess` is the random id of the backend's process, 8 bytes.
 * @throws QuicError `CONNECTION_CLOSED`
 */
export function openRunOrders(
  response: ReceivedResponse,
  { session, process, backendProcess }: NodeSessionOptions & { backendProcess: Uint8Array },
): RunOrders {
  const { endpoint, connection, stream } = locationOf(response);
  const number = opened(endpoint.openOrders(connection, stream, session, process, backendProcess));
  const orders: RunOrders = { close: () => endpoint.closeNodeSession(connection, number) };
  sessions.set(orders, number);
  return orders;
}

/** Options of {@link openExecutor}. */
export interface ExecutorOptions extends NodeSessionOptions {
  /** Sockets for the addresses from which this node may send. */
  sockets: ReturnSocket[];
  /** `backend`: takes grants with recovery of its own, too. Default `gateway`: takes no others than those with runs. */
  recovery?: ReturnRecovery;
}

/**
 * Makes a long request of a gateway the channel of a session with it.
 * @throws QuicError `CONNECTION_CLOSED`
 */
export function openExecutor(
  request: ServerRequest,
  { session, process, sockets, recovery }: ExecutorOptions,
): Executor {
  const { endpoint, connection, stream } = locationOf(request);
  const own = sockets.flatMap((socket) => natives.get(socket) ?? []);
  const number = opened(endpoint.openExecutor(connection, stream, session, process, own, recovery === 'backend'));
  const bodies = new Set<NativeReturnedBody>();
  return {
    accept: (grant, { head, length, from, waited = 0 }) => {
      const file = from === undefined || from instanceof Uint8Array ? undefined : from;
      const where = file?.descriptor ?? (from && lendable(from as Uint8Array));
      const body = endpoint.acceptGrant(number, grant, head, length, where, file?.position ?? 0, waited);
      if (body < 0) throw refusal(body);
      return new NativeReturnedBody(endpoint, body, bodies);
    },
    stats: () => endpoint.executorStats(number),
    close: () => {
      for (const body of [...bodies]) body.onSessionEnd();
      endpoint.closeNodeSession(connection, number);
    },
  };
}

function refusal(code: number): QuicError {
  const text = (GrantRefusal as Record<number, string>)[code] ?? `refused (${code})`;
  return new QuicError(refusalCodes.get(code) ?? 'GRANT_REFUSED', text);
}

/**
 * Asks for a backend to send the response to a request. Returns a grant, which contains keys of the connection: seal it for the
 * backend. Until the response is handed off, or the grant taken back, nothing may be written. Returns why there is none when the
 * connection cannot have such a response now. `recovery` is what the backend takes: with `backend` it gets a path of its own where
 * the client permits it, and runs otherwise.
 * @throws Error when the server was made without `offersResponses`
 */
export function offerResponse(
  request: ServerRequest,
  orders: RunOrders,
  recovery: ReturnRecovery = 'gateway',
): Buffer | OfferRefusal {
  const { endpoint, connection, stream } = locationOf(request);
  const offered = endpoint.offerStream(connection, stream, sessions.get(orders) ?? 0, recovery === 'backend');
  return typeof offered === 'number' ? OfferRefusals[offered] : offered;
}

/**
 * Seals grants by AES-256-GCM with a key of 32 random bytes, which nobody else seals with. The counter of each is the nonce.
 * `associated` is authenticated besides.
 */
export function sealGrants(key: Uint8Array, associated: Uint8Array): SealsGrants {
  return new (addon().GrantSealer)(key, associated);
}

/**
 * Takes a grant back, for a response that another node sends, or this one. `declined` says that the backend surely sent nothing.
 * Otherwise it may have sent a first packet, and `offerDoubt` tells when another node may answer.
 */
export function revokeOffer(request: ServerRequest, declined = false): void {
  const { endpoint, connection, stream } = locationOf(request);
  endpoint.revokeStream(connection, stream, declined);
}

/**
 * Returns whether another node may answer a request whose grant was taken back: `none` if so, `open` if nobody knows yet what the
 * client has, and `taken` if it has bytes that nobody else knows. The stream can only be reset then (RFC 9000 §2.2).
 */
export function offerDoubt(request: ServerRequest): 'none' | 'open' | 'taken' {
  const { endpoint, connection, stream } = locationOf(request);
  return doubts[endpoint.streamDoubt(connection, stream)] ?? 'taken';
}

/** `quic::DelegatedStreams::Doubt` */
const doubts = ['none', 'open', 'taken'] as const;

/**
 * Encodes status and fields of a response for a stream of another node's connection. Returns undefined when a field is invalid,
 * or all of them take more than 8 KB.
 */
export function encodeHead(
  status: number,
  headers: Readonly<Record<string, string | number | string[]>>,
): Buffer | undefined {
  const fields: FlatFields = [':status', String(status)];
  appendFields(fields, headers);
  return addon().encodeHead(fields);
}

const sessions = new WeakMap<RunOrders, number>();

function opened(number: number): number {
  if (number === 0) throw new QuicError('CONNECTION_CLOSED', 'the connection is gone, or speaks no HTTP/3');
  return number;
}

function locationOf(message: unknown): StreamLocation {
  if (!(message instanceof IncomingBody)) throw new TypeError('this is no message of HTTP/3');
  return message.location;
}
