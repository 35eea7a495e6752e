import { z } from 'zod';
import { filePath } from '../configuration/scalars.js';

export const tlsOptions = z
  .union([
    z.literal('dev'),
    z.strictObject({
      cert: filePath.meta({ description: 'PEM file with the certificate, followed by its chain.', examples: ['./cert.pem'] }),
      key: filePath.meta({ description: 'PEM file with the private key.', examples: ['./key.pem'] }),
    }),
  ])
  .describe('`dev` makes a short-lived certificate for development; `{ cert, key }` names PEM files, reloaded when they change.');

export type TlsOptions = z.output<typeof tlsOptions>;
