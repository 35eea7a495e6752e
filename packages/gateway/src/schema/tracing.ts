import { z } from 'zod';
import { networks } from './reach.js';

export const tracingOptions = z.strictObject({
  trust: networks
    .default([])
    .describe(
      'Addresses and networks whose `traceparent` is continued. The requests of all others begin new traces. Default: none.',
    ),
  sample: z
    .number()
    .min(0)
    .max(1)
    .default(0.01)
    .describe('Share of new traces that are marked as sampled, where no SDK of OpenTelemetry decides that.'),
});

export type TracingOptions = z.output<typeof tracingOptions>;
