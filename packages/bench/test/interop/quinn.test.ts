import { describePeer } from './describe_peer.js';
import { quinn } from './peers/quinn.js';

describePeer(quinn);
