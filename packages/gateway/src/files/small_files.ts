import type { Stats } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';

/** Files up to this size are kept in memory; larger ones stream from the disk. */
export const smallFileBytes = 64 * 1024;
const cacheBytes = 32 * 2 ** 20;

interface CachedFile {
  identity: string;
  content: Buffer;
}

/** Contents of small files. An entry is used only while the file has the same identity on the disk. */
export class SmallFiles {
  readonly #cache = new LRUCache<string, CachedFile>({ maxSize: cacheBytes, sizeCalculation: ({ content }) => content.length + 512 });

  has(path: string, stats: Stats): boolean {
    return this.#cache.get(path)?.identity === identityOf(stats);
  }

  /** The content that belongs to `stats`; undefined when the file has just changed, or is not small. */
  async read(path: string, stats: Stats): Promise<Buffer | undefined> {
    if (stats.size > smallFileBytes) return undefined;
    const cached = this.#cache.get(path);
    if (cached?.identity === identityOf(stats)) return cached.content;
    const content = await readFile(path);
    if (content.length !== stats.size) return undefined;
    this.#cache.set(path, { identity: identityOf(stats), content });
    return content;
  }
}

function identityOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}
