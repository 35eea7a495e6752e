import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { stop } from '../../process/service.js';
import type { ClientNews, ClientOrder, ClientResult, ClientTask } from './client_messages.js';

/** Called before the first connection, once all clients are connected, and at the end. */
export interface Stages {
  starting(): void;
  connected(): void;
  done(): void;
}

/**
 * Runs `count` client processes that do the same at the same time. `cancel` ends them early. @throws UserError when one
 * of them fails or ends early
 */
export async function runClients(
  count: number,
  task: ClientTask,
  stages: Stages,
  cancel?: AbortSignal,
): Promise<ClientResult[]> {
  const clients = Array.from({ length: count }, () => new ClientProcess(task));
  const onCancel = (): void => void Promise.all(clients.map((client) => client.stop()));
  cancel?.addEventListener('abort', onCancel, { once: true });
  try {
    await Promise.all(clients.map((client) => client.reaches('loaded')));
    stages.starting();
    await Promise.all(clients.map((client) => client.order('connect', 'connected')));
    stages.connected();
    const done = await Promise.all(clients.map((client) => client.order('go', 'done')));
    stages.done();
    return done.flatMap((news) => (news.state === 'done' ? [news.result] : []));
  } finally {
    cancel?.removeEventListener('abort', onCancel);
    await Promise.all(clients.map((client) => client.stop()));
  }
}

class ClientProcess {
  readonly #child: ChildProcess;
  #latest: ClientNews | undefined;
  #ended = false;
  #wake = (): void => undefined;

  constructor(task: ClientTask) {
    this.#child = fork(join(import.meta.dirname, 'client_process.js'), [JSON.stringify(task)], { execArgv: [] });
    this.#child.on('message', (news: ClientNews) => {
      this.#latest = news;
      this.#wake();
    });
    this.#child.once('close', () => {
      this.#ended = true;
      this.#wake();
    });
  }

  async order(order: ClientOrder, state: ClientNews['state']): Promise<ClientNews> {
    this.#child.send(order);
    return this.reaches(state);
  }

  async reaches(state: ClientNews['state']): Promise<ClientNews> {
    for (;;) {
      if (this.#latest?.state === state) return this.#latest;
      if (this.#latest?.state === 'failed')
        throw new UserError('BENCH_FAILED', `a client failed: ${this.#latest.reason}`);
      if (this.#ended) throw new UserError('BENCH_FAILED', 'a client ended early', { hint: 'its message is above' });
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }
}
