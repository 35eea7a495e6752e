import { z } from 'zod';
import { byteSize, duration, ipAddress, oneOrMore } from '../values/scalars.js';
import { networks } from './reach.js';

const minHistoryMs = 1_000;
const minMemory = 1_048_576;

export const mediaOptions = z
  .strictObject({
    publish: z
      .union([z.literal('everybody').transform(() => 'everybody' as const), networks])
      .optional()
      .describe(
        'Networks whose clients may publish broadcasts, or `everybody`. Default: this machine, without an edge or another proxy between. In networks that are named, a client behind an edge has the address of the edge.',
      ),
    channel: z
      .string()
      .min(1)
      .optional()
      .describe(
        "Multicast channel that carries all broadcasts as well: a name from the gateway's `channels`, which no other route carries broadcasts to.",
      ),
    origins: oneOrMore(z.string().min(1))
      .optional()
      .describe(
        'Web origins whose pages may open sessions and read responses, such as `https://example.com`, or `*` for all. Default: pages of the host that the session is for, and clients that are no browsers.',
      ),
    history: duration
      .refine((milliseconds) => milliseconds >= minHistoryMs, {
        message: 'less than 1 s of media cannot be played',
        params: { hint: 'write `1s` or more' },
      })
      .prefault('10s')
      .describe('How long a group is kept after it began. The newest group of each track is always kept.'),
    memory: byteSize
      .refine((bytes) => bytes >= minMemory, {
        message: 'less than 1 MiB does not hold a group of video',
        params: { hint: 'write `1MiB` or more' },
      })
      .prefault('64MiB')
      .describe('Memory of each broadcast; all together have 16 times as much. Beyond it, the oldest groups leave.'),
  })
  .describe(
    'Live broadcasts: clients publish and watch them by moq-lite over WebTransport, and anybody plays them as LL-HLS or fetches their groups as files.',
  );

const { origins, history, memory } = mediaOptions.shape;

/** A route of an edge to the broadcasts of a channel */
export const carriedMediaOptions = z.strictObject({
  path: z
    .string()
    .startsWith('/', 'a path starts with `/`')
    .describe('Prefix of the URL path, such as `/live`. The edge answers for it, and forwards everything else.'),
  channel: z
    .string()
    .startsWith('/', 'a path starts with `/`')
    .describe("Path of the gateway's route with the `channel` that carries the broadcasts."),
  multicast: z
    .boolean()
    .default(true)
    .describe(
      'Whether to join the group of the channel. Otherwise everything comes over the connection to the gateway.',
    ),
  interface: z
    .string()
    .min(1)
    .optional()
    .describe('Network interface on which to join. Default: the one that leads to the source.'),
  sources: oneOrMore(ipAddress)
    .optional()
    .describe("Addresses of sources whose groups may be joined, beside the gateway's own."),
  origins,
  history,
  memory,
});

export type CarriedMediaOptions = z.output<typeof carriedMediaOptions>;
export type MediaOptions = z.output<typeof mediaOptions>;
