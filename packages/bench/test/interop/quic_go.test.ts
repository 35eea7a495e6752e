import { describePeer } from './describe_peer.js';
import { quicGo } from './peers/go.js';

describePeer(quicGo);
