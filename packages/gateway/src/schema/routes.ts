import { z } from 'zod';
import { oneOrMore } from '../values/scalars.js';
import { deliveryOption } from './delivery.js';
import { filesOptions } from './files.js';
import { mediaOptions } from './media.js';
import { connectOptions, connectTcpOptions, connectUdpOptions } from './tunnels.js';
import { upstreamOptions } from './upstream.js';
import { webTransportOptions } from './webtransport.js';

/** Keys of routes with tunnels */
export const tunnelKeys = ['connect_udp', 'connect_tcp', 'connect'] as const;

/** Keys that name the target of a request. A route has exactly one of them. */
export const targetKeys = ['files', 'upstream', 'webtransport', 'media', 'channel', ...tunnelKeys, 'backends'] as const;

export const routeOptions = z
  .strictObject({
    path: z
      .string()
      .startsWith('/', 'a path starts with `/`')
      .default('/')
      .describe('Prefix of the URL path, compared segment by segment: `/api` and `/api/` match `/api/x`, not `/apis`.'),
    host: oneOrMore(z.string().regex(/^(\*\.)?[a-z0-9.-]+$|^\[[0-9a-f:]+\]$/i, 'not a host name'))
      .optional()
      .describe('Host names without port; `*.example.com` matches every name below. Default: every host.'),
    methods: oneOrMore(z.string().regex(/^[A-Z]+$/, 'methods are written in capitals'))
      .optional()
      .describe('HTTP methods. Default: every method.'),
    files: filesOptions.optional(),
    upstream: upstreamOptions.optional(),
    webtransport: webTransportOptions.optional(),
    channel: z
      .string()
      .min(1)
      .optional()
      .describe("Multicast channel that receivers join here: a name from the gateway's `channels`."),
    media: mediaOptions.optional(),
    connect_udp: connectUdpOptions.optional(),
    connect_tcp: connectTcpOptions.optional(),
    connect: connectOptions.optional(),
    backends: oneOrMore(z.string().min(1))
      .optional()
      .describe("Backends that answer these requests: names from the gateway's `backends`."),
    delivery: deliveryOption
      .optional()
      .describe(
        'With `backends`: how their responses reach clients. `path`: clients that speak Multi-End ask the backends themselves. `return`: backends send from the address of the gateway, which needs their `return`. `proxy`: through the gateway. A list is tried in its order; `direct`, the default, is `[path, return, proxy]`.',
      ),
  })
  .superRefine((route, context) => {
    const present = targetKeys.filter((key) => route[key] !== undefined);
    if (present.length === 0) {
      context.addIssue({
        code: 'custom',
        message: 'this route has no target',
        params: {
          code: 'CONFIG_MISSING_KEY',
          missing: targetKeys,
          hint: 'add `files`, `upstream`, `webtransport`, `media`, `channel`, `connect_udp`, `connect_tcp`, `connect` or `backends`',
        },
      });
    }
    if (present.length > 1) {
      context.addIssue({
        code: 'custom',
        message: `a route has one target, this one has ${present.map((key) => `\`${key}\``).join(' and ')}`,
        path: [present[1] ?? 'files'],
        params: { code: 'CONFIG_CONFLICT', place: 'key', hint: 'split it into two routes' },
      });
    }
    if (route.delivery !== undefined && route.backends === undefined) {
      context.addIssue({
        code: 'custom',
        message: '`delivery` needs `backends`, which this route does not have',
        path: ['delivery'],
        params: { code: 'CONFIG_CONFLICT', place: 'key', hint: 'add `backends`, or remove `delivery`' },
      });
    }
    const connects = ['webtransport', 'media', 'channel', ...tunnelKeys] as const;
    if (connects.some((key) => route[key] !== undefined) && route.methods !== undefined) {
      context.addIssue({
        code: 'custom',
        message:
          'a route for sessions, media, a channel or tunnels takes no `methods`: clients always ask for these with CONNECT',
        path: ['methods'],
        params: { code: 'CONFIG_CONFLICT', place: 'key', hint: 'remove `methods`' },
      });
    }
  })
  .superRefine(({ connect, path, host }, context) => {
    if (connect === undefined || (path === '/' && host === undefined)) return;
    context.addIssue({
      code: 'custom',
      message: 'a route for CONNECT takes neither `path` nor `host`: clients name nothing but their target',
      path: [path === '/' ? 'host' : 'path'],
      params: { code: 'CONFIG_CONFLICT', place: 'key', hint: 'remove it' },
    });
  })
  .meta({ oneOf: targetKeys.map((key) => ({ required: [key] })) });

/** Whether a route has tunnels. */
export const hasTunnels = (route: RouteOptions): boolean => tunnelKeys.some((key) => route[key] !== undefined);

export type RouteOptions = z.output<typeof routeOptions>;
