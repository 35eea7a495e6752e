// The thread of `HashThread`.
import { createHash, type Hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { HashNews, HashOrder } from './hash_thread.js';

const hashes = new Map<number, Hash>();

parentPort?.on('message', ({ body, chunks, bytes, last }: HashOrder) => {
  const hash = hashes.get(body) ?? createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  if (last) hashes.delete(body);
  else hashes.set(body, hash);
  const news: HashNews = { body, taken: bytes, ...(last ? { sha256: hash.digest('hex') } : {}) };
  parentPort?.postMessage(news);
});
