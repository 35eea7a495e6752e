import { join } from 'node:path';
import { noServer } from '../matrix.js';
import type { Peer } from '../peer.js';
import { root } from '../programs.js';
import { commonProgram } from './common_program.js';

const downloadOf = (program: string): Peer['download'] =>
  commonProgram(
    () => process.execPath,
    () => [join(root, 'packages', 'bench', 'interop', program)],
  ).download;

const noKeyUpdate = 'quiche has no way to ask for a key update';
const noHttp3 = 'hq-interop alone is tested: this package has quiche without HTTP/3';

export const quiche: Peer = {
  slug: 'quiche',
  name: 'quiche 0.18 (of @matrixai/quic, BoringSSL)',
  protocol: 'hq-interop',
  download: downloadOf('quiche_program.mjs'),
  cannot: {
    keyUpdate: noKeyUpdate,
    streams: noHttp3,
    datagrams: noHttp3,
    closes: noHttp3,
    ...noServer('quiche is tested as a client alone'),
  },
};

/** For `backends/clients.test.ts` alone */
export const quicheHttp3: Peer = {
  slug: 'quiche-http3',
  name: 'quiche (of @currentspace/http3)',
  protocol: 'h3',
  download: downloadOf('quiche_http3_program.mjs'),
  cannot: { keyUpdate: noKeyUpdate },
};
