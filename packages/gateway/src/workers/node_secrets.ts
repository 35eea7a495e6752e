import { randomBytes } from 'node:crypto';
import type { ServerSecret } from '@sheaf/native';
import type { Logger } from 'pino';
import { SecretsSource } from '../tls/secrets_source.js';
import type { NodeInheritance } from '../upgrade/messages.js';
import type { LoadedServer } from '../schema/loaded.js';

const secretBytes = 32;

/** Without a file, a random secret makes the keys of tickets: clients resume at each worker. */
export async function openSecrets(
  { node: { secrets: file } }: LoadedServer,
  log: Logger,
  inherited: NodeInheritance | undefined,
): Promise<SecretsSource> {
  if (file !== undefined) return SecretsSource.open({ file, log });
  const secrets = inherited?.secrets?.map(decodeSecret) ?? [{ number: 0, secret: randomBytes(secretBytes) }];
  return SecretsSource.given({ secrets, ofTickets: true });
}

type EncodedSecret = NonNullable<NodeInheritance['secrets']>[number];

export const encodeSecret = ({ number, secret }: ServerSecret): EncodedSecret => ({
  number,
  secret: Buffer.from(secret).toString('base64'),
});

const decodeSecret = ({ number, secret }: EncodedSecret): ServerSecret => ({
  number,
  secret: Buffer.from(secret, 'base64'),
});
