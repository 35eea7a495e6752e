import { noServer } from '../matrix.js';
import type { Peer } from '../peer.js';
import { commonProgram, installed } from './common_program.js';

const { download, exerciseSessions } = commonProgram(
  () => installed('.sheaf', 'interop', 'bin', 'python'),
  () => [installed('packages', 'bench', 'interop', 'qh3_program.py')],
);

export const qh3: Peer = {
  slug: 'qh3',
  name: 'qh3 2.1',
  protocol: 'h3',
  download,
  exerciseSessions,
  cannot: noServer('qh3 is tested as a client alone'),
};
