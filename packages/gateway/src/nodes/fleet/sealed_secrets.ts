import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { errorMessage } from '../../errors/user_error.js';
import type { Sodium } from '../../multi_end/backbone/sealed_message.js';
import type { RegistryDriver } from '../../registry/driver.js';
import { EntryRefused, openEntry, parseBody, signEntry, type EntryPlace } from '../../registry/entry.js';
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
  /** Returns the time of day in milliseconds. */
  now: () => number;
  warn: (message: string) => void;
}

/** Writes the secrets that an operator has sealed for a node into its file, from where the node reads them as always. */
export class SealedSecrets implements EntryReader {
  readonly maxBytes = maxSealedBytes;
  readonly isKept = true;
  readonly #options: SealedSecretsOptions;
  readonly #latest: LatestRevision;
  #written = Promise.resolve();

  constructor(options: SealedSecretsOptions) {
    this.#options = options;
    this.#latest = new LatestRevision(options.now);
  }

  /** Resolves when everything that was accepted is in the file. */
  get written(): Promise<void> {
    return this.#written;
  }

  accept({ key, value, revision }: Parameters<EntryReader['accept']>[0]): boolean {
    const { site, operator, file, warn } = this.#options;
    const { revision: own, sealed } = openSealed(value, { site, key }, operator);
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

/** @throws EntryRefused unless the operator has signed it */
function openSealed(value: Buffer, place: EntryPlace, operator: NodePublicKey): SealedBody {
  const { signer, body } = openEntry(value, place);
  if (!signer.equals(operator)) throw new EntryRefused('forged', `${place.key} is not signed by the operator`);
  return parseBody(place.key, body, sealedBody);
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

/**
 * Seals secrets for a node, and puts them into the registry. What others have put there is replaced, since nodes refuse it. Returns the
 * revision. @throws RevisionConflict
 */
export async function sealSecrets({ driver, site, operator, sodium, node, text, now }: SealOptions): Promise<number> {
  const key = secretsKey(node.name);
  const present = await driver.get(key);
  const before = present?.value && revisionOf(present.value, { site, key }, operator.publicKey);
  const sealed = sodium.crypto_box_seal(
    Buffer.from(text),
    sodium.crypto_sign_ed25519_pk_to_curve25519(node.publicKey.bytes),
  );
  const body: SealedBody = {
    revision: nextRevision(before, now),
    sealed: Buffer.from(sealed).toString('base64'),
  };
  const value = signEntry(operator, { site, key }, Buffer.from(JSON.stringify(body)));
  await driver.compareAndSet(key, value, present?.revision ?? 0);
  return body.revision;
}

/** Returns the revision of secrets that the operator has sealed; undefined where they are of somebody else. */
function revisionOf(value: Buffer, place: EntryPlace, operator: NodePublicKey): number | undefined {
  try {
    return openSealed(value, place, operator).revision;
  } catch (error) {
    if (error instanceof EntryRefused) return undefined;
    throw error;
  }
}
