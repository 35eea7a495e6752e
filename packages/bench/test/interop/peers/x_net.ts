import type { Peer } from '../peer.js';
import { commonProgram, installed } from './common_program.js';

const { download, serve } = commonProgram(() => installed('.sheaf', 'interop-go', 'x_net'));
const noHttp3 = 'hq-interop alone is tested: golang.org/x/net/quic comes without HTTP/3';
const noEarlyData = 'golang.org/x/net/quic has no 0-RTT';
const noMigration = 'golang.org/x/net/quic has no change of address';
const noTickets = "golang.org/x/net/quic's server sends no tickets";

export const xNet: Peer = {
  slug: 'x-net',
  name: 'golang.org/x/net/quic 0.62',
  protocol: 'hq-interop',
  download,
  serve,
  cannot: {
    migration: noMigration,
    early: noEarlyData,
    streams: noHttp3,
    datagrams: noHttp3,
    closes: noHttp3,
    servesRebinding: noMigration,
    servesMigration: noMigration,
    servesResumption: noTickets,
    servesEarly: noEarlyData,
    servesHelloRetry: noEarlyData,
  },
};
