import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { stop } from '../../process/service.js';
import type { LoadNews, LoadOrder, LoadTask, Reading } from './load_messages.js';

/** A client process with open connections */
export class Load {
  readonly #child: ChildProcess;
  #latest: LoadNews | undefined;
  #ended = false;
  #wake = (): void => undefined;

  private constructor(task: LoadTask) {
    this.#child = fork(join(import.meta.dirname, 'load_process.js'), [JSON.stringify(task)], { execArgv: [] });
    this.#child.on('message', (news: LoadNews) => {
      if (this.#latest?.state !== 'failed') this.#latest = news;
      this.#wake();
    });
    this.#child.once('close', () => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** Starts a client, and opens its connections. @throws UserError */
  static async connect(task: LoadTask): Promise<Load> {
    const load = new Load(task);
    try {
      await load.#reaches('loaded');
      await load.#order('connect', 'connected');
      return load;
    } catch (error) {
      await load.stop();
      throw error;
    }
  }

  /** Begins to ask, which goes on until the end. */
  async ask(): Promise<void> {
    await this.#order('ask', 'asking');
  }

  /** Reads what has come so far. @throws UserError when a response was not what it should be */
  async read(): Promise<Reading> {
    const news = await this.#order('read', 'read');
    return news.reading;
  }

  /** Closes the connections, with what is open on them. */
  async end(): Promise<void> {
    if (this.#ended || this.#latest?.state === 'failed') return this.stop();
    this.#child.send('end' satisfies LoadOrder);
    while (!this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }

  #order<State extends LoadNews['state']>(order: LoadOrder, state: State): Promise<NewsOf<State>> {
    if (this.#latest?.state !== 'failed') {
      this.#latest = undefined;
      this.#child.send(order);
    }
    return this.#reaches(state);
  }

  async #reaches<State extends LoadNews['state']>(state: State): Promise<NewsOf<State>> {
    for (;;) {
      const news = this.#latest;
      if (news?.state === state) return news as NewsOf<State>;
      if (news?.state === 'failed') throw new UserError('BENCH_FAILED', `a client failed: ${news.reason}`);
      if (this.#ended) throw new UserError('BENCH_FAILED', 'a client ended early', { hint: 'its message is above' });
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

type NewsOf<State extends LoadNews['state']> = Extract<LoadNews, { state: State }>;
