import type { Peer } from '../peer.js';
import { aioquicServer } from '../programs.js';
import { commonProgram, installed } from './common_program.js';

const { download, exerciseSessions } = commonProgram(
  () => installed('.sheaf', 'interop', 'bin', 'python'),
  () => [installed('packages', 'bench', 'interop', 'aioquic_program.py')],
);

export const aioquic: Peer = {
  slug: 'aioquic',
  name: 'aioquic 1.7',
  protocol: 'h3',
  download,
  exerciseSessions,
  serve: ({ site, retry }) =>
    aioquicServer(site.certificates.certificate, site.certificates.key, retry ? ['--retry'] : []),
  cannot: { servesHelloRetry: "aioquic's server has no HelloRetryRequest" },
};
