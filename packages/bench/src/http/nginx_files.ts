import type { FileServer, GatewayUnderTest, Site } from './gateways.js';
import { intendedNginx, type FoundNginx } from './nginx.js';
import { nginxConfiguration, startNginxWith, type NginxSite } from './nginx_process.js';

/** Keeps files open, since Sheaf holds small ones in memory. */
const fileSite = (files: string): NginxSite => ({
  http: 'sendfile on;\nopen_file_cache max=100;',
  server: `root ${files};`,
});

/** Returns the configuration of an nginx that serves files. */
export const nginxFilesConfiguration = ({ port, files }: FileServer, found = intendedNginx): string =>
  nginxConfiguration(port, fileSite(files), found);

/** Starts nginx as a file server over the protocols that it has. @throws UserError when it does not serve */
export const startNginx = ({ directory, files }: Site, found: FoundNginx): Promise<GatewayUnderTest> =>
  startNginxWith(directory, fileSite(files), found);
