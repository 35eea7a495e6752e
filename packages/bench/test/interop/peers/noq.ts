import type { Peer } from '../peer.js';
import { commonProgram, installed } from './common_program.js';

const { download, serve } = commonProgram(() =>
  installed('packages', 'bench', 'interop', 'target', 'release', 'noq-interop'),
);
const noHttp3 = 'hq-interop alone is tested: noq comes without HTTP/3';

export const noq: Peer = {
  slug: 'noq',
  name: 'noq 1.4 (several paths)',
  protocol: 'hq-interop',
  download,
  serve,
  cannot: { streams: noHttp3, datagrams: noHttp3, closes: noHttp3 },
};
