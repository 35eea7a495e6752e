import type { ListenAddress, ListenAddresses } from '../../values/scalars.js';
import type { CertificateSource } from '../../tls/certificate_source.js';
import type { Front } from './front.js';

/** The part of its front that every running node shows */
export abstract class FrontNode {
  protected constructor(
    readonly name: string,
    protected readonly front: Front,
  ) {}

  get address(): ListenAddresses {
    return this.front.address;
  }

  get httpAddress(): ListenAddress | undefined {
    return this.front.httpAddress;
  }

  get adminAddress(): ListenAddress | undefined {
    return this.front.adminAddress;
  }

  /** Address where clients find this node, if configured */
  get publicUrl(): string | undefined {
    return this.front.publicUrl;
  }

  get certificate(): CertificateSource {
    return this.front.certificate;
  }

  /** Refuses new work, waits up to `drainMs` for requests in flight, then stops. */
  close(drainMs?: number): Promise<void> {
    return this.front.close(drainMs);
  }
}
