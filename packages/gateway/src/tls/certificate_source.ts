import type { CertificatePair } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import { certificateExpiry, certificateHash, readCertificateFiles } from './certificate_files.js';
import { loadDevCertificate } from './dev_certificate.js';
import { filePollMs, FileState } from './file_state.js';
import { poll } from './poll.js';
import type { TlsOptions } from '../schema/tls.js';

const devPollMs = 60_000;

export interface CertificateSourceOptions {
  tls: TlsOptions;
  /** Directory of the configuration file */
  directory: string;
  /** Names and addresses in a development certificate */
  names: readonly string[];
  log: Logger;
  /** Returns the time of day. Tests set it forward. */
  now?: () => Date;
}

/** The certificate in use, which renewal or new files replace */
export class CertificateSource {
  readonly #options: CertificateSourceOptions;
  /** State of the certificate files; absent for the development certificate */
  readonly #files: FileState | undefined;
  #pair: CertificatePair;
  #stop: (() => void) | undefined;
  #closed = false;
  /** Makes the listeners use a new pair. If it throws, the old pair stays in use. */
  install: (pair: CertificatePair) => void = () => undefined;

  private constructor(options: CertificateSourceOptions, pair: CertificatePair, files: FileState | undefined) {
    this.#options = options;
    this.#pair = pair;
    this.#files = files;
  }

  /** Opens the source. @throws UserError when the certificate cannot be read or created */
  static async open(options: CertificateSourceOptions): Promise<CertificateSource> {
    const { tls } = options;
    // Notes the state before reading, so that files written meanwhile are read again.
    const files = tls === 'dev' ? undefined : await FileState.of([tls.cert, tls.key]);
    const source = new CertificateSource(options, await load(options), files);
    source.#stop = poll(source.isDevelopment ? devPollMs : filePollMs, () => source.refresh());
    return source;
  }

  /** Makes a source of a pair that another thread reads, and that `use` replaces. */
  static given(options: CertificateSourceOptions, pair: CertificatePair): CertificateSource {
    return new CertificateSource(options, pair, undefined);
  }

  get pair(): CertificatePair {
    return this.#pair;
  }

  /** Whether Sheaf itself created the certificate, so that clients need its hash */
  get isDevelopment(): boolean {
    return this.#options.tls === 'dev';
  }

  /** Oldest version of TLS over TCP */
  get minimumTls(): '1.2' | '1.3' | undefined {
    const { tls } = this.#options;
    return tls === 'dev' ? '1.3' : tls.minimum_version;
  }

  /** SHA-256 of the leaf certificate in hexadecimal */
  get hash(): string {
    return certificateHash(this.#pair);
  }

  get expiry(): Date {
    return certificateExpiry(this.#pair);
  }

  /** Looks for a newer certificate. If it is faulty, logs that and keeps the old one in use. */
  async refresh(): Promise<void> {
    // What another thread reads comes from there.
    if (!this.#stop) return;
    try {
      if (this.#files && !(await this.#files.changed())) return;
      const pair = await load(this.#options);
      // Another source may be in use by now.
      if (!this.#closed) this.use(pair);
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Puts a pair to use. If it is faulty, logs that and keeps the old one in use. */
  use(pair: CertificatePair): void {
    if (pair.certificate === this.#pair.certificate && pair.privateKey === this.#pair.privateKey) return;
    try {
      this.install(pair);
      this.#pair = pair;
      this.#options.log.info({ hash: this.hash, expiry: this.expiry }, 'certificate replaced');
    } catch (error) {
      this.#refuse(error);
    }
  }

  close(): void {
    this.#stop?.();
    this.#closed = true;
  }

  #refuse(error: unknown): void {
    this.#options.log.warn({ error: errorMessage(error) }, 'the new certificate is refused; the old one stays in use');
  }
}

async function load(options: CertificateSourceOptions): Promise<CertificatePair> {
  const { tls, directory, names, now } = options;
  return tls === 'dev' ? loadDevCertificate(directory, names, now?.() ?? new Date()) : readCertificateFiles(tls);
}
