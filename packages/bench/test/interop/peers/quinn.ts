import type { Peer } from '../peer.js';
import { commonProgram, installed } from './common_program.js';

export const quinn: Peer = {
  slug: 'quinn',
  name: 'quinn 0.11 (h3, web-transport-quinn)',
  protocol: 'h3',
  ...commonProgram(() => installed('packages', 'bench', 'interop', 'target', 'release', 'quinn-interop')),
  cannot: {},
};
