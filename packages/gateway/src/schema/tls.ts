import { z } from 'zod';
import { filePath } from '../values/scalars.js';

export const tlsOptions = z
  .union([
    z.literal('dev'),
    z.strictObject({
      cert: filePath.meta({
        description: 'PEM file with the certificate, followed by its chain.',
        examples: ['./cert.pem'],
      }),
      key: filePath.meta({ description: 'PEM file with the private key.', examples: ['./key.pem'] }),
      minimum_version: z
        .literal(['1.3', '1.2', 1.3, 1.2])
        .transform((version) => String(version) as '1.2' | '1.3')
        .optional()
        .describe('Oldest TLS version on TCP, `1.3` (the default) or `1.2`. QUIC has 1.3 alone.'),
    }),
  ])
  .describe(
    '`dev` makes a short-lived certificate for development; `{ cert, key, minimum_version }` names PEM files, reloaded when they change.',
  );

export type TlsOptions = z.output<typeof tlsOptions>;
