import { nodeKeyFile, NodeKey, NodePublicKey } from '../values/node_key.js';
import { readSmallFile } from '../values/regular_file.js';
import type { LoadedRegistry, NodeKeySource } from '../schema/loaded.js';

/** The nodes whose entries are read, by name */
export type KnownNodes = LoadedRegistry['known'];

/** The keys by which entries of the registry are believed. They come from the configuration, and never from the registry. */
export class Trust {
  #known: KnownNodes = new Map();
  #keys = new Map<string, NodePublicKey>();

  /** Believes these nodes from now on, and no others. */
  async use(known: KnownNodes): Promise<void> {
    const keys = new Map<string, NodePublicKey>();
    for (const [name, identity] of known) {
      const key = await publicKeyIfThere(identity);
      if (key) keys.set(name, key);
    }
    // The nodes that both have are believed all the time.
    this.#known = known;
    this.#keys = keys;
  }

  /** Looks for keys of nodes of this machine that did not exist before. */
  async refresh(): Promise<void> {
    if (this.#keys.size < this.#known.size) await this.use(this.#known);
  }

  knows(name: string): boolean {
    return this.#known.has(name);
  }

  keyOf(name: string): NodePublicKey | undefined {
    return this.#keys.get(name);
  }
}

/** Returns the public key of a node, unless it is a file that is not on this machine. */
export async function publicKeyIfThere(identity: NodePublicKey | NodeKeySource): Promise<NodePublicKey | undefined> {
  if (identity instanceof NodePublicKey) return identity;
  const { name, directory, key, publicKey } = identity;
  if (publicKey) return publicKey;
  try {
    const pem = await readSmallFile(key === 'dev' ? nodeKeyFile(directory, name) : key.file);
    return NodeKey.fromPem(pem).publicKey;
  } catch {
    return undefined;
  }
}
