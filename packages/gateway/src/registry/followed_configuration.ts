import { z } from 'zod';
import type { NodeKey, NodePublicKey } from '../values/node_key.js';
import { maxValueBytes, type RegistryDriver } from './driver.js';
import { EntryRefused, openEntry, parseBody, signEntry, type EntryPlace } from './entry.js';
import type { EntryReader } from './feed.js';
import { LatestRevision, nextRevision } from './latest_revision.js';

/** Key of the document of an operator */
export const configurationKey = 'config';

const documentBody = z.object({
  revision: z.int().min(1),
  text: z.string(),
});

/** A configuration that an operator has signed. Its own revision counts, which the signature covers, and not that of the registry. */
export type OperatorDocument = z.output<typeof documentBody>;

/** @throws EntryRefused unless the operator has signed it */
export function openDocument(value: Buffer, place: EntryPlace, operator: NodePublicKey): OperatorDocument {
  const { signer, body } = openEntry(value, place);
  if (!signer.equals(operator))
    throw new EntryRefused('forged', `${place.key} is signed by ${signer.toString()}, not by the operator`);
  return parseBody(place.key, body, documentBody);
}

/** The newest configuration that the operator has put into the registry */
export class FollowedConfiguration implements EntryReader {
  readonly maxBytes = maxValueBytes;
  readonly isKept = true;
  /** Called with each newer document */
  changed: (document: OperatorDocument) => void = () => undefined;
  readonly #site: string;
  readonly #operator: NodePublicKey;
  readonly #latest: LatestRevision;
  #current: OperatorDocument | undefined;

  /** `now` returns the time of day in milliseconds. */
  constructor(site: string, operator: NodePublicKey, now: () => number) {
    this.#site = site;
    this.#operator = operator;
    this.#latest = new LatestRevision(now);
  }

  get current(): OperatorDocument | undefined {
    return this.#current;
  }

  accept({ key, value, revision }: Parameters<EntryReader['accept']>[0]): boolean {
    const document = openDocument(value, { site: this.#site, key }, this.#operator);
    if (!this.#latest.isNewer(key, document.revision, revision)) return false;
    this.#current = document;
    this.changed(document);
    return true;
  }
}

export interface Publication {
  driver: RegistryDriver;
  site: string;
  operator: NodeKey;
  text: string;
  /** Time of day in milliseconds */
  now: number;
}

/**
 * Puts a document into the registry. Its revision is a time, so it is new to nodes even when the registry has lost what they know. Returns the revision. @throws RevisionConflict, EntryRefused
 */
export async function publishConfiguration({ driver, site, operator, text, now }: Publication): Promise<number> {
  const key = configurationKey;
  const place = { site, key };
  const present = await driver.get(key);
  const before = present?.value && openDocument(present.value, place, operator.publicKey);
  const document: OperatorDocument = { revision: nextRevision(before?.revision, now), text };
  const value = signEntry(operator, place, Buffer.from(JSON.stringify(document)));
  await driver.compareAndSet(key, value, present?.revision ?? 0);
  return document.revision;
}
