// Runs a node as `sheaf up` does. When the parent sends a message, updates the keys of the connection with the latest
// request. Browsers begin no key update, and no configuration makes a gateway begin one.
import '@sheaf/gateway/heap';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeNodes, loadConfiguration, startNodes } from '@sheaf/gateway';
import * as native from '@sheaf/native';

const [file, name] = process.argv.slice(2);
/** The connection of the latest request */
let latest;

const loadNative = async () => ({
  ...native,
  createHttp3Server(options) {
    const server = native.createHttp3Server(options);
    server.on('request', ({ connection }) => (latest = connection));
    return server;
  },
});

const { nodes } = await loadConfiguration(file);
const running = await startNodes(
  nodes.filter((node) => node.name === name),
  { loadNative },
);
process.stdout.write('ready\n');
process.once('SIGTERM', () => void closeNodes(running).then(() => process.exit(0)));
process.on('message', async () => {
  // Refused until the peer has acknowledged the present keys (RFC 9001 §6.1).
  while (!latest.updateKeys()) await sleep(1);
  process.send('updated');
});
