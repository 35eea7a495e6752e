import type { NodeKeySource } from '../../schema/loaded.js';
import { UserError } from '../../errors/user_error.js';
import { loadDevelopmentKey, NodePublicKey, readNodeKey, type NodeKey } from '../../values/node_key.js';

/** Loads a node's own key. @throws UserError when it is absent, or does not fit the configured `public_key` */
export async function ownKey({ name, directory, key: option, publicKey }: NodeKeySource): Promise<NodeKey> {
  const key = option === 'dev' ? await loadDevelopmentKey(directory, name) : await readNodeKey(option.file);
  if (publicKey && !publicKey.equals(key.publicKey)) {
    throw new UserError(
      'KEY_UNUSABLE',
      `the key of \`${name}\` belongs to ${key.publicKey.toString()}, not to its \`public_key\``,
      { hint: 'write that into `public_key`, or bring the key that belongs to it' },
    );
  }
  return key;
}

/** Returns the public key of another node. @throws UserError */
export async function publicKeyOf(identity: NodePublicKey | NodeKeySource): Promise<NodePublicKey> {
  if (identity instanceof NodePublicKey) return identity;
  return identity.publicKey ?? (await ownKey(identity)).publicKey;
}
