import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { errorMessage } from '../../errors/user_error.js';
import type { Sodium } from '../../multi_end/backbone/sealed_message.js';
import type { RegistryDriver } from '../../registry/driver.js';
import { EntryRefused, openEntry, parseBody, signEntry } from '../../registry/entry.js';
import type { EntryReader } from '../../registry/feed.js';
import { LatestRevision, nextRevision } from '../../registry/latest_revision.js';
import { parseSecrets } from '../../tls/server_secrets.js';
import type { NodeKey, NodePublicKey } from '../../values/node_key.js';
import { replaceFile } from '../../values/replace_file.js';

/** Longest entry with sealed secrets, in bytes */
const maxSealedBytes = 8 * 1024;

const sealedBody = z.object({
  revision: z.int().min(1),
  /** Sealed box for the node, in base64 */
  sealed: z.string().max(maxSealedBytes),
});

type SealedBody = z.output<typeof sealedBody>;

/** Returns the key of the registry for the secrets of a node. */
export function secretsKey(name: string): string {
  return `secrets.${name}`;
}

export interface SealedSecretsOptions {
  site: string;
  operator: NodePublicKey;
  /** Key of the node that the secrets are for */
  key: NodeKey;
  sodium: Sodium;
  /** File that the node reads its secrets from */
  file: string;
  warn: (message: string) => void;
}

/** Writes the secrets that an operator has sealed for a node into its file, from where the node reads them as always. */
export class SealedSecrets implements EntryReader {
  readonly maxBytes = maxSealedBytes;
  readonly #options: SealedSecretsOptions;
  readonly #latest = new LatestRevision();
  #written = Promise.resolve();

  constructor(options: SealedSecretsOptions) {
    this.#options = options;
  }

  /** Resolves when everything that was accepted is in the file. */
  get written(): Promise<void> {
    return this.#written;
  }

  accept({ key, value, revision }: Parameters<EntryReader['accept']>[0]): boolean {
    const { site, operator, file, warn } = this.#options;
    const { signer, body } = openEntry(value, { site, key });
    if (!signer.equals(operator)) throw new EntryRefused('forged', `${key} is not signed by the operator`);
    const { revision: own, sealed } = parseBody(key, body, sealedBody);
    const text = this.#open(key, Buffer.from(sealed, 'base64'));
    if (!this.#latest.isNewer(key, own, revision)) return false;
    this.#written = this.#written
      .then(() => replaceIfOther(file, text))
      .catch((error: unknown) =>
        warn(`the secrets of the registry cannot be written to ${file}: ${errorMessage(error)}`),
      );
    return true;
  }

  /** @throws EntryRefused unless it is sealed for this node, and holds secrets */
  #open(key: string, sealed: Buffer): string {
    const { sodium, key: nodeKey } = this.#options;
    const seed = nodeKey.seed();
    const pair = sodium.crypto_sign_seed_keypair(seed);
    const privateKey = sodium.crypto_sign_ed25519_sk_to_curve25519(pair.privateKey);
    try {
      const publicKey = sodium.crypto_sign_ed25519_pk_to_curve25519(pair.publicKey);
      const text = Buffer.from(sodium.crypto_box_seal_open(sealed, publicKey, privateKey)).toString('utf8');
      parseSecrets(text);
      return text;
    } catch {
      throw new EntryRefused('malformed', `${key} is not sealed for this node, or holds no secrets`);
    } finally {
      seed.fill(0);
      sodium.memzero(pair.privateKey);
      sodium.memzero(privateKey);
    }
  }
}

async function replaceIfOther(file: string, text: string): Promise<void> {
  if ((await readFile(file, 'utf8').catch(() => undefined)) !== text) await replaceFile(file, text);
}

export interface SealOptions {
  driver: RegistryDriver;
  site: string;
  operator: NodeKey;
  sodium: Sodium;
  /** Name and key of the node that may read the secrets */
  node: { name: string; publicKey: NodePublicKey };
  text: string;
  /** Time of day in milliseconds */
  now: number;
}

/** Seals secrets for a node, and puts them into the registry. Returns the revision. @throws RevisionConflict, EntryRefused */
export async function sealSecrets({ driver, site, operator, sodium, node, text, now }: SealOptions): Promise<number> {
  const key = secretsKey(node.name);
  const present = await driver.get(key);
  const before = present?.value && parseBody(key, openEntry(present.value, { site, key }).body, sealedBody);
  const sealed = sodium.crypto_box_seal(
    Buffer.from(text),
    sodium.crypto_sign_ed25519_pk_to_curve25519(node.publicKey.bytes),
  );
  const body: SealedBody = {
    revision: nextRevision(before?.revision, now),
    sealed: Buffer.from(sealed).toString('base64'),
  };
  const value = signEntry(operator, { site, key }, Buffer.from(JSON.stringify(body)));
  await driver.compareAndSet(key, value, present?.revision ?? 0);
  return body.revision;
}
