import type { ServerSecret } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../errors/user_error.js';
import { filePollMs, FileState } from './file_state.js';
import { poll } from './poll.js';
import { readSecrets, ticketKeys, ticketPeriod } from './server_secrets.js';

/** Returns the time of day. Tests set it forward. */
type Now = () => Date;

export interface SecretsSourceOptions {
  file: string;
  log: Logger;
  now?: Now;
}

interface SecretsFile {
  file: string;
  state: FileState;
  log: Logger;
}

/** Secrets that a thread gets from another one */
export interface GivenSecrets {
  secrets: readonly ServerSecret[];
  /** Whether they make the keys of tickets alone */
  ofTickets: boolean;
}

/** The secrets of a server, which a new file replaces */
export class SecretsSource {
  /** Whether they make the keys of tickets alone, and those of tokens and resets come from elsewhere */
  readonly ofTickets: boolean;
  readonly #now: Now;
  #secrets: readonly ServerSecret[];
  #period: number;
  readonly #file: SecretsFile | undefined;
  readonly #stop: () => void;
  /** Makes the listeners use the secrets and the key of tickets. */
  install: () => void = () => undefined;

  private constructor({ secrets, ofTickets }: GivenSecrets, now: Now = () => new Date(), file?: SecretsFile) {
    this.#secrets = secrets;
    this.ofTickets = ofTickets;
    this.#now = now;
    this.#file = file;
    this.#period = ticketPeriod(now());
    // The key of tickets changes with the time, too.
    this.#stop = poll(filePollMs, () => this.refresh());
  }

  /** Opens a source that follows a file. @throws UserError when the file cannot be used */
  static async open({ file, log, now }: SecretsSourceOptions): Promise<SecretsSource> {
    const state = await FileState.of([file]);
    return new SecretsSource({ secrets: await readSecrets(file), ofTickets: false }, now, { file, state, log });
  }

  /** Makes a source of secrets that `use` replaces. */
  static given(given: GivenSecrets, now?: Now): SecretsSource {
    return new SecretsSource(given, now);
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
    const changed = await this.#file?.state.changed();
    if (!this.#file || !changed) {
      this.use(this.#secrets);
      return;
    }
    const { file, log } = this.#file;
    try {
      this.use(await readSecrets(file));
      log.info({ number: this.#secrets[0]?.number }, 'secrets replaced');
    } catch (error) {
      log.warn({ error: errorMessage(error) }, 'the new secrets are refused; the old ones stay in use');
    }
  }

  /** Puts secrets to use, unless nothing would change. */
  use(secrets: readonly ServerSecret[]): void {
    const period = ticketPeriod(this.#now());
    if (secrets === this.#secrets && period === this.#period) return;
    this.#secrets = secrets;
    this.#period = period;
    this.install();
  }

  close(): void {
    this.#stop();
  }
}
