import { describePeer } from './describe_peer.js';
import { ngtcp2 } from './peers/ngtcp2.js';

describePeer(ngtcp2);
