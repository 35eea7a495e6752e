import { describePeer } from './describe_peer.js';
import { s2nQuicWithS2nTls } from './peers/s2n_quic.js';

describePeer(s2nQuicWithS2nTls);
