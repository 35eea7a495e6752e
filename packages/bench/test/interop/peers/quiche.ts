import { join } from 'node:path';
import { noServer } from '../matrix.js';
import type { Peer } from '../peer.js';
import { root } from '../programs.js';
import { commonProgram } from './common_program.js';

const { download } = commonProgram(
  () => process.execPath,
  () => [join(root, 'packages', 'bench', 'interop', 'quiche_program.mjs')],
);
const noHttp3 = 'hq-interop alone is tested: this package has quiche without HTTP/3';

export const quiche: Peer = {
  slug: 'quiche',
  name: 'quiche 0.18 (of @matrixai/quic, BoringSSL)',
  protocol: 'hq-interop',
  download,
  cannot: {
    keyUpdate: 'quiche has no way to ask for a key update',
    streams: noHttp3,
    datagrams: noHttp3,
    closes: noHttp3,
    ...noServer('quiche is tested as a client alone'),
  },
};
