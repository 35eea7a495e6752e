import { limitsOptions, type Limits } from './limits.js';

interface Bound {
  resource: string;
  default: string;
  pays: string;
  gets: string;
}

type Effect = Omit<Bound, 'default'>;

/** Effects of each key of `limits`, beside its bound */
const effects: Record<keyof Limits, Effect> = {
  connections: {
    resource: 'open connections',
    pays: 'all clients',
    gets: 'the network with the most loses its longest idle ones; if none is idle: CONNECTION_REFUSED (QUIC), a closed connection (TCP)',
  },
  connections_per_network: {
    resource: 'open connections of one network',
    pays: 'the network',
    gets: 'its idle ones are closed; if none is idle: CONNECTION_REFUSED (QUIC), a closed connection (TCP)',
  },
  connection_memory: {
    resource: 'bytes held for one QUIC connection',
    pays: 'the connection',
    gets: 'its responses and further requests wait',
  },
  memory: {
    resource: 'bytes held for all QUIC connections; one network has a quarter',
    pays: 'the network, then all',
    gets: 'smaller windows and shares; beyond seven eighths idle connections are closed, then, with H3_EXCESSIVE_LOAD, those that took the least',
  },
  streams: {
    resource: 'open streams of each kind (HTTP/2: at most 128)',
    pays: 'the connection',
    gets: 'no credit for more; STREAM_LIMIT_ERROR',
  },
  header_size: { resource: 'request headers', pays: 'the request', gets: '431' },
  body_size: { resource: 'request body', pays: 'the request', gets: '413' },
  body_timeout: {
    resource: 'time without a byte of an awaited request body',
    pays: 'the request',
    gets: '408',
  },
  unread_timeout: {
    resource: 'time in which the client takes nothing of a response',
    pays: 'the response',
    gets: 'its stream is reset, its connection closed (HTTP/1.1)',
  },
  slow_responses: {
    resource: 'exchanges below 1 KB/s; one network has half of what is left',
    pays: 'the network',
    gets: 'the slowest are ended',
  },
  handshakes_per_second: {
    resource: 'new handshakes a second',
    pays: 'new clients',
    gets: 'Retry (QUIC), a later turn (TCP)',
  },
  half_open_handshakes: {
    resource: 'pending handshakes; one network has half of what is left',
    pays: 'the network',
    gets: 'CONNECTION_REFUSED (QUIC), a closed connection (TCP)',
  },
  retry: { resource: 'address validation', pays: 'new clients', gets: 'one more round trip' },
  idle: { resource: 'silence', pays: 'the connection', gets: 'it is closed' },
  drain: {
    resource: 'time of open requests when the gateway stops',
    pays: 'the request',
    gets: 'its connection is closed',
  },
  upgrade: {
    resource: 'time of open connections when another process takes over',
    pays: 'the connection',
    gets: 'its process drains',
  },
};

