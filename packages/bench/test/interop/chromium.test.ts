import { describePeer } from './describe_peer.js';
import { chromium } from './peers/chromium.js';

describePeer(chromium);
