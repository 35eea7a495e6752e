import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { stop } from '../../process/service.js';
import type { LoadNews, LoadOrder, LoadTask, Received } from './load_messages.js';

/** A client process with open connections */
export class Load {
  readonly #child: ChildProcess;
  #latest: LoadNews | undefined;
  #ended = false;
  #wake = (): void => undefined;

  private constructor(task: LoadTask) {
    this.#child = fork(join(import.meta.dirname, 'load_process.js'), [JSON.stringify(task)], { execArgv: [] });
    this.#child.on('message', (news: LoadNews) => {
      this.#latest = news;
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

  /** Asks for so many seconds. @throws UserError when a response is not what it should be */
  async run(seconds: number): Promise<Received> {
    const news = await this.#order({ seconds }, 'done');
    return news.received;
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }

  #order<State extends LoadNews['state']>(order: LoadOrder, state: State): Promise<NewsOf<State>> {
    this.#latest = undefined;
    this.#child.send(order);
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