/** Bounds that no configuration changes, since they follow from the protocols or from other bounds */
const fixed: Bound[] = [
  {
    resource: 'earlier processes that still have connections',
    default: '31',
    pays: 'the operator',
    gets: 'a further upgrade is refused',
  },
  {
    resource: 'memory of pending QUIC handshakes',
    default: '48 MiB',
    pays: 'the oldest handshakes',
    gets: 'they are forgotten',
  },
  {
    resource: "1-RTT packets ahead of a client's Finished",
    default: '24 KiB, 2 KiB once 256 handshakes are pending',
    pays: 'the connection',
    gets: 'the packets are dropped',
  },
  {
    resource:
      'requests that an HTTP/3 client cancels; another node of the site cancels for all of its clients, and has no such limit',
    default: '1,000, and 100 a second',
    pays: 'the connection',
    gets: 'H3_EXCESSIVE_LOAD',
  },
  {
    resource: 'address tokens (NEW_TOKEN)',
    default: 'one use',
    pays: 'the client',
    gets: 'its address does not count as validated',
  },
  {
    resource: 'ClientHellos with 0-RTT, remembered for 6 hours',
    default: '28 MiB, over 1,000 a second; one network has half of what is left',
    pays: 'the network',
    gets: '1-RTT',
  },
  {
    resource: 'stateless resets, also those of connections of machines that are gone',
    default: '200 a second',
    pays: 'senders to a connection that is gone',
    gets: 'a timeout',
  },
  {
    resource: 'answers to queries of other machines of a fleet',
    default: '1,000 a second',
    pays: 'who repeats their queries',
    gets: 'no answer',
  },
  {
    resource: 'requests of one network over HTTP/2',
    default: '1,000 in flight, one counting for each 4 KiB of its fields; beyond that 8 for each connection',
    pays: 'the network',
    gets: 'credit for 8 streams, for fewer with large fields, then for a share of the 1,000; REFUSED_STREAM',
  },
  {
    resource: 'requests over HTTP/3 that wait unread, while a connection holds twice its share',
    default: '100',
    pays: 'the connection',
    gets: 'H3_REQUEST_REJECTED',
  },
  {
    resource: 'time for the rest of a request body after its response over HTTP/1.1',
    default: 'as `limits.idle`',
    pays: 'the connection',
    gets: 'it is closed',
  },
  {
    resource: 'time for the last bytes of a connection of HTTP/2 that is over, or whose client is gone',
    default: 'up to twice `limits.idle`; 5 s where the client is gone',
    pays: 'the connection',
    gets: 'it is closed',
  },
  {
    resource: 'unsent bytes of responses over HTTP/2',
    default: '3 MiB a connection, 32 MiB a network',
    pays: 'the connection',
    gets: 'its responses wait',
  },
  {
    resource: 'bytes of one TCP connection that wait unsent in the kernel',
    default: '128 KiB',
    pays: 'the connection',
    gets: 'its responses wait',
  },
  {
    resource: 'pieces in which responses over HTTP/1.1 are read',
    default: '64 KiB, 16 KiB while their network has more than 64 connections',
    pays: 'the network',
    gets: 'more and smaller writes',
  },
  {
    resource: 'connections of one network over HTTP/1.1',
    default:
      'a tenth of `connections_per_network` (64 at least); beyond that 25 more a second, newest and oldest in turn, except from trusted proxies',
    pays: 'the network',
    gets: 'its turn later, 10 s at most; to each the one gives way whose client has done nothing for the longest time, and for 2 s',
  },
  { resource: 'pipelined requests over HTTP/1.1', default: '32', pays: 'the connection', gets: 'it is closed' },
  {
    resource: 'fields of pipelined requests over HTTP/1.1',
    default: '16 KiB',
    pays: 'the connection',
    gets: 'nothing more is read until the first is answered; incomplete fields after 10 s close it with status 408, and without a response where no byte ever came',
  },
  {
    resource: 'requests that a gateway proxies to one backend, at a time',
    default: '256; one network has half of what is left',
    pays: 'the network',
    gets: 'another backend has them; 503 with `Retry-After` where none has room',
  },
  {
    resource: 'responses that one backend sends from the address of its gateway, at a time',
    default: '2,048; one network has half of what is left',
    pays: 'the network',
    gets: 'its responses are proxied',
  },
  {
    resource: 'backends that send to one connection from the address of their gateway',
    default: '8',
    pays: 'the connection',
    gets: 'its responses of further backends are proxied',
  },
  {
    resource: 'receivers of one channel, at a time',
    default: '`receivers` of the channel (1,000); one network has half of what is left',
    pays: 'the network',
    gets: '503 with `Retry-After`',
  },
  {
    resource: 'stays in a channel below a minute',
    default: '10 a minute for each network, and one for each of its clients that stays',
    pays: 'the network',
    gets: '503 with `Retry-After` for 1 s, and twice as long each time, up to 60 s',
  },
  {
    resource: 'memory of all live broadcasts of a route',
    default: '16 times `media.memory` of the route; one network of publishers has half of what is left',
    pays: 'the network',
    gets: 'its oldest groups leave early; a group that finds no room ends',
  },
  {
    resource: 'tunnels of a route: of one user, of one network, of all',
    default:
      '`connect_udp.tunnels_per_user`, `tunnels_per_address` and `tunnels` of the route, or those of `connect_tcp` and `connect`; all tunnels for UDP together have a quarter of the descriptors that the system permits',
    pays: 'the user, the network, then all',
    gets: '429; 503 where all or the system have no more',
  },
  {
    resource: 'new tunnels of one user, or of one network where users have no names',
    default: '`connect_udp.new_tunnels` of the route in a minute, or that of `connect_tcp` or `connect`',
    pays: 'the user or the network',
    gets: '429 for the rest of this minute; no name is resolved',
  },
  {
    resource: 'bytes a second of all tunnels of one user, or of one network where users have no names',
    default:
      '`connect_udp.rate` of the route in each direction, none unless it says so; at once a quarter of it, 128 KiB at least',
    pays: 'the user or the network',
    gets: 'its packets are dropped',
  },
  {
    resource: 'packets of one tunnel that wait for its client',
    default:
      '`connect_udp.queue` of the route; those that are too large in the first second 16 KiB; over HTTP/2 and HTTP/1.1, 16 KiB that are on their way',
    pays: 'the tunnel',
    gets: 'its packets are dropped, also while they wait for longer than 5 ms at all times (CoDel), where their senders hear no ECN marks',
  },
  {
    resource: 'packets of all tunnels that wait for clients',
    default: '64 MiB; one connection has half of what is left',
    pays: 'the connection',
    gets: 'packets to it are dropped',
  },
  {
    resource: 'sets of context ids that the other side of a tunnel for UDP registers',
    default: '8',
    pays: 'the tunnel',
    gets: '400; at a client, the request ends with H3_MESSAGE_ERROR',
  },
  {
    resource: 'payload of a DATAGRAM capsule to a tunnel',
    default: '16 KiB; beyond 64 KiB an error',
    pays: 'the tunnel',
    gets: 'the packet is dropped; H3_MESSAGE_ERROR, or PROTOCOL_ERROR over HTTP/2',
  },
  {
    resource: 'bytes of a tunnel for TCP that wait for its client, or its target',
    default: '64 KiB in each direction, beside what the system holds for the two connections',
    pays: 'the tunnel',
    gets: 'no more is read from the other side',
  },
  {
    resource: 'connections that one CONNECT opens to find an address that lets it',
    default: '8, one each 250 ms, for 10 s',
    pays: 'the client',
    gets: '502 or 504',
  },
  {
    resource: 'datagrams ahead of the response to their request',
    default: '16 with 32 KiB for a connection',
    pays: 'the connection',
    gets: 'further ones are dropped',
  },
  {
    resource: 'connections of programs at one port of a tunnel node',
    default: '1024',
    pays: 'the program',
    gets: 'its connection is closed',
  },
  {
    resource: 'time of a handshake of SOCKS, or of a header, with a tunnel node',
    default: '10 s; at most 262 bytes of SOCKS, 16 KiB of HTTP',
    pays: 'the program',
    gets: 'its connection is closed; 400 for a header that is too large',
  },
  {
    resource: 'programs that wait for a tunnel at one port of UDP of a tunnel node',
    default: '256, each with 16 KiB',
    pays: 'the program',
    gets: 'its packets are dropped',
  },
  {
    resource: 'relays of UDP of a tunnel node; targets of each, and those that wait for a tunnel',
    default: '64; 256; 32, each with 16 KiB',
    pays: 'the program',
    gets: 'a refusal; its packets are dropped',
  },
  {
    resource: 'wrong passwords of a tunnel from one network',
    default: '10 in a minute',
    pays: 'the network',
    gets: '429 for the rest of this minute',
  },
  {
    resource: 'entries of a registry',
    default: '4,096 keys; 4 KiB from a node, 512 KiB from an operator',
    pays: 'who writes the registry',
    gets: 'the others are refused and counted',
  },
  {
    resource: 'changes in a registry',
    default: '10 a second of one key, 2,000 of all',
    pays: 'who writes the registry',
    gets: 'the others are refused and counted, and the last of them is read within 10 s',
  },
];

/** Renders the table of docs/reference/limits.md. */
export function limitsTable(): string {
  const defaults = limitsOptions.parse({});
  const configured = Object.entries(effects).map(([key, effect]): [string, Bound] => [
    `\`limits.${key}\``,
    { ...effect, default: text(key as keyof Limits, defaults) },
  ]);
  const rows = [...configured, ...fixed.map((bound): [string, Bound] => ['', bound])].map(
    ([key, bound]) => `| ${bound.resource} | ${key} | ${bound.default} | ${bound.pays} | ${bound.gets} |`,
  );
  return [
    '| resource | key | default | who pays | what the offender gets |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

const sizes: readonly (keyof Limits)[] = ['connection_memory', 'memory', 'header_size', 'body_size'];
const durations: readonly (keyof Limits)[] = ['idle', 'drain', 'upgrade', 'body_timeout', 'unread_timeout'];

function text(key: keyof Limits, defaults: Limits): string {
  const value = defaults[key];
  if (typeof value !== 'number') return value;
  if (durations.includes(key)) return `${value / 1_000} s`;
  if (!sizes.includes(key)) return value.toLocaleString('en');
  return value >= 2 ** 20 ? `${value / 2 ** 20} MiB` : `${value / 2 ** 10} KiB`;
}
