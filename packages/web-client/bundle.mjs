// Bundles the browser files into dist/browser. Run after `tsc -b`, which checks their types.
import { cp, mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const source = (path) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));
const output = (path) => fileURLToPath(new URL(`./dist/browser/${path}`, import.meta.url));

// The oldest Chromium with everything that is used (URL.canParse).
const shared = { bundle: true, minify: true, target: 'chrome120', legalComments: 'none' };

await rm(output(''), { recursive: true, force: true });
await mkdir(output('page_loader'), { recursive: true });
await Promise.all([
  // A classic worker: the form that every browser with Service Workers takes.
  build({
    ...shared,
    format: 'iife',
    entryPoints: [source('service_worker/worker.ts')],
    outfile: output('page_loader/page-worker.js'),
  }),
  build({
    ...shared,
    format: 'esm',
    entryPoints: [source('page/start/start.ts')],
    outfile: output('page_loader/start.js'),
  }),
  build({
    ...shared,
    format: 'esm',
    entryPoints: [source('page/start/index.ts')],
    outfile: output('page_loader/page-loader.js'),
  }),
  cp(source('page/start/start.html'), output('page_loader/start.html')),
]);
