import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const pages = ['publish_clock', 'receive_frames', 'watch_element', 'hls', 'forge', 'watch_verified'];
const workers = ['verify_worker'];

/** Makes a directory with one page for each script. */
export async function buildMediaSite(): Promise<{ directory: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-media-site-'));
  await build({
    bundle: true,
    format: 'esm',
    target: 'chrome120',
    outdir: directory,
    entryPoints: [...pages, ...workers].map((name) => fileURLToPath(new URL(`./${name}.ts`, import.meta.url))),
    logLevel: 'error',
  });
  for (const page of pages) {
    const script = `<script>window.media = { hashes: {} };</script><script type="module" src="/${page}.js"></script>`;
    await writeFile(join(directory, `${page}.html`), `<!doctype html><meta charset="utf-8"><body>${script}`);
  }
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}
