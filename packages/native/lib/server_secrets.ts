import type { ServerId, ServerOptions, ServerSecret } from './transport_options.js';

/** Three bits of connection ids, of which one value names no secret (draft-ietf-quic-load-balancers-21 §3.1) */
const numbers = 7;
const secretBytes = 32;
/** QUIC version 1 has ids of 20 bytes; the first byte, the nonce of 8, and the byte for the worker leave these for the server. */
const maxServerId = 10;

/** Length of ids without a server in them (src/connection/local_id_maker.h) */
const plainIdLength = 8;

/** Returns the length of the ids that a server makes, in bytes. */
export function connectionIdLength(serverId: ServerId | undefined): number {
  return serverId ? 20 - maxServerId + serverId.id.byteLength : plainIdLength;
}

/** Returns the secrets. @throws TypeError when one is malformed, or two have the same number */
export function checkSecrets(secrets: readonly ServerSecret[]): readonly ServerSecret[] {
  for (const { number, secret } of secrets) {
    if (!Number.isInteger(number) || number < 0 || number >= numbers)
      throw new TypeError(`the number of a secret is 0 to ${numbers - 1}, not ${number}`);
    if (!(secret instanceof Uint8Array) || secret.byteLength !== secretBytes)
      throw new TypeError(`a secret has ${secretBytes} bytes`);
  }
  if (new Set(secrets.map(({ number }) => number)).size < secrets.length)
    throw new TypeError('two secrets have the same number');
  return secrets;
}

/** Returns the secrets of tokens and stateless resets. @throws TypeError as `checkSecrets` */
export function tokenSecrets({
  secrets = [],
  resetSecret,
}: Pick<ServerOptions, 'secrets' | 'resetSecret'>): readonly ServerSecret[] {
  if (secrets.length > 0 || resetSecret === undefined) return checkSecrets(secrets);
  return checkSecrets([{ number: 0, secret: resetSecret }]);
}

/** Returns what stands in connection ids. @throws TypeError when it is too long, or when there is no secret to encrypt it with */
export function checkServerId({
  serverId,
  secrets = [],
}: Pick<ServerOptions, 'serverId' | 'secrets'>): Required<ServerId> {
  if (!serverId) return { id: new Uint8Array(), encrypted: false };
  const { id, encrypted = true } = serverId;
  if (!(id instanceof Uint8Array) || id.byteLength === 0 || id.byteLength > maxServerId)
    throw new TypeError(`a server id has 1 to ${maxServerId} bytes`);
  if (encrypted && secrets.length === 0)
    throw new TypeError('a server id is encrypted by `secrets`, and there are none');
  return { id, encrypted };
}
