import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { byteSize, duration, filePath, ipAddress, listenAddress, remoteAddress } from '../values/scalars.js';
import { networks } from './reach.js';

/** Lowest port of a group, which must not reach services of a receiver's system (docs/reference/wire.md#channels) */
const leastPort = 1024;

/** RFC 4607: 232.0.0.0/8 without the reserved 232.0.0.0/24, and ff3x::/32 */
const isSourceSpecific = (address: string): boolean =>
  isIPv4(address) ? /^232\.(?!0\.0\.)/.test(address) : /^ff3[0-9a-f]:(?::|0{1,4}:)/i.test(address);

const group = listenAddress
  .refine(({ address }) => isSourceSpecific(address), {
    error: 'this is no group of one source',
    params: { hint: 'write an address of 232.0.1.0 to 232.255.255.255, or of ff3x::/32, with a port' },
  })
  .refine(({ port }) => port >= leastPort, {
    error: 'a group has a port from 1024 on',
    params: { hint: 'write one such as `232.1.2.3:5004`' },
  });

type Refuse = (
  key: 'group' | 'source' | 'relay' | 'key' | 'repairs' | 'slowest_rate',
  code: string,
  message: string,
  hint: string,
) => void;

/** What a channel is authenticated by, whether its configuration says so or not */
const authenticationOf = (channel: { authentication?: string | undefined; group?: unknown }): string =>
  channel.authentication ?? (channel.group ? 'signed' : 'none');

function refuseUselessKey(
  channel: { authentication?: string | undefined; group?: unknown; key?: string | undefined },
  refuse: Refuse,
): void {
  const authentication = authenticationOf(channel);
  if (channel.key === undefined || (authentication !== 'none' && authentication !== 'timed')) return;
  refuse(
    'key',
    'CONFIG_CONFLICT',
    authentication === 'none'
      ? '`key` signs nothing, since this channel has no authentication'
      : '`key` signs nothing, since `timed` has tags and no signatures',
    'write `authentication: signed`, or remove `key`',
  );
}

/** Keys that mean something with `group` alone, each with what to do about one that stands without it */
const keysOfGroups = {
  slowest_rate: 'add `group`, or remove `slowest_rate`; copies over connections have a congestion control of their own',
  repairs: 'add `group`, or remove `repairs`; copies over connections are repaired anyway',
  source: 'add `group`, or remove `source`',
  relay: 'add `group` and `source`, or remove `relay`',
} as const;

/** What proofs and repairs of a channel need. `hint` says what to write. */
const channelRate = (hint: string) =>
  byteSize.refine((bytes) => bytes >= 10_000, {
    error: 'proofs and repairs of a channel need 10KB in a second',
    params: { hint },
  });

