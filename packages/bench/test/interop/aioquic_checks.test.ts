import { describePeer } from './describe_peer.js';
import { aioquic } from './peers/aioquic.js';

describePeer(aioquic);
