import { describePeer } from './describe_peer.js';
import { xNet } from './peers/x_net.js';

describePeer(xNet);
