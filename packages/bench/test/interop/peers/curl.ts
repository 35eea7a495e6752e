import { noServer } from '../matrix.js';
import type { Peer } from '../peer.js';
import { commonProgram, installed } from './common_program.js';

const { download } = commonProgram(
  () => installed('.sheaf', 'interop', 'bin', 'python'),
  () => [installed('packages', 'bench', 'interop', 'curl_program.py')],
);
const unsaid = 'curl does not say whether it resumed';
const noSessions = 'curl has no WebTransport';

export const curl: Peer = {
  slug: 'curl',
  name: 'curl 8.21 as Chrome (ngtcp2 1.20, BoringSSL)',
  protocol: 'h3',
  download,
  cannot: {
    keyUpdate: 'curl asks for no key update',
    migration: 'curl keeps its port',
    resumption: unsaid,
    early: unsaid,
    streams: noSessions,
    datagrams: noSessions,
    closes: noSessions,
    ...noServer('curl is no server'),
  },
};
