// Runs in the thread of `HashThread`.
import { createHash, type Hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { HashNews, HashOrder } from './hash_thread.js';

const hashes = new Map<number, Hash>();

parentPort?.on('message', ({ body, bytes }: HashOrder) => {
  const hash = hashes.get(body) ?? createHash('sha256');
  if (bytes) hashes.set(body, hash.update(bytes));
  else hashes.delete(body);
  const news: HashNews = { body, ...(bytes ? {} : { sha256: hash.digest('hex') }) };
  parentPort?.postMessage(news);
});
