import { z } from 'zod';
import { oneOrMore } from '../values/scalars.js';

const application = z
  .string()
  .min(1)
  .meta({ description: 'A built-in application (`echo`) or the path of a module.', examples: ['echo', './chat.js'] });

const webTransportObject = z.strictObject({
  application,
  origins: oneOrMore(z.string().min(1))
    .optional()
    .describe(
      'Web origins whose pages may open sessions, such as `https://example.com`, or `*` for all. Default: pages of the host that the session is for, and clients that are no browsers.',
    ),
});

export const pageLoaderOption = z
  .enum(['on', 'off'])
  .default('on')
  .describe(
    'The Service Worker that loads pages over WebTransport. `off` removes it from every browser that has it; keep that until all visitors have come back.',
  );

export type WebTransportOptions = z.output<typeof webTransportObject>;

export const webTransportOptions = z
  .union([application, webTransportObject])
  .transform((value): WebTransportOptions => (typeof value === 'string' ? { application: value } : value))
  .describe('Application for WebTransport sessions: `echo`, or a module with `export default (session) => …`.');
