import { describePeer } from './describe_peer.js';
import { pycurl } from './peers/pycurl.js';

describePeer(pycurl);
