import { describePeer } from './describe_peer.js';
import { curl } from './peers/curl.js';

describePeer(curl);
