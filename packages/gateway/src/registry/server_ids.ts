import { z } from 'zod';
import type { NodeKey } from '../values/node_key.js';
import { RevisionConflict, type RegistryDriver } from './driver.js';
import { EntryRefused, openEntry, parseBody, signEntry, uncheckedBody } from './entry.js';
import type { EntryReader } from './feed.js';
import type { Trust } from './trust.js';

/** Time in milliseconds after which a claim that is not renewed is free, since nobody can have connections with its id any more */
const freeMs = 24 * 60 * 60 * 1_000;
/** Time in milliseconds after which a claim is renewed */
const renewMs = 60 * 60 * 1_000;
/** How far in milliseconds a claim may be ahead of the clock, as clocks of machines differ */
const maxAheadMs = 60 * 60 * 1_000;
/** Maximum of claims that are kept: one of each node, with room for earlier ones */
const maxClaims = 1_024;
/** Longest claim in bytes */
const maxClaimBytes = 512;

const claimBody = z.object({ name: z.string().max(128), at: z.int().min(0) });

type Claim = z.output<typeof claimBody>;

export interface ServerIdsOptions {
  driver: RegistryDriver;
  site: string;
  trust: Trust;
  /** Returns the time of day in milliseconds. */
  now: () => number;
}

/** A node of this process that has a server id */
export interface ClaimingNode {
  name: string;
  key: NodeKey;
  serverId: Buffer;
}

/**
 * Claims of server ids, each held by one node. Two nodes with one id get each other's packets, so the second one is told. It serves all
 * the same: the registry is no reason to refuse clients.
 */
export class ServerIds implements EntryReader {
  readonly maxBytes = maxClaimBytes;
  readonly isOpen = true;
  readonly #options: ServerIdsOptions;
  readonly #claims = new Map<string, { claim: Claim; value: Buffer; revision: number }>();
  /** Whether a node has claimed what another one has, and perhaps written over its claim, since the latest `claim` */
  contested = false;
  /** Faults of the fleet's configuration, by the name of the node */
  readonly conflicts = new Map<string, string>();

  constructor(options: ServerIdsOptions) {
    this.#options = options;
  }

  /** Whether a key of the registry can be a claim. */
  static isClaim(key: string): boolean {
    return /^sid\.(?:[0-9a-f]{2}){1,11}$/.test(key);
  }

  holderOf(serverId: Buffer): string | undefined {
    return this.#claims.get(keyOf(serverId))?.claim.name;
  }

  accept({ key, value, revision }: Parameters<EntryReader['accept']>[0]): boolean {
    const before = this.#claims.get(key);
    if (before?.value.equals(value)) {
      before.revision = revision;
      return false;
    }
    const claim = this.#read(key, value);
    if (before && this.#options.trust.knows(before.claim.name)) {
      // A list may be read later than the changes after it; and what was read from the copy is there again.
      const isOlder = claim.at <= before.claim.at;
      if (isOlder && revision <= before.revision) return false;
      if (isOlder)
        throw new EntryRefused('replayed', `${key} is older than the claim of \`${before.claim.name}\` before`);
      if (!this.#isFreeFor(claim.name, before.claim)) {
        this.contested = true;
        throw new EntryRefused('taken', `\`${claim.name}\` claims ${key}, which \`${before.claim.name}\` has`);
      }
    }
    if (!before && this.#claims.size >= maxClaims)
      throw new EntryRefused('excess', `there are ${maxClaims} claims beside ${key}`);
    this.#claims.set(key, { claim, value, revision });
    return true;
  }

  /** Claims the id of a node, or renews its claim. Rejects when the registry does not answer. */
  async claim(node: ClaimingNode): Promise<void> {
    const { driver, now } = this.#options;
    const key = keyOf(node.serverId);
    const present = await driver.get(key);
    const claim = present?.value && this.#readable(key, present.value);
    // What another one has written over the claim of this node counts for nobody, and goes.
    if (claim && !this.#isFreeFor(node.name, claim) && this.holderOf(node.serverId) !== node.name) {
      this.conflicts.set(
        node.name,
        `the server id ${node.serverId.toString('hex')} of \`${node.name}\` is that of \`${claim.name}\`: give one of them another \`server_id\``,
      );
      return;
    }
    this.conflicts.delete(node.name);
    if (claim?.name === node.name && now() - claim.at < renewMs) return;
    await this.#write(node, key, present?.revision ?? 0);
  }

  /** Whether a node may claim what has this claim. */
  #isFreeFor(name: string, claim: Claim): boolean {
    return claim.name === name || this.#options.now() - claim.at >= freeMs;
  }

  async #write({ name, key: nodeKey }: ClaimingNode, key: string, expected: number): Promise<void> {
    const { driver, site, now } = this.#options;
    const body = Buffer.from(JSON.stringify({ name, at: now() } satisfies Claim));
    try {
      await driver.compareAndSet(key, signEntry(nodeKey, { site, key }, body), expected);
    } catch (error) {
      // Another node was faster. The next look tells which one.
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }

  /** Returns a claim of a node that the configuration still has. */
  #readable(key: string, value: Buffer): Claim | undefined {
    try {
      return this.#read(key, value);
    } catch (error) {
      if (error instanceof EntryRefused) return undefined;
      throw error;
    }
  }

  #read(key: string, value: Buffer): Claim {
    const { site, trust, now } = this.#options;
    // Few have a name that is known, and a signature costs much more than a look at the name.
    const claim = parseBody(key, uncheckedBody(value, { site, key }), claimBody);
    const holder = trust.keyOf(claim.name);
    if (!holder) throw new EntryRefused('unknown', `the configuration has no public key of the node \`${claim.name}\``);
    if (!holder.equals(openEntry(value, { site, key }).signer))
      throw new EntryRefused('forged', `${key} is not signed by \`${claim.name}\``);
    if (claim.at > now() + maxAheadMs) throw new EntryRefused('malformed', `${key} is of a time far ahead`);
    return claim;
  }
}

function keyOf(serverId: Buffer): string {
  return `sid.${serverId.toString('hex')}`;
}
