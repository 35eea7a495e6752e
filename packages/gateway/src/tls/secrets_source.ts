import type { ServerSecret } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import { filePollMs, FileState } from './file_state.js';
import { poll } from './poll.js';
import { readSecrets, ticketKeys, ticketPeriod } from './server_secrets.js';

export interface SecretsSourceOptions {
  file: string;
  log: Logger;
  /** Returns the time of day. Tests set it forward. */
  now?: () => Date;
}

/** The secrets of a server, which a new file replaces */
export class SecretsSource {
  readonly #options: SecretsSourceOptions;
  readonly #file: FileState;
  #secrets: readonly ServerSecret[];
  #period: number;
  #stop: (() => void) | undefined;
  /** Makes the listeners use the secrets and the key of tickets. */
  install: () => void = () => undefined;

  private constructor(options: SecretsSourceOptions, file: FileState, secrets: readonly ServerSecret[]) {
    this.#options = options;
    this.#file = file;
    this.#secrets = secrets;
    this.#period = this.#now();
  }

  /** Opens the source. @throws UserError when the file cannot be used */
  static async open(options: SecretsSourceOptions): Promise<SecretsSource> {
    const state = await FileState.of([options.file]);
    const source = new SecretsSource(options, state, await readSecrets(options.file));
    source.#stop = poll(filePollMs, () => source.refresh());
    return source;
  }

  /** The secret in use first */
  get secrets(): readonly ServerSecret[] {
    return this.#secrets;
  }

  /** Key for tickets of TCP connections, which changes with the time */
  get ticketKeys(): Buffer {
    return ticketKeys(this.#secrets, this.#period);
  }

  /** Looks for newer secrets. If they are faulty, logs that and keeps the old ones in use. */
  async refresh(): Promise<void> {
    const { log, file } = this.#options;
    try {
      const period = this.#now();
      const changed = await this.#file.changed();
      if (!changed && period === this.#period) return;
      if (changed) this.#secrets = await readSecrets(file);
      this.#period = period;
      this.install();
      if (changed) log.info({ number: this.#secrets[0]?.number }, 'secrets replaced');
    } catch (error) {
      log.warn({ error: errorMessage(error) }, 'the new secrets are refused; the old ones stay in use');
    }
  }

  close(): void {
    this.#stop?.();
  }

  #now(): number {
    return ticketPeriod(this.#options.now?.() ?? new Date());
  }
}
