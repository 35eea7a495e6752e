import type { NodePublicKey } from '../../values/node_key.js';

/** What a caller signs to show that it has the key of its node. */
export interface Introduction {
  /** That the node which is called made for this connection. */
  nonce: Buffer;
  session: Buffer;
  /** Of the node that is called: TLS has shown that it is the one. */
  called: NodePublicKey;
  caller: NodePublicKey;
  name: string;
}

const context = Buffer.from('sheaf backbone hello 1\0');

/**
 * The bytes to sign. TLS shows the caller who it called; with that node's key in them, nobody who is called can use
 * the signature towards a third node, and with the nonce nobody can use it twice.
 */
export function introduction({ nonce, session, called, caller, name }: Introduction): Buffer {
  return Buffer.concat([context, nonce, session, called.bytes, caller.bytes, Buffer.from(name)]);
}
