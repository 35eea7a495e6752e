import { createDecipheriv } from 'node:crypto';
import { sealGrants, type SealsGrants } from '@sheaf/native';
import { OnceEach } from './once_each.js';

/**
 * A grant as the gateway sends it to a backend in a header of a request. It contains packet keys. Lengths in bytes:
 *
 * counter 6, grant (encrypted), tag 16
 *
 * Both nodes have a random key for one connection of the backbone, which the gateway has signed and sealed for the
 * backend (`grantKeyKind`). AES-256-GCM takes the counter as nonce; each counter is used once with one key. A signature
 * and a sealed box for each grant would cost the gateway more than the rest of the request.
 */
export const grantKeyBytes = 32;
const counterBytes = 6;
const tagBytes = 16;
/** Grants in flight that may overtake each other */
const window = 4_096;
const cipher = 'aes-256-gcm';

/** Maximum size of a grant in bytes, before sealing and after */
export const maxGrant = 512;
export const maxSealedGrant = maxGrant + counterBytes + tagBytes;

export type GrantRefusal = 'unreadable' | 'repeated';

const refusals: Record<GrantRefusal, string> = {
  unreadable: 'it was sealed with another key, or damaged',
  repeated: 'it came before, or so late that nobody knows',
};

/** The node refused a grant. */
export class GrantRefused extends Error {
  constructor(readonly refusal: GrantRefusal) {
    super(`the grant is refused: ${refusals[refusal]}`);
    this.name = 'GrantRefused';
  }
}

/** One connection of the backbone, as both nodes know it */
interface GrantSession {
  sender: { bytes: Uint8Array };
  receiver: { bytes: Uint8Array };
  session: Uint8Array;
}

/** Returns the bytes that name both nodes and the connection between them. */
export function nameOfSession({ sender, receiver, session }: GrantSession): Buffer {
  return Buffer.concat([sender.bytes, receiver.bytes, session]);
}

/** What is authenticated besides the grant: its use, and who sends it to whom over which connection. */
function associated(session: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from('sheaf sealed grant 1\0'), session]);
}

function nonce(counter: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUIntBE(counter, bytes.length - counterBytes, counterBytes);
  return bytes;
}

/** Seals grants for one backend. */
export class GrantSealer {
  readonly #sealer: SealsGrants;

  /**
   * @param key `grantKeyBytes` random bytes that no other sealer has had; wiped
   * @param session as {@link nameOfSession} returns it
   */
  constructor(key: Buffer, session: Uint8Array) {
    this.#sealer = sealGrants(key, associated(session));
    key.fill(0);
  }

  /** Seals `grant` and wipes it. @throws RangeError when it is too large, or the key is wiped */
  seal(grant: Buffer): Buffer {
    if (grant.length > maxGrant) throw new RangeError(`a grant of ${grant.length} bytes is too large`);
    const sealed = this.#sealer.seal(grant);
    if (!sealed) throw new RangeError('the key is wiped');
    return sealed;
  }

  /** Wipes the key. Nothing can be sealed after that. */
  close(): void {
    this.#sealer.close();
  }
}

/** Opens the grants that one gateway seals. */
export class GrantOpener {
  readonly #key: Buffer;
  readonly #associated: Buffer;
  readonly #counters = new OnceEach(window);
  #closed = false;

  /** As those of {@link GrantSealer} */
  constructor(key: Buffer, session: Uint8Array) {
    this.#key = key;
    this.#associated = associated(session);
  }

  /** Opens a grant. The caller wipes the result. @throws GrantRefused */
  open(sealed: Buffer): Buffer {
    if (this.#closed || sealed.length < counterBytes + tagBytes || sealed.length > maxSealedGrant)
      throw new GrantRefused('unreadable');
    const counter = sealed.readUIntBE(0, counterBytes);
    const grant = this.#decrypt(counter, sealed);
    // A counter counts only once it is known to be the gateway's.
    if (this.#counters.accept(counter)) return grant;
    grant.fill(0);
    throw new GrantRefused('repeated');
  }

  /** Wipes the key. Nothing can be opened after that. */
  close(): void {
    this.#key.fill(0);
    this.#closed = true;
  }

  #decrypt(counter: number, sealed: Buffer): Buffer {
    const opening = createDecipheriv(cipher, this.#key, nonce(counter), { authTagLength: tagBytes })
      .setAAD(this.#associated)
      .setAuthTag(sealed.subarray(-tagBytes));
    const grant = opening.update(sealed.subarray(counterBytes, -tagBytes));
    try {
      opening.final();
      return grant;
    } catch {
      grant.fill(0);
      throw new GrantRefused('unreadable');
    }
  }
}
