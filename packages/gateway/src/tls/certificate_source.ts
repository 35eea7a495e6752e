import type { CertificatePair } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import { certificateExpiry, certificateHash, readCertificateFiles } from './certificate_files.js';
import { loadDevCertificate } from './dev_certificate.js';
import { filePollMs, FileState } from './file_state.js';
import type { TlsOptions } from '../schema/tls.js';

const devPollMs = 60_000;

export interface CertificateSourceOptions {
  tls: TlsOptions;
  /** Directory of the configuration file. */
  directory: string;
  /** Names and addresses that a development certificate is made for. */
  names: readonly string[];
  log: Logger;
  /** The wall clock; tests set it forward. */
  now?: () => Date;
}

/** The certificate in use. It is replaced by renewal or by new files. */
export class CertificateSource {
  readonly #options: CertificateSourceOptions;
  /** Absent for the development certificate. */
  readonly #files: FileState | undefined;
  #pair: CertificatePair;
  #timer: NodeJS.Timeout | undefined;
  /** Makes whoever listens use a new pair; when it throws, the old one stays in use. */
  install: (pair: CertificatePair) => void = () => undefined;

  private constructor(options: CertificateSourceOptions, pair: CertificatePair, files: FileState | undefined) {
    this.#options = options;
    this.#pair = pair;
    this.#files = files;
  }

  /** @throws UserError when the certificate cannot be read or made. */
  static async open(options: CertificateSourceOptions): Promise<CertificateSource> {
    const { tls } = options;
    // Before they are read: what is written meanwhile is read again.
    const files = tls === 'dev' ? undefined : await FileState.of([tls.cert, tls.key]);
    const source = new CertificateSource(options, await load(options), files);
    source.#schedule();
    return source;
  }

  get pair(): CertificatePair {
    return this.#pair;
  }

  /** Made by Sheaf itself, so that clients need its hash. */
  get isDevelopment(): boolean {
    return this.#options.tls === 'dev';
  }

  /** SHA-256 of the leaf in hexadecimal. */
  get hash(): string {
    return certificateHash(this.#pair);
  }

  get expiry(): Date {
    return certificateExpiry(this.#pair);
  }

  /** Looks for a newer certificate now. A broken one is logged and the old one stays in use. */
  async refresh(): Promise<void> {
    const { log } = this.#options;
    try {
      if (this.#files && !(await this.#files.changed())) return;
      const pair = await load(this.#options);
      if (pair.certificate === this.#pair.certificate && pair.privateKey === this.#pair.privateKey) return;
      this.install(pair);
      this.#pair = pair;
      log.info({ hash: this.hash, expiry: this.expiry }, 'certificate replaced');
    } catch (error) {
      log.warn({ error: errorMessage(error) }, 'the new certificate is refused; the old one stays in use');
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    const again = async (): Promise<void> => {
      await this.refresh();
      if (this.#timer !== undefined) this.#schedule();
    };
    this.#timer = setTimeout(() => void again(), this.isDevelopment ? devPollMs : filePollMs).unref();
  }
}

async function load(options: CertificateSourceOptions): Promise<CertificatePair> {
  const { tls, directory, names, now } = options;
  return tls === 'dev' ? loadDevCertificate(directory, names, now?.() ?? new Date()) : readCertificateFiles(tls);
}
