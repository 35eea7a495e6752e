import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { stop } from '../../process/service.js';
import type { DelayNews, DelayOrder, Delays, DelayTask } from './delay_messages.js';

/** A client process with open connections */
export class DelayClient {
  readonly #child: ChildProcess;

  private constructor(task: DelayTask) {
    this.#child = fork(join(import.meta.dirname, 'delay_process.js'), [JSON.stringify(task)], { execArgv: [] });
  }

  /** Starts a client, and opens its connections. @throws UserError */
  static async connect(task: DelayTask): Promise<DelayClient> {
    const client = new DelayClient(task);
    try {
      await client.#next();
      return client;
    } catch (error) {
      await client.stop();
      throw error;
    }
  }

  /** Asks for so many seconds. @throws UserError when a response is not what it should be */
  async run(seconds: number): Promise<Delays> {
    const answer = this.#next();
    this.#child.send({ seconds } satisfies DelayOrder);
    const news = await answer;
    if (news.state !== 'done') throw new UserError('BENCH_FAILED', 'a client answered out of turn');
    return news.delays;
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }

  async #next(): Promise<DelayNews> {
    const ended = new AbortController();
    const news = once(this.#child, 'message', { signal: ended.signal }) as Promise<[DelayNews]>;
    const closed = once(this.#child, 'close', { signal: ended.signal }).then(() => undefined);
    news.catch(() => undefined);
    closed.catch(() => undefined);
    try {
      const [message] = (await Promise.race([news, closed])) ?? [];
      if (!message) throw new UserError('BENCH_FAILED', 'a client ended early', { hint: 'its message is above' });
      if (message.state === 'failed') throw new UserError('BENCH_FAILED', `a client failed: ${message.reason}`);
      return message;
    } finally {
      ended.abort();
    }
  }
}
