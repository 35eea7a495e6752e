// The code of a worker: runs its copy of the node, and does what the main thread tells it.
import { parentPort, workerData } from 'node:worker_threads';
import type {
  FromWorker,
  PublishedBytes,
  SentConfiguration,
  ToWorker,
  WorkerCalls,
  WorkerStart,
} from '../../workers/messages.js';
import { Exclusive } from '../../values/exclusive.js';
import { sendError } from '../../workers/sent_error.js';
import { PortLog } from './port_log.js';
import { WorkerServer } from './worker_server.js';

if (!parentPort) throw new Error('this file runs in a worker of a node');
const port = parentPort;
const post = (message: FromWorker): void => port.postMessage(message);

/** What is abandoned may still get ready. */
const changes = new Exclusive();
const log = new PortLog((lines) => post({ news: 'log', lines }));
try {
  const server = await WorkerServer.open(workerData as WorkerStart, log);
  port.on('message', (message: ToWorker) => {
    if ('notice' in message) server.take(message);
    else void answer(server, message);
  });
  post({ news: 'serving', warnings: server.warnings });
} catch (error) {
  log.flush();
  post({ news: 'failed', error: sendError(error) });
  port.close();
}

async function answer(server: WorkerServer, { call, id, given }: Extract<ToWorker, { id: number }>): Promise<void> {
  try {
    const returned = await perform(server, call, given);
    log.flush();
    post({ id, returned });
  } catch (error) {
    post({ id, error: sendError(error) });
  }
}

function perform(server: WorkerServer, call: keyof WorkerCalls, given: unknown): unknown {
  switch (call) {
    case 'prepare':
      return changes.run(() => server.prepare(given as SentConfiguration));
    case 'commit':
      server.commit();
      return undefined;
    case 'abandon':
      return changes.run(() => server.abandon());
    case 'answer':
      return undefined;
    case 'report':
      return server.report();
    case 'publish':
      return server.publish(given as PublishedBytes);
    case 'close':
      return server.close(given as number);
  }
}
