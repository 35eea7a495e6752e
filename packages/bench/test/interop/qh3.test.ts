import { describePeer } from './describe_peer.js';
import { qh3 } from './peers/qh3.js';

describePeer(qh3);
