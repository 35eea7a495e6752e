// Checks the includes of packages/native/src against layers.json, which tells the folders below each folder.
import { existsSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { addUse, below, staleEntries } from './folder_layers.mjs';
import { cppFiles } from './imports.mjs';

/** System and library headers that only some folders may include */
const reserved = [
  {
    header: /^(ngtcp2|gnutls)\/|^intel-ipsec-mb\.h$/,
    folders: ['crypto'],
    what: 'ngtcp2, GnuTLS and IPsec-MB belong to crypto/',
  },
  { header: /^isa-l\//, folders: ['fec'], what: 'ISA-L belongs to fec/' },
  { header: /^nghttp3\//, folders: ['http3'], what: 'nghttp3 belongs to http3/' },
  { header: /^(napi|node_api|node)\.h$/, folders: ['binding'], what: 'Node-API belongs to binding/' },
  { header: /^uv\.h$/, folders: ['io', 'binding'], what: 'libuv belongs to io/ and binding/' },
  {
    header: /^(sys\/socket|netinet\/.*|sys\/uio|poll|sys\/epoll)(\.h)?$/,
    folders: ['io', 'crypto'],
    what: "sockets belong to io/ (crypto/ has ngtcp2's socket addresses)",
  },
];

/** Replaces the clock of GnuTLS, which would otherwise ask the system */
const clockOfTls = 'crypto/tls_clock.cc';
/** Sources of time and randomness, which must be arguments everywhere else */
const nondeterminism =
  /\b(steady_clock|system_clock|high_resolution_clock)::now\b|\bstd::random_device\b|\bclock_gettime\s*\(/;

/** Returns one line for each violation: `file:line: what`. `source` is the folder that contains the layers. */
export function checkNativeLayers(source, layers) {
  const violations = [];
  const used = new Map();
  for (const file of cppFiles(source)) {
    const path = relative(source, file);
    const folder = path.split(sep)[0];
    if (!(folder in layers)) {
      violations.push(`${path}: folder ${folder}/ is not in layers.json`);
      continue;
    }
    for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
      const problem = checkLine({ line, path, folder, source, layers, used });
      if (problem !== undefined) violations.push(`${path}:${index + 1}: ${problem}`);
    }
  }
  return [...violations, ...staleEntries(source, layers, used)];
}

function checkLine({ line, path, folder, source, layers, used }) {
  const own = /^\s*#\s*include\s+"([^"]+)"/.exec(line)?.[1];
  if (own !== undefined) {
    if (!existsSync(join(source, own))) return `"${own}" does not exist below src/`;
    const target = own.split('/')[0];
    addUse(used, folder, target);
    if (target === folder || below(folder, layers).has(target)) return undefined;
    return `${folder}/ may not include ${target}/ (layers.json)`;
  }
  const system = /^\s*#\s*include\s+<([^>]+)>/.exec(line)?.[1];
  if (system !== undefined) {
    return reserved.find((rule) => rule.header.test(system) && !rule.folders.includes(folder))?.what;
  }
  const mayAsk = ['io', 'binding'].includes(folder) || path === clockOfTls;
  if (nondeterminism.test(line.replace(/\/\/.*/, '')) && !mayAsk) {
    return 'reads the clock or random numbers of the system; take them as arguments';
  }
  return undefined;
}
