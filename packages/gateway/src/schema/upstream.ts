import { z } from 'zod';
import { duration, filePath, oneOrMore } from '../values/scalars.js';

const origin = z
  .string()
  .meta({ description: 'Origin of an HTTP server, without a path.', examples: ['http://127.0.0.1:3000'] })
  .transform((text, context): URL => {
    const refuse = (message: string, hint: string): never => {
      context.addIssue({ code: 'custom', message, params: { hint } });
      return z.NEVER;
    };
    if (!URL.canParse(text)) return refuse(`\`${text}\` is not a URL`, 'write for example `http://127.0.0.1:3000`');
    const url = new URL(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      return refuse(`\`${url.protocol}//\` is not supported for upstreams`, 'use `http://` or `https://`');
    }
    if (url.username !== '' || url.password !== '')
      return refuse('a URL with a password is not allowed here', 'remove it');
    if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
      return refuse(
        'an upstream is an origin, without a path',
        `write \`${url.origin}\`: requests keep their own path`,
      );
    }
    return url;
  });

const healthOptions = z.strictObject({
  path: z.string().startsWith('/').default('/').describe('Requested with GET; any status below 400 is healthy.'),
  interval: duration.prefault('10s').describe('Time between checks.'),
  timeout: duration.prefault('2s').describe('Longest wait for the response.'),
});

const upstreamTlsOptions = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9.:-]+$/i, 'not a host name')
    .optional()
    .describe(
      "Name or IP address that the upstream's certificate must be for; a name is also sent (SNI). Default: the host of the origin.",
    ),
  ca: filePath
    .optional()
    .describe(
      "PEM file with the authorities that may have signed the upstream's certificate, instead of those that this machine trusts.",
    ),
  certificate: z
    .strictObject({
      cert: filePath.describe('PEM file with the certificate, followed by its chain.'),
      key: filePath.describe('PEM file with the private key.'),
    })
    .optional()
    .describe('Certificate that the gateway shows to the upstream (mTLS).'),
});

const upstreamObject = z
  .strictObject({
    to: oneOrMore(origin).describe('One origin, or several that share the requests.'),
    tls: upstreamTlsOptions
      .optional()
      .describe('How an upstream over `https://` is verified. Files are read again when they change.'),
    host: z
      .enum(['keep', 'upstream'])
      .default('keep')
      .describe(
        'The `Host` that the upstream sees: `keep` passes on the one that the client asked for, `upstream` sends the host of the origin.',
      ),
    balance: z
      .enum(['round_robin', 'least_requests', 'client_address'])
      .default('round_robin')
      .describe('Which of several upstreams gets a request; `client_address` keeps a client on one of them.'),
    health: healthOptions.optional().describe('Active checks; without them only failures of real requests count.'),
    retries: z
      .number()
      .int()
      .min(0)
      .max(10)
      .default(2)
      .describe('Further attempts of a request that can be repeated safely.'),
    connect_timeout: duration.prefault('5s').describe('Longest wait for a connection.'),
    response_timeout: duration.prefault('60s').describe('Longest wait for response headers.'),
    idle_timeout: duration
      .optional()
      .describe('Longest silence within a response body. Default: none, as events may be rare.'),
    connections: z
      .number()
      .int()
      .min(1)
      .default(128)
      .describe(
        'Connections to each upstream. One network (IPv4 address, IPv6 /56) gets at most as many as are still free, so at most half.',
      ),
    queue: z
      .number()
      .int()
      .min(0)
      .default(2_048)
      .describe(
        'Requests that wait for one of these connections, shared among networks in the same way; more are answered 503.',
      ),
    queue_timeout: duration.prefault('10s').describe('Longest wait in the queue; then the response is 503.'),
  })
  .superRefine(({ to, tls }, context) => {
    if (!tls || to.some(({ protocol }) => protocol === 'https:')) return;
    context.addIssue({
      code: 'custom',
      message: '`tls` needs an upstream over `https://`, and this one has `http://`',
      path: ['tls'],
      params: { code: 'CONFIG_CONFLICT', place: 'key', hint: 'write `https://` in `to`, or remove `tls`' },
    });
  });

export type UpstreamOptions = z.output<typeof upstreamObject>;
export type UpstreamTlsOptions = z.output<typeof upstreamTlsOptions>;
export type HealthOptions = z.output<typeof healthOptions>;

export const upstreamOptions = z
  .union([origin, z.array(origin).min(1), upstreamObject])
  .transform((value): UpstreamOptions => {
    if (value instanceof URL) return upstreamObject.parse({ to: value.origin });
    return Array.isArray(value) ? upstreamObject.parse({ to: value.map((url) => url.origin) }) : value;
  })
  .describe('HTTP servers that answer the requests.');
