import { z } from 'zod';
import { byteSize, duration, oneOrMore } from '../values/scalars.js';
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

export type MediaOptions = z.output<typeof mediaOptions>;
