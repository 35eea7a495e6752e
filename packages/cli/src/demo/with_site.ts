import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The nodes of a demo, and what is between them */
export interface DemoSite {
  /** @throws UserError */
  start(): Promise<void>;
  /** Ends what was started, also after a start that failed. */
  close(): Promise<void>;
}

/** Runs a site in a directory of its own while it is used. Then it ends, and the directory is removed. */
export async function withSite<Site extends DemoSite, Result>(
  make: (directory: string) => Site,
  use: (site: Site) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-demo-'));
  try {
    const site = make(directory);
    try {
      await site.start();
      return await use(site);
    } finally {
      await site.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
