/**
 * Importing this makes `@fails-components/webtransport-transport-http3-quiche` resolve to our
 * transport, so that the client of @fails-components/webtransport runs on it.
 */
import { register } from 'node:module';

register('./webtransport_library/resolve_hook.js', import.meta.url);
