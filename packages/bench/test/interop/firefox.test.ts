import { describePeer } from './describe_peer.js';
import { firefox } from './peers/firefox.js';

describePeer(firefox);
