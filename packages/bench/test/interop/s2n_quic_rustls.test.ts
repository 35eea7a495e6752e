import { describePeer } from './describe_peer.js';
import { s2nQuicWithRustls } from './peers/s2n_quic.js';

describePeer(s2nQuicWithRustls);
