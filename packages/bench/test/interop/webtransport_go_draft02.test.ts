import { describePeer } from './describe_peer.js';
import { webtransportGoDraft02 } from './peers/go.js';

describePeer(webtransportGoDraft02);
