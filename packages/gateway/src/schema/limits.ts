import { z } from 'zod';
import { byteSize, duration } from '../values/scalars.js';

/** Bytes with which a connection can have a few requests beside its streams and their data */
const leastConnectionMemory = 2 * 2 ** 20;

/** Bounds for the clients of one gateway. The defaults suit a machine with 1 GB of memory. */
export const limitsOptions = z.strictObject({
  connections: z
    .number()
    .int()
    .min(1)
    .default(10_000)
    .describe('Open QUIC connections, and as many open TCP connections.'),
  connections_per_network: z
    .number()
    .int()
    .min(1)
    .default(1_000)
    .describe('Open connections of each kind from one network: one IPv4 address, or one IPv6 /56.'),
  connection_memory: byteSize
    .refine((bytes) => bytes >= leastConnectionMemory, {
      error: 'a connection cannot be served with less than 2MiB',
      params: { hint: 'write `2MiB` or more; the default is `8MiB`' },
    })
    .prefault('8MiB')
    .describe(
      'Bytes that the gateway holds for one QUIC connection: unsent, unacknowledged and unread ones, and 32 KiB for each request in flight. More has to wait. At least 2 MiB.',
    ),
  memory: byteSize
    .prefault('256MiB')
    .describe(
      'Bytes that all QUIC connections hold together; one network has a quarter of it. Near the bound windows shrink, then idle connections are closed, then those that take the least of their responses.',
    ),
  streams: z
    .number()
    .int()
    .min(1)
    .max(65_536)
    .default(1_000)
    .describe('Open streams of each kind of one client. Browsers fail at once when they have none left: keep 1000.'),
  header_size: byteSize.prefault('32KiB').describe('Request headers, in bytes; more is answered 431.'),
  body_size: byteSize.prefault('64MiB').describe('Request body, in bytes; more is answered 413.'),
  body_timeout: duration
    .prefault('30s')
    .describe('A client that sends nothing of an awaited request body for this time is answered 408.'),
  unread_timeout: duration
    .prefault('60s')
    .describe('A client that takes nothing of a waiting response for this time loses the response.'),
  slow_responses: z
    .number()
    .int()
    .min(2)
    .default(1_000)
    .describe(
      'Exchanges with clients below 1 KB/s. One network (IPv4 address, IPv6 /56) gets at most as many as are still free, so at most half. Of more, the slowest are ended.',
    ),
  handshakes_per_second: z
    .number()
    .int()
    .min(1)
    .default(500)
    .describe(
      'New handshakes per second. Above this rate QUIC clients have to prove their address first (Retry), and TCP clients wait.',
    ),
  half_open_handshakes: z
    .number()
    .int()
    .min(1)
    .default(2_000)
    .describe('Pending QUIC handshakes, and as many TCP connections that wait for theirs.'),
  retry: z
    .enum(['auto', 'always', 'never'])
    .default('auto')
    .describe('Address validation by Retry (RFC 9000 §8.1.2): `auto` only under load.'),
  idle: duration.prefault('30s').describe('Silence after which a connection ends.'),
  drain: duration.prefault('10s').describe('Time for open requests to finish when the gateway stops.'),
  upgrade: duration
    .prefault('1h')
    .describe(
      'Time for connections to end in a process from which another one took over (`sheaf upgrade`). Then it drains.',
    ),
});

export type Limits = z.output<typeof limitsOptions>;
