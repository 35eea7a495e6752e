import type { ConnectionOptions } from 'node:tls';
import type { Logger } from 'pino';
import { errorMessage } from '../../errors/user_error.js';
import { readAuthorityFile, readCertificateFiles } from '../../tls/certificate_files.js';
import { filePollMs, FileState } from '../../tls/file_state.js';
import type { UpstreamTlsOptions } from '../../schema/upstream.js';

/** Contents of the files that `tls` names */
type UpstreamSecrets = Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;

/** The authorities and the certificate for an upstream, which are read again when their files change */
export class SecretsSource {
  readonly #tls: UpstreamTlsOptions;
  readonly #log: Logger;
  readonly #files: FileState;
  #current: UpstreamSecrets;
  #timer: NodeJS.Timeout | undefined;

  private constructor(tls: UpstreamTlsOptions, log: Logger, files: FileState, secrets: UpstreamSecrets) {
    this.#tls = tls;
    this.#log = log;
    this.#files = files;
    this.#current = secrets;
  }

  /** Opens the source. @throws CertificateError when a file cannot be used */
  static async open(tls: UpstreamTlsOptions = {}, log: Logger): Promise<SecretsSource> {
    const named = [tls.ca, tls.certificate?.cert, tls.certificate?.key].filter((file) => file !== undefined);
    const files = await FileState.of(named);
    const source = new SecretsSource(tls, log, files, await readSecrets(tls));
    if (named.length > 0) source.#schedule();
    return source;
  }

  /** The latest secrets: a new object after each change. New connections use it; open ones stay. */
  get current(): UpstreamSecrets {
    return this.#current;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    const again = async (): Promise<void> => {
      await this.#refresh();
      if (this.#timer !== undefined) this.#schedule();
    };
    this.#timer = setTimeout(() => void again(), filePollMs).unref();
  }

  async #refresh(): Promise<void> {
    if (!(await this.#files.changed())) return;
    try {
      this.#current = await readSecrets(this.#tls);
      this.#log.info('certificates for the upstream were replaced');
    } catch (error) {
      this.#log.warn(
        { error: errorMessage(error) },
        'new certificates for the upstream refused, the old ones stay in use',
      );
    }
  }
}

async function readSecrets({ ca, certificate }: UpstreamTlsOptions): Promise<UpstreamSecrets> {
  const pair = certificate && (await readCertificateFiles(certificate));
  return {
    ...(ca === undefined ? {} : { ca: await readAuthorityFile(ca) }),
    ...(pair && { cert: pair.certificate, key: pair.privateKey }),
  };
}
