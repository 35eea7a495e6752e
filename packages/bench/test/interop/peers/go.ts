import type { Peer } from '../peer.js';
import { commonProgram, installed } from './common_program.js';

const program = (name: string) => () => installed('.sheaf', 'interop-go', name);
const noSessions = 'quic-go alone has no WebTransport; webtransport-go is below';

const { download, serve } = commonProgram(program('newest'));
export const quicGo: Peer = {
  slug: 'quic-go',
  name: 'quic-go 0.65',
  protocol: 'h3',
  download,
  serve,
  cannot: { streams: noSessions, datagrams: noSessions, closes: noSessions },
};

export const webtransportGo: Peer = {
  slug: 'webtransport-go',
  name: 'webtransport-go 0.13 (quic-go 0.62)',
  protocol: 'h3',
  ...commonProgram(program('webtransport')),
  cannot: {},
};

export const webtransportGoDraft02: Peer = {
  slug: 'webtransport-go-draft-02',
  name: 'webtransport-go 0.9, draft-02 (quic-go 0.53)',
  protocol: 'h3',
  ...commonProgram(program('draft02')),
  cannot: {},
};
