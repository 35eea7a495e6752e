import { describePeer } from './describe_peer.js';
import { quiche } from './peers/quiche.js';

describePeer(quiche);