const channelOptions = z
  .strictObject({
    group: group
      .optional()
      .describe(
        'Multicast group of one source, `232.1.2.3:5004` or `[ff35::8000:1]:5004`. Default: none; receivers get copies over their connections alone.',
      ),
    source: ipAddress
      .optional()
      .describe(
        'With `group`: address of this machine from which its packets come. Receivers join only groups whose source is the gateway, or a source that they were told.',
      ),
    relay: remoteAddress
      .optional()
      .describe(
        'With `group`: address and port of a program that sends each packet on to the group, where this machine cannot. `source` is then its address.',
      ),
    interface: z
      .string()
      .min(1)
      .optional()
      .describe('With `group`: network interface. Default: the one that has `source`.'),
    hops: z
      .number()
      .int()
      .min(1)
      .max(255)
      .default(1)
      .describe('With `group`: routers that packets may pass, plus one. 1 keeps them on the link.'),
    rate: channelRate('write `10KB` or more; the default is `1250KB`')
      .refine((bytes) => bytes <= 125_000_000, {
        error: 'receivers take at most 125MB in a second',
        params: { hint: 'write less, such as `1250KB` for 10 Mbit/s' },
      })
      .prefault('1250KB')
      .describe('Most bytes in a second, for the group.'),
    slowest_rate: channelRate('write `10KB` or more')
      .optional()
      .describe(
        'With `group`: bytes in a second below `rate`. The rate then follows the worst receiver, as that of TCP would, and receivers that need a slower rate get copies. Default: the rate never changes.',
      ),
    copies: byteSize
      .prefault('12500KB')
      .describe('Most bytes in a second for copies over connections, to all receivers together.'),
    deadline: duration
      .refine((milliseconds) => milliseconds >= 1_000, {
        error: 'a receiver needs a second to notice that its group is silent, and to get copies',
        params: { hint: 'write `1s` or more; the default is `2s`' },
      })
      .prefault('2s')
      .describe('Age at which bytes are worth nothing to receivers. At least 1s.'),
    authentication: z
      .enum(['signed', 'timed', 'per-packet', 'none'])
      .optional()
      .describe(
        "How receivers know that packets are the source's. `signed`: by signatures over many packets; the default with `group`. `timed`: by tags whose keys are disclosed a quarter of `deadline` later, and sooner on a fast channel, at less cost for the processor. `per-packet`: by a signature behind each packet, at a hundred times the cost. `none`: every receiver can forge packets for the others.",
      ),
    key: filePath
      .optional()
      .describe(
        'With `authentication`: PEM file with the Ed25519 key that signs, as `sheaf keys new` writes it. Default: a new one at each start.',
      ),
    repairs: z
      .boolean()
      .optional()
      .describe(
        'With `group`: whether it brings repairs of lost packets, too. Default: true, except for `timed` and `per-packet`.',
      ),
    key_interval: duration
      .refine((milliseconds) => milliseconds >= 1_000, {
        error: 'a key serves for a second or longer',
        params: { hint: 'write `1s` or more; the default is `10s`' },
      })
      .prefault('10s')
      .describe('Time for which one key protects the packets. At least 1s.'),
    key_on_leaving: z
      .boolean()
      .optional()
      .describe(
        'Whether a new key follows soon when a receiver leaves, so that it reads nothing more. Default: true with `clients`; where everybody may join, who left can join again.',
      ),
    receivers: z
      .number()
      .int()
      .min(1)
      .default(1_000)
      .describe(
        'Most receivers at one time; more are answered 503. One network has half of what is left (docs/reference/limits.md).',
      ),
    clients: networks
      .optional()
      .describe('Addresses and networks whose clients may join; others are answered 403. Default: all.'),
  })
  .superRefine((channel, context) => {
    const refuse: Refuse = (key, code, message, hint) =>
      context.addIssue({ code: 'custom', message, path: [key], params: { code, place: 'key', hint } });
    refuseUselessKey(channel, refuse);
    if (channel.group === undefined) {
      for (const key of Object.keys(keysOfGroups) as (keyof typeof keysOfGroups)[])
        if (channel[key] !== undefined && channel[key] !== false)
          refuse(
            key,
            'CONFIG_CONFLICT',
            `\`${key}\` needs \`group\`, which this channel does not have`,
            keysOfGroups[key],
          );
      return;
    }
    if (channel.slowest_rate !== undefined && channel.slowest_rate >= channel.rate)
      refuse(
        'slowest_rate',
        'CONFIG_CONFLICT',
        '`slowest_rate` is not below `rate`, so the rate could not change',
        'write a lower `slowest_rate`, or remove it',
      );
    const authentication = authenticationOf(channel);
    if (channel.repairs === true && (authentication === 'timed' || authentication === 'per-packet'))
      refuse(
        'repairs',
        'CONFIG_CONFLICT',
        `repairs cannot restore ${authentication === 'timed' ? 'tags' : 'signatures'} behind packets`,
        'write `authentication: signed`, or remove `repairs`',
      );
    if (channel.source === undefined) {
      refuse(
        'group',
        'CONFIG_CONFLICT',
        '`group` needs `source`, which this channel does not have',
        'add `source`, the address of this machine that packets come from',
      );
    } else if (isIPv6(channel.source) !== isIPv6(channel.group.address)) {
      refuse(
        'source',
        'CONFIG_CONFLICT',
        '`source` and `group` are of different families',
        'write two addresses of IPv4, or two of IPv6',
      );
    }
  });

/** Multicast channels of a gateway, by their names */
export const channelsOptions = z
  .record(z.string().regex(/^[a-z][a-z0-9_-]*$/i, 'a name is made of letters, digits, `-` and `_`'), channelOptions)
  .describe(
    'Multicast channels by name, such as `channels: { live: { group: 232.1.2.3:5004, source: 192.0.2.1 } }`. A route with `channel` serves each.',
  );

export type ChannelOptions = z.output<typeof channelOptions>;
