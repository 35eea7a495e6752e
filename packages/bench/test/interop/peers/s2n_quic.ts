import type { Feature } from '../matrix.js';
import type { Peer } from '../peer.js';
import { commonProgram, installed } from './common_program.js';

const program = (): string => installed('packages', 'bench', 'interop', 'target', 'release', 's2n-quic-interop');
const noHttp3 = 'hq-interop alone is tested: s2n-quic comes without HTTP/3';

const noEarlyData = 's2n-quic has no 0-RTT';

const cannot: Partial<Record<Feature, string>> = {
  keyUpdate: 's2n-quic begins a key update after some eight million packets, and there is no way to ask for one',
  migration: "s2n-quic's client has no way to go over to another address",
  early: noEarlyData,
  servesEarly: noEarlyData,
  servesHelloRetry: noEarlyData,
  streams: noHttp3,
  datagrams: noHttp3,
  closes: noHttp3,
};

function s2nQuic(tls: 's2n-tls' | 'rustls'): Peer {
  const { download, serve } = commonProgram(program, () => [tls]);
  const noTickets = 's2n-quic lets rustls go after the handshake, and with it the tickets';
  const more: Partial<Record<Feature, string>> =
    tls === 'rustls' ? { resumption: noTickets, servesResumption: noTickets } : {};
  return {
    slug: `s2n-quic-${tls}`,
    name: `s2n-quic 1.91 (${tls})`,
    protocol: 'hq-interop',
    download,
    serve,
    cannot: { ...cannot, ...more },
  };
}

export const s2nQuicWithS2nTls = s2nQuic('s2n-tls');
export const s2nQuicWithRustls = s2nQuic('rustls');
