import { noServer } from '../matrix.js';
import type { Peer } from '../peer.js';
import { commonProgram, installed } from './common_program.js';

const { download } = commonProgram(
  () => installed('.sheaf', 'interop', 'bin', 'python'),
  () => [installed('packages', 'bench', 'interop', 'pycurl_program.py')],
);
const noSessions = 'curl has no WebTransport';

export const pycurl: Peer = {
  slug: 'curl-openssl',
  name: 'curl 8.23 (ngtcp2 1.25, OpenSSL 3.6)',
  protocol: 'h3',
  download,
  cannot: {
    keyUpdate: 'curl asks for no key update',
    migration: 'curl keeps its port',
    streams: noSessions,
    datagrams: noSessions,
    closes: noSessions,
    ...noServer('curl is no server'),
  },
};
