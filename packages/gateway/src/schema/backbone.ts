import { z } from 'zod';
import { filePath, listenAddress } from '../values/scalars.js';
import { NodePublicKey } from '../values/node_key.js';

export const publicKey = z
  .string()
  .meta({ description: 'Public key of a node, as `sheaf keys new` prints it.', examples: ['ed25519:…'] })
  .transform((text, context): NodePublicKey => {
    const key = NodePublicKey.fromText(text);
    if (key) return key;
    context.addIssue({
      code: 'custom',
      message: `\`${text}\` is not a public key of a node`,
      params: { hint: 'write `ed25519:` and 43 letters, as `sheaf keys new` prints it' },
    });
    return z.NEVER;
  });

const nodeKey = z
  .union([
    z.literal('dev'),
    z.strictObject({ file: filePath.describe('PEM file with the Ed25519 key, as `sheaf keys new` writes it.') }),
  ])
  .describe(
    '`dev` keeps a key in `.sheaf/keys/NAME.key` and makes it when there is none; `{ file: ./node.key }` names one.',
  );

export type NodeKeyOptions = z.output<typeof nodeKey>;

/** Keys of a node that talks to other nodes */
export const backboneKeys = {
  backbone: listenAddress.describe(
    'Address such as `10.0.0.1:4533` where the other nodes of the site reach this one (UDP). Keep it off the public network where you can.',
  ),
  key: nodeKey.default('dev'),
  public_key: publicKey
    .optional()
    .describe(
      'Public key by which other nodes know this one, where they do not share its files; `sheaf keys new` prints it.',
    ),
};
