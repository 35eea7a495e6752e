import type { NodePublicKey } from '../../values/node_key.js';

/** The text that a caller signs to prove that it has the key of its node */
export interface Introduction {
  /** Random value that the called node made for this connection */
  nonce: Buffer;
  session: Buffer;
  /** Key of the called node, which TLS has authenticated */
  called: NodePublicKey;
  caller: NodePublicKey;
  name: string;
}

const context = Buffer.from('sheaf backbone hello 1\0');

/**
 * Returns the bytes to sign. TLS shows the caller which node it called. Since they contain that node's key, the called
 * node cannot use the signature towards a third node; since they contain the nonce, nobody can use it twice.
 */
export function introduction({ nonce, session, called, caller, name }: Introduction): Buffer {
  return Buffer.concat([context, nonce, session, called.bytes, caller.bytes, Buffer.from(name)]);
}
