// Bundles the browser files into dist/browser. Run after `tsc -b`, which checks their types.
import { cp, mkdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const { resolve } = createRequire(import.meta.url);
const source = (path) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));
const output = (path) => fileURLToPath(new URL(`./dist/browser/${path}`, import.meta.url));

// The oldest Chromium with everything that is used (URL.canParse).
const shared = { bundle: true, minify: true, target: 'chrome120', legalComments: 'none' };

const fonts = {
  'archivo.woff2': '@fontsource-variable/archivo/files/archivo-latin-standard-normal.woff2',
  'archivo-LICENSE.txt': '@fontsource-variable/archivo/LICENSE',
  'martian-mono.woff2': '@fontsource-variable/martian-mono/files/martian-mono-latin-wght-normal.woff2',
  'martian-mono-LICENSE.txt': '@fontsource-variable/martian-mono/LICENSE',
};

await rm(output(''), { recursive: true, force: true });
await mkdir(output('page_loader'), { recursive: true });
await mkdir(output('live/fonts'), { recursive: true });
await mkdir(output('tunnels'), { recursive: true });
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
    format: 'iife',
    entryPoints: [source('service_worker/removal_worker.ts')],
    outfile: output('page_loader/removal-worker.js'),
  }),
  cp(resolve('http-cache-semantics/LICENSE'), output('page_loader/http-cache-semantics-LICENSE.txt')),
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
  build({
    ...shared,
    format: 'esm',
    entryPoints: [source('page/live/live.ts')],
    outfile: output('live/live.js'),
  }),
  build({
    ...shared,
    format: 'esm',
    entryPoints: [source('page/tunnels/tunnels.ts')],
    outfile: output('tunnels/tunnels.js'),
  }),
  // The script of the page in fixtures/multi-end.
  build({
    ...shared,
    format: 'esm',
    target: 'es2022',
    entryPoints: [source('page/servers/servers.ts')],
    outfile: output('servers/servers.js'),
  }),
  // The scripts of the pages in fixtures/live. The package leaves them out: they contain @moq/net.
  build({
    ...shared,
    format: 'esm',
    target: 'es2022',
    entryPoints: ['watch', 'studio', 'ticker'].map((name) => source(`page/broadcast/${name}.ts`)),
    outdir: output('broadcast'),
  }),
  ...['index.html', 'live.css', 'charts.css', 'icon.svg'].map((file) =>
    cp(source(`page/live/${file}`), output(`live/${file}`)),
  ),
  cp(source('page/tunnels/index.html'), output('tunnels/index.html')),
  ...Object.entries(fonts).map(([file, path]) => cp(resolve(path), output(`live/fonts/${file}`))),
]);
