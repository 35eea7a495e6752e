import { describePeer } from './describe_peer.js';
import { webtransportGo } from './peers/go.js';

describePeer(webtransportGo);
