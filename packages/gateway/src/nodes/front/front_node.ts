import type { ListenAddress, ListenAddresses } from '../../values/scalars.js';
import type { CertificateSource } from '../../tls/certificate_source.js';
import type { Front } from './front.js';

/** What every running node shows of its front. */
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

  /** Where clients find this node, when the configuration says so. */
  get publicUrl(): string | undefined {
    return this.front.publicUrl;
  }

  get certificate(): CertificateSource {
    return this.front.certificate;
  }

  /** Refuses new work, lets requests in flight finish for up to `drainMs`, then ends. */
  close(drainMs?: number): Promise<void> {
    return this.front.close(drainMs);
  }
}
