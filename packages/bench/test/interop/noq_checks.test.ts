import { describePeer } from './describe_peer.js';
import { noq } from './peers/noq.js';

describePeer(noq);
