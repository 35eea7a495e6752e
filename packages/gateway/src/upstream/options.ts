import { z } from 'zod';
import { duration, oneOrMore } from '../configuration/scalars.js';

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
    if (url.username !== '' || url.password !== '') return refuse('a URL with a password is not allowed here', 'remove it');
    if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
      return refuse('an upstream is an origin, without a path', `write \`${url.origin}\`: requests keep their own path`);
    }
    return url;
  });

const healthOptions = z.strictObject({
  path: z.string().startsWith('/').default('/').describe('Requested with GET; any status below 400 is healthy.'),
  interval: duration.prefault('10s').describe('Time between checks.'),
  timeout: duration.prefault('2s').describe('Longest wait for the answer.'),
});

const upstreamObject = z.strictObject({
  to: oneOrMore(origin).describe('One origin, or several that share the requests.'),
  balance: z
    .enum(['round_robin', 'least_requests', 'client_address'])
    .default('round_robin')
    .describe('Which of several upstreams gets a request; `client_address` keeps a client on one of them.'),
  health: healthOptions.optional().describe('Active checks; without them only failures of real requests count.'),
  retries: z.number().int().min(0).max(10).default(2).describe('Further attempts of a request that can be repeated safely.'),
  connect_timeout: duration.prefault('5s').describe('Longest wait for a connection.'),
  response_timeout: duration.prefault('60s').describe('Longest wait for response headers, and between parts of a body.'),
  connections: z.number().int().min(1).default(128).describe('Connections to each upstream.'),
});

export type UpstreamOptions = z.output<typeof upstreamObject>;
export type HealthOptions = z.output<typeof healthOptions>;

export const upstreamOptions = z
  .union([origin, z.array(origin).min(1), upstreamObject])
  .transform((value): UpstreamOptions => {
    if (value instanceof URL) return upstreamObject.parse({ to: value.origin });
    return Array.isArray(value) ? upstreamObject.parse({ to: value.map((url) => url.origin) }) : value;
  })
  .describe('HTTP servers that answer the requests.');
